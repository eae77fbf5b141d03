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
	Wide    float64 // where there is an anchor, these reach up to exp(Wide) times as far, the image anywhere in them: cameras see more than ours

	Away         float64 // where there is an anchor, share of views that look where it is not, at any scale up to the image's
	Turns        bool    // photographs lie any of four ways: views are turned by a multiple of 90° more
	FlipX, FlipY float64 // probability of mirroring left-right, up-down
	Rotation     float64 // ± degrees
	Scale        float64 // side × exp(±Scale)
	Shift        float64 // centre ± Shift × side, each way
	Elastic      float64 // control points, a quarter of the side apart, move by ± Elastic × side each way; up to MostElastic
	Swell        float64 // where there is an anchor, what lies about its middle is seen smaller or larger, by up to exp(±Swell), its outline as it is

	Brightness float64 // ± added to values 0..1
	Contrast   float64 // × exp(±Contrast) about one half
	Gamma      float64 // exponent exp(±Gamma)
	Colour     float64 // each channel × exp(±Colour); pictures without colour stay so
	Saturation float64 // distance from the pixel's grey × exp(±Saturation)
	Grain      float64 // every second view gets noise of a deviation of 0..Grain times the picture's own
	Blur       float64 // every second view is blurred by a Gaussian of 0..Blur sides' deviation
	Distract   float64 // share of views on which lesions, reflexes and veils are painted beside what is marked
}

// DefaultAugmentation suits photographs and slices with a left and a right form. Its colours are to cover cameras that it has not seen.
var DefaultAugmentation = Augmentation{
	Tight: .5, Between: .25, Wide: .6, FlipX: .5, Rotation: 20, Scale: .25, Shift: .1,
	Brightness: .1, Contrast: .3, Gamma: .6, Colour: .12, Saturation: .8, Blur: .008,
}

// othersTight and othersWide are the shares of Tight and Wide in the views of cases that other
// people have marked.
const othersTight, othersWide = 0.4, 0.3

// view maps the unit square to the image: (u, v) in -½..½ from the middle goes to centre + matrix·((u, v) + bend(u, v)), in pixels.
type view struct {
	cx, cy         float64
	xu, xv, yu, yv float64
	side           float64
	bend           *bend  // nil: none
	swell          *swell // nil: none
}

// at is the point of the image, in pixels, that the view shows at (u, v).
func (v *view) at(u, w float64) (x, y float64) {
	if v.bend != nil {
		du, dw := v.bend.at(u, w)
		u, w = u+du, w+dw
	}
	x, y = v.cx+v.xu*u+v.xv*w, v.cy+v.yu*u+v.yv*w
	if v.swell != nil {
		x, y = v.swell.at(x, y)
	}
	return x, y
}

// view draws the geometry. The draws' number is fixed, so that one probability does not shift what the others draw.
func (a Augmentation) view(it *Sample, rng *rand.Rand) view {
	kind, between := rng.Float64(), rng.Float64()
	scale, dx, dy := symmetric(rng), symmetric(rng), symmetric(rng)
	angle := a.Rotation * math.Pi / 180 * symmetric(rng)
	flipX, flipY := rng.Float64() < a.FlipX, rng.Float64() < a.FlipY
	if a.Turns {
		angle += float64(rng.IntN(4)) * math.Pi / 2
	}
	elsewhere, away := a.away(it, rng)

	sq := it.whole
	side, cx, cy := float64(sq.Side), float64(sq.X)+float64(sq.Side)/2, float64(sq.Y)+float64(sq.Side)/2
	whole, tight, wide := side, a.Tight, a.Wide
	if it.others { // these are there to teach where the structure is, and come from many cameras
		tight, wide = tight*othersTight, wide*othersWide
	}
	switch {
	case !it.anchored:
	case kind >= tight+a.Between:
		side *= math.Exp(wide * between)
	default:
		t := it.tight
		f := 0. // 0 at the anchor's square, 1 at the whole image; sides in proportion, centres in a line
		if kind >= tight {
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
	shift := a.Shift * side
	if it.anchored && kind >= tight+a.Between {
		shift = max(shift, (side-whole)/2) // anywhere in a view that is wider
	}
	v := view{cx: cx + shift*dx, cy: cy + shift*dy, side: side}
	if away {
		v, side = elsewhere, elsewhere.side
	}
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

// awayTries is how often a view away from the anchor is drawn until one does not show it.
const awayTries = 8

// away draws a view of the image that shows nothing of the anchor however it is turned, and whether
// to take it: not where none was found, as in a crop. Nothing is drawn without Away.
func (a Augmentation) away(it *Sample, rng *rand.Rand) (v view, take bool) {
	if a.Away == 0 {
		return v, false
	}
	wanted := rng.Float64() < a.Away
	for range awayTries {
		scale, dx, dy := rng.Float64(), rng.Float64(), rng.Float64()
		if !wanted || take || it.disc.radius == 0 {
			continue
		}
		near := float64(it.tight.Side) / 2
		v.side = near * math.Pow(max(1, float64(it.whole.Side)/near), scale)
		v.cx, v.cy = dx*float64(it.image.W), dy*float64(it.image.H)
		take = math.Hypot(v.cx-it.disc.x, v.cy-it.disc.y) > v.side*math.Sqrt2/2+1.5*it.disc.radius
	}
	return v, take
}

// look draws the rest. The draws' number does not depend on the picture.
func (a Augmentation) look(it *Sample, rng *rand.Rand) Look {
	l := AsTaken
	l.Brightness = a.Brightness * symmetric(rng)
	l.Contrast = math.Exp(a.Contrast * symmetric(rng))
	l.Gamma = math.Exp(a.Gamma * symmetric(rng))
	for c := range l.Channels {
		if factor := math.Exp(a.Colour * symmetric(rng)); !it.grey {
			l.Channels[c] = factor
		}
	}
	if saturation := math.Exp(a.Saturation * symmetric(rng)); !it.grey {
		l.Saturation = saturation
	}
	if often, sigma := rng.Float64() < .5, a.Blur*rng.Float64(); often {
		l.Blur = sigma
	}
	return l
}

func symmetric(rng *rand.Rand) float64 { return 2*rng.Float64() - 1 }

// anchorSquare is the region that a perfect search would find: of the pixels that more than half of the raters marked, as
// roi.Locate finds it at the image's own resolution. Not ok where no pixel is, or votes cannot be counted.
func anchorSquare(l *Loaded, class int) (sq imageio.Square, ok bool) {
	votes, ok := l.Votes(class)
	if !ok {
		return sq, false
	}
	mean := votes.Mean()
	whole := imageio.Letterbox(l.Image.W, l.Image.H)
	vote := make([]float32, whole.Side*whole.Side)
	for y := range l.Image.H {
		copy(vote[(y-whole.Y)*whole.Side-whole.X:], mean[y*l.Image.W:(y+1)*l.Image.W])
	}
	sq, err := roi.Locate(vote, whole.Side, l.Image.W, l.Image.H)
	return sq, err == nil
}
