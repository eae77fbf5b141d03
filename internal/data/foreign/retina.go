package foreign

import (
	"math"

	"mrprism/internal/data/paint"
)

// retina is a part of an eye without the disc. Its canvas has the middle of the field at (0, 0); a
// unit is a disc's radius.
type retina struct {
	*canvas
	radius  float64      // of the camera's field, disc radii
	stop    bool         // the field's edge is in the picture
	side    float64      // direction of the disc, which is outside of the field
	pigment *paint.Field // slow changes
	choroid *paint.Field
	grain   *paint.Field
}

// reach is farther than any part of a picture lies from the middle.
const reach = 8.0

// newRetina frames a field of 3 to 7 disc radii, on black or larger than the picture.
func newRetina(c *canvas) *retina {
	t := &retina{canvas: c, radius: c.Between(3, 7), stop: c.Chance(0.7), side: c.Between(-math.Pi, math.Pi)}
	w, h := float64(c.width), float64(c.height)
	pixels := 0.5 * math.Hypot(w, h)
	if t.stop {
		pixels = 0.5 * min(w, h*c.Between(1, 1.2)) * c.Between(0.88, 1)
	}
	c.radius = pixels / t.radius
	t.pigment, t.choroid, t.grain = paint.NewField(c.Rand, 2.2, reach), paint.NewField(c.Rand, 0.3, reach), paint.NewField(c.Rand, 0.1, reach)
	return t
}

// vasculature draws vessels that fan out from a disc far outside of the field, and fine vessels
// from all around. They begin on a circle around the field.
func (t *retina) vasculature() {
	border := t.radius*1.03 + 0.2
	for range 2 + t.IntN(5) {
		at := t.side + t.Between(-1, 1)
		t.vessel(border*math.Cos(at), border*math.Sin(at), t.side+math.Pi+t.Between(-0.6, 0.6), t.Between(0.08, 0.17), border*t.Between(0.8, 2.4))
	}
	for range t.IntN(7) {
		at := t.Between(-math.Pi, math.Pi)
		t.vessel(border*math.Cos(at), border*math.Sin(at), at+math.Pi+t.Between(-0.7, 0.7), t.Between(0.035, 0.07), border*t.Between(0.3, 1))
	}
}

// vessel draws a vessel from a point on, and its branches.
func (t *retina) vessel(x, y, heading, width, length float64) {
	const step = 0.09
	red, bend := paint.Either(t.Draws, colour{0.34, 0.09, 0.03}, colour{0.42, 0.13, 0.04}), 0.0 // a vein or an artery
	for ; length > 0 && width > 0.02; length -= step {
		bend = 0.85*bend + 0.03*t.NormFloat64()
		heading += bend
		nextX, nextY := x+step*math.Cos(heading), y+step*math.Sin(heading)
		t.draw(line(x, y, nextX, nextY, width), width*0.35, sheer(red, 0.5*min(1, width*t.canvas.radius)))
		x, y, width = nextX, nextY, width*0.99
		if t.Chance(0.05) {
			share := t.Between(0.42, 0.72)
			t.vessel(x, y, heading+t.Between(0.45, 0.95)*t.Sign(0.5), width*share, length*t.Between(0.3, 0.8))
			width *= math.Cbrt(1 - share*share*share) // Murray's law: the cubes of the widths add up
		}
	}
}

// place is a point of the picture within a share of the field's radius.
func (t *retina) place(share float64) (x, y float64) {
	for range 50 {
		if x, y = t.anywhere(); math.Hypot(x, y) < share*t.radius {
			break
		}
	}
	return x, y
}

// ground paints pigment, the choroid and sometimes its large vessels, and sometimes a macula.
func (t *retina) ground() {
	bright, deep := t.near(colour{0.56, 0.255, 0.06}, 0.25), t.near(colour{0.40, 0.13, 0.03}, 0.25)
	mottled, shown := t.Between(0.03, 0.12), paint.Either(t.Draws, 0, 0, t.Between(0.1, 0.4))
	mx, my := t.place(0.6)
	macula, across := t.Between(-0.3, 0.6), along(t.Between(0, math.Pi))
	t.fill(func(x, y float64, _ colour) colour {
		c := paint.Mixed(bright, deep, paint.Smooth(0.25+0.16*t.pigment.At(y, x)))
		c = paint.Mixed(c, colour{0.75, 0.34, 0.12}, shown*paint.Smooth(1.3-2*math.Abs(t.choroid.At(across(x, y), y/4))))
		dark := max(0, macula) * math.Exp(-(square(x-mx)+square(y-my))/2)
		c = c.Times(colour{1 - 0.75*dark, 1 - dark, 1 - dark})
		return c.Scaled(1 + 0.09*t.pigment.At(x, y) + mottled*t.choroid.At(x, y) + 0.03*t.grain.At(x, y))
	})
}

