package nifti

import (
	"bytes"
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

// Shared is Open for many slices of one file, which Unpack has unpacked. It counts the values of
// the volume once. Slices may be decoded at the same time.
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
	said := int64(binary.LittleEndian.Uint32(data[len(data)-4:])) // the last member's size, modulo 4 GiB
	plain := bytes.NewBuffer(make([]byte, 0, min(said, maxUnpacked, 1032*int64(len(data)))+bytes.MinRead))
	_, err = plain.ReadFrom(pulse.Reader(io.LimitReader(r, maxUnpacked+maxExtra)))
	return plain.Bytes(), short(err)
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

// Step is how far a slice is from the one before, mm along their normal; 0: unknown. Along the
// third axis it is farther in a sheared volume, as of a tilted gantry.
func (g *Geometry) Step() float64 {
	a, known := g.placing()
	if !known {
		return g.step
	}
	var along, across, third float64
	for i := range 3 {
		k, m := (i+1)%3, (i+2)%3
		normal := a[k][0]*a[m][1] - a[m][0]*a[k][1]
		along, across, third = along+normal*a[i][2], across+normal*normal, third+a[i][2]*a[i][2]
	}
	if across*third == 0 {
		return g.step
	}
	return g.step * math.Abs(along) / math.Sqrt(across*third)
}
