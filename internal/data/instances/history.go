package instances

import (
	"image"
	"slices"
)

// mostSteps is how many changes a History can undo.
const mostSteps = 200

// History is a field with the changes that can be undone and redone.
type History struct {
	*Field
	done, undone []step
}

// step is a field's objects, and its labels in a box, before a change.
type step struct {
	box     image.Rectangle
	labels  []uint16
	objects []Object
}

// NewHistory begins with a field.
func NewHistory(f *Field) *History { return &History{Field: f} }

// Change makes a change that can be undone. It may change the objects of the numbers, and what lies
// in within. A change that fails leaves the field as it was.
func (h *History) Change(numbers []uint16, within image.Rectangle, change func(f *Field) error) error {
	box := within.Intersect(image.Rect(0, 0, h.Width, h.Height))
	for _, n := range numbers {
		if o := h.Find(n); o != nil {
			box = box.Union(o.Box)
		}
	}
	before := h.copy(box)
	if err := change(h.Field); err != nil {
		h.put(before)
		return err
	}
	h.done, h.undone = append(h.done, before), nil
	h.done = h.done[max(0, len(h.done)-mostSteps):]
	return nil
}

// Undo takes the last change back; false: there is none.
func (h *History) Undo() bool { return h.move(&h.done, &h.undone) }

// Redo makes the change again that Undo took back; false: there is none.
func (h *History) Redo() bool { return h.move(&h.undone, &h.done) }

// Steps are how many changes can be undone and redone.
func (h *History) Steps() (undo, redo int) { return len(h.done), len(h.undone) }

func (h *History) move(from, to *[]step) bool {
	n := len(*from)
	if n == 0 {
		return false
	}
	s := (*from)[n-1]
	*from, *to = (*from)[:n-1], append(*to, h.copy(s.box))
	h.put(s)
	return true
}

func (h *History) copy(box image.Rectangle) step {
	s := step{box: box, objects: slices.Clone(h.Objects)}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		s.labels = append(s.labels, h.Labels[y*h.Width+box.Min.X:y*h.Width+box.Max.X]...)
	}
	return s
}

func (h *History) put(s step) {
	for y := s.box.Min.Y; y < s.box.Max.Y; y++ {
		copy(h.Labels[y*h.Width+s.box.Min.X:y*h.Width+s.box.Max.X], s.labels[(y-s.box.Min.Y)*s.box.Dx():])
	}
	h.Objects = slices.Clone(s.objects)
}
