package synthetic

import "math"

// retina is a part of an eye without the disc. Its canvas has the middle of the field at (0, 0); a
// unit is a disc's radius.
type retina struct {
	*canvas
	*painter
	field   float64 // radius of the camera's field, disc radii
	cut     float64 // distance at which the field stop cuts the field above and below, disc radii
	stop    bool    // the field's edge is in the picture
	bands   *field  // near 0 on the choroid's large vessels
	course  float64 // their direction
	shown   float64 // their clearness, 0..1
	side    float64 // direction of the disc, which is outside of the field
	vessels []vessel
}

// newRetina frames a field of 3 to 7 disc radii, on black or larger than the picture.
func newRetina(c *canvas, r draws) *retina {
	c.draws = r
	t := &retina{canvas: c, field: r.between(3, 7), stop: r.chance(0.7), side: r.between(-math.Pi, math.Pi)}
	w, h := float64(c.width), float64(c.height)
	pixels := 0.5 * min(w, h*r.between(1, 1.2)) * r.between(0.88, 1)
	if !t.stop {
		pixels = 0.5 * math.Hypot(w, h)
	}
	t.cut = t.field * either(r.Rand, 2, r.between(0.8, 0.95))
	c.view.radius = pixels / t.field
	c.view.x += w * r.between(-0.02, 0.02)
	e := &Eye{seed: r.Uint64(), temporal: 1, macula: [2]float64{100, 100}}
	if r.chance(0.6) {
		x, y := t.place(0.6)
		e.macula = [2]float64{x, y}
	}
	t.painter = newPainter(e)
	t.complexion()
	if r.chance(0.9) {
		t.vessels = growAcross(r, t.field*1.03+0.2, t.side, e.macula)
	}
	return t
}

// complexion varies the palette more than newPainter does: from dark brown to pink, the choroid
// hidden or clear.
func (t *retina) complexion() {
	p := t.painter
	p.fundus = p.fundus.times(colour{t.between(0.9, 1.25), t.between(0.75, 1.15), t.between(0.6, 2.4)})
	p.deep = p.deep.times(colour{t.between(0.8, 1.2), t.between(0.7, 1.3), t.between(0.6, 2)})
	p.exposure = t.between(0.6, 1.15)
	t.bands, t.course = newField(t.Rand, t.between(0.3, 0.6), vesselReach), t.between(0, math.Pi)
	if t.chance(0.4) {
		t.shown = t.between(0.1, 0.45)
	}
	if t.chance(0.3) {
		p.amplitude.choroid *= t.between(1.2, 2.5)
	}
}

// growAcross draws vessels that fan out from a disc far outside of the field, and fine vessels from
// all around. They begin on a circle around the field; border is its radius.
func growAcross(r draws, border, side float64, macula [2]float64) []vessel {
	g := grower{random: r, macula: macula}
	far := border * r.between(1.2, 1.8)
	for i := range 2 + r.IntN(5) {
		at := side + r.between(-1, 1)
		x, y := border*math.Cos(at), border*math.Sin(at)
		heading := math.Atan2(y-far*math.Sin(side), x-far*math.Cos(side)) + r.between(-0.25, 0.25)
		g.grow(walker{artery: i%2 == 1, x: x, y: y, heading: heading, goal: heading + r.between(-0.5, 0.5), width: r.between(0.08, 0.17)},
			border*r.between(0.8, 2.4), 3)
	}
	for i := range r.IntN(7) {
		at := r.between(-math.Pi, math.Pi)
		heading := at + math.Pi + r.between(-0.7, 0.7)
		g.grow(walker{artery: i%2 == 1, x: border * math.Cos(at), y: border * math.Sin(at), heading: heading, goal: heading, width: r.between(0.035, 0.07)},
			border*r.between(0.3, 1), 2)
	}
	return g.vessels
}

// place is a point of the picture within a share of the field's radius.
func (t *retina) place(share float64) (x, y float64) {
	for range 50 {
		if x, y = t.anywhere(); math.Hypot(x, y) < share*t.field {
			break
		}
	}
	return x, y
}

// aside tries a few places and returns the one with the least vessels within a reach: a bright
// place at which vessels gather would look like a disc.
func (t *retina) aside(share, reach float64) (x, y float64) {
	least := math.Inf(1)
	for range 6 {
		px, py := t.place(share)
		if n := crowd(t.vessels, px, py, reach); n < least {
			x, y, least = px, py, n
		}
	}
	return x, y
}

// crowd is the area of the vessels within a reach of a point.
func crowd(vessels []vessel, x, y, reach float64) (area float64) {
	for _, v := range vessels {
		for _, p := range v.points {
			if math.Abs(p.x-x) < reach && math.Hypot(p.x-x, p.y-y) < reach {
				area += p.width * vesselStep
			}
		}
	}
	return area
}

