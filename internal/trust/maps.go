package trust

import (
	"math"
	"slices"

	"mrprism/weights"
)

// A map is fitted on equal steps of probability, bins of them. Pixels counts in finer steps.
const (
	bins  = 20
	finer = 10
	fine  = bins * finer
)

// faint is the first fine step whose pixels count for a map. The map ignores fainter pixels, marked
// or not: from the marked ones alone it would learn that faint pixels are mostly marked.
const faint = bins / 20 * finer

// thresholds of soft Dice, for probabilities and shares.
var thresholds = [...]float64{.1, .3, .5, .7, .9}

// Pixels counts the pixels of a structure in one image by their probability. An image is never
// judged by a fit to images of its own Part.
type Pixels struct {
	Part int

	count              [fine]float64                  // pixels
	from, to           [fine]float64                  // sums of their probabilities and of their shares of raters
	marked, markedFrom [fine]float64                  // count and from of pixels that a rater marked
	above              [len(thresholds)][fine]float64 // pixels whose share is above a threshold
}

// Add counts a pixel of probability p that a share of the raters marked.
func (s *Pixels) Add(p float32, share float64) {
	i := min(fine-1, max(0, int(p*fine)))
	s.count[i]++
	s.from[i] += float64(p)
	s.to[i] += share
	if share > 0 {
		s.marked[i]++
		s.markedFrom[i] += float64(p)
	}
	for t, threshold := range thresholds {
		if share > threshold {
			s.above[t][i]++
		}
	}
}

// NewMap tries strengths from 1/strengths to 1, and soft Dice may fall by mostLost.
const (
	strengths = 10
	mostLost  = 0.001
)

// NewMap fits a map from probabilities to shares of raters, by isotonic regression. Each image is
// judged under a map of the other parts. NewMap takes the largest of ten strengths with which soft
// Dice falls by at most 0.001 and the calibration error of marked pixels falls. ok is false if
// there is none, or with fewer than a thousand pixels.
func NewMap(images []*Pixels) (m weights.Map, ok bool) {
	all, ok := isotonic(images, -1)
	if !ok {
		return m, false
	}
	unseen := map[int]weights.Map{}
	for _, image := range images {
		if _, known := unseen[image.Part]; !known {
			if unseen[image.Part], ok = isotonic(images, image.Part); !ok {
				return m, false
			}
		}
	}
	none := func(*Pixels) weights.Map { return identity }
	for strength := strengths; strength > 0; strength-- {
		by := float32(strength) / strengths
		with := func(image *Pixels) weights.Map { return blended(unseen[image.Part], by) }
		if softDice(images, with) >= softDice(images, none)-mostLost && calibrationError(images, with) < calibrationError(images, none) {
			return blended(all, by), true
		}
	}
	return m, false
}

var identity = weights.Map{From: []float32{0, 1}, To: []float32{0, 1}}

// blended goes from the identity, at 0, to the map, at 1.
func blended(m weights.Map, by float32) weights.Map {
	to := make([]float32, len(m.To))
	for i, v := range m.To {
		to[i] = (1-by)*m.From[i] + by*v
	}
	return weights.Map{From: m.From, To: to}
}

// isotonic is the isotonic regression of the share on the probability (pool adjacent violators,
// Barlow et al. 1972), over the images of all parts but one. The map is linear between the means of
// the regression's steps, from 0 at 0 to 1 at 1.
func isotonic(images []*Pixels, without int) (m weights.Map, ok bool) {
	type block struct{ count, from, to float64 }
	var steps [bins]block
	for _, image := range images {
		if image.Part == without {
			continue
		}
		for i := faint; i < fine; i++ {
			s := &steps[i/finer]
			s.count, s.from, s.to = s.count+image.count[i], s.from+image.from[i], s.to+image.to[i]
		}
	}
	var blocks []block
	total := 0.
	for _, s := range steps {
		if s.count == 0 {
			continue
		}
		total += s.count
		blocks = append(blocks, s)
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

// softDice is the mean over images and thresholds. Each image has its own map.
func softDice(images []*Pixels, of func(*Pixels) weights.Map) float64 {
	sum := 0.
	for _, image := range images {
		m := of(image)
		for t, threshold := range thresholds {
			both, found, marked := 0., 0., 0.
			for i := range fine {
				marked += image.above[t][i]
				if float64(At(m, (float32(i)+.5)/fine)) > threshold {
					both += image.above[t][i]
					found += image.count[i]
				}
			}
			if found+marked == 0 {
				both, found, marked = 1, 1, 1
			}
			sum += 2 * both / (found + marked) / float64(len(thresholds))
		}
	}
	return sum / float64(len(images))
}

// calibrationError is the expected calibration error of marked pixels in 15 bins (Naeini et al.
// 2015). Each image has its own map.
func calibrationError(images []*Pixels, of func(*Pixels) weights.Map) float64 {
	const bins = 15
	var off [bins]float64
	pixels := 0.
	for _, image := range images {
		m := of(image)
		for i, n := range image.marked {
			if n == 0 {
				continue
			}
			p := At(m, float32(image.markedFrom[i]/n))
			off[min(bins-1, int(p*bins))] += float64(p)*n - image.to[i]
			pixels += n
		}
	}
	sum := 0.
	for _, v := range off {
		sum += math.Abs(v)
	}
	return sum / pixels
}

// At applies a map to a probability.
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
