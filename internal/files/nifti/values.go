package nifti

import (
	"errors"
	"fmt"
	"io"
	"math"

	"mrprism/internal/files/raster"
)

// Volume is all values of a file.
type Volume struct {
	W, H, D int
	Values  []float32 // (D, H, W)
	Place   *Geometry // of the first slice
}

// Read reads all values of a file with at most three axes longer than 1. most is the largest number
// of values. Errors are plain or raster.Unsupported.
func Read(data []byte, most int64) (*Volume, error) {
	packed := len(data) > 1 && data[0] == 0x1f && data[1] == 0x8b
	if !packed && len(data) >= sizeOne && !magic(data) && !IsHeader(data) {
		return nil, errors.New("this is no NIfTI file")
	}
	r, err := unpacked(data)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	w, height, depth := h.axes[0], h.axes[1], int64(1)
	for _, n := range h.axes[2:] {
		if n > 1 && depth > 1 {
			return nil, errors.New("it has more than 3 axes; save one volume a file")
		}
		depth *= n
	}
	kind, count := datatypes[h.datatype], w*height*depth
	switch {
	case count > most:
		return nil, fmt.Errorf("its %d values are too many; at most %d million are read", count, most/1_000_000)
	case kind.read == nil:
		return nil, raster.Unsupported("colours in NIfTI")
	case !packed && h.offset+count*kind.size > int64(len(data)):
		return nil, h.missing(data)
	}
	v := &volume{header: h, data: data, size: kind.size, plane: w * height * kind.size, slices: depth}
	out, buffer := make([]float32, 0, min(count, piece)), make([]byte, piece)
	for left := count * kind.size; left > 0; {
		part := buffer[:min(piece, left)]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, short(err)
		}
		for ; len(part) > 0; part = part[kind.size:] {
			value := v.slope*kind.read(h.order, part) + v.intercept
			if !(math.Abs(value) <= math.MaxFloat32) {
				return nil, fmt.Errorf("its value %d is %v", len(out), value)
			}
			out = append(out, float32(value))
		}
		left -= min(piece, left)
	}
	return &Volume{int(w), int(height), int(depth), out, h.geometry}, v.readRest(r, 0)
}

// Slice is plane i across an axis (0 x, 1 y, 2 z): its values (h, w). The lower of the other axes
// runs along the lines.
func (v *Volume) Slice(axis, i int) (values []float32, w, h int) {
	lengths, strides := [3]int{v.W, v.H, v.D}, [3]int{1, v.W, v.W * v.H}
	across, down := [3]int{1, 0, 0}[axis], [3]int{2, 2, 1}[axis]
	w, h = lengths[across], lengths[down]
	values = make([]float32, 0, w*h)
	for y := range h {
		for x := range w {
			values = append(values, v.Values[i*strides[axis]+x*strides[across]+y*strides[down]])
		}
	}
	return values, w, h
}
