package dataset

import (
	"math"
	"math/rand/v2"

	"mrprism/internal/imageio"
	"mrprism/internal/roi"
)

// Augmentation says how far training views stray from what inference sees. The zero value strays nowhere and sees whole images.
type Augmentation struct {
	Tight   float64 // share of views around the anchor at inference's scale
	Between float64 // share of views at a scale drawn between that and the whole image; the rest see the whole image

	FlipX, FlipY float64 // probability of mirroring left-right, up-down
	Rotation     float64 // ± degrees
	Scale        float64 // side × exp(±Scale)
	Shift        float64 // centre ± Shift × side, each way

	Brightness float64 // ± added to values 0..1
	Contrast   float64 // × exp(±Contrast) about one half
	Gamma      float64 // exponent exp(±Gamma)
	Colour     float64 // each channel × exp(±Colour); pictures without colour stay so
	Saturation float64 // distance from the pixel's grey × exp(±Saturation)
	Blur       float64 // every second view is blurred by a Gaussian of 0..Blur sides' deviation
}

// DefaultAugmentation suits photographs and slices with a left and a right form. Its colours are to cover cameras that it has not seen.
var DefaultAugmentation = Augmentation{
	Tight: .5, Between: .25, FlipX: .5, Rotation: 20, Scale: .25, Shift: .1,
	Brightness: .1, Contrast: .3, Gamma: .4, Colour: .12, Saturation: .4, Blur: .008,
}

// view maps the unit square to the image: (u, v) in -½..½ from the middle goes to centre + matrix·(u, v), in pixels.
type view struct {
	cx, cy         float64
	xu, xv, yu, yv float64
	side           float64
}

// view draws the geometry. The draws' number is fixed, so that one probability does not shift what the others draw.
func (a Augmentation) view(it *item, rng *rand.Rand) view {
	kind, between := rng.Float64(), rng.Float64()
	scale, dx, dy := symmetric(rng), symmetric(rng), symmetric(rng)
	angle := a.Rotation * math.Pi / 180 * symmetric(rng)
	flipX, flipY := rng.Float64() < a.FlipX, rng.Float64() < a.FlipY

	sq := it.whole
	side, cx, cy := float64(sq.Side), float64(sq.X)+float64(sq.Side)/2, float64(sq.Y)+float64(sq.Side)/2
	if it.anchored && kind < a.Tight+a.Between {
		t := it.tight
		f := 0. // 0 at the anchor's square, 1 at the whole image; sides in proportion, centres in a line
		if kind >= a.Tight {
			f = between
		}
		near := float64(t.Side)
		wholeSide := side
		side = near * math.Pow(wholeSide/near, f)
		g := 0.
		if wholeSide > near {
			g = (side - near) / (wholeSide - near)
		}
		cx = (float64(t.X)+near/2)*(1-g) + cx*g
		cy = (float64(t.Y)+near/2)*(1-g) + cy*g
	}
	side *= math.Exp(a.Scale * scale)
	v := view{cx: cx + a.Shift*side*dx, cy: cy + a.Shift*side*dy, side: side}
	sin, cos := math.Sincos(angle)
	v.xu, v.xv, v.yu, v.yv = side*cos, -side*sin, side*sin, side*cos
	if flipX {
		v.xu, v.yu = -v.xu, -v.yu
	}
	if flipY {
		v.xv, v.yv = -v.xv, -v.yv
	}
	return v
}

// photometry is how a view's colours and sharpness differ from the picture's.
type photometry struct {
	tone       [3][256]float32 // for each channel what each 8-bit value becomes, in 0..1
	saturation float32
	blur       float64 // deviation, in sides
}

// photometry draws it. The draws' number depends on nothing but whether the picture has colour.
func (a Augmentation) photometry(it *item, rng *rand.Rand) *photometry {
	brightness := a.Brightness * symmetric(rng)
	contrast := math.Exp(a.Contrast * symmetric(rng))
	gamma := math.Exp(a.Gamma * symmetric(rng))
	p := &photometry{saturation: 1}
	for c := range p.tone {
		channel := math.Exp(a.Colour * symmetric(rng))
		if it.grey {
			channel = 1
		}
		for i := range p.tone[c] {
			v := (math.Pow(float64(i)/255, gamma)-.5)*contrast + .5 + brightness
			p.tone[c][i] = float32(math.Max(0, math.Min(1, v*channel)))
		}
	}
	if saturation := math.Exp(a.Saturation * symmetric(rng)); !it.grey {
		p.saturation = float32(saturation)
	}
	if often, sigma := rng.Float64() < .5, a.Blur*rng.Float64(); often {
		p.blur = sigma
	}
	return p
}

// finish applies to a sampled view (s, s, 3) what a table of values cannot.
func (p *photometry) finish(view []float32, s int) {
	if p.saturation != 1 {
		for i := 0; i < len(view); i += 3 {
			grey := (view[i] + view[i+1] + view[i+2]) / 3
			for c := range 3 {
				view[i+c] = max(0, min(1, grey+(view[i+c]-grey)*p.saturation))
			}
		}
	}
	if sigma := p.blur * float64(s); sigma > .2 { // below that a pixel's neighbours weigh next to nothing
		weights := gaussian(sigma)
		line := make([]float32, 3*s)
		for i := range s {
			smooth(view[3*s*i:], 3, line, s, weights)
		}
		for i := range s {
			smooth(view[3*i:], 3*s, line, s, weights)
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

func symmetric(rng *rand.Rand) float64 { return 2*rng.Float64() - 1 }

// anchorSquare is the region that a perfect search would find: of the pixels that more than half of the raters marked, as
// roi.Locate finds it at the image's own resolution.
func anchorSquare(l *Loaded, class int) (imageio.Square, bool) {
	masks := l.Given(class)
	if len(masks) == 0 {
		return imageio.Square{}, false
	}
	whole := imageio.Letterbox(l.Image.W, l.Image.H)
	vote := make([]float32, whole.Side*whole.Side)
	for y := range l.Image.H {
		for x := range l.Image.W {
			n := 0
			for _, m := range masks {
				n += int(m[y*l.Image.W+x])
			}
			vote[(y-whole.Y)*whole.Side+x-whole.X] = float32(n) / float32(len(masks))
		}
	}
	sq, err := roi.Locate(vote, whole.Side, l.Image.W, l.Image.H)
	return sq, err == nil
}
