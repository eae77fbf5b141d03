package nifti

import (
	"encoding/binary"
	"math"
)

// Geometry says where a slice lies in space: the spatial part of a header, and the slice's place
// along the third axis.
type Geometry struct {
	units        byte       // of length: NIFTI_UNITS 0 to 3
	pixels       [3]float64 // a step along each axis, in units
	mirror       float64    // qfac, 1 or −1
	qform, sform int        // codes; 0: the method is not used
	quaternion   [3]float64 // b, c, d
	offset       [3]float64 // of the quaternion's method
	rows         [3][4]float64
	two          bool    // the header was of version 2, whose numbers are doubles
	slice        int     // along the third axis, from 0
	step         float64 // mm from a slice to the next one; 0: unknown
}

// layout has the offsets of fields in a header, in bytes.
type layout struct {
	size, dimensions, pixels, qform, sform, quaternion, offset, rows, units int
}

var layouts = map[bool]layout{
	false: {size: sizeOne, dimensions: 40, pixels: 76, qform: 252, sform: 254, quaternion: 256, offset: 268, rows: 280, units: 123},
	true:  {size: sizeTwo, dimensions: 16, pixels: 104, qform: 344, sform: 348, quaternion: 352, offset: 376, rows: 400, units: 500},
}

// Scanner is the geometry of a slice in the space of a scanner. A step of a pixel to the right, one
// down and one to the next slice are vectors in mm, and origin is the middle of the first pixel; x
// points to the patient's left, y to the back and z to the head, as in DICOM.
func Scanner(right, down, through, origin [3]float64) *Geometry {
	g := &Geometry{units: 2, mirror: 1, sform: 1}
	for axis, v := range [][3]float64{right, down, through, origin} {
		v[0], v[1] = -v[0], -v[1] // NIfTI's x points to the right and y to the front
		if axis < 3 {
			g.pixels[axis] = math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
		}
		for i := range v {
			g.rows[i][axis] = v[i]
		}
	}
	return g.sound()
}

// geometry reads the spatial part of a header.
func geometry(b []byte, order binary.ByteOrder, two bool) *Geometry {
	at := layouts[two]
	number := func(from, i int) float64 {
		if two {
			return math.Float64frombits(order.Uint64(b[from+8*i:]))
		}
		return float64(math.Float32frombits(order.Uint32(b[from+4*i:])))
	}
	g := &Geometry{two: two, mirror: 1, units: b[at.units] & 7}
	if two {
		g.units = byte(order.Uint32(b[at.units:]) & 7)
		g.qform, g.sform = int(int32(order.Uint32(b[at.qform:]))), int(int32(order.Uint32(b[at.sform:])))
	} else {
		g.qform, g.sform = int(int16(order.Uint16(b[at.qform:]))), int(int16(order.Uint16(b[at.sform:])))
	}
	if number(at.pixels, 0) < 0 {
		g.mirror = -1
	}
	for i := range 3 {
		g.pixels[i], g.quaternion[i], g.offset[i] = number(at.pixels, i+1), number(at.quaternion, i), number(at.offset, i)
		for k := range 4 {
			g.rows[i][k] = number(at.rows, 4*i+k)
		}
	}
	return g.sound()
}

// sound removes what has no meaning: invalid steps become 1 without a unit, and a method that
// places nothing is not used.
func (g *Geometry) sound() *Geometry {
	usable := func(v float64) bool { return !math.IsNaN(v) && math.Abs(v) < 1e12 }
	if g.units > 3 {
		g.units = 0
	}
	placed := true
	for i, v := range g.pixels {
		if v = math.Abs(v); !usable(v) || v == 0 {
			v, g.units, placed = 1, 0, false
		}
		g.pixels[i] = v
	}
	length := 0.
	for i := range 3 {
		placed = placed && usable(g.offset[i]) && usable(g.quaternion[i])
		length += g.quaternion[i] * g.quaternion[i]
	}
	if g.qform <= 0 || g.qform > 5 || !placed || length > 1.01 {
		g.qform, g.quaternion, g.offset = 0, [3]float64{}, [3]float64{}
	} else if length > 1 {
		for i := range g.quaternion {
			g.quaternion[i] /= math.Sqrt(length)
		}
	}
	volume, all := g.determinant(), true
	for _, row := range g.rows {
		for _, v := range row {
			all = all && usable(v)
		}
	}
	if g.sform <= 0 || g.sform > 5 || !all || !usable(volume) || volume == 0 {
		g.sform, g.rows = 0, [3][4]float64{}
	}
	return g
}

func (g *Geometry) determinant() float64 {
	r := g.rows
	return r[0][0]*(r[1][1]*r[2][2]-r[1][2]*r[2][1]) - r[0][1]*(r[1][0]*r[2][2]-r[1][2]*r[2][0]) + r[0][2]*(r[1][0]*r[2][1]-r[1][1]*r[2][0])
}

// singleSlice is the geometry of a volume that has only this slice.
func (g Geometry) singleSlice() Geometry {
	k := float64(g.slice)
	for i := range g.rows {
		g.rows[i][3] += k * g.rows[i][2]
	}
	if g.qform > 0 {
		b, c, d := g.quaternion[0], g.quaternion[1], g.quaternion[2]
		a := math.Sqrt(max(0, 1-b*b-c*c-d*d))
		for i, v := range [3]float64{2*b*d + 2*a*c, 2*c*d - 2*a*b, a*a + d*d - b*b - c*c} {
			g.offset[i] += k * v * g.pixels[2] * g.mirror
		}
	}
	g.slice = 0
	return g
}
