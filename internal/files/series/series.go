// Package series orders the slices of a volume: those of a NIfTI, the frames of a DICOM file, the
// pages of a TIFF, or a folder of DICOM files of one frame each.
//
// Slices are ordered by their place along the normal of their plane (DICOM PS3.3 C.7.6.2.1.1). A
// file keeps its own direction. What makes no volume is refused, and the error names the files: two
// series, orientations, sizes or frames of reference, two slices at one place, colours, times. A
// gap, a step that differs by more than a tenth from the median, is no error; it leaves no volume
// in ml, since nobody has seen what lies in it.
package series

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/nifti"
)

// File is a file with one slice or all. Its errors name it.
type File struct {
	Name string
	Read func() ([]byte, error)
}

// Series is the slices of a volume in their order.
type Series struct {
	Name   string
	Slices []Slice
	Step   float64  // mm between neighbours along the normal, the median; 0: the files do not say
	Gaps   []string // between which slices steps are others, for people

	files   []File
	decode  func(picture int) (*imageio.Image, error) // of the one file
	through [3]float64                                // mm from a slice to the next one
	uneven  bool                                      // the slices of DICOM do not lie on a line with one step
}

// Slice is a slice of a series.
type Slice struct {
	Name     string  // of its file
	Number   int     // of the slice, from 1: in the file, as -slice counts, or in the folder's order
	Position float64 // mm along the normal; 0 where Step is 0
	Header   any     // as imageio.Image.Header

	File          int     // its place in the files of New
	size          [2]int  // pixels
	step          float64 // mm to the next one, as a TIFF says; 0: not said
	series, space string  // UIDs
	placed        bool    // as dicom.Header.Place, which has the steps and the origin
	right, down   [3]float64
	origin        [3]float64
}

// New orders the slices of one file, or of several files of one frame each. name is the series' in
// errors. It reads each file once, and keeps the content of one file.
func New(name string, files []File) (*Series, error) {
	s := &Series{Name: name, files: files}
	for i, f := range files {
		data, err := f.Read()
		if err != nil {
			return nil, err
		}
		pictures := 1
		for n := 1; n <= pictures; n++ {
			info, err := imageio.HeaderSlice(f.Name, data, n)
			if err != nil {
				return nil, err
			}
			switch pictures = info.Slices; {
			case pictures > 1 && len(files) > 1:
				return nil, fmt.Errorf("%s has %d frames, and a folder's series has one a file; take that file alone", f.Name, pictures)
			case info.Apart != "" && (pictures > 1 || len(files) > 1):
				return nil, fmt.Errorf("%s makes no volume: %s; take its pictures one by one", f.Name, info.Apart)
			}
			one := Slice{Name: f.Name, Number: n, Header: info.Header, File: i, step: info.Step, size: [2]int{info.W, info.H}} // not info, which keeps the content
			if h, ok := info.Header.(*dicom.Header); ok {
				one.series, one.space = h.Series(), h.Space()
				one.right, one.down, _, one.origin, one.placed = h.Place()
			}
			s.Slices = append(s.Slices, one)
		}
		if len(files) == 1 {
			if s.decode, err = imageio.Pictures(f.Name, data); err != nil {
				return nil, err
			}
		}
	}
	if len(s.Slices) == 0 {
		return nil, fmt.Errorf("%s has no slices; name a file or a folder of DICOM slices", name)
	}
	if err := s.alike(); err != nil {
		return nil, err
	}
	return s, s.order()
}

// Read decodes slice i of Slices. Slice and Slices of the image are its number in the series.
func (s *Series) Read(i int) (m *imageio.Image, err error) {
	one := s.Slices[i]
	if s.decode != nil {
		m, err = s.decode(one.Number)
	} else {
		var data []byte
		if data, err = s.files[one.File].Read(); err == nil {
			m, err = imageio.Decode(one.Name, data)
		}
	}
	if err != nil {
		return nil, err
	}
	m.Slice, m.Slices = one.Number, len(s.Slices)
	return m, nil
}

// Preferred decodes the picture that its one file shows by itself.
func (s *Series) Preferred() (*imageio.Image, error) { return s.decode(0) }

// Geometry says where all slices lie; nil: the files do not say, or NIfTI cannot.
func (s *Series) Geometry() *nifti.Geometry {
	first := s.Slices[0]
	switch g, ok := first.Header.(*nifti.Geometry); {
	case ok:
		return g.Whole()
	case first.placed && !s.uneven && s.Step > 0:
		return nifti.Scanner(first.right, first.down, s.through, first.origin)
	}
	return nil
}

// Uneven says why the slices do not lie as the layers of a NIfTI volume; nil: they do.
func (s *Series) Uneven() error {
	if !s.uneven {
		return nil
	}
	return fmt.Errorf("the slices of %s do not lie in even steps (%s), and a NIfTI volume has one step; take dicom-seg, or complete the series",
		s.Name, cmp.Or(strings.Join(s.Gaps, "; "), "some lie aside"))
}

