package page

import (
	"fmt"
	"slices"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/series"
	"mrprism/internal/output/masks"
	"mrprism/weights"
)

// stack is the series of the page's list, and its masks.
type stack struct {
	*series.Series
	files int
	model *weights.Model // made the masks; nil: nobody did
	solid *masks.Solid
}

// OpenSeries orders the slices of files, in place of the series before. Pictures of these files
// then come from it: Job.Part. It reads a file when it is wanted, and keeps one that has all
// slices.
func (h *Host) OpenSeries(name string, files []series.File) (*series.Series, error) {
	h.stack = nil
	s, err := series.New(name, files)
	if err == nil && len(s.Slices) == 1 {
		err = fmt.Errorf("%s has one slice, which makes no volume", name)
	}
	switch {
	case err == nil:
		h.stack = &stack{Series: s, files: len(files)}
		return s, nil
	case FaultOf(err).Code == "image": // a file that cannot be read
		return nil, err
	}
	return nil, Fault{"series", err.Error() + ".", "One by one, its pictures can be segmented all the same."}
}

// at is the index of a slice; −1: it has none such. number is that in the file.
func (v *stack) at(part, number int) int {
	return slices.IndexFunc(v.Slices, func(one series.Slice) bool {
		return one.File == part-1 && (v.files > 1 || one.Number == number)
	})
}

// read decodes a slice as its file alone would be.
func (v *stack) read(job *Job) (*imageio.Image, error) {
	if v != nil && v.files == 1 && job.Part == 1 && job.Slice == 0 {
		return v.Preferred()
	} else if v == nil || v.at(job.Part, job.Slice) < 0 {
		return nil, Fault{"image", job.Name + " is no longer in memory.", "Open it again."}
	}
	img, err := v.Read(v.at(job.Part, job.Slice))
	if err == nil && v.files > 1 {
		img.Slice, img.Slices = 1, 1
	}
	return img, err
}

// add adds the masks of a slice. Those of another model begin anew.
func (v *stack) add(part int, r *Segmented) error {
	if v == nil || v.at(part, r.Picture.Slice) < 0 {
		return nil
	}
	if v.model != r.Model {
		v.model = r.Model
		v.solid = masks.NewSolid(v.Series, masks.Readers(nil, r.Classes, "", false, false), r.Classes, masks.Formats)
	}
	return v.solid.Add(v.at(part, r.Picture.Slice), &r.Maps)
}

// Solid is the masks of the series. The error says that a model has made none.
func (h *Host) Solid() (*masks.Solid, error) {
	if h.stack == nil || h.stack.solid == nil {
		return nil, Fault{"gone", "The masks of the series are no longer in memory.", "Segment its slices again."}
	}
	return h.stack.solid, nil
}

// SaveSolid makes a file of the series' masks of classes.
func (h *Host) SaveSolid(format string, classes []int, identity bool) ([]byte, error) {
	solid, err := h.Solid()
	if err != nil {
		return nil, err
	}
	f, err := masks.Find(format)
	if err != nil {
		return nil, err
	}
	if err := f.CheckSeries(solid.Series); err != nil {
		return nil, Fault{"format", sentence(err.Error()) + ".", "Choose another format."}
	}
	d := &masks.Drawing{By: masks.Consensus, Model: h.stack.model, Day: h.now(), Identity: identity}
	return f.Joined()(solid, d, 0, classes)
}
