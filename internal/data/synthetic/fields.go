//go:build !js

package synthetic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"path/filepath"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/instances"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/paint"
	"mrprism/weights"
)

// FieldSet is the choices of WriteFields.
type FieldSet struct {
	Sources     []string // folders of data sets of one class, each image around one object
	Images      int
	Least, Most int  // objects in a field
	Side        int  // of the fields in pixels; 0: objects stay as large as they are
	Touching    bool // half of the objects touch another one
	Seed        uint64
}

// WriteFields writes a data set folder of fields: many objects, cut out of images that show one
// each, on ground that goes on as it is around them. Every field has the objects of one source.
// Fields that a data set holds out (every fifth) have objects that the source holds out, and the
// others those that it learns from. The classes are the source's and weights.Core. The 16 bits of
// labels/NAME.png number the objects. The folder must not exist or be empty.
func WriteFields(ctx context.Context, folder string, s FieldSet) error {
	var sources []*source
	for _, from := range s.Sources {
		one, err := openSource(from)
		if err != nil {
			return err
		}
		if sources = append(sources, one); one.class != sources[0].class {
			return fmt.Errorf("%s marks %s, and %s %s: give data sets of one class", s.Sources[0], sources[0].class, from, one.class)
		}
	}
	class := sources[0].class
	return writeSet(ctx, folder, dataset.Description{
		Name: "synthetic-fields", Classes: []string{class, weights.Core}, Raters: []string{"majority"}, Images: s.Images,
		Note: "objects that were cut out and put together", Source: fmt.Sprintf("MrPrism's generator of fields, seed %d", s.Seed),
	}, func(i int) error {
		r := paint.Source(s.Seed, 1<<20+uint64(i))
		from := (i + i/dataset.HoldOut) % len(sources)
		objects := sources[from].parts[part(i)]
		if len(objects) == 0 {
			return fmt.Errorf("%s has no object for %s: it needs five images or more", s.Sources[from], caseName(i))
		}
		return newField(r, class, objects, s).write(folder, caseName(i))
	}, nil)
}

// part is 1 for images that a data set holds out.
func part(i int) int {
	if i%dataset.HoldOut == dataset.HoldOut-1 {
		return 1
	}
	return 0
}

// source is the objects of a data set, in its two parts.
type source struct {
	class string
	parts [2][]*cutout
}

// cutout is an image around one object. Its ground has a median of 0 and a spread of 1.
type cutout struct {
	w, h   int
	values []float32
	mask   []uint8   // 1: the object, as most raters drew it
	depth  []float32 // in the union of all masks; negative: distance to it
	box    image.Rectangle
	style  float64 // how far the object's pixels lie from the ground, in spreads
}

func openSource(folder string) (*source, error) {
	d, err := dataset.Open(folder)
	if err != nil {
		return nil, err
	}
	if len(d.Classes) != 1 {
		return nil, fmt.Errorf("%s marks %d classes: fields are made of images of one object", folder, len(d.Classes))
	}
	s := &source{class: d.Classes[0]}
	for _, c := range d.Cases {
		l, err := dataset.Load(c)
		if err != nil {
			return nil, err
		}
		if one := cut(l); one != nil {
			to := &s.parts[0]
			if c.Part == dataset.ForTest {
				to = &s.parts[1]
			}
			*to = append(*to, one)
		}
	}
	for _, all := range s.parts {
		slices.SortFunc(all, func(a, b *cutout) int { return cmp.Compare(a.style, b.style) })
	}
	return s, nil
}

