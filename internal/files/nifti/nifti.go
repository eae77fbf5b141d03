// Package nifti reads a slice of a NIfTI-1 or NIfTI-2 volume.
//
// A slice lies across the third axis. It is shown as it is stored: the first axis runs to the
// right, the second down. The directions of the axes in the body are ignored; Volume.In brings a
// mask into the order of its image. Of a series, such as one in time, the first volume is read. If
// a volume is one slice, the slices of the series are its pictures. Source: nifti1.h and nifti2.h,
// https://nifti.nimh.nih.gov.
package nifti

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"io"
	"math"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

const (
	sizeOne, sizeTwo = 348, 540  // bytes of the headers
	maxUnpacked      = 256 << 20 // bytes of a compressed file that are read
	maxAxis          = 65_535
	maxOffset        = 1 << 20
	maxExtra         = 1 << 20 // bytes of a compressed file behind its values
	piece            = 1 << 16 // bytes read at once
)

// header has the fields of a file's header that the reader uses.
type header struct {
	order            binary.ByteOrder
	axes             [7]int64 // lengths
	datatype         int
	offset           int64 // of the first value, bytes
	slope, intercept float64
	low, high        float64 // values that the file wants black and white; equal: none
	spacing          [2]float64
	geometry         *Geometry // its slice is 0
}

// datatypes are the types of values by their number: how many bytes a value has, and how it is
// read.
var datatypes = map[int]struct {
	size int64
	read func(o binary.ByteOrder, b []byte) float64
}{
	2:    {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(b[0]) }},
	4:    {2, func(o binary.ByteOrder, b []byte) float64 { return float64(int16(o.Uint16(b))) }},
	8:    {4, func(o binary.ByteOrder, b []byte) float64 { return float64(int32(o.Uint32(b))) }},
	16:   {4, func(o binary.ByteOrder, b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) }},
	64:   {8, func(o binary.ByteOrder, b []byte) float64 { return math.Float64frombits(o.Uint64(b)) }},
	256:  {1, func(_ binary.ByteOrder, b []byte) float64 { return float64(int8(b[0])) }},
	512:  {2, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint16(b)) }},
	768:  {4, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint32(b)) }},
	1024: {8, func(o binary.ByteOrder, b []byte) float64 { return float64(int64(o.Uint64(b))) }},
	1280: {8, func(o binary.ByteOrder, b []byte) float64 { return float64(o.Uint64(b)) }},
	128:  {size: 3}, // colours
	2304: {size: 4},
}

var unread = map[int]string{1: "single bits", 32: "complex numbers", 1536: "floats of 128 bits", 1792: "complex numbers", 2048: "complex numbers"}

// Is reports whether data is a NIfTI file, or gzip.
func Is(data []byte) bool {
	if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return true
	}
	return magic(data) || IsHeader(data)
}

// magic reports whether data begins with the header of a file that also has the values.
func magic(data []byte) bool {
	return len(data) >= sizeOne && (string(data[344:348]) == "n+1\x00" || string(data[4:12]) == "n+2\x00\r\n\x1a\n")
}

// Open reads the header; slice counts from 1, and 0 is the middle of the first volume. Errors are
// plain, raster.Unsupported or raster.NoSlice.
func Open(data []byte, slice int, _ raster.JPEG) (*raster.Frame, error) {
	return open(data, slice, nil)
}

func open(data []byte, slice int, known *shared) (*raster.Frame, error) {
	r, err := unpacked(data)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	depth, slices := h.axes[2], int64(1)
	for _, n := range h.axes[2:] {
		slices *= n
	}
	pictures := depth
	if depth == 1 {
		pictures = slices
	}
	size := datatypes[h.datatype].size
	plane := h.axes[0] * h.axes[1] * size
	packed := data[0] == 0x1f
	switch limit := int64(maxUnpacked); {
	case packed && h.offset+plane*slices > limit:
		return nil, raster.Unsupported(fmt.Sprintf("a compressed file of more than %d MiB of values; unpack it with gunzip first", limit>>20))
	case !packed && h.offset+plane*slices > int64(len(data)):
		return nil, h.missing(data)
	case slice < 0 || int64(slice) > pictures:
		return nil, raster.NoSlice(pictures)
	case slice == 0:
		slice = int(depth/2) + 1
	}
	v := &volume{header: h, data: data, size: size, plane: plane, number: datatypes[h.datatype].read, at: int64(slice-1) % depth, first: (int64(slice - 1)) / depth * depth, slices: slices, known: known}
	pixels := h.axes[0] * h.axes[1]
	h.geometry.slice = int(v.at)
	return &raster.Frame{
		Header: h.geometry, W: int(h.axes[0]), H: int(h.axes[1]), Orientation: 1, Spacing: h.spacing, Slice: slice, Slices: int(pictures),
		Memory: pixels*12 + piece + raster.RangeMemory + 1<<20, Decode: v.decode, Cut: &v.cut, Apart: v.apart(),
	}, nil
}