// The colours that lesions have, before exposure.
var (
	cream  = colour{0.98, 0.90, 0.66}
	yellow = colour{0.94, 0.74, 0.30}
	amber  = colour{0.88, 0.56, 0.22}
	wool   = colour{0.92, 0.80, 0.62}
	blood  = colour{0.33, 0.055, 0.025}
	black  = colour{0.16, 0.07, 0.04}
)

// span is the least and the largest of a value.
type span [2]float64

func (t *retina) in(s span) float64 { return t.Between(s[0], s[1]) }

// lesion is a group of spots of one look.
type lesion struct {
	spots   span // their number
	size    span // of a spot, disc radii
	reach   float64
	stretch float64 // of spots, along the nerve fibres if it is above 2
	soft    span    // share of the size over which a spot fades
	opacity span
	colours []colour
}

// Lesions under the vessels, and over them: spots, size, reach, stretch, soft, opacity, colours.
var (
	scar    = lesion{span{1, 1}, span{0.4, 1.5}, 0, 1.2, span{0.05, 1}, span{0.45, 1}, []colour{cream, yellow, amber}}
	exudate = lesion{span{6, 60}, span{0.025, 0.14}, 1, 1.3, span{0.1, 0.4}, span{0.4, 1}, []colour{cream, yellow}}
	beneath = []lesion{
		scar, scar, scar, exudate, exudate,
		{span{20, 120}, span{0.03, 0.2}, 1.2, 1, span{0.4, 1}, span{0.15, 0.55}, []colour{yellow, cream}}, // drusen
		{span{1, 1}, span{0.4, 1.8}, 0, 1.3, span{0.1, 0.8}, span{0.2, 0.6}, []colour{black}},             // a naevus
		{span{9, 60}, span{0.1, 0.25}, 2, 1, span{0.4, 0.7}, span{0.2, 0.9}, []colour{yellow, cream}},     // burns of a laser
		{span{3, 15}, span{0.05, 0.25}, 0.8, 1.4, span{0.3, 1}, span{0.3, 0.9}, []colour{black}},          // pigment
	}
	above = []lesion{
		exudate,
		{span{2, 30}, span{0.05, 0.6}, 1.5, 1.2, span{0.2, 0.8}, span{0.5, 0.95}, []colour{blood}}, // haemorrhages
		{span{5, 40}, span{0.05, 0.2}, 0.8, 3, span{0.5, 1}, span{0.25, 0.6}, []colour{blood}},     // flames
		{span{4, 20}, span{0.1, 0.4}, 0.5, 1.2, span{0.4, 0.9}, span{0.2, 0.6}, []colour{wool}},    // cotton wool
	}
)

// lesion draws a group about a place.
func (t *retina) lesion(l lesion) {
	x, y := t.place(0.95)
	base, largest, group := t.near(paint.Either(t.Draws, l.colours...), 0.1), t.in(l.size), l.reach*t.Between(0.4, 1.6)
	for range int(t.in(l.spots)) {
		angle, size := t.Between(0, math.Pi), t.Between(l.size[0], largest)
		if l.stretch > 2 {
			angle = t.side + t.Between(-0.35, 0.35)
		}
		s := t.blot(x+group*t.NormFloat64(), y+group*t.NormFloat64(), size, t.Between(0.02, 0.3), t.Between(1, l.stretch), angle)
		opacity := t.in(l.opacity)
		t.draw(s, size*t.in(l.soft), func(x, y float64, under colour) colour {
			return paint.Mixed(under, base.Scaled(1+0.08*t.choroid.At(x, y)), opacity)
		})
	}
}

