package masks

import (
	"bytes"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/series"
	"mrprism/internal/segment"
	"mrprism/shaders/pulse"
)

// Solid collects the masks of a series' slices, for files that hold all of them and for volumes.
// Each slice's levels are kept deflated: a volume of 256³ takes few MB a structure, not 16.
type Solid struct {
	Series  *series.Series
	readers []Reader
	classes []string
	slices  []layer
	mask    bool // no format wants probabilities
}

// layer is what is known of a slice. Its maps have the orientation before the picture's turns.
type layer struct {
	picture imageio.Image // without pixels; empty: the slice has not been added
	levels  [][][]byte    // (readers, K): deflated (H, W); nil: there is no map
	areas   [][]int       // (1 + M, K): pixels of the mask, then of the raters' or levels' masks
	drawn   [][]byte      // by class: deflated (H, W) of what a person drew; nil: nothing
	hand    []int         // by class: pixels of the mask with it
}

// NewSolid begins a solid of the classes of a model. Those of the formats that are Joined can be
// written then, of these readers.
func NewSolid(s *series.Series, readers []Reader, classes []string, formats []Format) *Solid {
	out := &Solid{Series: s, classes: classes, slices: make([]layer, len(s.Slices)), mask: true}
	for _, f := range formats {
		if f.Joined() != nil {
			out.readers, out.mask = readers, out.mask && (f.Name == "nifti-mask" || f.Name == "dicom-seg")
		}
	}
	return out
}

// Add adds the maps of slice i of Series.Slices, in place of earlier ones. What a person drew on
// those stays. Slices may be added in any order, also at the same time.
func (s *Solid) Add(i int, r *segment.Maps) error {
	one := layer{picture: r.Picture}
	one.picture.Pix = nil
	within, _, _ := r.Within()
	authors := []func(class int) []float32{within.Probability}
	for m := range r.Raters {
		authors = append(authors, func(class int) []float32 { return within.Rater(m, class) })
	}
	for _, of := range authors {
		var areas []int
		for c := range s.classes {
			area := 0
			for _, p := range of(c) {
				if p > 0.5 {
					area++
				}
			}
			areas = append(areas, area)
		}
		one.areas = append(one.areas, areas)
	}
	for _, by := range s.readers {
		all := make([][]byte, len(s.classes))
		for c := range s.classes {
			if !by.Has(r, c) {
				continue
			}
			structure, err := by.Structure(r, c)
			if err != nil {
				return err
			}
			all[c] = deflated(imageio.Unturned(&r.Picture, structure.form(s.mask)))
		}
		one.levels = append(one.levels, all)
	}
	s.put(i, one)
	return nil
}

// put is Add of what is known of the slice.
func (s *Solid) put(i int, one layer) {
	was := s.slices[i]
	s.slices[i] = one
	if len(was.drawn) > 0 && was.picture.W*was.picture.H == one.picture.W*one.picture.H {
		s.slices[i].drawn, s.slices[i].hand = was.drawn, make([]int, len(s.classes))
		for c := range s.classes {
			s.count(i, c)
		}
	}
}

// count counts the pixels of a class in slice i that a person drew on.
func (s *Solid) count(i, class int) {
	one := &s.slices[i]
	if one.hand[class] = 0; one.drawn[class] == nil {
		return
	}
	for _, v := range s.plane(0, class, i) {
		one.hand[class] += int(v >> 7)
	}
}

var deflaters = sync.Pool{New: func() any {
	z, err := flate.NewWriter(nil, flate.BestSpeed)
	if err != nil {
		panic(err) // there is such a level
	}
	return z
}}

func deflated(levels []uint8, _, _ int) []byte {
	var packed bytes.Buffer
	z := deflaters.Get().(*flate.Writer)
	defer deflaters.Put(z)
	z.Reset(&packed)
	z.Write(levels)
	z.Close()
	return bytes.Clone(packed.Bytes()) // without room to grow
}

func inflated(packed []byte, n int) []uint8 {
	levels := make([]uint8, n)
	if packed != nil {
		io.ReadFull(flate.NewReader(bytes.NewReader(packed)), levels)
	}
	return levels
}

