package host

import (
	"mrprism/internal/app/export"
	"mrprism/internal/app/segment"
	"mrprism/internal/data/imageio"
)

// File is a file of a result's masks that the user saves.
type File struct {
	Format   string    // of package export
	I        int       // the recurrence
	Classes  []int     // its structures, in order
	Drawn    []Drawing // what a person drew on them
	Identity bool      // a DICOM SEG keeps what its source says of patient and study
}

// Drawing is what a person drew on the mask of a class: (Height, Width), 255 inside, 0 outside and
// segment.Unsaid where the mask stays.
type Drawing struct {
	Class int
	Mask  []uint8
}

// Formats are the names of the formats in which the masks of a result can be saved.
func (r *Segmented) Formats() (names []string) {
	for _, f := range export.Formats {
		if f.Check(&r.Picture) == nil {
			names = append(names, f.Name)
		}
	}
	return names
}

// Save makes a file of the result of a request. It lies as the image did before its turns.
func (h *Host) Save(request int, file File) ([]byte, error) {
	r, err := h.Result(request)
	if err != nil {
		return nil, err
	}
	format, err := export.Find(file.Format)
	if err != nil {
		return nil, err
	}
	before := r.Picture.Before()
	d := export.Drawing{Picture: &before, By: export.Consensus, Model: r.Model, Day: h.now(), Identity: file.Identity}
	for _, c := range file.Classes {
		structure, err := file.structure(r.Result, c)
		if err != nil {
			return nil, err
		}
		d.Structures = append(d.Structures, structure)
	}
	return format.Write(&d)
}

// structure is the mask of a class with what was drawn on it.
func (f File) structure(r *segment.Result, class int) (none export.Structure, err error) {
	values, err := Map{Kind: "recurrence", Class: class, I: f.I}.Values(r)
	if err != nil {
		return none, err
	}
	all, err := export.Structures(r.Width, r.Height, r.Classes[class:][:1], [][]float32{values})
	if err != nil {
		return none, err
	}
	for _, drawn := range f.Drawn {
		if drawn.Class != class {
			continue
		}
		if err := all[0].Correct(drawn.Mask, segment.Unsaid); err != nil {
			return none, err
		}
	}
	all[0].Levels, _, _ = imageio.Unturned(&r.Picture, all[0].Levels)
	return all[0], nil
}
