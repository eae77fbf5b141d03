package segment

import (
	"context"
	"image"
	"math"
	"slices"

	"mrprism/internal/data/instances"
	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/shaders/pulse"
)

// The finder looks at a field in tiles at two scales: a pixel that it sees is finer or coarser
// pixels of the picture wide. It has learned from objects whose longer side is 28 to 150 of its
// pixels; things below tooSmall are told apart better at the finer scale. Tiles overlap by a share
// of their side.
const (
	finer, coarser = 1.25, 4
	tooSmall       = 20
	overlap        = 0.25
)

// smallest is the least area of a thing, of the first scale's median one's. Numbers go along bands
// of the picture, bandHeight pixels high.
const smallest, bandHeight = 0.12, 180

// thing is an object as the finder marks it.
type thing struct {
	number uint16          // that it should have, or 0
	box    image.Rectangle // pixels of the picture
	scale  float64         // pixels of the picture in a pixel of the map
	w      int             // of mask
	origin image.Point     // of mask, pixels of the map
	mask   []bool          // in the map
	area   float64         // pixels of the picture
	sure   float64         // mean probability of the core
	alone  bool            // a person gave the square

	square       image.Rectangle // that the network has seen
	on           []bool          // in square: what the network draws of the thing
	drawn        float64         // pixels of it
	disagreement []uint8         // in square, as Maps.Disagreement has it, times 255
	doubt        *float64
}

// has reports whether the finder gives a pixel of the picture to the thing.
func (t *thing) has(x, y int) bool {
	mx, my := int((float64(x)+.5)/t.scale)-t.origin.X, int((float64(y)+.5)/t.scale)-t.origin.Y
	return mx >= 0 && my >= 0 && mx < t.w && my*t.w+mx < len(t.mask) && t.mask[my*t.w+mx]
}

// covered reports whether objects of the field have some of the thing already.
func (t *thing) covered(field *instances.Field) bool {
	for i, set := range t.mask {
		if set && field.At(int((float64(t.origin.X+i%t.w)+.5)*t.scale), int((float64(t.origin.Y+i/t.w)+.5)*t.scale)) > 0 {
			return true
		}
	}
	return false
}

// findAll finds the things at both scales. Those of the coarser scale come first, since the finer
// one shows parts of large things as things, unless they are too small there. Things that are much
// smaller than the first are left out.
func (e *Engine) findAll(ctx context.Context, q request) (found []*thing, err error) {
	side := e.finder.about.Side
	scales := []float64{coarser, finer}
	whole := float64(max(q.image.W, q.image.H)) / float64(side)
	for i, s := range scales {
		scales[i] = min(s, whole)
	}
	scales = slices.Compact(scales)
	var tiles []image.Point
	total := 0
	for _, s := range scales {
		total += len(tilesOf(q.image, s, side))
	}
	var all [][]*thing
	done := 0
	for _, s := range scales {
		tiles = tilesOf(q.image, s, side)
		m := newMap(q.image, s)
		for _, at := range tiles {
			q.Progress("find", done, total)
			done++
			if err := e.finder.mark(ctx, q.image, m, at, side); err != nil {
				return nil, err
			}
		}
		all = append(all, m.things())
	}
	if len(all) == 2 && median(all[0], func(t *thing) float64 { return float64(max(t.box.Dx(), t.box.Dy())) / t.scale }) < tooSmall {
		slices.Reverse(all)
	}
	least := 0.
	for i, things := range all {
		if i == 0 {
			least = smallest * median(things, func(t *thing) float64 { return t.area })
		}
		var order []int // in reading order, in bands; the last 16 bits are the thing's
		for n, t := range things[:min(len(things), 1<<16)] {
			if t.area >= least {
				order = append(order, ((t.box.Min.Y+t.box.Max.Y)/2/bandHeight<<20+max(0, t.box.Min.X))<<16+n&0xffff)
			}
		}
		slices.Sort(order)
		for _, at := range order {
			found = append(found, things[at&0xffff])
		}
	}
	return found, nil
}

