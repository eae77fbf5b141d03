package fuse

import (
	"cmp"
	"math"
	"slices"

	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
)

// Contours fuses outlines. It learns over a data set how far each rater's outline strays, in each
// direction from the structure's middle, and how much too large or too small he marks it. Distances
// are shares of √(H·W). In direction θ rater m's signed distance to his outline is d_m, positive
// inside, and the signed distance to the true outline is s:
//
//	d_m = s + b_m + e_m,   e_m ~ N(0, σ_m(θ)²)
//	ŝ = Σ w_m (d_m − b_m) / Σ w_m,   w_m = λ_m / σ_m(θ)²
//	P(inside) = Φ(ŝ / √(1/Σ w_m + v))
//
// The sums are over the raters who marked the image. Learn estimates three things on the outline
// ŝ = 0, which begins as the majority's, and repeats this with the next ŝ:
//
//   - The noise σ_m. The difference of two raters has the variance σ_m² + σ_n², and all pairs
//     together give each rater's (Grubbs, JASA 1948), here by least squares with no σ_m² below 0.
//     Differences are means over 16 sectors, less the mean of the two sectors beside. So an outline
//     that lies evenly farther out is not noisy, even if no other lies there. One factor for all
//     raters makes up for the variance that this leaves out. Each sector's variance is averaged
//     with that of the whole outline, which counts as two images.
//   - The bias b_m, the rater's median distance from ŝ. Marks do not say who is unbiased. The prior
//     b_m ~ N(0, c²σ_m²), by which careless raters have larger biases, makes Σ b_m/σ_m² zero. c²
//     is the mean of b_m²/σ_m², and v = c²/Σ 1/σ_m² is the variance that remains.
//   - The trust λ_m in a single mark, min(1, 5/(4 + z²)), as under Student's t with 4 degrees of
//     freedom. z is the mark's mean distance from ŝ + b_m, divided by the rater's usual one. Blank
//     and exchanged marks hardly count.
//
// Learn sees marks at 256 pixels a side at most. An object that only a minority marked is left out.
// The raters' rates in a Fit compare their marks with its map.
type Contours struct {
	images []markedImage
	bias   []float64          // b, by rater
	usual  []float64          // deviation of a mark's mean distance, by rater
	noise  [][sectors]float64 // σ², by rater
	unsure float64            // v
}

const (
	sectors  = 16
	learning = 256     // longest side that fusion.StepOf leaves, in pixels
	rounds   = 3       // of new outlines ŝ = 0
	ownSize  = 2       // the whole outline's variance counts in a sector as so many images
	rounding = 1. / 12 // variance of an outline on a grid, pixels²
)

// markedImage is a picture's marks.
type markedImage struct {
	marks [][]uint8
	width int
}

// NewContours makes a fusion that knows nothing yet of its raters.
func NewContours(raters int) *Contours {
	c := &Contours{bias: make([]float64, raters), usual: make([]float64, raters), noise: make([][sectors]float64, raters)}
	for m := range raters {
		c.usual[m] = 1
		for k := range sectors {
			c.noise[m][k] = rounding / (learning * learning)
		}
	}
	return c
}

// Add keeps an image's marks, width pixels wide, for Learn.
func (c *Contours) Add(marks [][]uint8, width int) {
	_, n := fusion.Present(marks)
	step := fusion.StepOf(width, n/width)
	small := make([][]uint8, len(marks))
	for m, mark := range marks {
		small[m] = fusion.Thinned(mark, width, step)
	}
	c.images = append(c.images, markedImage{small, (width + step - 1) / step})
}

// Learn estimates the raters' noise and biases from the images that were added.
func (c *Contours) Learn() {
	seen := make([]*outlines, len(c.images))
	for round := range rounds {
		fusion.InParallel(len(seen), func(i int) {
			if f := newField(c.images[i]); f != nil {
				for range round {
					f.fuse(c)
				}
				seen[i] = f.seen
			}
		})
		known := slices.DeleteFunc(slices.Clone(seen), func(o *outlines) bool { return o == nil }) // without an outline
		for range 4 {                                                                              // noise and biases depend on each other
			trust := c.learnBiases(known)
			c.learnNoise(known, trust)
		}
	}
}

// Fuse fuses the marks of an image, width pixels wide. If the majority marks no pixel, or every
// pixel, the result is the mean vote.
func (c *Contours) Fuse(marks [][]uint8, width int) *fusion.Fit {
	f := newField(markedImage{marks, width})
	if f == nil {
		return fusion.MeanVote(marks)
	}
	var deviation []float64
	for range rounds {
		deviation = f.fuse(c)
	}
	for i, d := range f.fused {
		deviation[i] = math.Erfc(-d/(deviation[i]*math.Sqrt2)) / 2
	}
	return &fusion.Fit{Map: deviation, Raters: fusion.RatesOf(marks, deviation), Converged: true}
}

// field is an image's marks as distances to outlines, in units of √(H·W).
type field struct {
	distances [][]float32 // (H·W) by rater; nil without a mark
	fused     []float64   // (H·W) ŝ
	seen      *outlines   // on ŝ = 0
	angle     []float32   // (H·W) direction from the majority's middle, in sectors, 0..16
	pixel     float64     // a pixel's side
}

