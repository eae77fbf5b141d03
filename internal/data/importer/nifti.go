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

// Fields of a NIfTI-1 header, by their offset in bytes. Source: nifti1.h,
// https://nifti.nimh.nih.gov/nifti-1.
const (
	niftiHeader = 348 // bytes; also the value of the first field
	niftiTwo    = 540 // the value of the first field in NIfTI-2
	atDim       = 40  // int16 ×8: how many axes, then their lengths
	atDatatype  = 70  // int16
	atOffset    = 108 // float32: where the values begin
	atSlope     = 112 // float32: value = slope · stored + intercept, if the slope is not 0
	atIntercept = 116 // float32
	atMagic     = 344 // "n+1": header and values are one file
)

// stored reads one value of a data type.
type stored struct {
	size int
	read func(order binary.ByteOrder, b []byte) float64
}

var niftiTypes = map[int16]stored{
	2:    {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) }},
	256:  {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(int8(b[0])) }},
	4:    {2, func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	512:  {2, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) }},
	8:    {4, func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	768:  {4, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) }},
	16:   {4, func(o binary.ByteOrder, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	1024: {8, func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) }},
	1280: {8, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) }},
	64:   {8, func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
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
	return v, drain(z)
}

// drain reads a gzip file on to its checksum at the end. It refuses a file that is damaged or cut
// short, or goes on for more than 1 MiB.
func drain(z *gzip.Reader) error {
	const most = 1 << 20 // bytes
	switch _, err := io.CopyN(io.Discard, z, most); {
	case err == nil:
		return fmt.Errorf("damaged: more than %d MiB follow the values that its header promises", most>>20)
	case errors.Is(err, io.EOF):
		return nil
	default: // gzip.ErrChecksum, io.ErrUnexpectedEOF and the like
		return fmt.Errorf("damaged gzip: %w; get the file again", err)
	}
}

// decodeNIfTI reads a header and exactly the values that the header promises: nothing unpacks to
// more than the limit.
func decodeNIfTI(r io.Reader) (*volume, error) {
	header := make([]byte, niftiHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return nil, cut("its header", err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if order.Uint32(header) != niftiHeader {
		order = binary.BigEndian
	}
	switch {
	case binary.LittleEndian.Uint32(header) == niftiTwo, binary.BigEndian.Uint32(header) == niftiTwo:
		return nil, errors.New("this is NIfTI-2; save it as NIfTI-1")
	case order.Uint32(header) != niftiHeader:
		return nil, errors.New("this is no NIfTI-1 file")
	case string(header[atMagic:atMagic+4]) == "ni1\x00":
		return nil, errors.New("header and values are two files; save them as one .nii")
	case string(header[atMagic:atMagic+4]) != "n+1\x00":
		return nil, errors.New("this is no NIfTI-1 file")
	}
	v := &volume{}
	count, err := v.shape(order, header)
	if err != nil {
		return nil, err
	}
	kind := int16(order.Uint16(header[atDatatype:]))
	number, known := niftiTypes[kind]
	if !known {
		return nil, fmt.Errorf("MrPrism does not read its data type %d; save it as whole numbers or floats", kind)
	}
	float := func(at int) float64 { return float64(math.Float32frombits(order.Uint32(header[at:]))) }
	offset := float(atOffset)
	if !(offset >= niftiHeader && offset <= 1<<20) {
		return nil, fmt.Errorf("damaged header: its values begin at byte %v", offset)
	}
	if _, err := io.CopyN(io.Discard, r, int64(offset)-niftiHeader); err != nil {
		return nil, cut("its header", err)
	}
	slope, intercept := float(atSlope), float(atIntercept)
	if slope == 0 || math.IsNaN(slope) || math.IsInf(slope, 0) || math.IsNaN(intercept) || math.IsInf(intercept, 0) {
		slope, intercept = 1, 0
	}
	return v, v.fill(r, count, number, order, slope, intercept)
}

// shape reads the lengths of the axes and leaves out axes of length 1 after the second.
func (v *volume) shape(order binary.ByteOrder, header []byte) (count int, err error) {
	axes := int(order.Uint16(header[atDim:]))
	if axes < 2 || axes > 7 {
		return 0, fmt.Errorf("it has %d axes; images have 2, volumes 3", axes)
	}
	lengths := []int{1, 1, 1}
	used := 0
	count = 1
	for i := range axes {
		n := int(int16(order.Uint16(header[atDim+2+2*i:])))
		if n < 1 {
			return 0, fmt.Errorf("damaged header: axis %d has the length %d", i+1, n)
		}
		if i >= 2 && n == 1 {
			continue
		}
		if used == len(lengths) {
			return 0, errors.New("it has more than 3 axes")
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

func (v *volume) fill(r io.Reader, count int, number stored, order binary.ByteOrder, slope, intercept float64) error {
	const piece = 1 << 16 // values
	buffer := make([]byte, piece*number.size)
	for len(v.values) < count {
		b := buffer[:min(piece, count-len(v.values))*number.size]
		if _, err := io.ReadFull(r, b); err != nil {
			return cut(fmt.Sprintf("its %d values", count), err)
		}
		for i := 0; i < len(b); i += number.size {
			x := slope*number.read(order, b[i:]) + intercept
			if math.IsNaN(x) || math.Abs(x) > math.MaxFloat32 {
				return fmt.Errorf("its value %d is %v", len(v.values), x)
			}
			v.values = append(v.values, float32(x))
		}
	}
	return nil
}

// cut is the error of a file that ends before its content does.
func cut(what string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the file is cut short within %s", what)
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
