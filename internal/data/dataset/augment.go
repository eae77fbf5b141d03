package dataset

import (
	"math"
	"math/rand/v2"

	"mrprism/internal/files/imageio"
)

// Augmentation says how far training views stray from the views at inference. The zero value
// changes nothing and shows whole images. Tight, Between, Wide, Away and Swell need a class as the
// anchor.
type Augmentation struct {
	Tight   float64 // share of views about the anchor at inference's scale
	Between float64 // share of views at a scale between that and the whole image
	Wide    float64 // the other views show up to exp(Wide) times the whole image's side, anywhere
	Away    float64 // share of views beside the anchor, at any scale up to the image's

	Turns        bool    // turn views by multiples of 90°: photographs lie any of four ways
	FlipX, FlipY float64 // probability of mirroring left-right, up-down
	Rotation     float64 // ± degrees
	Scale        float64 // side × exp(±Scale)
	Shift        float64 // centre ± Shift × side, each way
	Elastic      float64 // control points move by ± Elastic × side each way; up to MostElastic
	Swell        float64 // the anchor's inside is scaled by up to exp(±Swell); up to MostSwell

	Brightness float64 // ± added to values 0..1
	Contrast   float64 // × exp(±Contrast) about one half
	Gamma      float64 // exponent exp(±Gamma)
	Colour     float64 // each channel × exp(±Colour); grey pictures stay grey
	Saturation float64 // distance from the pixel's grey × exp(±Saturation)
	Grain      float64 // every second view gets noise of 0..Grain times the picture's deviation
	Blur       float64 // every second view is blurred by a Gaussian of 0..Blur sides' deviation
	Restyle    float64 // share of views that take on the look of another sample (restyle)
	Distract   float64 // share of views on which false structures are painted (distract)
}

// DefaultAugmentation suits photographs and slices that occur in a left and a right form. Its
// changes of colour should cover other cameras than those of the training images.
var DefaultAugmentation = Augmentation{
	Tight: .5, Between: .25, Wide: .6, FlipX: .5, Rotation: 20, Scale: .25, Shift: .1,
	Brightness: .1, Contrast: .3, Gamma: .6, Colour: .12, Saturation: .8, Blur: .008,
}

// whole shows whole images and keeps their shapes. Panels mark crops: the mask learned less from
// crops at all scales and with swollen cups.
func (a Augmentation) whole() Augmentation {
	a.Tight, a.Between, a.Wide, a.Away = 0, 0, 0, 0
	a.Elastic, a.Swell, a.Grain, a.Distract = 0, 0, 0, 0
	return a
}

// othersTight and othersWide replace Tight and Wide for cases that other people have marked. Such
// cases come from many cameras, and teach where the structure is.
const othersTight, othersWide = 0.4, 0.3

// view maps the unit square to the image: (u, v), each in -½..½, is mapped to centre + matrix·((u,
// v) + bend(u, v)) in pixels.
type view struct {
	cx, cy         float64
	xu, xv, yu, yv float64
	side           float64
	bend           *bend  // nil: none
	swell          *swell // nil: none
}

// line gives, for a line w of the view, the point of the image, in pixels, that the view shows at
// (u, w).
func (v *view) line(w float64) func(u float64) (x, y float64) {
	var bent bendLine
	if v.bend != nil {
		bent = v.bend.line(w)
	}
	return func(u float64) (x, y float64) {
		w := w
		if v.bend != nil {
			du, dw := bent.displacement(u)
			u, w = u+du, w+dw
		}
		x, y = v.cx+v.xu*u+v.xv*w, v.cy+v.yu*u+v.yv*w
		if v.swell != nil {
			x, y = v.swell.source(x, y)
		}
		return x, y
	}
}

// middle returns a square's side and centre.
func middle(sq imageio.Square) (side, x, y float64) {
	side = float64(sq.Side)
	return side, float64(sq.X) + side/2, float64(sq.Y) + side/2
}