// cut makes a cutout; nil: nobody marked a pixel.
func cut(l *dataset.Loaded) *cutout {
	votes, ok := l.Votes(0)
	c := &cutout{w: l.W, h: l.H}
	if !ok {
		return nil
	}
	c.mask = votes.Majority()
	at := 0
	for i, m := range c.mask {
		if x, y := i%c.w, i/c.w; m == 1 {
			c.box, at = c.box.Union(image.Rect(x, y, x+1, y+1)), at+1
		}
	}
	if at == 0 {
		return nil
	}
	c.depth = metric.Signed(votes.Union(), c.w, math.Inf(1))
	var ground []float64
	for i := range c.mask {
		c.values = append(c.values, float32(l.Image.Pix[3*i]))
		if float64(c.depth[i]) < -c.feather() {
			ground = append(ground, float64(c.values[i]))
		}
	}
	if len(ground) < len(c.mask)/20 {
		return nil
	}
	slices.Sort(ground)
	median := metric.Quantile(ground, .5)
	spread := max(.5, (metric.Quantile(ground, .75)-metric.Quantile(ground, .25))/1.35)
	for i, v := range c.values {
		far := (float64(v) - median) / spread
		if float64(c.depth[i]) < -c.feather() {
			far = max(-speck, min(far, speck))
		}
		c.values[i] = float32(far)
		if c.mask[i] == 1 {
			c.style += math.Abs(float64(c.values[i])) / float64(at)
		}
	}
	return c
}

// extent is the longer side of the object's box.
func (c *cutout) extent() int { return max(c.box.Dx(), c.box.Dy()) }

// feather is over how many pixels an object fades into the ground.
func (c *cutout) feather() float64 { return 2 + 0.05*float64(c.extent()) }

// turned is the cutout after one of eight turns and mirror images.
func (c *cutout) turned(way int) *cutout {
	t := &cutout{w: c.w, h: c.h, style: c.style}
	if way&1 == 1 {
		t.w, t.h = c.h, c.w
	}
	for i := range c.mask {
		x, y := i%t.w, i/t.w
		if way&1 == 1 {
			x, y = y, x
		}
		if way&2 == 2 {
			x = c.w - 1 - x
		}
		if way&4 == 4 {
			y = c.h - 1 - y
		}
		j := y*c.w + x
		t.values, t.mask, t.depth = append(t.values, c.values[j]), append(t.mask, c.mask[j]), append(t.depth, c.depth[j])
		if c.mask[j] == 1 {
			t.box = t.box.Union(image.Rect(i%t.w, i/t.w, i%t.w+1, i/t.w+1))
		}
	}
	return t
}

// field is a picture in the making.
type field struct {
	paint.Draws
	*instances.Field
	values []float32
	cores  []uint8
	scale  float64 // Side over the field's own side, or 1
}

func newField(r paint.Draws, class string, from []*cutout, s FieldSet) *field {
	like := min(len(from), max(8, len(from)/3)) // objects of one field stand out alike
	from = from[r.IntN(len(from)-like+1):][:like]
	var chosen []*cutout
	room := 0.
	for range s.Least + r.IntN(s.Most-s.Least+1) {
		c := from[r.IntN(len(from))].turned(r.IntN(8))
		chosen = append(chosen, c)
		room += sq(1.25 * float64(c.extent()))
	}
	side := int(math.Sqrt(room) + 0.5*float64(from[0].extent()))
	if len(chosen) == 0 {
		side = (2 + r.IntN(4)) * from[0].extent()
	}
	for {
		f := &field{Draws: r, Field: instances.New(side, side, class), cores: make([]uint8, side*side), scale: 1}
		f.values = f.ground(from)
		if f.place(chosen, s.Touching) {
			if s.Side > 0 {
				f.scale = float64(s.Side) / float64(side)
			}
			return f
		}
		side += side / 8
	}
}

// Ground is made of windows from a few cutouts. A window is even if no block of its pixels has a
// mean far from 0: then it shows no other object. Windows repeat what they show all over the field,
// so the ground of a cutout keeps no brighter specks.
const (
	windows = 4
	tries   = 32
	block   = 8
	even    = 2.
	speck   = 6.
)

