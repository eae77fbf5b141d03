package compare

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"slices"
	"strings"

	"mrprism/internal/files/nifti"
	"mrprism/internal/files/npy"
	"mrprism/weights/disk"
)

// readers read the file formats of predictions as maps (h, w).
var readers = []struct {
	extension string
	read      func(data []byte, w, h int) ([]float32, error)
}{
	{".png", readPNG}, {".npy", readNPY}, {".nii", readNIfTI}, {".nii.gz", readNIfTI},
}

// predictionName is a file's name without the extension of a known format.
func predictionName(file string) (name string, known bool) {
	for _, r := range readers {
		if at := len(file) - len(r.extension); at >= 0 && strings.EqualFold(file[at:], r.extension) {
			return file[:at], true
		}
	}
	return file, false
}

// readPrediction reads a map of probabilities (h, w). The error is a *trouble.
func readPrediction(path string, w, h int) ([]float32, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, troubled(Unreadable, "%s: cannot be read (%v)", path, disk.Cause(err))
	}
	var p []float32
	for _, r := range readers {
		if strings.HasSuffix(strings.ToLower(path), r.extension) {
			p, err = r.read(data, w, h)
		}
	}
	if err == nil {
		err = checkMap(p, w)
	}
	if bad, ok := errors.AsType[*trouble](err); ok {
		return nil, troubled(bad.Kind, "%s: %s", path, bad.Text)
	} else if err != nil {
		return nil, troubled(Unreadable, "%s: %v", path, err)
	}
	return p, nil
}

// checkMap refuses values that are no probabilities.
func checkMap(p []float32, w int) error {
	for i, v := range p {
		switch {
		case v != v:
			return troubled(NotANumber, "it holds NaN at x %d, y %d", i%w, i/w)
		case !(v >= 0 && v <= 1):
			return troubled(OutOfRange, "it holds %g at x %d, y %d; probabilities lie between 0 and 1", v, i%w, i/w)
		}
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

// readNPY reads numbers of 0 to 1. Bytes with a value above 1 are shares of 255.
func readNPY(data []byte, w, h int) ([]float32, error) {
	a, err := npy.Read(data, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	if err := checkShape(a.Shape, w, h); err != nil {
		return nil, err
	}
	if a.Bytes && slices.Max(a.Values) > 1 {
		for i := range a.Values {
			a.Values[i] /= math.MaxUint8
		}
	}
	return a.Values, nil
}

// readNIfTI reads a volume of one slice, whose first axis runs to the right.
func readNIfTI(data []byte, w, h int) ([]float32, error) {
	v, err := nifti.Read(data, math.MaxInt32)
	if err != nil {
		return nil, err
	}
	if err := checkShape([]int{v.D, v.H, v.W}, w, h); err != nil {
		return nil, err
	}
	return v.Values, nil
}

// readPNG reads grey of 8 or 16 bits as shares of white.
func readPNG(data []byte, w, h int) ([]float32, error) {
	about, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if about.Width != w || about.Height != h {
		return nil, troubled(WrongSize, "it is %d×%d pixels, and the image is %d×%d", about.Width, about.Height, w, h)
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	p := make([]float32, w*h)
	switch m := m.(type) {
	case *image.Gray:
		return p, readBytes(p, m.Pix)
	case *image.Gray16:
		for i := range p {
			p[i] = float32(binary.BigEndian.Uint16(m.Pix[2*i:])) / math.MaxUint16
		}
		return p, nil
	}
	return p, readColours(p, m)
}

// readBytes fills p with shares of 255. Bytes of 0 and 1 alone are a mask that another program
// meant otherwise.
func readBytes(p []float32, levels []byte) error {
	for i, level := range levels {
		p[i] = float32(level) / math.MaxUint8
	}
	if slices.Max(levels) == 1 {
		return errors.New("it holds 0 and 1 alone, which is black; multiply a mask of 0 and 1 by 255")
	}
	return nil
}

// readColours fills p from an opaque picture whose colours are grey.
func readColours(p []float32, m image.Image) error {
	w := m.Bounds().Dx()
	for i := range p {
		r, g, b, alpha := m.At(i%w, i/w).RGBA()
		if r != g || g != b || alpha != math.MaxUint16 {
			return fmt.Errorf("it is transparent or has a colour at x %d, y %d; save probabilities as grey", i%w, i/w)
		}
		p[i] = float32(r) / math.MaxUint16
	}
	return nil
}
