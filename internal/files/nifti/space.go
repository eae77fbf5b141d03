package nifti

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// placing is the middle of voxel (i, j, k) in mm: rows of a 3 × 4 matrix. known is false if the
// header says nothing, or what programs write that know nothing: steps of ±1 along the axes from 0.
func (g *Geometry) placing() (a [3][4]float64, known bool) {
	switch {
	case g == nil:
		return a, false
	case g.sform > 0:
		a = g.rows
	case g.qform > 0:
		b, c, d := g.quaternion[0], g.quaternion[1], g.quaternion[2]
		s := math.Sqrt(max(0, 1-b*b-c*c-d*d))
		for i, row := range [3][3]float64{
			{s*s + b*b - c*c - d*d, 2 * (b*c - s*d), 2 * (b*d + s*c)},
			{2 * (b*c + s*d), s*s + c*c - b*b - d*d, 2 * (c*d - s*b)},
			{2 * (b*d - s*c), 2 * (c*d + s*b), s*s + d*d - b*b - c*c},
		} {
			a[i] = [4]float64{row[0] * g.pixels[0], row[1] * g.pixels[1], row[2] * g.pixels[2] * g.mirror, g.offset[i]}
		}
	default:
		return a, false
	}
	for i, row := range a {
		for k, v := range row {
			if i == k {
				v = math.Abs(v) - 1
			}
			known = known || v != 0
		}
	}
	return a, known
}

const (
	// askew is how far an axis may turn or stretch from the other volume's: 1 % of it.
	askew = 0.01
	// apart is how far, in voxels, the volumes may be moved against each other.
	apart = 0.1
)

// In brings a volume into the order of another one's voxels, such as a mask into its image's: axes
// are exchanged and turned about as the two affines say. Unless both are known, it is the volume
// itself. The error says how the spaces differ in another way.
func (v *Volume) In(other *Volume) (*Volume, error) {
	own, known := v.Place.placing()
	theirs, also := other.Place.placing()
	if !known || !also {
		return v, nil
	}
	inverse, ok := invert(own)
	if !ok {
		return nil, fmt.Errorf("its affine %v has no inverse", own)
	}
	lengths := [3]int{v.W, v.H, v.D}
	strides := [3]int{1, v.W, v.W * v.H}
	out := &Volume{Place: other.Place}
	to, step, first := [3]*int{&out.W, &out.H, &out.D}, [3]int{}, 0
	for axis := range 3 { // of the other volume
		var along [3]float64 // its step, in our voxels
		for i := range 3 {
			for k := range 3 {
				along[i] += inverse[i][k] * theirs[k][axis]
			}
		}
		at := 0
		for i, n := range along {
			if math.Abs(n) > math.Abs(along[at]) {
				at = i
			}
		}
		rest, sign := along, math.Copysign(1, along[at])
		rest[at] -= sign
		*to[axis], step[axis] = lengths[at], int(sign)*strides[at]
		if lengths[at] == 1 {
			continue // a plane may lie beside modalities, whose axis has no place
		}
		if math.Abs(rest[0])+math.Abs(rest[1])+math.Abs(rest[2]) > askew {
			return nil, fmt.Errorf("a voxel along axis %d of its image is %.3g, %.3g, %.3g voxels of it: the two have other directions or voxels. "+
				"Resample it to its image; affines: %.4g, and %.4g of the image", axis+1, along[0], along[1], along[2], own, theirs)
		}
		begin := 0.
		for k := range 3 {
			begin += inverse[at][k] * (theirs[k][3] - own[k][3])
		}
		want := 0
		if sign < 0 {
			want = lengths[at] - 1
		}
		if math.Abs(begin-float64(want)) > apart {
			return nil, fmt.Errorf("it is moved by %.3g voxels along axis %d of its image. Resample it to its image; affines: %.4g, and %.4g of the image",
				begin-float64(want), axis+1, own, theirs)
		}
		first += want * strides[at]
	}
	for z := range out.D {
		for y := range out.H {
			for x := range out.W {
				out.Values = append(out.Values, v.Values[first+x*step[0]+y*step[1]+z*step[2]])
			}
		}
	}
	return out, nil
}

// String is the affine: twelve numbers of mm, row by row. It is empty if nothing is known.
func (g *Geometry) String() string {
	a, known := g.placing()
	if !known {
		return ""
	}
	return strings.NewReplacer("[", "", "]", "").Replace(fmt.Sprint(a))
}

// Placed is the geometry of an affine as String writes it.
func Placed(affine string) (*Geometry, error) {
	g, numbers, failed := &Geometry{sform: 1, mirror: 1, pixels: [3]float64{1, 1, 1}}, strings.Fields(affine), false
	for i, text := range numbers[:min(len(numbers), 12)] {
		v, err := strconv.ParseFloat(text, 64)
		g.rows[i/4][i%4], failed = v, failed || err != nil
	}
	if failed || len(numbers) != 12 || g.sound().sform == 0 {
		return nil, fmt.Errorf("%q is no affine: give three rows of four numbers, in mm, with spaces between them", affine)
	}
	return g, nil
}

// Fits returns an error if the pixels of a slice have another direction, spacing or place in the
// plane than those of its image. It is nil unless both affines are known.
func (g *Geometry) Fits(image *Geometry) error {
	own, known := g.placing()
	theirs, also := image.placing()
	if !known || !also {
		return nil
	}
	for axis := range 2 {
		var a, b [3]float64 // steps
		length, turned, moved := 0., 0., 0.
		for i := range 3 {
			a[i], b[i] = own[i][axis]+0, theirs[i][axis]+0 // not −0
			length, turned, moved = length+b[i]*b[i], turned+math.Abs(a[i]-b[i]), moved+(own[i][3]-theirs[i][3])*b[i]
		}
		if turned > askew*math.Sqrt(length) {
			return fmt.Errorf("a pixel along its axis %d is a step of %.4g mm, and in its image of %.4g mm: orientation or spacing differ. Resample it to its image", axis+1, a, b)
		}
		if moved /= length; math.Abs(moved) > apart {
			return fmt.Errorf("it is moved by %.3g pixels along axis %d of its image. Resample it to its image", moved, axis+1)
		}
	}
	return nil
}

// invert is the inverse of an affine's linear part.
func invert(a [3][4]float64) (out [3][3]float64, ok bool) {
	minor := func(i, k int) float64 {
		r, s, c, d := (i+1)%3, (i+2)%3, (k+1)%3, (k+2)%3
		return a[r][c]*a[s][d] - a[r][d]*a[s][c]
	}
	determinant := a[0][0]*minor(0, 0) + a[0][1]*minor(0, 1) + a[0][2]*minor(0, 2)
	for i := range 3 {
		for k := range 3 {
			out[k][i] = minor(i, k) / determinant
		}
	}
	return out, determinant != 0 && !math.IsInf(1/determinant, 0)
}
