package trust

import (
	"math"
	"slices"

	"mrprism/weights"
)

// bins is how many equal steps of probability a map is fitted on.
const bins = 20

// Pixels counts, in steps of probability, the share of raters that marked the pixels, for NewMap.
type Pixels struct {
	count, from, to [bins]float64
}

// Add counts a pixel of probability p that a share of the raters marked.
func (s *Pixels) Add(p float32, share float64) {
	i := min(bins-1, max(0, int(p*bins)))
	s.count[i]++
	s.from[i] += float64(p)
	s.to[i] += share
}

// NewMap is the isotonic regression of the share on the probability (pool adjacent violators,
// Barlow et al. 1972), linear between the means of its steps, from 0 at 0 to 1 at 1. Not ok without
// a thousand pixels.
func NewMap(s *Pixels) (m weights.Map, ok bool) {
	type block struct{ count, from, to float64 }
	var blocks []block
	total := 0.
	for i := range bins {
		if s.count[i] == 0 {
			continue
		}
		total += s.count[i]
		blocks = append(blocks, block{s.count[i], s.from[i], s.to[i]})
		for n := len(blocks); n > 1 && blocks[n-2].to/blocks[n-2].count >= blocks[n-1].to/blocks[n-1].count; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			blocks = append(blocks[:n-2], block{a.count + b.count, a.from + b.from, a.to + b.to})
		}
	}
	if total < 1000 {
		return m, false
	}
	m.From, m.To = []float32{0}, []float32{0}
	for _, b := range blocks {
		from, to := float32(b.from/b.count), float32(b.to/b.count)
		if from > m.From[len(m.From)-1] && from < 1 {
			m.From, m.To = append(m.From, from), append(m.To, min(1, max(to, m.To[len(m.To)-1])))
		}
	}
	m.From, m.To = append(m.From, 1), append(m.To, 1)
	return m, true
}

// At is what the map makes of a probability.
func At(m weights.Map, p float32) float32 {
	i, exact := slices.BinarySearch(m.From, p)
	switch {
	case exact:
		return m.To[i]
	case i == 0:
		return m.To[0]
	case i == len(m.From):
		return m.To[i-1]
	}
	t := (p - m.From[i-1]) / (m.From[i] - m.From[i-1])
	return m.To[i-1] + t*(m.To[i]-m.To[i-1])
}

// NewSpread is the interval about the median of errors that holds a share of those it has not seen:
// split conformal prediction with the distance from the median as score (Lei et al. 2018). Not ok
// where there are too few errors for that share.
func NewSpread(errors []float64, coverage float64) (s weights.Spread, ok bool) {
	sorted := slices.Clone(errors)
	slices.Sort(sorted)
	n := len(sorted)
	rank := int(math.Ceil(coverage * float64(n+1)))
	if n == 0 || rank > n {
		return s, false
	}
	middle := quantile(sorted, .5)
	distances := make([]float64, n)
	for i, v := range sorted {
		distances[i] = math.Abs(v - middle)
	}
	slices.Sort(distances)
	reach := distances[rank-1]
	return weights.Spread{Low: middle - reach, High: middle + reach, Coverage: coverage}, true
}
