package gpu

import "fmt"

// ViewAlignment divides the first byte of a view. It is the largest offset alignment in WebGPU.
const ViewAlignment = 256

// View is a range of elements of a buffer. Every method of a device takes a view as a buffer. Small
// tensors can be views of one buffer, which one dispatch then takes whole. One dispatch may write
// several views of a buffer, but not read one and write another (a rule of WebGPU).
type View struct {
	whole Buffer // as allocated
	first int    // element of whole
	spec  BufferSpec
}

// NewView returns elements [first, first+elements) of a buffer or view. It panics if they are not
// in the buffer or not aligned.
func NewView(label string, b Buffer, first, elements int) *View {
	spec := BufferSpec{label, b.Spec().Type, elements}
	whole, before := Whole(b)
	if first < 0 || elements < 1 || first > b.Spec().Elements-elements || (before+first)*spec.Type.Size()%ViewAlignment != 0 {
		panic(fmt.Sprintf("gpu: view %q of elements [%d, %d) of buffer %q, which has %d: beyond it, or not at a multiple of %d bytes",
			label, first, first+elements, b.Spec().Label, b.Spec().Elements, ViewAlignment))
	}
	return &View{whole, before + first, spec}
}

// Spec describes the view.
func (v *View) Spec() BufferSpec { return v.spec }

// Release does nothing: the buffer has the memory.
func (v *View) Release() {}

// Whole returns the allocated buffer behind a buffer or view, and the element at which that begins.
func Whole(b Buffer) (whole Buffer, first int) {
	if v, ok := b.(*View); ok {
		return v.whole, v.first
	}
	return b, 0
}

// conflict says whether two arguments exclude each other in one dispatch. Two views of one buffer
// exclude each other if one is read and the other written, or if both are written and overlap.
func conflict(a, b Buffer, accessA, accessB Access) bool {
	wholeA, fromA := Whole(a)
	wholeB, fromB := Whole(b)
	switch {
	case wholeA != wholeB || accessA == Read && accessB == Read:
		return false
	case accessA != accessB:
		return true
	}
	return fromA < fromB+b.Spec().Elements && fromB < fromA+a.Spec().Elements
}