// ground is made of pieces that lie beside objects. They overlap by half, and fade into each other
// so that their spread stays 1.
func (f *field) ground(from []*cutout) []float32 {
	var some []*cutout
	for range windows {
		some = append(some, from[f.IntN(len(from))])
	}
	side := 64
	for ; side > block && !slices.ContainsFunc(some, func(c *cutout) bool { _, odd := c.free(f.Draws, side); return odd < even }); side /= 2 {
	}
	n, half := f.Width, side/2
	values, weights := make([]float32, n*n), make([]float32, n*n)
	for top := -half; top < n; top += half {
		for left := -half; left < n; left += half {
			c, at, least := some[0], image.Point{}, math.Inf(1)
			for range windows {
				other := some[f.IntN(len(some))]
				if place, odd := other.free(f.Draws, side); odd < least {
					c, at, least = other, place, odd
				}
				if least < even {
					break
				}
			}
			if math.IsInf(least, 1) {
				continue
			}
			way := f.IntN(4)
			for i := range side * side {
				x, y := i%side, i/side
				fx, fy := left+x, top+y
				if fx < 0 || fy < 0 || fx >= n || fy >= n {
					continue
				}
				w := float32(math.Sin(math.Pi*(float64(x)+.5)/float64(side)) * math.Sin(math.Pi*(float64(y)+.5)/float64(side)))
				if way&1 == 1 {
					x = side - 1 - x
				}
				if way&2 == 2 {
					y = side - 1 - y
				}
				v := c.values[(at.Y+y)*c.w+at.X+x]
				values[fy*n+fx] += w * v
				weights[fy*n+fx] += w * w
			}
		}
	}
	slope, turn := 0.6*f.Float64(), 2*math.Pi*f.Float64()
	for i := range values {
		if weights[i] > 0 {
			values[i] /= float32(math.Sqrt(float64(weights[i])))
		}
		x, y := float64(i%n)/float64(n)-.5, float64(i/n)/float64(n)-.5
		values[i] += float32(slope * (x*math.Cos(turn) + y*math.Sin(turn)))
	}
	return values
}

// free draws the corner of a square beside the object, where the ground is as even as any of some
// tries. odd is the mean of its oddest block; +Inf: there is no such square.
func (c *cutout) free(r paint.Draws, side int) (best image.Point, odd float64) {
	odd = math.Inf(1)
	for try := 0; try < tries && side <= min(c.w, c.h) && odd >= even; try++ {
		at, most := image.Pt(r.IntN(c.w-side+1), r.IntN(c.h-side+1)), 0.
		for b := 0; b < (side/block)*(side/block) && most < odd; b++ {
			sum := 0.
			for i := range block * block {
				x, y := at.X+b%(side/block)*block+i%block, at.Y+b/(side/block)*block+i/block
				if sum += float64(c.values[y*c.w+x]); float64(c.depth[y*c.w+x]) > -c.feather() {
					sum = math.Inf(1)
				}
			}
			most = max(most, math.Abs(sum)/(block*block))
		}
		if most < odd {
			best, odd = at, most
		}
	}
	return best, odd
}

// place puts the cutouts into the field; false: there is no room. Objects lie apart by their
// feathers, or touch another one without sharing a pixel. One in ten may reach beyond the border.
func (f *field) place(all []*cutout, touching bool) bool {
	for i, c := range all {
		beside := touching && i%2 == 1
		placed := false
		for try := 0; try < 400 && !placed; try++ {
			var x, y int
			if beside {
				o := f.Objects[f.IntN(len(f.Objects))]
				turn := 2 * math.Pi * f.Float64()
				for reach := 0.; reach < float64(4*c.extent()+f.Width/2); reach++ {
					x, y = int(o.X+reach*math.Cos(turn))-(c.box.Min.X+c.box.Max.X)/2, int(o.Y+reach*math.Sin(turn))-(c.box.Min.Y+c.box.Max.Y)/2
					if f.clear(c, x, y, 0.5, 0) {
						break
					}
				}
				placed = f.clear(c, x, y, 0.5, 0) && !f.clear(c, x, y, 3, 0)
			} else {
				over := 0
				if i%10 == 9 {
					over = c.extent() / 3
				}
				w, h := f.Width-c.box.Dx()+2*over, f.Height-c.box.Dy()+2*over
				if w <= 0 || h <= 0 {
					return false
				}
				x, y = f.IntN(w)-over-c.box.Min.X, f.IntN(h)-over-c.box.Min.Y
				placed = f.clear(c, x, y, c.feather()+2, over)
			}
			if placed {
				f.put(c, x, y, beside)
			}
		}
		if !placed {
			return false
		}
	}
	return true
}