// alike returns an error that names two kinds of slices, and how many there are of each.
func (s *Series) alike() error {
	first, count := s.Slices[0], [2]int{}
	at := slices.IndexFunc(s.Slices, func(one Slice) bool { return first.unlike(one)[0] != "" })
	if at < 0 {
		return nil
	}
	other := s.Slices[at]
	for _, one := range s.Slices {
		for i, kind := range []Slice{first, other} {
			if kind.unlike(one)[0] == "" {
				count[i]++
			}
		}
	}
	what := first.unlike(other)
	return fmt.Errorf("%s has more than one %s: %s (%d slices, as %s) and %s (%d slices, as %s); keep one in a folder of its own",
		s.Name, what[0], what[1], count[0], s.called(first), what[2], count[1], s.called(other))
}

// unlike is in what two slices cannot be of one series, and of what kind each is; empty: in
// nothing.
func (one Slice) unlike(other Slice) [3]string {
	near := func(a, b [3]float64) bool { return length(minus(a, b)) <= 0.01*length(a) }
	kind := func(s Slice) string { return fmt.Sprintf("right %.3g, down %.3g mm", s.right, s.down) }
	switch {
	case one.series != other.series:
		return [3]string{"series", one.series, other.series}
	case one.size != other.size:
		return [3]string{"size", fmt.Sprint(one.size), fmt.Sprint(other.size)}
	case one.placed && other.placed && !(near(one.right, other.right) && near(one.down, other.down)):
		return [3]string{"orientation or size of a pixel", kind(one), kind(other)}
	case one.space != other.space:
		return [3]string{"frame of reference", one.space, other.space}
	}
	return [3]string{}
}

// called is a slice's name in messages.
func (s *Series) called(one Slice) string {
	if len(s.files) > 1 {
		return filepath.Base(one.Name)
	}
	return fmt.Sprintf("slice number %d", one.Number)
}

// order sorts the slices by their places, and finds steps and gaps.
func (s *Series) order() error {
	first, all := s.Slices[0], s.Slices
	s.Step = first.step
	if g, ok := first.Header.(*nifti.Geometry); ok {
		s.Step = g.Step()
	}
	if s.Step > 0 {
		for i := range all {
			all[i].Position = float64(i) * s.Step
		}
	}
	if slices.ContainsFunc(all, func(one Slice) bool { return !one.placed }) && len(s.files) > 1 {
		return fmt.Errorf("%s: the files do not say where their slices lie (Image Position, Image Orientation, Pixel Spacing, Frame of Reference UID); "+
			"export them again from where they came from, or take them one by one", s.Name)
	} else if !first.placed || len(all) == 1 {
		return nil
	}
	normal := cross(first.right, first.down)
	normal = times(normal, 1/length(normal))
	for i := range all {
		all[i].Position = dot(all[i].origin, normal)
	}
	sign := 1.
	if len(s.files) == 1 && all[len(all)-1].Position < all[0].Position {
		sign = -1
	}
	slices.SortStableFunc(all, func(a, b Slice) int { return cmp.Compare(sign*a.Position, sign*b.Position) })
	var steps []float64
	for i := range all {
		if len(s.files) > 1 {
			all[i].Number = i + 1
		}
		if i > 0 {
			steps = append(steps, sign*(all[i].Position-all[i-1].Position))
		}
	}
	each := 1 + max(0, slices.IndexFunc(steps, func(step float64) bool { return step >= same })) // slices at the first place
	if each > 1 && evenly(steps, each) {
		return fmt.Errorf("%s has %d slices at each of %d places, such as one for each time or echo (%s, %s); keep one of each in a folder of its own",
			s.Name, each, len(all)/each, s.called(all[0]), s.called(all[1]))
	}
	for i, step := range steps {
		if step < same {
			return fmt.Errorf("%s: %s and %s lie at one place, %.4g mm; leave one of them out", s.Name, s.called(all[i]), s.called(all[i+1]), all[i].Position)
		}
	}
	s.Step = slices.Sorted(slices.Values(steps))[len(steps)/2]
	s.through = times(minus(all[len(all)-1].origin, all[0].origin), 1/float64(len(all)-1))
	for i, step := range steps {
		if math.Abs(step-s.Step) > tolerance*s.Step {
			s.Gaps = append(s.Gaps, fmt.Sprintf("%.4g mm between %s and %s, and elsewhere %.4g mm", step, s.called(all[i]), s.called(all[i+1]), s.Step))
		}
		aside := length(minus(minus(all[i].origin, all[0].origin), times(s.through, float64(i))))
		s.uneven = s.uneven || aside > tolerance*s.Step
	}
	return nil
}

const (
	same      = 0.01 // mm: nearer slices lie at one place
	tolerance = 0.1  // of the step, by which others differ
)

// evenly reports whether every place has n slices.
func evenly(steps []float64, n int) bool {
	for i, step := range steps {
		if (step < same) == ((i+1)%n == 0) {
			return false
		}
	}
	return (len(steps)+1)%n == 0
}

func dot(a, b [3]float64) float64 { return a[0]*b[0] + a[1]*b[1] + a[2]*b[2] }

func length(a [3]float64) float64 { return math.Sqrt(dot(a, a)) }

func minus(a, b [3]float64) [3]float64 {
	return [3]float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]}
}

func times(a [3]float64, by float64) [3]float64 { return [3]float64{a[0] * by, a[1] * by, a[2] * by} }

func cross(a, b [3]float64) [3]float64 {
	return [3]float64{a[1]*b[2] - a[2]*b[1], a[2]*b[0] - a[0]*b[2], a[0]*b[1] - a[1]*b[0]}
}
