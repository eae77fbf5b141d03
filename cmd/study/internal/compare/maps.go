package compare

import (
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	"mrprism/cmd/study/internal/numpy"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/nifti"
	"mrprism/internal/files/text"
	"mrprism/internal/files/tiff"
	"mrprism/weights/disk"
)

// formats read the file formats of predictions by the endings of names.
var formats = map[string]func(data []byte, w, h int) (*numbers, error){
	".png": readPNG, ".tif": readTIFF, ".tiff": readTIFF, ".npy": readNPY, ".nii": readNIfTI, ".nii.gz": readNIfTI,
}

// endings are those of formats.
func endings() []string { return slices.Sorted(maps.Keys(formats)) }

// numbers are the values of a file (h, w), as stored.
type numbers struct {
	values []float32
	full   float64         // white, of values that are levels; 0: they are no levels
	place  *nifti.Geometry // of a NIfTI
}

func (n *numbers) most() float32 { return slices.Max(n.values) }

// ending is that of a known format, in lower case; empty for others.
func ending(file string) string {
	file = strings.ToLower(file)
	for _, e := range endings() {
		if strings.HasSuffix(file, e) {
			return e
		}
	}
	return ""
}

// cutFormat is a file's name, in composed Unicode (NFC), without the ending of a known format.
func cutFormat(file string) (stem string, known bool) {
	e := ending(file)
	return text.Composed(file[:len(file)-len(e)]), e != ""
}

// readFile reads a file of an image of w × h pixels. A NIfTI must lie where the image does, if that
// is known. The error is a *trouble.
func readFile(path string, w, h int, place *nifti.Geometry) (*numbers, error) {
	data, err := disk.ReadFile(path)
	if err != nil {
		return nil, troubled(Unreadable, "%s: cannot be read (%v)", path, disk.Cause(err))
	}
	n, err := formats[ending(path)](data, w, h)
	if err == nil {
		if elsewhere := n.place.Fits(place); elsewhere != nil {
			err = troubled(Misplaced, "%v", elsewhere)
		}
	}
	return n, inFile(path, err)
}

// inFile is an error as a trouble of a file; nil for nil.
func inFile(path string, err error) error {
	if err == nil {
		return nil
	}
	if bad, ok := errors.AsType[*trouble](err); ok {
		return troubled(bad.Kind, "%s: %s", path, bad.Text)
	}
	return troubled(Unreadable, "%s: %v", path, err)
}

// readPrediction reads a map of probabilities (h, w). Levels of 0 and 1 alone are a mask if masks
// says so. The error is a *trouble.
func readPrediction(path string, w, h int, place *nifti.Geometry, masks func() bool) ([]float32, error) {
	n, err := readFile(path, w, h, place)
	if err != nil {
		return nil, err
	}
	if n.full > 0 && !(n.most() == 1 && masks()) {
		for i := range n.values {
			n.values[i] = float32(float64(n.values[i]) / n.full)
		}
	}
	if err := checkMap(n.values, w); err != nil {
		return nil, inFile(path, err)
	}
	return n.values, nil
}

// rounded is how far a probability may lie beyond 0 or 1: sums of float32 do.
const rounded = 1e-5

// checkMap refuses values that are no probabilities. Those that rounding took beyond 0 or 1 become
// 0 or 1.
func checkMap(p []float32, w int) error {
	for i, v := range p {
		switch {
		case v != v:
			return troubled(NotANumber, "it holds NaN at x %d, y %d", i%w, i/w)
		case !(v >= -rounded && v <= 1+rounded):
			return troubled(OutOfRange, "it holds %g at x %d, y %d; probabilities lie between 0 and 1", v, i%w, i/w)
		}
		p[i] = min(max(v, 0), 1)
	}
	return nil
}

// checkShape refuses an array that is not h lines of w values. Axes of length 1 do not count.
func checkShape(shape []int, w, h int) error {
	long := slices.DeleteFunc(slices.Clone(shape), func(n int) bool { return n == 1 })
	want := slices.DeleteFunc([]int{h, w}, func(n int) bool { return n == 1 })
	if slices.Equal(long, want) {
		return nil
	}
	hint := ""
	if slices.Reverse(want); slices.Equal(long, want) {
		hint = "; are its axes exchanged?"
	}
	return troubled(WrongSize, "its shape is %v, and the image has %d lines of %d pixels%s", shape, h, w, hint)
}

func readNPY(data []byte, w, h int) (*numbers, error) {
	a, err := numpy.Read(data, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	return &numbers{values: a.Values, full: a.Full}, checkShape(a.Shape, w, h)
}

// readNIfTI reads a volume of one slice, whose first axis runs to the right.
func readNIfTI(data []byte, w, h int) (*numbers, error) {
	v, err := nifti.Read(data, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	return &numbers{values: v.Values, place: v.Place}, checkShape([]int{v.D, v.H, v.W}, w, h)
}

func readTIFF(data []byte, w, h int) (*numbers, error) {
	values, across, down, full, err := tiff.Values(data, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	return &numbers{values: values, full: full}, checkSize(across, down, w, h)
}

func checkSize(across, down, w, h int) error {
	if across != w || down != h {
		return troubled(WrongSize, "it is %d×%d pixels, and the image is %d×%d", across, down, w, h)
	}
	return nil
}

// readPNG reads grey of 8 or 16 bits, and the numbers of a palette's colours.
func readPNG(data []byte, w, h int) (*numbers, error) {
	levels, across, down, white, err := dataset.Levels("it", data)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "it: "))
	}
	n := &numbers{values: make([]float32, len(levels)), full: float64(white)}
	for i, v := range levels {
		n.values[i] = float32(v)
	}
	return n, checkSize(across, down, w, h)
}
