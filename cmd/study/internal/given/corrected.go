package given

import (
	"context"
	"math"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/model"
)

// corrections gives a tenth of each rater's outline and measures the rest of it: outside of the
// corrected part and of a twentieth of the outline on either side. It is nil if nobody has an
// outline.
func (g *evidenceStudy) corrections(ctx context.Context, e *segment.Engine, l *dataset.Loaded, plain *segment.Result, class int) (scores, error) {
	sums, count := scores{}, 0.
	for m, row := range l.Masks {
		mark := row[class]
		if mark == nil || metric.Area(mark) == 0 {
			continue
		}
		g.progress.Show("%s: %s, a tenth of the outline of %s", l.Name, g.set.Classes[class], g.set.Raters[m])
		for turn := range 3 {
			said, rest := Tenth(mark, l.Image.W, l.Image.H, 2*math.Pi*float64(turn)/3)
			given := segment.Evidence{Rater: g.rater(m), Class: g.set.Classes[class], Mask: said}
			r, err := e.Recalculate(ctx, segment.Options{Recurrences: model.Settles, Evidence: []segment.Evidence{given}})
			if err != nil {
				return nil, err
			}
			var hidden [][]uint8
			for other, row := range l.Masks {
				if other != m && row[class] != nil {
					hidden = append(hidden, row[class])
				}
			}
			for answer, maps := range map[string]*segment.Result{without: plain, ours: r} {
				sums[figure{ownRest, answer}] += DiceWithin(maps.Rater(m, class), mark, rest)
				if len(hidden) > 0 {
					sums[figure{othersRest, answer}] += DiceWithin(maps.Others(class), metric.Count(hidden...).Majority(), rest)
				}
			}
			count++
		}
	}
	if count == 0 {
		return nil, nil
	}
	return sums.over(count), nil
}

// Tenth is a mark that says something about a tenth of a mask's directions, as seen from its
// centroid, within a quarter of its radius of the outline. rest is where the outline is to be
// measured: all directions but these and a twentieth on either side.
func Tenth(mark []uint8, w, h int, direction float64) (said []byte, rest []bool) {
	var cx, cy, area float64
	for i, v := range mark {
		if v != 0 {
			cx, cy, area = cx+float64(i%w), cy+float64(i/w), area+1
		}
	}
	cx, cy = cx/area, cy/area
	near := max(2, math.Sqrt(area/math.Pi)/4)
	edge := outlineOf(mark, w, h)
	said, rest = make([]byte, len(mark)), make([]bool, len(mark))
	for i := range mark {
		x, y := float64(i%w), float64(i/w)
		off := math.Abs(math.Remainder(math.Atan2(y-cy, x-cx)-direction, 2*math.Pi))
		said[i], rest[i] = segment.Unsaid, off > 0.2*math.Pi
		if off > 0.1*math.Pi {
			continue
		}
		for _, p := range edge {
			if math.Hypot(x-p[0], y-p[1]) < near {
				said[i] = 255 * mark[i]
				break
			}
		}
	}
	return said, rest
}

// outlineOf are the pixels of a mask beside one that is not in it.
func outlineOf(mark []uint8, w, h int) (edge [][2]float64) {
	for i, v := range mark {
		x, y := i%w, i/w
		if v != 0 && (x == 0 || y == 0 || x == w-1 || y == h-1 || mark[i-1] == 0 || mark[i+1] == 0 || mark[i-w] == 0 || mark[i+w] == 0) {
			edge = append(edge, [2]float64{float64(x), float64(y)})
		}
	}
	return edge
}

// DiceWithin is the Dice of the pixels above one half with a mark, among the pixels that count.
func DiceWithin(p []float32, mark []uint8, counts []bool) float64 {
	both, all := 0., 0.
	for i, v := range p {
		if !counts[i] {
			continue
		}
		if v > 0.5 {
			all++
			both += float64(mark[i])
		}
		all += float64(mark[i])
	}
	if all == 0 {
		return 1
	}
	return 2 * both / all
}
