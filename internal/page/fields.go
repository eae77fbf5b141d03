package page

import (
	"context"
	"fmt"
	"image"
	"math"
	"slices"

	"mrprism/internal/data/instances"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/objects"
	"mrprism/internal/segment"
)

// Change is something to do with the objects of a picture.
type Change struct {
	Do      string    // find, give, add, move, merge, split, delete, undo or redo
	Numbers []uint16  // of the objects that it is done to
	Line    []float64 // x, y, … in pixels: where to add, where to move to, or the line that splits
	Given   Given
}

// Given is the objects of a picture as SaveField wrote them before.
type Given struct {
	Class   string
	Labels  []byte             // labels-png
	Objects []instances.Object // with what their pixels do not say
}

// Field does something with the objects of a job's picture. The first call finds them all, is given
// them, or begins without an object. The host keeps the fields of its pictures.
func (h *Host) Field(job Job, c Change) (*instances.History, error) {
	ctx, end := h.begin(job.Request)
	defer end()
	h.settle()
	job.Options.Progress = h.paced(job.Options.Progress)
	img, err := h.picture(&job, job.Options.Progress)
	if err != nil {
		return nil, err
	}
	field, _ := h.fields.find(job.Key)
	if field == nil || field.Width != img.W || field.Height != img.H {
		field = nil
	}
	switch c.Do {
	case "find":
		err = h.compute(ctx, job, func(e Engine) error {
			found, err := e.Field(ctx, img, job.Options)
			if err == nil {
				field = instances.NewHistory(found)
			}
			return err
		})
	case "give":
		before, given := img.Before(), c.Given
		var found *instances.Field
		if found, err = instances.ReadPNG(given.Labels, before.W, before.H, given.Class); err != nil {
			return nil, Fault{"labels", "The objects of " + job.Name + " in the session are damaged.", "Find them again."}
		}
		found.Describe(given.Objects)
		field = instances.NewHistory(turned(found, img.Turn))
	case "add", "move":
		if field == nil {
			if err = h.useModel(ctx, job.Model, job.Options.Progress); err != nil {
				return nil, err
			}
			field = instances.NewHistory(instances.New(img.W, img.H, h.engines.model.Metadata.Classes[0]))
		}
		err = h.compute(ctx, job, func(e Engine) error { return drawn(ctx, e, img, field, c, job.Options) })
	default:
		err = changed(field, c)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		h.fields.drop(job.Key)
		h.fields.add(job.Key, field)
	}
	return field, err
}

// SaveField writes the objects of a picture, by its key, in a format of package objects. name is that
// of the picture's file.
func (h *Host) SaveField(key int, name, format string, semicolons bool) ([]byte, error) {
	field, ok := h.fields.find(key)
	img, there := h.pictures.find(key)
	if !ok || !there {
		return nil, Fault{"gone", "The objects are no longer in memory.", "Open the picture and find them again."}
	}
	f, err := objects.Find(format)
	if err != nil {
		return nil, err
	}
	before := img.Before()
	return f.Write(&objects.Drawing{Field: turned(field.Field, (4-img.Turn)%4), Picture: &before, Name: name, Semicolons: semicolons})
}

// turned is a field after quarter turns clockwise, 0 to 3, of its picture.
func turned(f *instances.Field, turn int) *instances.Field {
	if turn == 0 {
		return f
	}
	w, h := f.Width, f.Height
	if turn%2 == 1 {
		w, h = h, w
	}
	out := instances.FromLabels(w, h, f.Class, imageio.Turn(f.Labels, f.Width, f.Height, 1, turn))
	out.Describe(f.Objects)
	return out
}

// drawn lets the model draw an object around a point, in place of the one that moves there.
func drawn(ctx context.Context, e Engine, img *imageio.Image, field *instances.History, c Change, o segment.Options) error {
	if len(c.Line) != 2 || c.Do == "move" && len(c.Numbers) != 1 {
		return fmt.Errorf("%s: name a point, and the object that moves", c.Do)
	}
	side := sideOf(field.Field, c.Numbers)
	at := imageio.Square{X: int(c.Line[0]) - side/2, Y: int(c.Line[1]) - side/2, Side: side}
	return field.Change(c.Numbers, image.Rect(at.X, at.Y, at.X+side, at.Y+side), func(f *instances.Field) error {
		f.Delete(c.Numbers...)
		number := uint16(0)
		if c.Do == "move" {
			number = c.Numbers[0]
		}
		number, err := e.Object(ctx, img, f, at, number, o)
		if err == nil && number == 0 {
			err = Fault{"nothing", "The model draws no further " + f.Class + " there.", "Click in the middle of one."}
		}
		return err
	})
}

// sideOf is the side of the square around a new object: that of the objects named, or of the middle
// one of all.
func sideOf(f *instances.Field, numbers []uint16) int {
	var sides []int
	for _, o := range f.Objects {
		if len(numbers) == 0 || slices.Contains(numbers, o.Number) {
			sides = append(sides, int(math.Ceil(instances.Margin*float64(max(o.Box.Dx(), o.Box.Dy())))))
		}
	}
	if len(sides) == 0 {
		return max(16, min(256, f.Width, f.Height))
	}
	slices.Sort(sides)
	return sides[len(sides)/2]
}

// changed makes a change that needs no model.
func changed(field *instances.History, c Change) error {
	if field == nil {
		return Fault{"gone", "There are no objects to change.", "Find them first."}
	}
	var change func(f *instances.Field) error
	switch c.Do {
	case "undo":
		field.Undo()
		return nil
	case "redo":
		field.Redo()
		return nil
	case "merge":
		change = func(f *instances.Field) error { return f.Merge(c.Numbers...) }
	case "delete":
		change = func(f *instances.Field) error { f.Delete(c.Numbers...); return nil }
	case "split":
		change = func(f *instances.Field) error {
			added, err := f.Split(c.Numbers[0], c.Line)
			if err == nil && len(added) == 0 {
				err = Fault{"nothing", "The line does not divide it.", "Draw it from one side to the other."}
			}
			return err
		}
	}
	if change == nil || len(c.Numbers) == 0 {
		return fmt.Errorf("unknown change %q of %d objects", c.Do, len(c.Numbers))
	}
	return field.Change(c.Numbers, image.Rectangle{}, change)
}

// compute works with the engine of a job's model. A device that fails is opened again, or replaced.
func (h *Host) compute(ctx context.Context, job Job, work func(e Engine) error) error {
	h.returnToGPU(ctx, job.Model)
	if err := h.useModel(ctx, job.Model, job.Options.Progress); err != nil {
		return err
	}
	once := func() error {
		if err := h.build(ctx, job.Options.Progress); err != nil {
			return err
		}
		return work(h.engines.ready)
	}
	err := once()
	for again := false; err != nil && h.recover(ctx, err, again); again = true {
		err = once()
	}
	return err
}
