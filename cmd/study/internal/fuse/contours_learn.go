package fuse

import (
	"math"

	"mrprism/internal/data/metric"
)

// learnBiases estimates b, the usual deviations and v. It returns λ by image and rater.
func (c *Contours) learnBiases(seen []*outlines) (trust [][]float64) {
	for range 20 {
		trust = nil
		off := make([][]float64, len(c.bias)) // by rater: distances from ŝ, image by image
		for _, o := range seen {
			image, place := c.trust(o.means)
			trust = append(trust, image)
			for m, mean := range o.means {
				if !math.IsNaN(mean) {
					off[m] = append(off[m], mean-place)
				}
			}
		}
		all, sum := 0., 0.
		for m := range off {
			if len(off[m]) > 0 {
				c.bias[m] = metric.Median(off[m])
				all, sum = all+c.precision(m), sum+c.precision(m)*c.bias[m]
			}
		}
		raters, squares := 0., 0.
		for m := range off {
			if len(off[m]) == 0 {
				continue
			}
			for i, v := range off[m] {
				off[m][i] = math.Abs(v - c.bias[m])
			}
			// the deviation of a normal distribution with this median
			c.usual[m] = max(1.4826*metric.Median(off[m]), .5/math.Sqrt(c.precision(m)))
			c.bias[m] -= sum / all
			raters, squares = raters+1, squares+c.precision(m)*c.bias[m]*c.bias[m]
		}
		if raters > 1 {
			c.unsure = squares / (raters - 1) / all
		}
	}
	return trust
}

// pair compares two raters in one sector: the variance of their difference, and the number of
// images that count.
type pair struct{ variance, images float64 }

// learnNoise estimates σ² from the differences of pairs.
func (c *Contours) learnNoise(seen []*outlines, trust [][]float64) {
	raters := len(c.noise)
	var parts [sectors][]pair // (M·M)
	for k := range parts {
		parts[k] = make([]pair, raters*raters)
	}
	whole, slow := make([]pair, raters*raters), make([]float64, raters*raters)
	least := 0. // the least variance, that of rounding
	for i, o := range seen {
		least += rounding * o.pixel * o.pixel / float64(len(seen))
		for m := range raters {
			for n := range raters {
				if m == n || math.IsNaN(o.means[m]+o.means[n]) {
					continue
				}
				at, w := m*raters+n, trust[i][m]*trust[i][n]
				difference := func(k int) float64 {
					return o.sectors[m][k] - c.bias[m] - o.sectors[n][k] + c.bias[n]
				}
				for k := range sectors {
					before, after := (k+sectors-1)%sectors, (k+1)%sectors
					if o.pixels[before] == 0 || o.pixels[k] == 0 || o.pixels[after] == 0 {
						continue
					}
					d := difference(k)
					bent := d - (difference(before)+difference(after))/2 // variance 1 + ¼ + ¼
					p := pair{w * bent * bent / 1.5, w}
					parts[k][at].add(p)
					whole[at].add(p)
					slow[at] += w * d * d
				}
			}
		}
	}
	if len(seen) == 0 {
		return
	}
	var left []float64 // variance that is left, by pair
	for at, p := range whole {
		if p.variance > 0 {
			left = append(left, slow[at]/p.variance)
		}
	}
	factor := 1.
	if len(left) > 0 {
		factor = max(1, metric.Median(left))
	}
	together := solve(whole, raters, least)
	for k, pairs := range parts {
		own := solve(pairs, raters, least)
		for m := range raters {
			n := 0. // images that m and somebody else marked
			for _, p := range pairs[m*raters : (m+1)*raters] {
				n = max(n, p.images)
			}
			c.noise[m][k] = factor*(n*own[m]+ownSize*together[m])/(n+ownSize) + least
		}
	}
}

func (p *pair) add(o pair) { p.variance, p.images = p.variance+o.variance, p.images+o.images }

// solve finds σ_m² ≥ 0 whose sums are nearest to the variances of pairs (M·M), by least squares
// with weights images/variance², rater after rater. It begins with equal variances in a pair.
func solve(pairs []pair, raters int, least float64) []float64 {
	all := make([]float64, raters)
	improve := func(term func(p pair, other float64) (value, weight float64)) {
		for m := range raters {
			sum, weights := 0., 0.
			for n, p := range pairs[m*raters : (m+1)*raters] {
				if p.images > 0 {
					v, w := term(p, all[n])
					sum, weights = sum+w*v, weights+w
				}
			}
			if weights > 0 {
				all[m] = max(0, sum/weights)
			}
		}
	}
	improve(func(p pair, _ float64) (value, weight float64) { return p.variance / p.images / 2, p.images })
	for range 200 {
		improve(func(p pair, other float64) (value, weight float64) {
			v := p.variance / p.images
			return v - other, p.images / (v*v + least*least)
		})
	}
	return all
}