// AddMask draws what a person drew on the consensus of a class in slice i, which has been added:
// (H, W) of its picture as it is turned, 255 inside, 0 outside and segment.Unsaid where the mask
// stays; nil: the person drew nothing.
func (s *Solid) AddMask(i, class int, drawn []uint8) error {
	one := &s.slices[i]
	if n := one.picture.W * one.picture.H; n == 0 || drawn != nil && len(drawn) != n {
		return fmt.Errorf("the correction has %d pixels, and its mask %d", len(drawn), n)
	}
	if one.drawn == nil {
		one.drawn, one.hand = make([][]byte, len(s.classes)), make([]int, len(s.classes))
	}
	if one.drawn[class] = nil; drawn != nil {
		one.drawn[class] = deflated(imageio.Unturned(&one.picture, drawn))
	}
	s.count(i, class)
	return nil
}

// Added reports whether slice i has been added, and Corrected whether a person drew on the class in
// any slice.
func (s *Solid) Added(i int) bool { return s.slices[i].picture.W > 0 }
func (s *Solid) Corrected(class int) bool {
	return slices.ContainsFunc(s.slices, func(one layer) bool { return one.drawn != nil && one.drawn[class] != nil })
}

// Has reports whether a reader has a map of a class in any slice.
func (s *Solid) Has(reader, class int) bool {
	return slices.ContainsFunc(s.slices, func(one layer) bool { return one.levels != nil && one.levels[reader][class] != nil })
}

// picture is that of slice i before its turns. A slice that has not been added is like the others.
func (s *Solid) picture(i int) imageio.Image {
	if !s.Added(i) {
		i = slices.IndexFunc(s.slices, func(one layer) bool { return one.picture.W > 0 })
	}
	return s.slices[i].picture.Before()
}

// plane are the levels (H, W) that a reader gives a class in slice i, as displayed; 0 without a
// map. The first reader's are with what a person drew.
func (s *Solid) plane(reader, class, i int) []uint8 {
	pulse.Beat()
	one, p := s.slices[i], s.picture(i)
	if one.levels == nil {
		return make([]uint8, p.W*p.H)
	}
	levels := inflated(one.levels[reader][class], p.W*p.H)
	if reader == 0 && one.drawn != nil && one.drawn[class] != nil {
		for k, v := range inflated(one.drawn[class], p.W*p.H) {
			if v != segment.Unsaid {
				levels[k] = v
			}
		}
	}
	return levels
}

// joined makes the file of all slices with the maps that a reader has of classes: of a NIfTI volume
// one. Of d all fields but Picture and Structures count.
type joined func(s *Solid, d *Drawing, reader int, classes []int) ([]byte, error)

// Joined is how a format holds all slices of a series in one file; nil: it has a file a slice.
func (f Format) Joined() joined {
	return map[string]joined{
		"nifti": solidVolume(false), "nifti-mask": solidVolume(true), "dicom-seg": solidSegmentation(false), "dicom-seg-fractional": solidSegmentation(true),
	}[f.Name]
}

// CheckSeries returns an error if masks of a series cannot be saved so. It says why, and what to
// do.
func (f Format) CheckSeries(s *series.Series) error {
	for _, one := range s.Slices {
		if err := f.Check(&imageio.Image{Header: one.Header}); err != nil {
			return fmt.Errorf("%s: -format %s: %w", one.Name, f.Name, err)
		}
	}
	if f.Name == "dicom-sr" {
		return errors.New("-format dicom-sr: a DICOM SR has the figures of one picture; name it by -slice N")
	}
	if f.Name == "nifti" || f.Name == "nifti-mask" {
		return s.Uneven()
	}
	return nil
}

func solidVolume(mask bool) joined {
	return func(s *Solid, d *Drawing, reader int, classes []int) ([]byte, error) {
		if err := s.Series.Uneven(); err != nil {
			return nil, err
		}
		p, place := s.picture(0), s.Series.Geometry()
		w, h := p.W, p.H
		if place != nil && p.Orientation >= 5 {
			w, h = h, w
		}
		size := p.PixelSize()
		about := d.comment(Structure{Name: s.classes[classes[0]], Corrected: reader == 0 && s.Corrected(classes[0])}, mask)
		return nifti.EncodeSeries(w, h, len(s.slices), place, [3]float64{size[0], size[1], s.Series.Step}, about, func(i int) []uint8 {
			levels := s.plane(reader, classes[0], i)
			if place != nil {
				levels = p.Stored(levels)
			}
			return levels
		}, mask)
	}
}

