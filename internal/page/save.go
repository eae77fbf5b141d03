package page

import (
	"errors"
	"fmt"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
)

// File is a file of a result's masks that the user saves.
type File struct {
	Format   string    // of package export
	Reader   int       // author: an index of masks.Readers; 0 is the consensus
	I        int       // the recurrence of the consensus
	Classes  []int     // its structures, in order
	Drawn    []Drawing // what a person drew on them
	Identity bool      // a file of DICOM keeps what its source says of patient and study

	Eye    string         // of a DICOM SR: as segment.Known has it
	Person string         // of a DICOM SR: the name or code of who accepted the result; "" nobody
	Shown  *imageio.Image // of a DICOM Secondary Capture: what the user sees of the result
	PDF    []byte         // of the format "dicom-pdf": the report
}

// Drawing is what a person drew on the reader's mask of a class: (Height, Width), 255 inside, 0
// outside and segment.Unsaid where the mask stays.
type Drawing struct {
	Class int
	Mask  []uint8
}

// Formats are the names of the formats in which the masks of a result can be saved.
func (r *Segmented) Formats() (names []string) {
	for _, f := range masks.Formats {
		if f.Check(&r.Picture) == nil {
			names = append(names, f.Name)
		}
	}
	return names
}

// Lacks says why a DICOM image has no DICOM SEG. It is empty if it has one, and for other images.
func (r *Segmented) Lacks() string {
	h, ok := r.Picture.Header.(*dicom.Header)
	if !ok {
		return ""
	}
	if err := h.Check(); err != nil {
		return err.Error()
	}
	return ""
}

// Save makes a file of the result of a request, in the orientation of the image before its turns.
func (h *Host) Save(request int, file File) ([]byte, error) {
	r, err := h.Result(request)
	if err != nil {
		return nil, err
	}
	before := r.Picture.Before()
	readers := masks.Readers(r.Raters, r.Classes, r.Labels, len(r.Marks()) > 0, true)
	if err := checkIndex("reader", file.Reader, len(readers)); err != nil {
		return nil, err
	}
	d := masks.Drawing{Picture: &before, By: readers[file.Reader].By, Model: r.Model, Day: h.now(), Identity: file.Identity, Doubts: r.Reasons(), Person: file.Person, Shown: file.Shown}
	if file.Format == "dicom-pdf" {
		return masks.Document(&d, file.PDF)
	}
	format, err := masks.Find(file.Format)
	if err != nil {
		return nil, err
	}
	if format.Once {
		known, err := r.known(file.Eye, file.Drawn)
		if err != nil {
			return nil, err
		}
		d.Figures = new(r.Corrected(known))
	}
	for _, c := range file.Classes {
		structure, err := file.structure(&r.Maps, readers[file.Reader], c)
		if err != nil {
			return nil, err
		}
		d.Structures = append(d.Structures, structure)
	}
	return format.Write(&d)
}

// Repeat says how the figures of a result differ between views of its picture, the job's.
func (h *Host) Repeat(job Job, result int) (made *segment.Repeats, err error) {
	r, err := h.Result(result)
	if err != nil {
		return nil, err
	}
	ctx, end := h.begin(job.Request)
	defer end()
	job.Options.Progress = h.paced(job.Options.Progress)
	job.Options.Recurrences = r.Recurrences
	img, err := h.picture(&job, job.Options.Progress)
	if err == nil {
		err = h.compute(ctx, job, func(e Engine) (err error) {
			made, err = e.Repeat(ctx, img, &r.Maps, job.Options)
			return err
		})
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return made, err
}

// Clinical returns the figures beside the ratio for a request's result. known is what the user
// knows of the eye; drawn is as in File.
func (h *Host) Clinical(request int, known segment.Known, drawn []Drawing) (none segment.Clinical, err error) {
	r, err := h.Result(request)
	if err != nil {
		return none, err
	}
	checked, err := r.known(known.Eye, drawn)
	if err != nil {
		return none, err
	}
	checked.Spacing = known.Spacing
	return r.Clinical(checked), nil
}

// known checks what a user knows of a result.
func (r *Segmented) known(eye string, drawn []Drawing) (known segment.Known, err error) {
	known = segment.Known{Eye: eye, Drawn: map[int][]byte{}}
	for _, one := range drawn {
		if err := checkIndex("class", one.Class, len(r.Classes)); err != nil {
			return known, err
		}
		if len(one.Mask) != r.Width*r.Height {
			return known, fmt.Errorf("the correction has %d pixels, and its mask %d", len(one.Mask), r.Width*r.Height)
		}
		known.Drawn[one.Class] = one.Mask
	}
	return known, segment.CheckEye(eye)
}

// structure is the mask of a class with the person's drawing on it.
func (f File) structure(r *segment.Maps, by masks.Reader, class int) (none masks.Structure, err error) {
	if err := errors.Join(checkIndex("class", class, len(r.Classes)), checkIndex("i", f.I, r.Recurrences+1)); err != nil {
		return none, err
	}
	if !by.Has(r, class) {
		return none, fmt.Errorf("the %s has no outlines", r.Classes[class])
	}
	if f.Reader == 0 {
		by.Of = func(r *segment.Maps, class int) []float32 { return r.Recurrence(f.I, class) }
	}
	one, err := by.Structure(r, class)
	if err != nil {
		return none, err
	}
	for _, drawn := range f.Drawn {
		if drawn.Class != class {
			continue
		}
		if err := one.Correct(drawn.Mask, segment.Unsaid); err != nil {
			return none, err
		}
	}
	values := one.Map
	one.Levels, _, _ = imageio.Unturned(&r.Picture, one.Levels)
	one.Map = func() []float32 { unturned, _, _ := imageio.Unturned(&r.Picture, values()); return unturned }
	return one, nil
}

// Corrected is the PNG of a mask with what a person drew on it after the image was turned by
// quarters clockwise. Both PNGs have the orientation of the image before its turns.
func Corrected(mask []byte, drawn []uint8, turn int) ([]byte, error) {
	m, err := imageio.DecodeMask("the mask", mask)
	if err != nil {
		return nil, err
	}
	if len(drawn) != m.W*m.H {
		return nil, fmt.Errorf("the correction has %d pixels, and its mask %d", len(drawn), m.W*m.H)
	}
	format, err := masks.Find("png-mask")
	if err != nil {
		return nil, err
	}
	s := masks.Structure{Levels: make([]uint8, m.W*m.H)}
	for i := range s.Levels {
		s.Levels[i] = m.Pix[3*i]
	}
	drawn, _, _ = imageio.Unturned(m.Turned(turn), drawn)
	if err := s.Correct(drawn, segment.Unsaid); err != nil {
		return nil, err
	}
	return format.Write(&masks.Drawing{Picture: m, Structures: []masks.Structure{s}})
}
