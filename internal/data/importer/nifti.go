package importer

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"mrprism/internal/data/imageio"
)

// volume is the content of a NIfTI-1 file: values (d, h, w), x fastest, as they are stored. The
// importer ignores the axes' directions in the body.
type volume struct {
	w, h, d int
	values  []float32
}

// niftiHeader is the header of a NIfTI-1 file, as far as the importer reads it. Source: nifti1.h,
// https://nifti.nimh.nih.gov/nifti-1.
type niftiHeader struct {
	Size             int32 // niftiSize
	_                [36]byte
	Dim              [8]int16 // the number of axes, then their lengths
	_                [14]byte
	Datatype         int16
	_                [36]byte
	Offset           float32 // of the first value, bytes
	Slope, Intercept float32 // value = Slope · stored + Intercept, if the slope is not 0
	_                [224]byte
	Magic            [4]byte // "n+1": header and values are one file
}

const (
	niftiSize    = 348 // bytes of the header
	niftiTwoSize = 540 // the first field in NIfTI-2
)

// niftiTypes reads values of a data type, by the type's number in the header.
var niftiTypes = map[int16]func(r io.Reader, order binary.ByteOrder, values []float64) error{
	2: numbers[uint8], 4: numbers[int16], 8: numbers[int32], 16: numbers[float32], 64: numbers[float64],
	256: numbers[int8], 512: numbers[uint16], 768: numbers[uint32], 1024: numbers[int64], 1280: numbers[uint64],
}

func numbers[T int8 | uint8 | int16 | uint16 | int32 | uint32 | int64 | uint64 | float32 | float64](
	r io.Reader, order binary.ByteOrder, values []float64) error {
	stored := make([]T, len(values))
	err := binary.Read(r, order, stored)
	for i, v := range stored {
		values[i] = float64(v)
	}
	return err
}

// readNIfTI reads a .nii or .nii.gz file.
func readNIfTI(path string) (*volume, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return decodeNIfTI(bytes.NewReader(data))
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("damaged gzip: %w", err)
	}
	v, err := decodeNIfTI(z)
	if err != nil {
		return nil, err
	}
	// The checksum stands at the end of the file.
	const most = 1 << 20 // bytes after the values
	switch _, err := io.CopyN(io.Discard, z, most); {
	case err == nil:
		return nil, fmt.Errorf("damaged: more than %d MiB follow the values that its header promises", most>>20)
	case !errors.Is(err, io.EOF): // such as gzip.ErrChecksum and io.ErrUnexpectedEOF
		return nil, fmt.Errorf("damaged gzip: %w; get the file again", err)
	}
	return v, nil
}

// decodeNIfTI reads a header and exactly the values that the header promises: nothing unpacks to
// more than the limit.
func decodeNIfTI(r io.Reader) (*volume, error) {
	data := make([]byte, niftiSize)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, cut("its header", err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(data) != niftiSize {
		order = binary.BigEndian
	}
	var h niftiHeader
	if _, err := binary.Decode(data, order, &h); err != nil {
		return nil, err
	}
	switch {
	case binary.LittleEndian.Uint32(data) == niftiTwoSize, h.Size == niftiTwoSize:
		return nil, errors.New("this is NIfTI-2; save it as NIfTI-1")
	case h.Size == niftiSize && string(h.Magic[:]) == "ni1\x00":
		return nil, errors.New("header and values are two files; save them as one .nii")
	case h.Size != niftiSize || string(h.Magic[:]) != "n+1\x00":
		return nil, errors.New("this is no NIfTI-1 file")
	}
	v := &volume{}
	count, err := v.shape(h.Dim)
	if err != nil {
		return nil, err
	}
	read, known := niftiTypes[h.Datatype]
	if !known {
		return nil, fmt.Errorf("MrPrism does not read its data type %d; save it as whole numbers or floats", h.Datatype)
	}
	if !(h.Offset >= niftiSize && h.Offset <= 1<<20) {
		return nil, fmt.Errorf("damaged header: its values begin at byte %v", h.Offset)
	}
	if _, err := io.CopyN(io.Discard, r, int64(h.Offset)-niftiSize); err != nil {
		return nil, cut("its header", err)
	}
	slope, intercept := float64(h.Slope), float64(h.Intercept)
	if slope == 0 || math.IsNaN(slope) || math.IsInf(slope, 0) || math.IsNaN(intercept) || math.IsInf(intercept, 0) {
		slope, intercept = 1, 0
	}
	piece := make([]float64, 1<<16)
	for len(v.values) < count {
		stored := piece[:min(len(piece), count-len(v.values))]
		if err := read(r, order, stored); err != nil {
			return nil, cut(fmt.Sprintf("its %d values", count), err)
		}
		for _, x := range stored {
			x = slope*x + intercept
			if math.IsNaN(x) || math.Abs(x) > math.MaxFloat32 {
				return nil, fmt.Errorf("its value %d is %v", len(v.values), x)
			}
			v.values = append(v.values, float32(x))
		}
	}
	return v, nil
}

// shape takes the lengths of the axes from the header and leaves out axes of length 1 after the
// second.
func (v *volume) shape(dim [8]int16) (count int, err error) {
	axes := int(dim[0])
	if axes < 2 || axes > 7 {
		return 0, fmt.Errorf("it has %d axes; images have 2, volumes 3", axes)
	}
	lengths := []int{1, 1, 1}
	used := 0
	count = 1
	for i := range axes {
		n := int(dim[i+1])
		if n < 1 {
			return 0, fmt.Errorf("damaged header: axis %d has the length %d", i+1, n)
		}
		if i >= 2 && n == 1 {
			continue
		}
		if used == len(lengths) {
			return 0, errors.New("it has more than 3 axes; save one volume a file")
		}
		lengths[used] = n
		used++
		if count *= n; count > imageio.MaxPixels {
			return 0, fmt.Errorf("its values are too many; at most %d million are read", imageio.MaxPixels/1_000_000)
		}
	}
	v.w, v.h, v.d = lengths[0], lengths[1], lengths[2]
	return count, nil
}

// cut is the error of a file that ends before its content does.
func cut(what string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file is cut short within %s; get it again", what)
	}
	return err
}

// slice is plane i across an axis (0 x, 1 y, 2 z): its values (h, w). The lower of the other axes
// runs along the lines.
func (v *volume) slice(axis, i int) (values []float32, w, h int) {
	lengths, strides := [3]int{v.w, v.h, v.d}, [3]int{1, v.w, v.w * v.h}
	across, down := [3]int{1, 0, 0}[axis], [3]int{2, 2, 1}[axis]
	w, h = lengths[across], lengths[down]
	values = make([]float32, 0, w*h)
	for y := range h {
		for x := range w {
			values = append(values, v.values[i*strides[axis]+x*strides[across]+y*strides[down]])
		}
	}
	return values, w, h
}