// ground paints pigment, choroid and macula.
func (t *retina) ground() {
	p := t.painter
	t.fill(func(x, y float64, _ colour) colour {
		if math.Hypot(x, y) > t.field*1.05 && t.stop {
			return darkness
		}
		c, light := p.texture(x, y)
		if t.shown > 0 {
			c = mixed(c, colour{0.75, 0.34, 0.12}, t.shown*t.band(x, y))
		}
		return p.darkened(c, x, y).scaled(light)
	})
}

// illuminate applies the camera's lamp: one side is lighter, and the field's edge is darker.
func (t *retina) illuminate() {
	slope, fall := t.between(0, 0.25)/t.field, t.between(0.05, 0.5)/sq(t.field)
	cx, cy := t.place(0.4)
	t.fill(func(x, y float64, under colour) colour {
		return under.scaled(max(0.1, 1+slope*(x*t.light[0]+y*t.light[1])-fall*(sq(x-cx)+sq(y-cy))))
	})
}

// band is 1 in the middle of a large vessel of the choroid and 0 between two. These vessels run
// side by side.
func (t *retina) band(x, y float64) float64 {
	sin, cos := math.Sincos(t.course)
	return smooth(1.3 - 2*math.Abs(t.bands.at((x*cos+y*sin)/4, y*cos-x*sin+0.35*t.clouds.at(x, y))))
}

// vasculature lays the vessels over the picture.
func (t *retina) vasculature() {
	cover := drawVessels(t.vessels, t.view)
	for i, c := range t.pix {
		vein, artery := float64(cover.vein[i]), float64(cover.artery[i])
		if vein+artery > 0 {
			t.pix[i] = bleed(c, vein, artery, float64(cover.reflex[i]), 1)
		}
	}
}

// finish applies lens, film and field stop.
func (t *retina) finish(focus float64) {
	t.blur(focus * t.field)
	balance := colour{t.between(0.92, 1.12), t.between(0.88, 1.08), t.between(0.7, 1.3)}
	if t.chance(0.03) { // without red light
		balance = colour{0.15, 1.4, 0.25}
	}
	black, soft := darkness.scaled(t.between(0, 4)), max(1/t.radius, t.field*either(t.Rand, 0.006, 0.006, t.between(0.01, 0.05)))
	t.fill(func(x, y float64, under colour) colour {
		open := 1.0
		if t.stop {
			open = smooth(min(t.field-math.Hypot(x, y), t.cut-math.Abs(y))/soft + 0.5)
		}
		c := under.times(balance).scaled(t.exposure)
		for k := range c {
			c[k] = shoulder(c[k])
		}
		return mixed(black, c, open)
	})
	t.noise = either(t.Rand, 0.004, t.between(0.004, 0.012), t.between(0.01, 0.03))
}

// drawLesions draws a retina with lesions under and over its vessels, and sometimes a reflex.
func drawLesions(c *canvas) {
	t := newRetina(c, c.draws)
	t.ground()
	if c.chance(0.75) {
		for range 1 + c.IntN(3) {
			t.scar()
		}
	}
	for range c.IntN(4) {
		either(c.Rand, t.exudates, t.exudates, t.drusen, t.naevus, t.laser, t.laser, t.scar)()
	}
	t.vasculature()
	for range c.IntN(4) {
		either(c.Rand, t.haemorrhages, t.haemorrhages, t.haemorrhages, t.flames, t.flames, t.cottonWool, t.cottonWool, t.exudates)()
	}
	if c.chance(0.07) {
		t.pool()
	}
	t.illuminate()
	if c.chance(0.45) {
		either(c.Rand, t.crescent, t.flare, t.ghosts, t.sheen)()
	}
	t.finish(either(c.Rand, 0, 0.002, c.between(0, 0.012)))
}

// drawVeil draws a retina with few lesions behind a cataract: blurred, and under haze.
func drawVeil(c *canvas) {
	t := newRetina(c, c.draws)
	t.ground()
	t.vasculature()
	if c.chance(0.2) {
		t.haemorrhages()
	}
	t.illuminate()
	t.blur(t.field * either(c.Rand, c.between(0.01, 0.03), c.between(0.02, 0.12)))
	t.haze()
	for range c.IntN(3) {
		either(c.Rand, t.spokes, t.clouding, t.floaters, t.crescent, t.flare)()
	}
	t.exposure *= either(c.Rand, 1, 1, c.between(0.3, 0.9), c.between(1.1, 1.8))
	t.finish(c.between(0, 0.01))
}
