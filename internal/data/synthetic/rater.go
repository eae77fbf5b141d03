package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"

	"mrprism/internal/data/paint"
)

// Rater says how one simulated person marks structures. Lengths are in disc radii.
type Rater struct {
	Name     string
	Bias     float64 // b: distance of the drawn contour outside the true one
	Response float64 // k: further distance at an ambiguous contour, times β
	Noise    float64 // σ: standard deviation of the drawn contour
	Sector   *Sector // angles with another σ; nil for none
	// Errors that do not depend on the image. Flips come in blots, from a smooth field.
	Missed  float64 // 1 − p: share of marked pixels that are turned off
	Strayed float64 // 1 − q: share of unmarked pixels that are turned on; Missed + Strayed ≤ 1
	Blank   float64 // probability that a whole image is left unmarked
	Swapped float64 // probability that a whole image's structures are mistaken for each other
}

// Sector is a range of angles, with y down, in which a rater's noise differs. It fades in over its
// outer quarter.
type Sector struct {
	Centre, HalfWidth float64 // radians
	Noise             float64 // σ in its middle
}

// Correlation lengths of a rater's fields, in disc radii.
const (
	contourSpacing = 0.45
	blotSpacing    = 0.10
)

// noise is σ(θ).
func (r *Rater) noise(theta float64) float64 {
	if r.Sector == nil {
		return r.Noise
	}
	off := math.Abs(turn(r.Sector.Centre, theta)) / r.Sector.HalfWidth
	inside := paint.Smooth((1 - off) * 4)
	return r.Noise + (r.Sector.Noise-r.Noise)*inside
}

// check panics if the closed form does not hold for a rater: noise must be positive and flips must
// not invert.
func (r *Rater) check() {
	if r.Noise <= 0 || r.Sector != nil && (r.Sector.Noise <= 0 || r.Sector.HalfWidth <= 0) || r.Missed < 0 || r.Strayed < 0 || r.Missed+r.Strayed > 1 {
		panic(fmt.Sprintf("synthetic: rater %s: noise and sector must be positive and Missed + Strayed at most 1: %+v", r.Name, *r))
	}
}

// thresholds returns t with z_c = 1[g > −t_c], which means P(z_c) = Φ(t_c), before errors. A
// rater marks the cup only inside the disc. Both structures share g: the smaller threshold gives
// the intersection.
func (r *Rater) thresholds(e *Eye, x, y float64) (t [2]float64) {
	rho, theta := math.Hypot(x, y), math.Atan2(y, x)
	sigma := r.noise(theta)
	for class := range t {
		s, beta := e.distance(class, rho, theta)
		t[class] = (s + r.Bias + r.Response*beta) / sigma
	}
	t[Cup] = min(t[Cup], t[Disc])
	return t
}

// Mark draws the rater's masks of a scene, one for each class, row by row. Another seed gives
// another drawing. The cup lies inside the disc unless the rater swapped them.
func (s *Scene) Mark(r Rater, seed uint64) [][]bool {
	r.check()
	random := rand.New(rand.NewPCG(s.Eye.seed, seed))
	masks := [][]bool{make([]bool, s.width*s.height), make([]bool, s.width*s.height)}
	blank, swapped := random.Float64() < r.Blank, random.Float64() < r.Swapped
	reach := s.reach()
	contour := paint.NewField(random, contourSpacing, min(reach, 4))
	if blank {
		return masks
	}
	// A pixel is turned over where a standard normal falls below these; −∞ for a share of 0.
	missed, strayed := normalQuantile(r.Missed), normalQuantile(r.Strayed)
	var blots *paint.Field
	if r.Missed > 0 || r.Strayed > 0 {
		blots = paint.NewField(random, blotSpacing, reach)
	}
	s.eachPixel(func(i int, x, y float64) {
		t, g := r.thresholds(s.Eye, x, y), contour.At(x, y)
		h := 0.0
		if blots != nil {
			h = blots.At(x, y)
		}
		for class := range masks {
			// Turning off and turning on read h from opposite ends: a cup never remains without its disc
			// (TestNested).
			if g > -t[class] {
				masks[class][i] = h > missed
			} else {
				masks[class][i] = -h < strayed
			}
		}
	})
	if swapped {
		masks[Disc], masks[Cup] = masks[Cup], masks[Disc]
	}
	return masks
}

// Probability is P(z = 1 | x) of a rater's label of a class, in closed form, row by row.
func (s *Scene) Probability(r Rater, class int) []float64 {
	r.check()
	p := make([]float64, s.width*s.height)
	s.eachPixel(func(i int, x, y float64) {
		t := r.thresholds(s.Eye, x, y)
		var marked [2]float64
		for c := range marked {
			phi := normalCDF(t[c])
			marked[c] = (1-r.Missed)*phi + r.Strayed*(1-phi)
		}
		p[i] = (1 - r.Blank) * ((1-r.Swapped)*marked[class] + r.Swapped*marked[1-class])
	})
	return p
}

// Calibrated is the mean of the raters' probabilities. A calibrated map of the raters equals it.
func (s *Scene) Calibrated(raters []Rater, class int) []float64 {
	mean := make([]float64, s.width*s.height)
	for _, r := range raters {
		for i, p := range s.Probability(r, class) {
			mean[i] += p / float64(len(raters))
		}
	}
	return mean
}

// reach is the farthest point of the scene from the disc's centre, on either axis.
func (s *Scene) reach() float64 {
	x0, y0 := s.point(0, 0)
	x1, y1 := s.point(s.width-1, s.height-1)
	return max(-x0, -y0, x1, y1)
}

// normalCDF is Φ.
func normalCDF(t float64) float64 { return 0.5 * math.Erfc(-t/math.Sqrt2) }

// normalQuantile is Φ⁻¹.
func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
