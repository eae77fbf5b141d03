// Package instances holds the many objects of one picture, such as the cells of a field of view:
// each has a number in a label image, and its measurements.
package instances

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"

	"mrprism/internal/data/contour"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/roi"
)

// Most is how many objects a field may have: a label image has 16 bits.
const Most = math.MaxUint16

// Margin is the side of the square in which an object is drawn, of the object's longer side: as in
// the images that the shipped cells were learned from.
const Margin = 1.55

// coreDepth is the depth from which a pixel belongs to the core, of the object's greatest depth.
const coreDepth = 0.55

// ErrTooMany is the error for more than Most objects.
var ErrTooMany = errors.New("a label image of 16 bits holds at most 65,535 objects")

// Field is a picture with its objects. An object is what it marks in Labels: two objects share no
// pixel.
type Field struct {
	Width, Height int
	Class         string   // what the objects are, such as cell
	Labels        []uint16 // (Height, Width): the number of the object at a pixel; 0: none
	Objects       []Object // by ascending number
}

// Object is an object of a field. Lengths are in pixels.
type Object struct {
	Number       uint16          `json:"number"`
	Box          image.Rectangle `json:"-"`
	X            float64         `json:"x"` // centroid; the middle of the first pixel is 0.5
	Y            float64         `json:"y"`
	Area         int             `json:"area"`
	Perimeter    float64         `json:"perimeter"`
	Roundness    float64         `json:"roundness"`    // 4πA/P², at most 1: of a disc 1 (ImageJ's circularity)
	Disagreement float64         `json:"disagreement"` // pixels about which two raters are expected to disagree
	Cut          bool            `json:"cut"`          // by the picture's border
	Doubt        *float64        `json:"doubt"`        // as segment.Result.Doubt; nil: unknown, or a person drew it
	By           string          `json:"by"`           // who drew it: Model, or You
}

// Who drew an object.
const (
	Model = "model"
	You   = "you"
)

// New is a field without objects.
func New(width, height int, class string) *Field {
	return &Field{Width: width, Height: height, Class: class, Labels: make([]uint16, width*height)}
}

// Find returns the object of a number; nil: there is none.
func (f *Field) Find(number uint16) *Object {
	at, found := slices.BinarySearchFunc(f.Objects, number, func(o Object, n uint16) int { return int(o.Number) - int(n) })
	if !found {
		return nil
	}
	return &f.Objects[at]
}

// At is the number of the object at a pixel; 0: there is none, or the pixel lies outside.
func (f *Field) At(x, y int) uint16 {
	if x < 0 || y < 0 || x >= f.Width || y >= f.Height {
		return 0
	}
	return f.Labels[y*f.Width+x]
}

// Add gives the pixels of mask (255: inside), which covers the rectangle at, to a new object. Its
// number is that of o, or the least free one if o has none or it is taken. Pixels of other objects
// stay theirs. Nothing is added where none is left: then the number is 0.
func (f *Field) Add(at image.Rectangle, mask []uint8, o Object) (uint16, error) {
	if o.Number == 0 || f.Find(o.Number) != nil {
		if len(f.Objects) == Most {
			return 0, ErrTooMany
		}
		o.Number = 1
		for _, other := range f.Objects {
			if other.Number != o.Number {
				break
			}
			o.Number++
		}
	}
	within, any := at.Intersect(image.Rect(0, 0, f.Width, f.Height)), false
	for y := within.Min.Y; y < within.Max.Y; y++ {
		for x := within.Min.X; x < within.Max.X; x++ {
			if i := y*f.Width + x; mask[(y-at.Min.Y)*at.Dx()+x-at.Min.X] == 255 && f.Labels[i] == 0 {
				f.Labels[i], any = o.Number, true
			}
		}
	}
	if !any {
		return 0, nil
	}
	o.Box = within
	place, _ := slices.BinarySearchFunc(f.Objects, o.Number, func(other Object, n uint16) int { return int(other.Number) - int(n) })
	f.Objects = slices.Insert(f.Objects, place, o)
	f.Measure(o.Number)
	return o.Number, nil
}

// Measure measures an object anew, in the box that it has. An object without a pixel goes.
func (f *Field) Measure(number uint16) {
	o := f.Find(number)
	box, n, sx, sy := image.Rectangle{Min: o.Box.Max, Max: o.Box.Min}, 0, 0, 0
	for y := o.Box.Min.Y; y < o.Box.Max.Y; y++ {
		for x := o.Box.Min.X; x < o.Box.Max.X; x++ {
			if f.Labels[y*f.Width+x] == number {
				box.Min.X, box.Min.Y = min(box.Min.X, x), min(box.Min.Y, y)
				box.Max.X, box.Max.Y = max(box.Max.X, x+1), max(box.Max.Y, y+1)
				n, sx, sy = n+1, sx+x, sy+y
			}
		}
	}
	if n == 0 {
		f.Objects = slices.DeleteFunc(f.Objects, func(o Object) bool { return o.Number == number })
		return
	}
	o.Box, o.Area = box, n
	o.X, o.Y = float64(sx)/float64(n)+.5, float64(sy)/float64(n)+.5
	if o.Perimeter = perimeter(f.outline(number, true)); o.Perimeter == 0 { // it is so thin that its means stay below one half
		o.Perimeter = perimeter(f.outline(number, false))
	}
	o.Roundness = min(1, 4*math.Pi*float64(n)/(o.Perimeter*o.Perimeter))
	o.Cut = box.Min.X == 0 || box.Min.Y == 0 || box.Max.X == f.Width || box.Max.Y == f.Height
}