// view draws the geometry. It always takes the same number of random numbers, so that a changed
// probability does not shift the other draws.
func (a Augmentation) view(it *Sample, rng *rand.Rand) view {
	kind, between := rng.Float64(), rng.Float64()
	scale, dx, dy := symmetric(rng), symmetric(rng), symmetric(rng)
	angle := a.Rotation * math.Pi / 180 * symmetric(rng)
	flipX, flipY := rng.Float64() < a.FlipX, rng.Float64() < a.FlipY
	if a.Turns {
		angle += float64(rng.IntN(4)) * math.Pi / 2
	}
	elsewhere, away := a.away(it, rng)

	side, cx, cy := middle(it.whole)
	whole, tight, wide := side, a.Tight, a.Wide
	if it.others {
		tight, wide = tight*othersTight, wide*othersWide
	}
	widened := it.anchored && kind >= tight+a.Between
	switch {
	case widened:
		side *= math.Exp(wide * between)
	case it.anchored:
		near, x, y := middle(it.tight)
		f := 0. // 0: the anchor's square, 1: the whole image; sides grow in proportion
		if kind >= tight {
			f = between
		}
		side = near * math.Pow(whole/near, f)
		g := 0.
		if whole > near {
			g = (side - near) / (whole - near)
		}
		cx, cy = x*(1-g)+cx*g, y*(1-g)+cy*g
	}
	side *= math.Exp(a.Scale * scale)
	shift := a.Shift * side
	if widened {
		shift = max(shift, (side-whole)/2) // in a wider view the image may lie anywhere
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

// awayTries is how often away draws a view.
const awayTries = 8

// away draws a view that shows nothing of the anchor, however the view is turned. take is false if
// no such view was wanted or found; a crop has no room for one. Without Away it draws nothing.
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

// look draws the colours and the sharpness. It takes equally many random numbers for all pictures.
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

// bendCells is the number of cells of control points along a side of the view.
const bendCells = 4

// MostElastic is the largest Augmentation.Elastic: below 0.4 of the distance of control points
// nothing folds (Choi and Lee 2000).
const MostElastic = 0.4 / bendCells

// bend is a smooth displacement over the unit square: a uniform cubic B-spline (Rueckert et al.
// 1999, free-form deformation). Its control points stand 1/bendCells apart and go one cell beyond
// the square on each side.
type bend [bendCells + 3][bendCells + 3][2]float64

// bend draws a displacement, after view and look. Without Elastic it takes no random numbers.
func (a Augmentation) bend(rng *rand.Rand) *bend {
	if a.Elastic == 0 {
		return nil
	}
	var b bend
	for row := range b {
		for column := range b[row] {
			b[row][column] = [2]float64{a.Elastic * symmetric(rng), a.Elastic * symmetric(rng)}
		}
	}
	return &b
}

// bendLine is a bend on one line of the view: the control points, each summed over the rows.
type bendLine [bendCells + 3][2]float64

// line is the bend at v, -½..½.
func (b *bend) line(v float64) (l bendLine) {
	row, down := spline(v)
	for j, weight := range down {
		for i, point := range b[row+j] {
			l[i][0] += weight * point[0]
			l[i][1] += weight * point[1]
		}
	}
	return l
}

// displacement is the displacement at u, -½..½, in sides.
func (l *bendLine) displacement(u float64) (du, dv float64) {
	column, across := spline(u)
	for i, weight := range across {
		point := &l[column+i]
		du += weight * point[0]
		dv += weight * point[1]
	}
	return du, dv
}

// spline returns the first of the four control points that influence t in -½..½, and their weights,
// which sum to 1.
func spline(t float64) (first int, weights [4]float64) {
	t = max(0, min(bendCells, (t+.5)*bendCells))
	first = min(bendCells-1, int(t))
	return first, imageio.Spline(t - float64(first))
}

// MostSwell is the largest Augmentation.Swell. Up to it, swell keeps the order of distances.
const MostSwell = 1.3

// swell shows the middle of a disc smaller (by > 0) or larger (-1 < by < 0) and the outline
// unchanged: at distance r from the middle, in radii, it shows the image at r(1 + by (1 - r)²).
// This increases with r for -1 < by < 3 and has slope 1 at r = 1.
type swell struct {
	disc
	by float64
}

// swell draws after bend. Without Swell it takes no random numbers.
func (a Augmentation) swell(it *Sample, rng *rand.Rand) *swell {
	if a.Swell == 0 {
		return nil
	}
	by := math.Exp(a.Swell*symmetric(rng)) - 1
	if it.disc.radius == 0 {
		return nil
	}
	return &swell{it.disc, by}
}

// source is the point of the image that is shown at (x, y), both in pixels.
func (s *swell) source(x, y float64) (float64, float64) {
	dx, dy := x-s.x, y-s.y
	r := math.Sqrt(dx*dx+dy*dy) / s.radius // twice as fast as math.Hypot
	if r >= 1 {
		return x, y
	}
	f := 1 + s.by*(1-r)*(1-r)
	return s.x + f*dx, s.y + f*dy
}

// grain adds grey noise to every second view (s, s, 3): Gaussian noise in blobs of 1 to 4 pixels,
// with a deviation drawn from 0 to Grain times the picture's own. It draws after swell. Without
// Grain it takes no random numbers.
func (a Augmentation) grain(pixels []float32, s int, rng *rand.Rand) {
	if a.Grain == 0 {
		return
	}
	often, share, size := rng.Float64() < .5, a.Grain*rng.Float64(), 1+3*rng.Float64()
	if !often {
		return
	}
	deviation := share * spread(pixels)
	n := int(float64(s)/size) + 3 // points of noise along a side; pixels interpolate between them
	noise := make([]float64, n*n)
	for i := range noise {
		noise[i] = deviation * rng.NormFloat64()
	}
	ox, oy := rng.Float64(), rng.Float64()
	for y := range s {
		row, down := math.Modf(oy + float64(y)/size)
		for x := range s {
			column, across := math.Modf(ox + float64(x)/size)
			at := noise[int(row)*n+int(column):]
			v := (1-down)*((1-across)*at[0]+across*at[1]) + down*((1-across)*at[n]+across*at[n+1])
			for c := range 3 {
				p := &pixels[3*(y*s+x)+c]
				*p = max(0, min(1, *p+float32(v)))
			}
		}
	}
}

// spread is the standard deviation of values.
func spread(values []float32) float64 {
	var sum, squares float64
	for _, v := range values {
		sum += float64(v)
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (float64(v) - mean) * (float64(v) - mean)
	}
	return math.Sqrt(squares / float64(len(values)))
}
