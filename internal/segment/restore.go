package segment

import (
	"image"
	"math"
	"sync"

	"mrprism/internal/files/imageio"
)

// kept are restored maps, by where the channel begins that they were made of. Nobody changes them.
// They have masks and imageio.Levels of the others, but 0 where all around is below barely.
type kept map[*float32][]float32

// barely is a probability that is level 0 of 255.
const barely = 0.0019

// restore brings channel c of maps to the image, or finds what was kept of that.
func (r *Maps) restore(maps []float32, channels, c int) []float32 {
	if r.kept == nil || !r.part {
		return restore(maps, r.side, channels, c, r.ROI, r.Width, r.Height, image.Rectangle{})
	}
	if r.kept[&maps[c]] == nil {
		some := image.Rectangle{Min: image.Pt(r.side, r.side)}
		for i := range r.side * r.side {
			if x, y := i%r.side, i/r.side; maps[i*channels+c] > barely {
				some.Min, some.Max = image.Pt(min(some.Min.X, x), min(some.Min.Y, y)), image.Pt(max(some.Max.X, x+1), y+1)
			}
		}
		if some.Empty() {
			r.kept[&maps[c]] = make([]float32, r.Width*r.Height)
		} else {
			r.kept[&maps[c]] = restore(maps, r.side, channels, c, r.ROI, r.Width, r.Height, some)
		}
	}
	return r.kept[&maps[c]]
}

// restore brings channel c of probabilities to the image. Where the square is larger than the map,
// it enlarges their logits: a border of a structure is steep in probabilities, and nearly straight
// in logits, so its outline has no facets.
func restore(maps []float32, side, channels, c int, square imageio.Square, w, h int, only image.Rectangle) []float32 {
	if square.Side <= side {
		return imageio.Restore(maps, side, channels, c, square, w, h, only, clamp)
	}
	logits := channel(maps, c, channels)
	for i, p := range logits {
		logits[i] = float32(logitSteps * math.Log(float64(surest+(1-2*surest)*p)/float64(surest+(1-2*surest)*(1-p))))
	}
	return imageio.Restore(logits, side, 1, 0, square, w, h, only, sigmoid)
}

// Logits are in steps of the table of sigmoid, which begins at -mostLogit with 0 and ends at
// mostLogit with 1. Before logits of them are made, probabilities are moved to lie from surest to
// 1 - surest, whose logits are a hair beyond the table.
const (
	mostLogit  = 7
	logitSteps = 64
	surest     = 9.1e-4
)

// sigmoids are the probabilities of all steps. Between two of them they are straight to 3e-6.
var sigmoids = sync.OnceValue(func() (all []float32) {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp2(-math.Log2E*x)) }
	for i := range 2*mostLogit*logitSteps + 1 {
		p := sigmoid(float64(i)/logitSteps-mostLogit) - sigmoid(-mostLogit)
		all = append(all, float32(p/(1-2*sigmoid(-mostLogit))))
	}
	return append(all, 1)
})

// sigmoid turns logits into probabilities, in place.
func sigmoid(row []float32) {
	p := sigmoids()
	for x, v := range row {
		if v += mostLogit * logitSteps; v < 0 { // faster than min and max
			v = 0
		} else if v > 2*mostLogit*logitSteps {
			v = 2 * mostLogit * logitSteps
		}
		i := int(v)
		row[x] = p[i] + float32((v-float32(i))*(p[i+1]-p[i]))
	}
}

// clamp limits rounding errors of resampling to 0..1, in place. In WebAssembly min and max are calls.
func clamp(row []float32) {
	for x, v := range row {
		if v < 0 {
			row[x] = 0
		} else if v > 1 {
			row[x] = 1
		}
	}
}