// Mask is an object as a mask (0 or 255) of the rectangle at.
func (f *Field) Mask(number uint16, at image.Rectangle) []uint8 {
	mask := make([]uint8, at.Dx()*at.Dy())
	for i := range mask {
		if f.At(at.Min.X+i%at.Dx(), at.Min.Y+i/at.Dx()) == number {
			mask[i] = 255
		}
	}
	return mask
}

// Outline is an object's outline in pixels of the picture.
func (f *Field) Outline(number uint16) contour.Lines { return f.outline(number, false) }

// outline is the outline of an object, or of the means of its mask over 3² pixels: steps of pixels
// make the outline of a disc 6 % too long, and the means 1 %.
func (f *Field) outline(number uint16, smooth bool) contour.Lines {
	at := f.Find(number).Box.Inset(-3)
	w, values := at.Dx(), make([]float32, at.Dx()*at.Dy())
	mask := f.Mask(number, at)
	for i := range values {
		if values[i] = float32(mask[i]) / 255; !smooth || i%w == 0 || i%w == w-1 || i < w || i >= len(values)-w {
			continue
		}
		sum := 0
		for _, row := range [...]int{i - w, i, i + w} {
			sum += int(mask[row-1]) + int(mask[row]) + int(mask[row+1])
		}
		values[i] = float32(sum) / (9 * 255)
	}
	lines := contour.Trace(values, w, at.Dy(), 0.5, 0.1)
	for i := range lines.Points {
		lines.Points[i] += float32([2]int{at.Min.X, at.Min.Y}[i%2])
	}
	return lines
}

// perimeter is the length of all lines.
func perimeter(l contour.Lines) (length float64) {
	for i, start := range l.Starts {
		end := len(l.Points) / 2
		if i+1 < len(l.Starts) {
			end = int(l.Starts[i+1])
		}
		for p, n := int(start), end-int(start); p < end; p++ {
			q := int(start) + (p-int(start)+1)%n
			dx, dy := float64(l.Points[2*q]-l.Points[2*p]), float64(l.Points[2*q+1]-l.Points[2*p+1])
			length += math.Sqrt(float64(dx*dx) + float64(dy*dy))
		}
	}
	return length
}

// Delete takes objects away.
func (f *Field) Delete(numbers ...uint16) {
	for _, n := range numbers {
		if o := f.Find(n); o != nil {
			f.each(o.Box, func(i int) {
				if f.Labels[i] == n {
					f.Labels[i] = 0
				}
			})
		}
	}
	f.Objects = slices.DeleteFunc(f.Objects, func(o Object) bool { return slices.Contains(numbers, o.Number) })
}

// each visits the pixels of a box in the field.
func (f *Field) each(box image.Rectangle, visit func(i int)) {
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			visit(y*f.Width + x)
		}
	}
}

// Merge makes one object, the first, of several.
func (f *Field) Merge(numbers ...uint16) error {
	if len(numbers) < 2 || slices.ContainsFunc(numbers, func(n uint16) bool { return f.Find(n) == nil }) {
		return fmt.Errorf("name two objects or more of the field to merge them")
	}
	first := f.Find(numbers[0])
	box, disagreement := image.Rectangle{}, 0.
	for _, n := range numbers {
		o := f.Find(n)
		box, disagreement = box.Union(o.Box), disagreement+o.Disagreement
	}
	f.each(box, func(i int) {
		if slices.Contains(numbers[1:], f.Labels[i]) {
			f.Labels[i] = numbers[0]
		}
	})
	first.Box, first.Disagreement, first.Doubt, first.By = box, disagreement, nil, You
	f.Objects = slices.DeleteFunc(f.Objects, func(o Object) bool { return slices.Contains(numbers[1:], o.Number) })
	f.Measure(numbers[0])
	return nil
}

