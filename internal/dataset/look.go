package dataset

import (
	"math"

	"mrprism/internal/imageio"
)

// Look is how a picture's colours and sharpness differ from the file's. Values are 0..1, and what leaves that range is cut.
type Look struct {
	Brightness float64    // added
	Contrast   float64    // factor about one half
	Gamma      float64    // exponent
	Channels   [3]float64 // factors of red, green and blue
	Saturation float64    // factor of the distance from the pixel's grey, the mean of its channels
	Blur       float64    // the Gaussian's deviation, in widths of the picture
}

// AsTaken changes nothing.
var AsTaken = Look{Contrast: 1, Gamma: 1, Channels: [3]float64{1, 1, 1}, Saturation: 1}

// With is the case as a camera of that look would show it; its labels are shared.
func (l *Loaded) With(look Look) *Loaded {
	changed := *l
	image := *l.Image
	changed.Image = &image
	tones := look.tones()
	values := make([]float32, len(image.Pix))
	for i, v := range image.Pix {
		values[i] = tones[i%3][v]
	}
	look.finish(values, image.W, image.H)
	image.Pix = make([]uint8, len(values))
	for i, v := range values {
		image.Pix[i] = uint8(255*v + .5)
	}
	return &changed
}

// Mirrored is the case with left and right exchanged, labels too: a left eye for a right one.
func (l *Loaded) Mirrored() *Loaded {
	return l.moved(l.Image.W, l.Image.H, func(pixels []uint8, channels int) []uint8 { return mirror(pixels, l.Image.W, channels) })
}

// Turned is the case turned clockwise by so many quarters, labels too: photographs lie any of four
// ways.
func (l *Loaded) Turned(quarters int) *Loaded {
	for range quarters {
		w, h := l.Image.W, l.Image.H
		l = l.moved(h, w, func(pixels []uint8, channels int) []uint8 { return imageio.Turn(pixels, w, h, channels) })
	}
	return l
}

// moved is the case of a picture of another size or arrangement, which move makes of the image's pixels (H, W, channels) and of each mask's.
func (l *Loaded) moved(w, h int, move func(pixels []uint8, channels int) []uint8) *Loaded {
	changed, image := *l, *l.Image
	image.W, image.H, image.Pix = w, h, move(image.Pix, 3)
	changed.Image = &image
	changed.Masks = make([][][]uint8, len(l.Masks))
	for m, masks := range l.Masks {
		changed.Masks[m] = make([][]uint8, len(masks))
		for k, mask := range masks {
			if mask != nil {
				changed.Masks[m][k] = move(mask, 1)
			}
		}
	}
	return &changed
}

// mirror turns the lines (H, w, channels) round.
func mirror(pixels []uint8, w, channels int) []uint8 {
	out := make([]uint8, len(pixels))
	for i := 0; i < len(pixels); i += channels {
		pixel := i / channels
		x := pixel % w
		copy(out[(pixel-x+w-1-x)*channels:], pixels[i:i+channels])
	}
	return out
}

// tones says for each channel what each 8-bit value becomes, in 0..1.
func (l Look) tones() (tones [3][256]float32) {
	for c := range tones {
		for i := range tones[c] {
			v := (math.Pow(float64(i)/255, l.Gamma)-.5)*l.Contrast + .5 + l.Brightness
			tones[c][i] = float32(math.Max(0, math.Min(1, v*l.Channels[c])))
		}
	}
	return tones
}

// finish applies to pixels (h, w, 3) what a table of values cannot: saturation and blur.
func (l Look) finish(pixels []float32, w, h int) {
	if saturation := float32(l.Saturation); saturation != 1 {
		for i := 0; i < len(pixels); i += 3 {
			grey := (pixels[i] + pixels[i+1] + pixels[i+2]) / 3
			for c := range 3 {
				pixels[i+c] = max(0, min(1, grey+(pixels[i+c]-grey)*saturation))
			}
		}
	}
	if sigma := l.Blur * float64(w); sigma > .2 { // below that a pixel's neighbours weigh next to nothing
		weights := gaussian(sigma)
		line := make([]float32, 3*max(w, h))
		for y := range h {
			smooth(pixels[3*w*y:], 3, line, w, weights)
		}
		for x := range w {
			smooth(pixels[3*x:], 3*w, line, h, weights)
		}
	}
}

// gaussian is half of a normalised Gaussian kernel: the middle's weight, then those of the neighbours at 1, 2, … pixels.
func gaussian(sigma float64) []float32 {
	w := make([]float64, 1+int(math.Ceil(3*sigma)))
	sum := 0.
	for i := range w {
		w[i] = math.Exp(-.5 * float64(i*i) / (sigma * sigma))
		sum += w[i]
		if i > 0 {
			sum += w[i]
		}
	}
	out := make([]float32, len(w))
	for i := range w {
		out[i] = float32(w[i] / sum)
	}
	return out
}

// smooth blurs one line of n pixels of three channels, a stride of values apart, in place; the ends continue. line is room for 3·n.
func smooth(pixels []float32, stride int, line []float32, n int, weights []float32) {
	for i := range n {
		copy(line[3*i:3*i+3], pixels[i*stride:])
	}
	for i := range n {
		for c := range 3 {
			v := weights[0] * line[3*i+c]
			for d := 1; d < len(weights); d++ {
				v += weights[d] * (line[3*max(0, i-d)+c] + line[3*min(n-1, i+d)+c])
			}
			pixels[i*stride+c] = v
		}
	}
}
