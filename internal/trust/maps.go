package trust

import (
	"math"
	"slices"

	"mrprism/weights"
)

// A map is fitted on bins equal steps of probability. Pixels are counted in steps ten times as
// fine.
const (
	bins  = 20
	finer = 10
	fine  = bins * finer
)

// faint is the probability from which a pixel counts for a map. Fainter ones are left out whether
// somebody has marked them or not: of those that are marked alone, a map would learn that what is
// faint is mostly marked.
const faint = bins / 20 * finer

// thresholds are those of soft Dice, for probabilities and shares.
var thresholds = [...]float64{.1, .3, .5, .7, .9}

// Pixels counts those of a structure in one image by their probability. Images that share Part are
// never fitted for each other.
type Pixels struct {
	Part int

	count, from, to    [fine]float64                  // pixels, and sums of their probabilities and of the shares of raters that marked them
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

// Strengths of a map that are tried, and how much soft Dice may fall for it.
const (
	strengths = 10
	mostLost  = 0.001
)

// NewMap is a map of the images' probabilities towards the shares: isotonic regression, as strong
// as soft Dice allows. Of ten strengths it takes the largest with which, each image under a map of
// the other parts, soft Dice does not fall by more than 0.001 and the calibration error of marked
// pixels falls. Not ok where there is none, or not a thousand pixels.
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

// blended is between the identity, at 0, and a map, at 1.
func blended(m weights.Map, by float32) weights.Map {
	to := make([]float32, len(m.To))
	for i, v := range m.To {
		to[i] = (1-by)*m.From[i] + by*v
	}
	return weights.Map{From: m.From, To: to}
}

// isotonic is the isotonic regression of the share on the probability (pool adjacent violators,
// Barlow et al. 1972), linear between the means of its steps, from 0 at 0 to 1 at 1, on the images
// of all parts but one.
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

// softDice is the mean over images and thresholds under a map for each image.
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

// calibrationError is the expected calibration error of marked pixels in 15 bins under a map for
// each image (Naeini et al. 2015).
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

// NewSpread is how far beyond a range a figure may lie, of figures of which those that were seen
// lay so far beyond it (negative: inside), so that it holds a share of those it has not seen:
// conformalized quantile regression (Romano, Patterson and Candès 2019). It never narrows the
// range. Not ok where there are too few for that share.
func NewSpread(beyond []float64, coverage float64) (s weights.Spread, ok bool) {
	sorted := slices.Sorted(slices.Values(beyond))
	rank := int(math.Ceil(coverage * float64(len(sorted)+1)))
	if len(sorted) == 0 || rank > len(sorted) {
		return s, false
	}
	reach := max(0, sorted[rank-1])
	return weights.Spread{Low: 0 - reach, High: reach, Coverage: coverage}, true
}
