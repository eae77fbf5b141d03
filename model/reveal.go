package model

import (
	"math"
	"math/rand/v2"
)

// Revealed is what a training batch gives of the marks, what it asks for, and how it spoils the
// logits, in the shapes of Step's inputs.
type Revealed struct {
	Share, Mark, Any       []float32
	Prior, For, Against    []float32
	Target, Hidden, Asked  []float32
	Keep, KeepRaters       []float32
	SpoilMask, SpoilRaters []float32
}

// reveal draws what is given of a batch's marks. Of a third of the images it gives nothing, of the
// others the marks of 1 to M − 1 raters: whole, or in a disc or a half-plane alone. A rater may be
// given as somebody who is not one of the raters; with Levels all are. Marks that are not given are
// asked for.
func (b *Batch) reveal(s *Step, draws Draws) *Revealed {
	half, c := s.Target.Dim(1), s.labels()
	labels := c.Raters * c.Classes
	gifts := make([][]gift, s.Target.Dim(0))
	for i := range gifts {
		gifts[i] = drawGifts(c, b.own()[i*labels:][:labels], half, draws[i])
	}
	r := b.given(s, gifts)
	r.spoil(half, c, 0.5, draws)
	return r
}

// labels has raters, classes and levels of the step.
func (s *Step) labels() *Config {
	return &Config{Raters: s.Z.Dim(3), Classes: s.Z.Dim(4), Levels: s.Given.Share == nil}
}

// own says which marks teach raters' heads, (B, M, K).
func (b *Batch) own() []float32 {
	if b.Own == nil {
		return b.Valid
	}
	return b.Own
}

// given makes the maps of what is given of each image, and of what is asked for.
func (b *Batch) given(s *Step, gifts [][]gift) *Revealed {
	images, half, c := len(gifts), s.Target.Dim(1), s.labels()
	k, pixels, labels := c.Classes, half*half, c.Raters*c.Classes
	r := &Revealed{
		Any: make([]float32, images*k), Prior: make([]float32, images*pixels*k), For: make([]float32, images*pixels*k), Against: make([]float32, images*pixels*k),
		Target: make([]float32, images*pixels*k), Hidden: make([]float32, images*pixels*labels), Asked: make([]float32, images*k),
	}
	if !c.Levels {
		r.Share, r.Mark = make([]float32, images*pixels*labels), make([]float32, images*pixels*labels)
	}
	for i, gifts := range gifts {
		valid := b.own()[i*labels:][:labels]
		z := b.Z[i*4*pixels*labels:][:4*pixels*labels]
		for at := range pixels {
			for class := range k {
				r.pixel(c, i, i*pixels+at, at, half, class, valid, gifts, z)
			}
		}
		if len(gifts) > 0 {
			for class := range k {
				r.Any[i*k+class], r.Asked[i*k+class] = 1, 1/float32(images*pixels)
			}
		}
	}
	scale := 1 / float32(images*pixels)
	for i := range r.Hidden {
		r.Hidden[i] *= scale
	}
	return r
}

// gift is what is given of one rater's marks.
type gift struct {
	rater  int
	named  bool // false: as the marks of somebody who is not one of the raters
	inside func(x, y float64) bool
}

// drawGifts draws what is given of one image. valid (M, K) says which marks there are.
func drawGifts(c *Config, valid []float32, half int, random *rand.Rand) (gifts []gift) {
	var present []int
	for m := range c.Raters {
		for _, v := range valid[m*c.Classes:][:c.Classes] {
			if v != 0 {
				present = append(present, m)
				break
			}
		}
	}
	if len(present) < 2 || random.Float64() < 1./3 {
		return nil
	}
	random.Shuffle(len(present), func(i, j int) { present[i], present[j] = present[j], present[i] })
	for _, m := range present[:1+random.IntN(len(present)-1)] {
		gifts = append(gifts, gift{m, !c.Levels && random.Float64() < 0.8, region(float64(half), random)})
	}
	return gifts
}

// region is the whole of an image of that side, a disc or a half-plane.
func region(side float64, random *rand.Rand) func(x, y float64) bool {
	kind, u, v, w := random.Float64(), random.Float64(), random.Float64(), random.Float64()
	cx, cy := (0.2+0.6*u)*side, (0.2+0.6*v)*side
	switch {
	case kind < 0.6:
		return func(float64, float64) bool { return true }
	case kind < 0.85:
		radius := (0.06 + 0.3*w) * side
		return func(x, y float64) bool { return math.Hypot(x-cx, y-cy) < radius }
	}
	sin, cos := math.Sincos(2 * math.Pi * w)
	return func(x, y float64) bool { return (x-cx)*cos+(y-cy)*sin > 0 }
}