// newField begins with the majority's outline as ŝ. It is nil if there is none.
func newField(im markedImage) *field {
	vote := fusion.Votes(im.marks)
	majority := make([]uint8, len(vote))
	area, x, y := 0., 0., 0.
	for i, share := range vote {
		if share > .5 {
			majority[i] = 1
			area, x, y = area+1, x+float64(i%im.width), y+float64(i/im.width)
		}
	}
	if area == 0 || area == float64(len(vote)) {
		return nil
	}
	f := &field{distances: make([][]float32, len(im.marks)), pixel: 1 / math.Sqrt(float64(len(vote)))}
	most := math.Sqrt(area / math.Pi)
	measure := func(mark []uint8) []float32 {
		d := metric.Signed(mark, im.width, most)
		for i := range d {
			d[i] *= float32(f.pixel)
		}
		return d
	}
	fusion.InParallel(len(im.marks), func(m int) {
		if im.marks[m] != nil {
			f.distances[m] = measure(im.marks[m])
		}
	})
	f.fused, f.angle = make([]float64, len(vote)), make([]float32, len(vote))
	for i, d := range measure(majority) {
		f.fused[i] = float64(d)
		turn := math.Atan2(float64(i/im.width)-y/area, float64(i%im.width)-x/area) / (2 * math.Pi)
		f.angle[i] = float32(sectors * (turn + .5))
	}
	f.look()
	return f
}

// outlines are the raters' distances on the outline ŝ = 0.
type outlines struct {
	pixels  [sectors]float64
	sectors [][sectors]float64 // mean distance by rater and sector; nil without a mark
	means   []float64          // over the whole outline; NaN without a mark
	pixel   float64
}

// look updates seen from the pixels within one pixel of ŝ = 0. Without such pixels seen stays.
func (f *field) look() {
	var at []int
	o := &outlines{sectors: make([][sectors]float64, len(f.distances)), means: make([]float64, len(f.distances)), pixel: f.pixel}
	for i, d := range f.fused {
		if math.Abs(d) < f.pixel {
			at = append(at, i)
			o.pixels[int(f.angle[i]+.5)%sectors]++
		}
	}
	if len(at) == 0 {
		return
	}
	for m, d := range f.distances {
		if o.means[m] = math.NaN(); d == nil {
			continue
		}
		sum := 0.
		for _, i := range at {
			k := int(f.angle[i]+.5) % sectors
			o.sectors[m][k] += float64(d[i]) / o.pixels[k]
			sum += float64(d[i])
		}
		o.means[m] = sum / float64(len(at))
	}
	f.seen = o
}

// fuse replaces ŝ, looks at it and returns its deviation (H·W).
func (f *field) fuse(c *Contours) []float64 {
	deviation := make([]float64, len(f.fused))
	trust, _ := c.trust(f.seen.means)
	const parts = 8 // of a sector; the noise is interpolated between its middle and the next
	table := make([][]float64, len(f.distances))
	for m := range table {
		for j := range sectors*parts + 1 {
			k, share := j/parts, float64(j%parts)/parts
			here, next := math.Log(c.noise[m][k%sectors]), math.Log(c.noise[m][(k+1)%sectors])
			table[m] = append(table[m], trust[m]/math.Exp(here*(1-share)+next*share))
		}
	}
	for i := range f.fused {
		j, all, sum := int(f.angle[i]*parts), 0., 0.
		for m, d := range f.distances {
			if d != nil {
				w := table[m][j]
				all, sum = all+w, sum+w*(float64(d[i])-c.bias[m])
			}
		}
		f.fused[i], deviation[i] = sum/all, math.Sqrt(1/all+c.unsure)
	}
	f.look()
	return deviation
}

// precision is the mean of 1/σ² over a rater's sectors.
func (c *Contours) precision(m int) (mean float64) {
	for _, v := range c.noise[m] {
		mean += 1 / v / sectors
	}
	return mean
}

// trust returns λ by rater, and the place of ŝ, for raters at these mean distances. It begins with
// the weighted median, which a few gross marks do not move.
func (c *Contours) trust(means []float64) (trust []float64, place float64) {
	type rater struct{ at, weight float64 }
	var raters []rater
	half := 0.
	for m, mean := range means {
		if !math.IsNaN(mean) {
			raters = append(raters, rater{mean - c.bias[m], c.precision(m)})
			half += c.precision(m) / 2
		}
	}
	slices.SortFunc(raters, func(a, b rater) int { return cmp.Compare(a.at, b.at) })
	below := 0.
	for _, r := range raters {
		if below < half {
			place = r.at
		}
		below += r.weight
	}
	trust = make([]float64, len(means))
	for range 5 {
		all, sum := 0., 0.
		for m, mean := range means {
			if math.IsNaN(mean) {
				continue
			}
			z := (mean - c.bias[m] - place) / c.usual[m]
			trust[m] = min(1, 5/(4+z*z))
			w := trust[m] * c.precision(m)
			all, sum = all+w, sum+w*(mean-c.bias[m])
		}
		place = sum / all
	}
	return trust, place
}
