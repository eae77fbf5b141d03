package nifti

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"image"
	"io"
	"math"
	"sync"

	"mrprism/internal/files/raster"
	"mrprism/shaders/pulse"
)

// shared is what the slices of a volume have in common.
type shared struct {
	count      sync.Once
	shown, cut raster.Span
}

// Shared is Open for many slices of one file, which Unpack has unpacked. It counts the values of the
// volume once. Slices may be decoded at the same time.
func Shared() func(data []byte, slice int, _ raster.JPEG) (*raster.Frame, error) {
	known := &shared{}
	return func(data []byte, slice int, _ raster.JPEG) (*raster.Frame, error) { return open(data, slice, known) }
}

// Unpack unpacks a compressed file that Open takes; any other is itself.
func Unpack(data []byte) ([]byte, error) {
	if !bytes.HasPrefix(data, []byte("\x1f\x8b")) {
		return data, nil
	}
	r, err := unpacked(data)
	if err != nil {
		return nil, err
	}
	h, err := readHeader(r)
	if err != nil {
		return nil, err
	}
	size := h.offset + datatypes[h.datatype].size
	for _, n := range h.axes {
		size += (size - h.offset) * (n - 1)
	}
	if size > maxUnpacked {
		return nil, raster.Unsupported(fmt.Sprintf("a compressed file of more than %d MiB of values", maxUnpacked>>20))
	}
	if r, err = unpacked(data); err != nil { // once more, with the header
		return nil, err
	}
	plain := make([]byte, size)
	if _, err := io.ReadFull(pulse.Reader(r), plain); err != nil {
		return nil, short(err)
	}
	return plain, (&volume{header: h}).readRest(r, 0)
}

// ofMany decodes one of many slices of the first volume.
func (v *volume) ofMany(w, h int) (image.Image, error) {
	values := v.data[v.offset:]
	v.known.count.Do(func() {
		c := counter{volume: v, histogram: raster.NewHistogram(), narrow: make([]uint32, 1<<16)}
		for rest := values[:v.axes[2]*v.plane]; len(rest) > 0; {
			pulse.Beat()
			n := min(piece, len(rest))
			c.count(rest[:n])
			rest = rest[n:]
		}
		v.known.shown, v.known.cut = c.shown()
	})
	slice, stored := make([]float32, w*h), values[v.at*v.plane:]
	for i := range slice {
		slice[i] = v.value(stored[int64(i)*v.size:])
	}
	v.cut = v.known.cut
	return raster.Grey(slice, w, h, v.known.shown.Low, v.known.shown.High, false), nil
}

// apart is raster.Frame.Apart.
func (v *volume) apart() string {
	switch {
	case v.number == nil:
		return "it is in colour"
	case v.slices > v.axes[2]:
		return fmt.Sprintf("it has %d volumes along a fourth axis, such as time", v.slices/v.axes[2])
	}
	return ""
}

// Whole is the geometry of all slices.
func (g *Geometry) Whole() *Geometry {
	whole := *g
	whole.slice = 0
	return &whole
}

// Step is how far a slice is from the one before, mm along their normal; 0: unknown. Along the third
// axis it is farther in a sheared volume, as of a tilted gantry.
func (g *Geometry) Step() float64 {
	a, known := g.placing()
	if !known {
		return g.step
	}
	var normal [3]float64
	for i := range 3 {
		k, m := (i+1)%3, (i+2)%3
		normal[i] = a[k][0]*a[m][1] - a[m][0]*a[k][1]
	}
	along, across, third := 0., 0., 0.
	for i, v := range normal {
		along, across, third = along+v*a[i][2], across+v*v, third+a[i][2]*a[i][2]
	}
	if across*third == 0 {
		return g.step
	}
	return g.step * math.Abs(along) / math.Sqrt(across*third)
}

// EncodeSeries writes a compressed volume (slices, h, w). Levels, mask and about are as in Encode. g
// is the geometry of all slices; if it is nil, spacing is mm a voxel, 0 if unknown.
func EncodeSeries(w, h, slices int, g *Geometry, spacing [3]float64, about string, plane func(i int) []uint8, mask bool) ([]byte, error) {
	place := Geometry{mirror: 1, pixels: [3]float64{1, 1, 1}}
	if g != nil {
		place = *g
	} else if spacing[0] > 0 && spacing[1] > 0 && spacing[2] > 0 {
		place.units, place.pixels = 2, spacing
	}
	head := place.header(w, h, slices, 8, about, mask)
	at := layouts[len(head) > sizeTwo]
	for i, n := range []int{3, w, h, slices, 1} { // the slices lie along the third axis
		if at.size == sizeTwo {
			binary.LittleEndian.PutUint64(head[at.dimensions+8*i:], uint64(n))
		} else {
			binary.LittleEndian.PutUint16(head[at.dimensions+2*i:], uint16(n))
		}
	}
	var out bytes.Buffer
	z := gzip.NewWriter(pulse.Writer(&out))
	z.Write(head)
	for i := range slices {
		levels := plane(i)
		for k, v := range levels {
			if mask {
				levels[k] = v >> 7
			}
		}
		z.Write(levels)
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
