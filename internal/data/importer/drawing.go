package importer

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"slices"

	"mrprism/internal/files/imageio"
)

// drawing is a mask: a rectangle of the image, outside which nothing is marked.
type drawing struct {
	image.Rectangle
	values []uint8 // 0 or 1
}

// cut has the pixels of another rectangle.
func (d *drawing) cut(to image.Rectangle) []uint8 {
	out, common := make([]uint8, to.Dx()*to.Dy()), d.Intersect(to)
	for y := common.Min.Y; y < common.Max.Y; y++ {
		copy(out[(y-to.Min.Y)*to.Dx()+common.Min.X-to.Min.X:][:common.Dx()], d.values[(y-d.Min.Y)*d.Dx()+common.Min.X-d.Min.X:])
	}
	return out
}

// shrunk reduces a mask of a picture of w × h pixels. Pixels become 1 if more than half of their area
// is marked. Areas are integers: a source pixel is divided into L parts, L = the longer side of the
// target. Pixels outside the image repeat the border.
func (d *drawing) shrunk(w, h, newW, newH int) *drawing {
	if newW == w {
		return d
	}
	side, longest := max(w, h), max(newW, newH)
	small := func(from, to, n, newN int) (int, int) {
		if to == n {
			return from * longest / side, newN
		}
		return from * longest / side, min((to*longest+side-1)/side, newN)
	}
	out := &drawing{}
	out.Min.X, out.Max.X = small(d.Min.X, d.Max.X, w, newW)
	out.Min.Y, out.Max.Y = small(d.Min.Y, d.Max.Y, h, newH)
	rows := make([][]int, d.Dy()) // where marks begin and end in each, in turn, in parts
	for y := range rows {
		for _, x := range runs(d.values[y*d.Dx() : (y+1)*d.Dx()]) {
			if x += d.Min.X; x == w {
				x = (newW*side + longest - 1) / longest
			}
			rows[y] = append(rows[y], x*longest)
		}
	}
	steps := make([]int, newW+2) // by output pixel: the parts that are marked in it less those in the one before
	for y := out.Min.Y; y < out.Max.Y; y++ {
		clear(steps)
		for at := max(y*side/longest, d.Min.Y); at < d.Max.Y && at*longest < (y+1)*side; at++ {
			end := min((at+1)*longest, (y+1)*side)
			if at == h-1 {
				end = (y + 1) * side
			}
			for run := range slices.Chunk(rows[at-d.Min.Y], 2) {
				mark(steps, run[0], min(run[1], newW*side), side, end-max(at*longest, y*side))
			}
		}
		area := 0
		for x := range out.Max.X {
			if area += steps[x]; x < out.Min.X {
				continue
			}
			v := uint8(0)
			if 2*area > side*side {
				v = 1
			}
			out.values = append(out.values, v)
		}
	}
	return out
}

// mark adds a run of a row, of which an output row has so many parts, to steps of output pixels.
func mark(steps []int, from, to, side, parts int) {
	first, last := from/side, (to-1)/side
	add := func(x, area int) { steps[x], steps[x+1] = steps[x]+area*parts, steps[x+1]-area*parts }
	if first == last {
		add(first, to-from)
		return
	}
	add(first, (first+1)*side-from)
	add(last, to-last*side)
	steps[first+1] += side * parts
	steps[last] -= side * parts
}

// runs is where marks begin and end in a row, in turn.
func runs(row []uint8) (at []int) {
	x := 0
	for n := bytes.IndexByte(row, 1); n >= 0; n = bytes.IndexByte(row[x:], uint8(1-len(at)%2)) {
		x += n
		at = append(at, x)
	}
	if len(at)%2 == 1 {
		at = append(at, len(row))
	}
	return at
}

// grey is a picture of one value a pixel.
type grey struct {
	w, h   int
	values []uint8
	mask   *drawing // once it is known
}

// threshold returns the pixels of 128 and more, as a mask.
func (g *grey) threshold() *drawing {
	if g.mask != nil {
		return g.mask
	}
	g.mask = &drawing{}
	for y := range g.h {
		row := g.values[y*g.w : (y+1)*g.w]
		if slices.Max(row) < 128 {
			continue
		}
		first, last := 0, g.w
		for row[first] < 128 {
			first++
		}
		for row[last-1] < 128 {
			last--
		}
		g.mask.Rectangle = g.mask.Union(image.Rect(first, y, last, y+1))
	}
	for y := g.mask.Min.Y; y < g.mask.Max.Y; y++ {
		for _, v := range g.values[y*g.w+g.mask.Min.X : y*g.w+g.mask.Max.X] {
			g.mask.values = append(g.mask.values, v>>7)
		}
	}
	return g.mask
}

// greyOf decodes a picture of at most w × h pixels. Most are PNGs of one value a pixel, as the page
// writes masks: image/png then needs a third of imageio's memory.
func greyOf(name string, data []byte, w, h int) (*grey, error) {
	about, err := imageio.Header(name, data)
	if err == nil && (about.W > w || about.H > h) {
		err = fmt.Errorf("%s is %d×%d pixels, its image %d×%d", name, about.W, about.H, w, h)
	}
	if err != nil {
		return nil, err
	}
	g := &grey{w: about.W, h: about.H}
	if m, err := png.Decode(bytes.NewReader(data)); err == nil && about.Orientation == 1 {
		if plain, is := m.(*image.Gray); is {
			g.values = plain.Pix
			return g, nil
		}
	}
	m, err := imageio.DecodeMask(name, data) // and its message, if the file is damaged
	if err != nil {
		return nil, err
	}
	g.values = make([]uint8, m.W*m.H)
	for i := range g.values {
		g.values[i] = m.Pix[3*i]
	}
	return g, nil
}