func solidSegmentation(fractional bool) joined {
	return func(s *Solid, d *Drawing, reader int, classes []int) ([]byte, error) {
		var headers []*dicom.Header
		for _, one := range s.Series.Slices {
			headers = append(headers, one.Header.(*dicom.Header))
		}
		out := d.segmentation(headers[0], fractional)
		out.Series = headers
		if len(s.Series.Gaps) == 0 {
			out.Step = s.Series.Step
		}
		for _, c := range classes {
			segment := dicom.Segment{Name: s.classes[c], Corrected: reader == 0 && s.Corrected(c)}
			for i := range s.slices {
				p := s.picture(i)
				segment.Levels = append(segment.Levels, p.Stored(s.plane(reader, c, i))...)
			}
			out.Segments = append(out.Segments, segment)
		}
		return out.Encode()
	}
}

// Volumes is what a series measures. Its fields have the names of the JSON.
type Volumes struct {
	Step       float64  `json:"step_mm,omitempty"`  // from a slice to the next one; 0: the files do not say
	Gaps       []string `json:"gaps,omitempty"`     // steps that differ
	Withheld   string   `json:"withheld,omitempty"` // why there are no volumes, a sentence
	Structures []Volume `json:"structures"`
	Slices     []Place  `json:"slices"` // in their order along the normal
}

// Volume is the volume of a structure: the pixels of its masks in all slices, times the size of a
// pixel, times the step, with what a person drew. Low to High hold the model's and those of the
// raters or levels, each over all slices.
type Volume struct {
	Class string   `json:"class"`
	ML    *float64 `json:"ml"`    // nil: see Withheld
	Low   *float64 `json:"low"`   // nil also without heads
	High  *float64 `json:"high"`  //
	Areas []int    `json:"areas"` // pixels in each slice
}

// Place is where a slice lies.
type Place struct {
	Slice    int      `json:"slice"`
	File     string   `json:"file"`
	Position *float64 `json:"position_mm"` // along the normal; nil: the files do not say
}

// Measure measures the volumes. A slice has been added, or more.
func (s *Solid) Measure() *Volumes {
	out := &Volumes{Step: s.Series.Step, Gaps: s.Series.Gaps}
	p, lack, authors := s.picture(0), 0, 0
	size := p.PixelSize()
	for i, one := range s.slices {
		if authors = max(authors, len(one.areas)); !s.Added(i) {
			lack++
		}
	}
	switch {
	case lack > 0:
		out.Withheld = fmt.Sprintf("%d of %d slices are not computed: there are no volumes in ml.", lack, len(s.slices))
	case size[0] == 0 || size[1] == 0:
		out.Withheld = "The file does not say how large a pixel is: there are no volumes in ml."
	case out.Step == 0:
		out.Withheld = "The file does not say how far its slices lie apart: there are no volumes in ml."
	case len(out.Gaps) > 0:
		out.Withheld = "Slices are missing, or their steps differ: there are no volumes in ml, since nobody has seen what lies between."
	}
	for c, class := range s.classes {
		v := Volume{Class: class}
		total, hand := make([]int, authors), 0
		for i, one := range s.slices {
			area := 0
			for author, areas := range one.areas {
				total[author] += areas[c]
			}
			if one.drawn != nil && one.drawn[c] != nil {
				area = one.hand[c]
			} else if s.Added(i) {
				area = one.areas[0][c]
			}
			v.Areas, hand = append(v.Areas, area), hand+area
		}
		if out.Withheld == "" {
			ml := func(pixels int) *float64 { return new(float64(pixels) * size[0] * size[1] * out.Step / 1000) }
			v.ML = ml(hand)
			if len(total) > 1 {
				low, high := total[0], total[0]
				for _, pixels := range total {
					low, high = min(low, pixels), max(high, pixels)
				}
				v.Low, v.High = ml(low), ml(high)
			}
		}
		out.Structures = append(out.Structures, v)
	}
	for _, one := range s.Series.Slices {
		p := Place{Slice: one.Number, File: imageio.Valid(one.Name)}
		if out.Step > 0 {
			p.Position = &one.Position
		}
		out.Slices = append(out.Slices, p)
	}
	return out
}