// unpacked reads data, unpacked if it is gzip.
func unpacked(data []byte) (io.Reader, error) {
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return bytes.NewReader(data), nil
	}
	z, err := unzip(data)
	if err != nil {
		return nil, short(err)
	}
	return z, nil
}

// short rewords the error of a file that ends too early.
func short(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return raster.ErrShort
	}
	return err
}

// readHeader reads and checks a header of either version, and leaves r just after it.
func readHeader(r io.Reader) (*header, error) {
	b := make([]byte, sizeOne)
	if n, err := io.ReadFull(r, b); err != nil {
		if n >= 4 && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, err
		}
		return nil, errors.New("it holds no NIfTI volume, or the file is cut short")
	}
	pair := IsHeader(b)
	if !magic(b) && !pair {
		return nil, raster.Unsupported("a gzip archive without a NIfTI volume")
	}
	h := &header{order: binary.LittleEndian}
	two := string(b[4:7]) == "n+2" || string(b[4:7]) == "ni2"
	if size := h.order.Uint32(b); size != sizeOne && size != sizeTwo {
		h.order = binary.BigEndian
	}
	float := func(at int) float64 { return float64(math.Float32frombits(h.order.Uint32(b[at:]))) }
	double := func(at int) float64 { return math.Float64frombits(h.order.Uint64(b[at:])) }
	var count int64
	var pixels [3]float64
	var units byte
	if two {
		rest := make([]byte, sizeTwo-sizeOne)
		if _, err := io.ReadFull(r, rest); err != nil {
			return nil, short(err)
		}
		b = append(b, rest...)
		h.datatype, count = int(h.order.Uint16(b[12:])), int64(h.order.Uint64(b[16:]))
		for i := range h.axes {
			h.axes[i] = int64(h.order.Uint64(b[24+8*i:]))
		}
		pixels, units = [3]float64{double(112), double(120), double(128)}, b[500]
		if h.order == binary.BigEndian {
			units = b[503]
		}
		h.offset, h.slope, h.intercept = int64(h.order.Uint64(b[168:])), double(176), double(184)
		h.high, h.low = double(192), double(200)
	} else {
		h.datatype, count = int(h.order.Uint16(b[70:])), int64(int16(h.order.Uint16(b[40:])))
		for i := range h.axes {
			h.axes[i] = int64(int16(h.order.Uint16(b[42+2*i:])))
		}
		pixels, units = [3]float64{float(80), float(84), float(88)}, b[123]
		h.slope, h.intercept, h.high, h.low = float(112), float(116), float(124), float(128)
		if offset := float(108); offset >= 0 && offset <= maxOffset {
			h.offset = int64(offset)
		}
	}
	if pair {
		h.offset += int64(len(b)) // it counts in the file of the values
	}
	h.geometry = geometry(b, h.order, two)
	scale := map[byte]float64{0: 1, 1: 1000, 2: 1, 3: 1e-3}[units&7]
	for i, v := range pixels {
		if v = math.Abs(v) * scale; !raster.Length(v) {
			continue
		}
		if i < 2 {
			h.spacing[i] = v
		} else {
			h.geometry.step = v
		}
	}
	err := h.check(r, int64(len(b)), count)
	if pair && err == raster.ErrShort {
		err = errPair // the file has only the header
	}
	return h, err
}

// check refuses a file that cannot be read, and skips the bytes between header and values.
func (h *header) check(r io.Reader, read, count int64) error {
	if count < 2 || count > 7 {
		return fmt.Errorf("it declares %d axes", count)
	}
	values := int64(1)
	for i := range h.axes {
		if int64(i) >= count || i >= 2 && h.axes[i] == 0 {
			h.axes[i] = 1
		}
		if n := h.axes[i]; n < 1 || n > maxAxis && i < 2 || n > math.MaxInt32 {
			return fmt.Errorf("its axis %d has the length %d", i+1, n)
		}
		if values > math.MaxInt64/(16*h.axes[i]) {
			return errors.New("its axes are too long")
		}
		values *= h.axes[i]
	}
	if _, known := datatypes[h.datatype]; !known {
		if name := unread[h.datatype]; name != "" {
			return raster.Unsupported(name)
		}
		return raster.Unsupported(fmt.Sprintf("the data type %d", h.datatype))
	}
	if h.offset < read || h.offset > maxOffset {
		return fmt.Errorf("its values begin at byte %d", h.offset)
	}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	if h.slope == 0 || !finite(h.slope) || !finite(h.intercept) {
		h.slope, h.intercept = 1, 0
	}
	if !finite(h.low) || !finite(h.high) || h.high <= h.low {
		h.low, h.high = 0, 0
	}
	_, err := io.CopyN(io.Discard, r, h.offset-read)
	return short(err)
}