// Split cuts an object along a line x, y, x, y, … of points in pixels. Pixels within half a pixel of
// it go to the nearest part. The largest part keeps the number. The new numbers come back; there is
// none if the line does not divide the object.
func (f *Field) Split(number uint16, line []float64) (added []uint16, err error) {
	o := f.Find(number)
	if o == nil || len(line) < 4 {
		return nil, fmt.Errorf("draw a line across one object to split it")
	}
	at := o.Box
	w, inside := at.Dx(), f.Mask(number, at)
	cut := slices.Clone(inside)
	for i := 0; i+3 < len(line); i += 2 {
		dx, dy := line[i+2]-line[i], line[i+3]-line[i+1]
		steps := 1 + int(4*math.Hypot(dx, dy))
		for s := range steps + 1 {
			x := line[i] + dx*float64(s)/float64(steps) - float64(at.Min.X)
			y := line[i+1] + dy*float64(s)/float64(steps) - float64(at.Min.Y)
			for _, d := range [...][2]float64{{0, 0}, {.5, 0}, {-.5, 0}, {0, .5}, {0, -.5}} { // no diagonal gap is left
				if px, py := int(math.Floor(x+d[0])), int(math.Floor(y+d[1])); px >= 0 && py >= 0 && px < w && py < at.Dy() {
					cut[py*w+px] = 0
				}
			}
		}
	}
	parts := roi.Connected(len(cut), w, false, func(i int) bool { return cut[i] == 255 })
	if len(parts) < 2 {
		return nil, nil
	}
	for p := range parts { // the largest first
		if len(parts[p]) > len(parts[0]) {
			parts[0], parts[p] = parts[p], parts[0]
		}
	}
	owner := make([]int, len(cut)) // part + 1
	var front []int
	for p, part := range parts {
		for _, i := range part {
			owner[i] = p + 1
		}
		front = append(front, part...)
	}
	grow(owner, front, w, func(i int) bool { return inside[i] == 255 })
	whole := *o
	f.Delete(number)
	for p := range parts {
		part := make([]uint8, len(cut))
		for i, by := range owner {
			if by == p+1 {
				part[i] = 255
			}
		}
		one := Object{By: You, Disagreement: whole.Disagreement * float64(len(parts[p])) / float64(whole.Area)}
		if p == 0 {
			one.Number = number
		}
		n, err := f.Add(at, part, one)
		if err != nil {
			return added, err
		}
		if p > 0 {
			added = append(added, n)
		}
	}
	return added, nil
}

// grow gives each allowed pixel without an owner to that of its nearest neighbour, step by step from
// the front.
func grow(owner, front []int, w int, allowed func(i int) bool) {
	for len(front) > 0 {
		var next []int
		for _, i := range front {
			x := i % w
			for _, j := range [...]int{i - w, i + w, i - 1, i + 1} {
				if j < 0 || j >= len(owner) || owner[j] != 0 || (j == i-1 && x == 0) || (j == i+1 && x == w-1) || !allowed(j) {
					continue
				}
				owner[j] = owner[i]
				next = append(next, j)
			}
		}
		front = next
	}
}

// FromLabels is the field of a label image, such as of another program: every number above 0 is an
// object.
func FromLabels(width, height int, class string, labels []uint16) *Field {
	f := New(width, height, class)
	copy(f.Labels, labels)
	boxes := make([]image.Rectangle, Most+1)
	for i, n := range labels {
		if x, y := i%width, i/width; n > 0 {
			boxes[n] = boxes[n].Union(image.Rect(x, y, x+1, y+1))
		}
	}
	for n, box := range boxes {
		if !box.Empty() {
			f.Objects = append(f.Objects, Object{Number: uint16(n), Box: box, By: You})
		}
	}
	for _, o := range slices.Clone(f.Objects) {
		f.Measure(o.Number)
	}
	return f
}

// Describe takes over what the pixels of objects do not say from objects of the same numbers:
// Disagreement, Doubt and By.
func (f *Field) Describe(as []Object) {
	for _, one := range as {
		if o := f.Find(one.Number); o != nil {
			o.Disagreement, o.Doubt, o.By = one.Disagreement, one.Doubt, one.By
		}
	}
}

// Core is the pixels of a mask (0 or 1) of w pixels a row that are at least coreDepth of its
// greatest depth deep, in the piece with the deepest one.
func Core(mask []uint8, w int) (best []int) {
	depth := metric.Signed(mask, w, math.Inf(1))
	deepest := slices.Max(depth)
	for _, piece := range roi.Connected(len(mask), w, true, func(i int) bool { return depth[i] >= coreDepth*deepest }) {
		if best == nil || slices.ContainsFunc(piece, func(i int) bool { return depth[i] == deepest }) {
			best = piece
		}
	}
	return best
}

// ReadPNG is the field of a label image of width × height pixels, a grey PNG of 16 bits.
func ReadPNG(data []byte, width, height int, class string) (*Field, error) {
	labels, err := ReadLabels(data, width, height)
	if err != nil {
		return nil, err
	}
	return FromLabels(width, height, class, labels), nil
}

// ReadLabels are the labels (height, width) of a PNG as of ReadPNG.
func ReadLabels(data []byte, width, height int) ([]uint16, error) {
	about, err := png.DecodeConfig(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if about.Width != width || about.Height != height {
		return nil, fmt.Errorf("its label image is %d×%d pixels, its image %d×%d", about.Width, about.Height, width, height)
	}
	m, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	grey, is := m.(*image.Gray16)
	if !is {
		return nil, errors.New("its label image is no grey PNG of 16 bits")
	}
	labels := make([]uint16, width*height)
	for i := range labels {
		labels[i] = uint16(grey.Pix[2*i])<<8 | uint16(grey.Pix[2*i+1])
	}
	return labels, nil
}
