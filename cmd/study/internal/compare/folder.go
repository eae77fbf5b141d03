package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"mrprism/internal/data/dataset"
)

// folder is a method whose maps lie in files; see lister for their names.
type folder struct {
	dir   string
	data  *dataset.Dataset
	files map[place]file
	sizes map[string][2]int // of images by name: w, h

	has    map[[2]int]bool        // by rater and class: there are such maps
	nested func() ([]bool, error) // see nesting
	masks  func() bool            // see onesAlone
}

// place is what a file holds: the map of a class of an image, by the method itself (rater -1) or of
// a rater.
type place struct {
	image        string
	rater, class int
}

// labels stands in place.class for a label map: a pixel has the number of its class, from 1, or 0.
const labels = -1

// file is a prediction.
type file struct {
	path string
	fine int // the finest of several is read: 3 and 2 floats, 1 levels, 0 a mask beside a map
}

// newFolder lists a folder. Files that belong to no image, class or rater are troubles.
func newFolder(dir string, data *dataset.Dataset) (*method, []trouble, error) {
	f := &folder{dir: dir, data: data, files: map[place]file{}, sizes: map[string][2]int{}, has: map[[2]int]bool{}}
	for _, c := range data.Cases {
		f.sizes[c.Name] = [2]int{c.W, c.H}
	}
	f.nested, f.masks = sync.OnceValues(f.nesting), sync.OnceValue(f.onesAlone)
	l := lister{folder: f}
	if err := l.list(); err != nil {
		return nil, nil, err
	}
	out := &method{Source: dir, Passes: 1, predictor: f}
	for k, class := range data.Classes {
		if f.has[[2]int{-1, k}] || f.has[[2]int{-1, labels}] {
			out.Classes = append(out.Classes, class)
		}
	}
	for key := range f.has {
		out.Heads = out.Heads || key[0] >= 0
	}
	return out, l.troubles, nil
}

// Close does nothing: a folder keeps no file open.
func (f *folder) Close() {}

func (f *folder) predict(_ context.Context, s *subject) (prediction, error) {
	return filed{f, s}, nil
}

// paths are those of all files.
func (f *folder) paths() (paths []string) {
	for _, one := range f.files {
		paths = append(paths, one.path)
	}
	return paths
}

// notes say how files were read.
func (f *folder) notes(name string) (notes []string) {
	if f.has[[2]int{-1, labels}] {
		text := name + ": label maps, of 0 for the background"
		nested, _ := f.nested()
		for k, class := range f.data.Classes {
			text += fmt.Sprintf(", %d for %s", k+1, class)
			if k > 0 && nested[k] {
				text += ", which is also " + f.data.Classes[k-1]
			}
		}
		notes = append(notes, text)
	}
	if !slices.ContainsFunc(f.data.Cases, func(c dataset.Case) bool { return c.Place != nil }) && slices.ContainsFunc(f.paths(), func(path string) bool { return strings.HasPrefix(ending(path), ".nii") }) {
		notes = append(notes, name+": affines of NIfTI files are not checked, since no "+dataset.AffinesFile+" says where the images lie")
	}
	return notes
}

// filed are the maps of an image in a folder.
type filed struct {
	*folder
	*subject
}

func (f filed) pass(_, k int) ([]float32, error) { return f.read(-1, k) }

func (f filed) head(m, k int) ([]float32, error) { return f.read(m, k) }

// read reads a map; nil if the method has none of the rater and class in any image.
func (f filed) read(rater, class int) ([]float32, error) {
	if one, ok := f.files[place{f.Name, rater, class}]; ok {
		return readPrediction(one.path, f.W, f.H, f.Place, f.masks)
	}
	if one, ok := f.files[place{f.Name, rater, labels}]; ok {
		nested, err := f.nested()
		if err != nil {
			return nil, troubled(ofTheData, "%v", err)
		}
		return readLabels(one.path, f.Case, class, f.data.Classes, nested)
	}
	if f.has[[2]int{rater, class}] || f.has[[2]int{rater, labels}] {
		return nil, troubled(Missing, "%s: there is no prediction for %s", f.dir, f.Name)
	}
	return nil, nil
}

// onesAlone reports whether no readable map of integers exceeds 1: they are masks of 0 and 1, and
// not shares of 255.
func (f *folder) onesAlone() bool {
	for at, one := range f.files {
		if at.class != labels {
			size := f.sizes[at.image]
			if m, err := readFile(one.path, size[0], size[1], nil); err == nil && m.full > 0 && m.most() > 1 {
				return false
			}
		}
	}
	return true
}

const (
	// marksLookedAt is the number of images whose marks say whether classes are nested.
	marksLookedAt = 20
	// fewOutside is the share of a class's pixels outside the class before it, up to which they
	// count as raters' mistakes, as in training.
	fewOutside = 0.05
)

// nesting says of each class whether it lies in the class before it, as the first marks of the data
// set do.
func (f *folder) nesting() ([]bool, error) {
	nested := make([]bool, len(f.data.Classes))
	for k := 1; k < len(nested); k++ {
		outside, all := 0, 0
		for _, c := range f.data.Cases[:min(len(f.data.Cases), marksLookedAt)] {
			for _, paths := range c.Masks {
				if paths[k] == "" || paths[k-1] == "" {
					continue
				}
				outer, err := c.Mask(paths[k-1])
				inner, failed := c.Mask(paths[k])
				if err := cmp.Or(err, failed); err != nil {
					return nil, err
				}
				for i, v := range inner {
					all += int(v)
					outside += int(v &^ outer[i])
				}
			}
		}
		nested[k] = all > 0 && float64(outside) <= fewOutside*float64(all)
	}
	return nested, nil
}

// readLabels makes the map of a class, of 0 and 1, from a label map. A pixel of a class that is
// nested in another one belongs to both. The error is a *trouble.
func readLabels(path string, c dataset.Case, class int, classes []string, nested []bool) ([]float32, error) {
	m, err := readFile(path, c.W, c.H, c.Place)
	if err != nil {
		return nil, err
	}
	top := class + 1 // the last number that belongs to the class
	for top < len(classes) && nested[top] {
		top++
	}
	for i, v := range m.values {
		if v != float32(math.Trunc(float64(v))) || v < 0 || v > float32(len(classes)) {
			kind := OutOfRange
			if v != v {
				kind = NotANumber
			}
			return nil, troubled(kind, "%s: it holds %g at x %d, y %d; a label map has 0 for the background and 1 to %d for %s, and a map of one class is called IMAGE_CLASS",
				path, v, i%c.W, i/c.W, len(classes), strings.Join(classes, ", "))
		}
		m.values[i] = 0
		if int(v) > class && int(v) <= top {
			m.values[i] = 1
		}
	}
	return m.values, nil
}