// reflex draws light that lens and cornea reflect: a glow, or a crescent at the field's edge.
func (t *retina) reflex() {
	light := paint.Either(t.Draws, colour{0.75, 0.85, 1}, paint.Grey(1), colour{1, 0.75, 0.7}, colour{1, 0.85, 0.5}).Scaled(t.Between(0.2, 0.9))
	if x, y := t.place(1); t.Chance(0.5) {
		t.glow(x, y, t.Between(0.3, 1.8), light)
		return
	}
	a := t.Between(-math.Pi, math.Pi)
	inner := round(t.radius*0.3*math.Cos(a), t.radius*0.3*math.Sin(a), t.radius*t.Between(0.95, 1.2))
	t.draw(everywhere(func(x, y float64) float64 { return -inner.depth(x, y) }), t.radius*t.Between(0.15, 0.5), add(light))
}

// finish applies the lamp, the lens, the film and the field stop.
func (t *retina) finish(focus, exposure float64) {
	t.blur(focus * t.radius)
	lit, slope, fall := along(t.Between(-math.Pi, math.Pi)), t.Between(0, 0.25)/t.radius, t.Between(0.05, 0.5)/square(t.radius)
	balance, dark := colour{t.Between(0.92, 1.12), t.Between(0.88, 1.08), t.Between(0.7, 1.3)}, colour{0.01, 0.002, 0.008}.Scaled(t.Between(0, 4))
	edge, cut := max(1/t.canvas.radius, t.radius*0.006), t.radius*paint.Either(t.Draws, 2, t.Between(0.8, 0.95))
	t.fill(func(x, y float64, under colour) colour {
		open := 1.0
		if t.stop {
			open = paint.Smooth(min(t.radius-math.Hypot(x, y), cut-math.Abs(y))/edge + 0.5)
		}
		c := under.Times(balance).Scaled(exposure * max(0.1, 1+slope*lit(x, y)-fall*(x*x+y*y)))
		for k := range c {
			c[k] = paint.Shoulder(c[k])
		}
		return paint.Mixed(dark, c, open)
	})
	t.noise = paint.Either(t.Draws, 0.004, t.Between(0.004, 0.012), t.Between(0.01, 0.03))
}

// drawLesions draws a retina with lesions under and over its vessels, and sometimes a reflex.
func drawLesions(c *canvas) {
	t := newRetina(c)
	t.ground()
	for range c.IntN(7) {
		t.lesion(paint.Either(c.Draws, beneath...))
	}
	t.vasculature()
	for range c.IntN(4) {
		t.lesion(paint.Either(c.Draws, above...))
	}
	if c.Chance(0.45) {
		t.reflex()
	}
	t.finish(paint.Either(c.Draws, 0, 0.002, c.Between(0, 0.012)), c.Between(0.55, 1.25))
}

// drawVeil draws a retina behind a cataract: blurred, under the light that a clouded lens scatters,
// with shadows and reflexes.
func drawVeil(c *canvas) {
	t := newRetina(c)
	t.ground()
	t.vasculature()
	t.blur(t.radius * paint.Either(c.Draws, c.Between(0.01, 0.03), c.Between(0.02, 0.12)))
	veil := t.near(paint.Either(c.Draws, colour{0.62, 0.46, 0.34}, colour{0.62, 0.40, 0.16}, colour{0.58, 0.53, 0.47}, colour{0.45, 0.22, 0.08}, colour{0.75, 0.62, 0.42}), 0.15)
	dense, fall, uneven := c.Between(0.4, 0.93), c.Between(0.1, 0.9)/square(t.radius), c.Between(0, 0.2)
	cx, cy := t.place(0.6)
	t.fill(func(x, y float64, under colour) colour {
		share := max(0.3, min(0.97, dense+0.5*uneven*t.pigment.At(y, x)))
		return paint.Mixed(under, veil.Scaled(1+uneven*t.pigment.At(x, y)), share).Scaled(math.Exp(-fall * (square(x-cx) + square(y-cy))))
	})
	for range c.IntN(4) { // shadows
		x, y := t.place(1)
		t.draw(c.anyBlot(x, y, t.radius*c.Between(0.1, 0.4), 0.3), t.radius*0.2, dim(c.Between(0.5, 0.9)))
	}
	if c.Chance(0.5) {
		t.reflex()
	}
	t.finish(c.Between(0, 0.01), paint.Either(c.Draws, 1, 1, c.Between(0.3, 0.9), c.Between(1.1, 1.8)))
}
