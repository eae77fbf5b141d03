package gpu

import "fmt"

// ViewAlignment is what the first byte of a view is a multiple of: the largest offset alignment that WebGPU may ask for.
const ViewAlignment = 256

// View is some elements of a buffer, side by side, as a buffer of its own: every method of a device takes it as one. Many small tensors can
// so lie in one buffer that a single dispatch takes whole. One dispatch may write several views of a buffer, but not read one and write
// another (WebGPU's rule).
type View struct {
	whole Buffer // as allocated
	first int    // element of whole
	spec  BufferSpec
}

// NewView sees elements [first, first+elements) of a buffer or view. It panics where they are not all there or not aligned.
func NewView(label string, b Buffer, first, elements int) *View {
	spec := BufferSpec{label, b.Spec().Type, elements}
	whole, before := Whole(b)
	if first < 0 || elements < 1 || first > b.Spec().Elements-elements || (before+first)*spec.Type.Size()%ViewAlignment != 0 {
		panic(fmt.Sprintf("gpu: view %q of elements [%d, %d) of buffer %q, which has %d: beyond it, or not at a multiple of %d bytes",
			label, first, first+elements, b.Spec().Label, b.Spec().Elements, ViewAlignment))
	}
	return &View{whole, before + first, spec}
}

// Spec is the view's own.
func (v *View) Spec() BufferSpec { return v.spec }

// Release does nothing: the memory is the buffer's.
func (v *View) Release() {}

// Whole gives the allocated buffer behind a buffer or view, and the element of it with which that begins.
func Whole(b Buffer) (whole Buffer, first int) {
	if v, ok := b.(*View); ok {
		return v.whole, v.first
	}
	return b, 0
}

// conflict says whether two arguments of one dispatch may not be together: views of one buffer of which one is read and the other written,
// or that overlap and are both written.
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