// median is the middle value of things; 0: there is none.
func median(things []*thing, value func(t *thing) float64) float64 {
	var all []float64
	for _, t := range things {
		all = append(all, value(t))
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// tilesOf are the corners of the tiles, pixels of the map. They cover the picture.
func tilesOf(img *imageio.Image, scale float64, side int) (corners []image.Point) {
	starts := func(pixels int) (all []int) {
		n, step := int(math.Ceil(float64(pixels)/scale)), int(float64(side)*(1-overlap))
		for at := 0; ; at += step {
			if at+side >= n {
				return append(all, max(0, (n-side)))
			}
			all = append(all, at)
		}
	}
	for _, y := range starts(img.H) {
		for _, x := range starts(img.W) {
			corners = append(corners, image.Pt(x, y))
		}
	}
	return corners
}

// fieldMap is what the finder marks in a picture, in levels of 0 to 255.
type fieldMap struct {
	w, h       int
	scale      float64
	cell, core []uint8
}

func newMap(img *imageio.Image, scale float64) *fieldMap {
	m := &fieldMap{w: int(math.Ceil(float64(img.W) / scale)), h: int(math.Ceil(float64(img.H) / scale)), scale: scale}
	m.cell, m.core = make([]uint8, m.w*m.h), make([]uint8, m.w*m.h)
	return m
}

// mark looks at a tile. Near the border of a tile that lies within the picture, the next one knows
// better.
func (e *Engine) mark(ctx context.Context, img *imageio.Image, m *fieldMap, at image.Point, side int) error {
	square := imageio.Square{X: int(float64(at.X) * m.scale), Y: int(float64(at.Y) * m.scale), Side: int(math.Round(float64(side) * m.scale))}
	if err := e.feed(ctx, e.crop(img, square)); err != nil {
		return err
	}
	y, err := e.checked(ctx, e.network.Recur)
	if err != nil {
		return err
	}
	edge := int(float64(side) * overlap / 2)
	for i := range side * side {
		x, line := at.X+i%side, at.Y+i/side
		if x >= m.w || line >= m.h || i%side < edge && at.X > 0 || i/side < edge && at.Y > 0 {
			continue
		}
		m.cell[line*m.w+x], m.core[line*m.w+x] = uint8(255*y[2*i]), uint8(255*y[2*i+1])
	}
	return nil
}

// leastCore is how many pixels of the map a core has at least.
const leastCore = 5

// things are the cores of the map, each with the cell around it. Where cells touch, a pixel goes to
// the core from which the fewest steps lead to it.
func (m *fieldMap) things() (all []*thing) {
	owner := make([]int32, len(m.cell)) // core + 1
	var front []int
	for _, core := range roi.Connected(len(m.core), m.w, true, func(i int) bool { return m.core[i] > 127 }) {
		if len(core) < leastCore {
			continue
		}
		t := &thing{scale: m.scale}
		for _, i := range core {
			owner[i] = int32(len(all) + 1)
			t.sure += float64(m.core[i]) / 255 / float64(len(core))
		}
		all, front = append(all, t), append(front, core...)
	}
	boxes, areas := make([]image.Rectangle, len(all)), make([]int, len(all))
	for len(front) > 0 {
		pulse.Beat()
		var next []int
		for _, i := range front {
			x, y, by := i%m.w, i/m.w, owner[i]
			boxes[by-1], areas[by-1] = boxes[by-1].Union(image.Rect(x, y, x+1, y+1)), areas[by-1]+1
			for _, to := range [...]image.Point{{x - 1, y}, {x + 1, y}, {x, y - 1}, {x, y + 1}} {
				if j := to.Y*m.w + to.X; to.In(image.Rect(0, 0, m.w, m.h)) && owner[j] == 0 && m.cell[j] > 127 {
					owner[j] = by
					next = append(next, j)
				}
			}
		}
		front = next
	}
	for i := range all {
		b, t := boxes[i], all[i]
		t.origin, t.w, t.area = b.Min, b.Dx(), float64(areas[i])*m.scale*m.scale
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				t.mask = append(t.mask, owner[y*m.w+x] == int32(i+1))
			}
		}
		t.box = image.Rect(int(float64(b.Min.X)*m.scale), int(float64(b.Min.Y)*m.scale), int(float64(b.Max.X)*m.scale), int(float64(b.Max.Y)*m.scale))
	}
	return all
}
