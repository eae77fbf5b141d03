package segment

import (
	"mrprism/internal/imageio"
	"mrprism/weights"
)

// An image is unlike those that a model has learned from where its colours are further than colourMargin beyond theirs. Photographs of one kind by other
// cameras are within it, and so are the darker, brighter and bluish ones of "evaluate -changed"; grey pictures and photographs of the eye's ground are 0.18 apart and more.
const (
	colourMargin = 0.1
	tooDark      = 36 // of red, green and blue together, of 765: has no colour
)

// colours are the shares of red and of blue in the light of a pixel, the mean over all that are not nearly black; a third each where all are.
func colours(img *imageio.Image) (red, blue float64) {
	n := 0.
	for i := 0; i+2 < len(img.Pix); i += 3 {
		r, g, b := int(img.Pix[i]), int(img.Pix[i+1]), int(img.Pix[i+2])
		if light := r + g + b; light > tooDark {
			n++
			red += float64(r) / float64(light)
			blue += float64(b) / float64(light)
		}
	}
	if n == 0 {
		return 1. / 3, 1. / 3
	}
	return red / n, blue / n
}

// unlike says whether the image's colours are beyond those that the model has seen, as far as its file tells them.
func (e *Engine) unlike(img *imageio.Image) bool {
	seen := e.about.Colours
	if seen == nil {
		return false
	}
	red, blue := colours(img)
	return beyond(seen.Red, red) || beyond(seen.Blue, blue)
}

func beyond(seen [2]float64, v float64) bool {
	return v < seen[0]-colourMargin || v > seen[1]+colourMargin
}

// Widened are the colours seen, nil for none, with those of another image.
func Widened(seen *weights.Colours, img *imageio.Image) *weights.Colours {
	red, blue := colours(img)
	if seen == nil {
		return &weights.Colours{Red: [2]float64{red, red}, Blue: [2]float64{blue, blue}}
	}
	return &weights.Colours{
		Red:  [2]float64{min(seen.Red[0], red), max(seen.Red[1], red)},
		Blue: [2]float64{min(seen.Blue[0], blue), max(seen.Blue[1], blue)},
	}
}