// pixel fills the maps of image i at a pixel: number `at` of the image and `to` of the batch.
func (r *Revealed) pixel(c *Config, i, to, at, half, class int, valid []float32, gifts []gift, z []float32) {
	labels, k, x, y := c.Raters*c.Classes, c.Classes, float64(at%half), float64(at/half)
	label := func(m int) float32 { return halved(z, at, 2*half, m*k+class, labels) }
	hidden, count := r.Hidden[to*labels:][:labels], float32(0)
	for m := range c.Raters {
		hidden[m*k+class] = valid[m*k+class]
		count += valid[m*k+class]
	}
	var said, inside float32
	for _, g := range gifts {
		at := g.rater*k + class
		if valid[at] == 0 || !g.inside(x, y) {
			continue
		}
		hidden[at] = 0
		count--
		z := label(g.rater)
		said, inside = said+1, inside+z
		if g.named {
			r.Share[to*labels+at], r.Mark[to*labels+at] = 1, 2*z-1
		}
	}
	r.Prior[to*k+class], r.For[to*k+class], r.Against[to*k+class] = weighed(said, inside)
	if count == 0 { // nobody else marked this structure
		return
	}
	for m := range c.Raters {
		hidden[m*k+class] /= count
		r.Target[to*k+class] += hidden[m*k+class] * label(m)
	}
}

// weighed are the elements of Given.Prior, For and Against where n people have said something, and
// `inside` of them that the pixel is inside.
func weighed(n, inside float32) (prior, in, out float32) {
	all := PriorRaters + n
	return PriorRaters / all, inside / all, (n - inside) / all
}

// spoil draws how the logits of a share of the images of which something is given are spoilt: they are
// flattened, and a smooth field and a constant are added. The mask and all raters share them, and
// each rater has a weaker field of his own.
func (r *Revealed) spoil(half int, c *Config, share float64, draws Draws) {
	images, m, k, coarse := len(draws), c.Raters, c.Classes, half/4
	r.Keep, r.KeepRaters = make([]float32, images*k), make([]float32, images*m*k)
	r.SpoilMask, r.SpoilRaters = make([]float32, images*half*half*k), make([]float32, images*coarse*coarse*m*k)
	for i, random := range draws {
		spoilt, flat, amount := random.Float64() < share && r.Any[i*k] != 0, math.Exp(-random.Float64()), 1.5*random.Float64()
		for class := range k {
			common, shift := newField(random), amount*random.NormFloat64()/2
			keep := 1.
			if spoilt {
				keep = flat
				for at := range half * half {
					r.SpoilMask[(i*half*half+at)*k+class] = float32(shift + amount*common.at(at, half))
				}
			}
			r.Keep[i*k+class] = float32(keep)
			for rater := range m {
				own := newField(random)
				r.KeepRaters[(i*m+rater)*k+class] = float32(keep)
				for at := range coarse * coarse {
					if spoilt {
						r.SpoilRaters[((i*coarse*coarse+at)*m+rater)*k+class] = float32(shift + amount*(common.at(at, coarse)+own.at(at, coarse)/2))
					}
				}
			}
		}
	}
}

// field is a smooth field of about unit variance: normal numbers on a grid, bilinear between.
type field struct {
	cells  int
	values []float64 // (cells+1)²
}

func newField(random *rand.Rand) field {
	f := field{cells: 2 + random.IntN(7)}
	for range (f.cells + 1) * (f.cells + 1) {
		f.values = append(f.values, 1.4*random.NormFloat64())
	}
	return f
}

// at is the field at a pixel of a square of that side.
func (f field) at(pixel, side int) float64 {
	scale := float64(f.cells) / float64(side)
	x, y := (float64(pixel%side)+0.5)*scale, (float64(pixel/side)+0.5)*scale
	i, j := int(x), int(y)
	fx, fy := x-float64(i), y-float64(j)
	row := func(j int) float64 {
		v := f.values[j*(f.cells+1)+i:]
		return v[0]*(1-fx) + v[1]*fx
	}
	return row(j)*(1-fy) + row(j+1)*fy
}