// clear reports whether no object lies within gap pixels of a cutout's object at x, y, which lies in
// the field but for over pixels.
func (f *field) clear(c *cutout, x, y int, gap float64, over int) bool {
	if !c.box.Add(image.Pt(x, y)).In(image.Rect(0, 0, f.Width, f.Height).Inset(-over)) {
		return false
	}
	for i, d := range c.depth {
		if float64(d) > -gap && f.At(x+i%c.w, y+i/c.w) > 0 {
			return false
		}
	}
	return true
}

// put adds a cutout's object at x, y. Beside another one it fades out sooner.
func (f *field) put(c *cutout, x, y int, beside bool) {
	feather := c.feather()
	if beside {
		feather = 2
	}
	mask := make([]uint8, len(c.mask))
	for i, d := range c.depth {
		mask[i] = 255 * c.mask[i]
		fx, fy := x+i%c.w, y+i/c.w
		if a := float32(paint.Smooth(1 + float64(d)/feather)); a > 0 && fx >= 0 && fy >= 0 && fx < f.Width && fy < f.Height && f.At(fx, fy) == 0 {
			j := fy*f.Width + fx
			f.values[j] += a * (c.values[i] - f.values[j])
		}
	}
	core := instances.Core(c.mask, c.w)
	if _, err := f.Add(image.Rect(x, y, x+c.w, y+c.h), mask, instances.Object{}); err != nil {
		panic(err)
	}
	for _, i := range core {
		if fx, fy := x+i%c.w, y+i/c.w; fx >= 0 && fy >= 0 && fx < f.Width && fy < f.Height {
			f.cores[fy*f.Width+fx] = 255
		}
	}
}

// write writes the field, at its scale, in a range of grey that varies.
func (f *field) write(folder, name string) error {
	n := int(math.Round(float64(f.Width) * f.scale))
	rect := image.Rect(0, 0, n, n)
	picture, labels := image.NewGray(rect), image.NewGray16(rect)
	masks := map[string]*image.Gray{f.Class: image.NewGray(rect), weights.Core: image.NewGray(rect)}
	low, high := metric.Quantile(ordered(f.values), .002), metric.Quantile(ordered(f.values), .998)
	black, white := f.Between(5, 60), f.Between(150, 250)
	back := 1 / f.scale
	for i := range n * n {
		x, y := i%n, i/n
		sum, count := 0., 0.
		for fy := int(float64(y) * back); fy < max(int(float64(y)*back)+1, int(float64(y+1)*back)); fy++ {
			for fx := int(float64(x) * back); fx < max(int(float64(x)*back)+1, int(float64(x+1)*back)); fx++ {
				sum, count = sum+float64(f.values[min(fy, f.Height-1)*f.Width+min(fx, f.Width-1)]), count+1
			}
		}
		picture.Pix[i] = uint8(min(255, max(0, black+(white-black)*(sum/count-low)/max(1e-6, high-low)+.5)))
		j := min(int((float64(y)+.5)*back), f.Height-1)*f.Width + min(int((float64(x)+.5)*back), f.Width-1)
		if number := f.Labels[j]; number > 0 {
			labels.Pix[2*i], labels.Pix[2*i+1] = uint8(number>>8), uint8(number)
			masks[f.Class].Pix[i], masks[weights.Core].Pix[i] = 255, f.cores[j]
		}
	}
	err := errors.Join(writePNG(picture, folder, "images", name), writePNG(labels, folder, "labels", name))
	for class, mask := range masks {
		err = errors.Join(err, writePNG(mask, folder, filepath.Join("raters", "majority", class), name))
	}
	return err
}

func ordered(values []float32) []float64 {
	all := make([]float64, len(values))
	for i, v := range values {
		all[i] = float64(v)
	}
	slices.Sort(all)
	return all
}