// volume says where a slice lies in a file.
type volume struct {
	*header
	data        []byte
	size, plane int64                                           // bytes of a value and of a slice
	number      func(o binary.ByteOrder, stored []byte) float64 // nil: colours
	first, at   int64                                           // the first slice of the volume among all; the slice within the volume
	slices      int64                                           // of all volumes
	known       *shared                                         // nil: one slice is wanted
	cut         raster.Span
}

// decode reads the volume piece by piece. It keeps the slice, and finds the range of the whole
// volume: black and white are the same in all of its slices.
func (v *volume) decode() (image.Image, error) {
	r, err := unpacked(v.data)
	if err == nil {
		_, err = io.CopyN(io.Discard, r, v.offset+v.first*v.plane)
	}
	if err != nil {
		return nil, short(err)
	}
	if v.number == nil {
		return v.colours(r)
	}
	w, h := int(v.axes[0]), int(v.axes[1])
	if v.known != nil {
		return v.ofMany(w, h)
	}
	slice := make([]float32, w*h)
	counter := counter{volume: v, histogram: raster.NewHistogram(), narrow: make([]uint32, 1<<16)}
	buffer := make([]byte, piece)
	for z := range v.axes[2] {
		for done := int64(0); done < v.plane; {
			pulse.Beat()
			part := buffer[:min(piece, v.plane-done)]
			if _, err := io.ReadFull(r, part); err != nil {
				return nil, short(err)
			}
			counter.count(part)
			for i := int64(0); z == v.at && i < int64(len(part)); i += v.size {
				slice[(done+i)/v.size] = v.value(part[i:])
			}
			done += int64(len(part))
		}
	}
	if err := v.readRest(r, v.slices-v.first-v.axes[2]); err != nil {
		return nil, err
	}
	var shown raster.Span
	shown, v.cut = counter.shown()
	return raster.Grey(slice, w, h, shown.Low, shown.High, false), nil
}

// value is a value as the header scales it.
func (v *volume) value(stored []byte) float32 {
	return float32(v.slope*v.number(v.order, stored) + v.intercept)
}

// counter counts values. It counts stored values of up to two bytes unscaled, which is faster.
type counter struct {
	*volume
	histogram *raster.Histogram
	narrow    []uint32
}

func (c *counter) count(part []byte) {
	switch c.size {
	case 1:
		for _, b := range part {
			c.narrow[b]++
		}
	case 2:
		for ; len(part) > 0; part = part[2:] {
			c.narrow[binary.LittleEndian.Uint16(part)]++
		}
	default:
		for ; len(part) > 0; part = part[c.size:] {
			c.histogram.Add(c.value(part), 1)
		}
	}
}

// shown is the range of all counted values that is shown, and raster.Frame.Cut.
func (c *counter) shown() (shown, cut raster.Span) {
	for stored, n := range c.narrow {
		if n > 0 {
			c.histogram.Add(c.value([]byte{byte(stored), byte(stored >> 8)}), n)
		}
	}
	shown.Low, shown.High = c.histogram.Range(raster.Span{Low: c.low, High: c.high}, raster.Span{})
	return shown, c.histogram.Cut(shown)
}

// readRest reads a compressed file to its end, to check its checksum. `left` slices have not been
// read yet.
func (v *volume) readRest(r io.Reader, left int64) error {
	if _, packed := r.(*members); !packed {
		return nil
	}
	switch _, err := io.CopyN(io.Discard, r, left*v.plane+maxExtra); {
	case err == nil:
		return fmt.Errorf("more than %d MiB follow the values that its header promises", maxExtra>>20)
	case err != io.EOF:
		return short(err)
	}
	return nil
}

// colours reads a slice of RGB.
func (v *volume) colours(r io.Reader) (image.Image, error) {
	if _, err := io.CopyN(io.Discard, r, v.at*v.plane); err != nil {
		return nil, short(err)
	}
	w, h := int(v.axes[0]), int(v.axes[1])
	m, line := image.NewNRGBA(image.Rect(0, 0, w, h)), make([]byte, int64(w)*v.size)
	for y := range h {
		if _, err := io.ReadFull(r, line); err != nil {
			return nil, short(err)
		}
		for x := range w {
			p := m.Pix[y*m.Stride+4*x:]
			p[3] = 255
			copy(p[:v.size], line[int64(x)*v.size:])
		}
	}
	opaque(m.Pix)
	return m, v.readRest(r, v.slices-v.first-v.at-1)
}

// opaque makes all pixels opaque if all are transparent, since such alpha is meaningless.
func opaque(pix []uint8) {
	for i := 3; i < len(pix); i += 4 {
		if pix[i] != 0 {
			return
		}
	}
	for i := 3; i < len(pix); i += 4 {
		pix[i] = 255
	}
}
