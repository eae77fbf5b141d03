package dataset

import (
	"math"
	"slices"
)

// Look is how a picture's colours and sharpness differ from the file's. Values are 0..1; values
// beyond that range are clamped.
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

// With returns the case as a camera with that look would show it. The labels are shared.
func (l *Loaded) With(look Look) *Loaded {
	changed, image := *l, *l.Image
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

// Mirrored returns the case with left and right exchanged, labels too: a left eye for a right one.
func (l *Loaded) Mirrored() *Loaded {
	w := l.Image.W
	return l.moved(w, l.Image.H, func(x, y int) (int, int) { return w - 1 - x, y })
}

// Turned returns the case turned clockwise by quarters, labels too: photographs lie any of four
// ways.
func (l *Loaded) Turned(quarters int) *Loaded {
	for range quarters {
		h := l.Image.H
		l = l.moved(h, l.Image.W, func(x, y int) (int, int) { return y, h - 1 - x })
	}
	return l
}

// Farther returns the case as a camera with a wider field would show it, off centre. The picture
// lies on a black background that is `times` as wide and as high (times ≥ 1). A quarter of the
// added width is left of the picture, and three quarters of the added height are above it.
func (l *Loaded) Farther(times float64) *Loaded {
	w, h := int(times*float64(l.Image.W)), int(times*float64(l.Image.H))
	left, above := (w-l.Image.W)/4, 3*(h-l.Image.H)/4
	return l.moved(w, h, func(x, y int) (int, int) { return x - left, y - above })
}

// moved returns the case with a new image (h, w) and new masks. Pixel (x, y) is the old pixel
// from(x, y), or 0 if that lies outside.
func (l *Loaded) moved(w, h int, from func(x, y int) (int, int)) *Loaded {
	move := func(pixels []uint8, channels int) []uint8 {
		out := make([]uint8, w*h*channels)
		for i := range w * h {
			if x, y := from(i%w, i/w); x >= 0 && y >= 0 && x < l.Image.W && y < l.Image.H {
				copy(out[i*channels:][:channels], pixels[(y*l.Image.W+x)*channels:])
			}
		}
		return out
	}
	changed, image := *l, *l.Image
	image.W, image.H, image.Pix = w, h, move(image.Pix, 3)
	changed.Image = &image
	for _, all := range []*[][][]uint8{&changed.Masks, &changed.people} {
		*all = slices.Clone(*all)
		for m, masks := range *all {
			(*all)[m] = make([][]uint8, len(masks))
			for k, mask := range masks {
				if mask != nil {
					(*all)[m][k] = move(mask, 1)
				}
			}
		}
	}
	return &changed
}

// tones maps every 8-bit value of each channel to 0..1.
func (l Look) tones() (tones [3][256]float32) {
	for c := range tones {
		for i := range tones[c] {
			v := (math.Pow(float64(i)/255, l.Gamma)-.5)*l.Contrast + .5 + l.Brightness
			tones[c][i] = float32(max(0, min(1, v*l.Channels[c])))
		}
	}
	return tones
}

// finish applies saturation and blur to pixels (h, w, 3). They depend on more than one value.
func (l Look) finish(pixels []float32, w, h int) {
	if saturation := float32(l.Saturation); saturation != 1 {
		for i := 0; i < len(pixels); i += 3 {
			grey := (pixels[i] + pixels[i+1] + pixels[i+2]) / 3
			for c := range 3 {
				pixels[i+c] = max(0, min(1, grey+(pixels[i+c]-grey)*saturation))
			}
		}
	}
	if sigma := l.Blur * float64(w); sigma > .2 { // below that neighbours weigh next to nothing
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

// gaussian is half of a normalised Gaussian kernel: the weight of the middle, then those of the
// neighbours at 1, 2, … pixels.
func gaussian(sigma float64) []float32 {
	w, sum := make([]float64, 1+int(math.Ceil(3*sigma))), 0.
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

// smooth blurs one line of n pixels of three channels in place. The pixels lie stride values apart;
// beyond the ends the end pixels continue. line is room for 3·n values.
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
