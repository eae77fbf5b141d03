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
	// overlap is the parts of source pixel i, of n, that lie in target pixel to.
	overlap := func(i, n, to int) int {
		end := (to + 1) * side
		if i < n-1 {
			end = min(end, (i+1)*longest)
		}
		return end - max(i*longest, to*side)
	}
	column := make([]int, d.Dx()) // by source pixel: the marked parts in the target's row
	for y := out.Min.Y; y < out.Max.Y; y++ {
		clear(column)
		for at := max(y*side/longest, d.Min.Y); at < d.Max.Y && at*longest < (y+1)*side; at++ {
			parts := overlap(at, h, y)
			for x, v := range d.values[(at-d.Min.Y)*d.Dx() : (at-d.Min.Y+1)*d.Dx()] {
				column[x] += int(v) * parts
			}
		}
		for x := out.Min.X; x < out.Max.X; x++ {
			area := 0
			for at := max(x*side/longest, d.Min.X); at < d.Max.X && at*longest < (x+1)*side; at++ {
				area += column[at-d.Min.X] * overlap(at, w, x)
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
