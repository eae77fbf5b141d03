package synthetic

import "math"

// lamp is the light that comes back from lens and cornea: bluish, white or pink.
func (t *retina) lamp(strength float64) colour {
	r := t.random
	return either(r, colour{0.75, 0.85, 1}, gray(1), colour{1, 0.75, 0.7}, colour{1, 0.85, 0.5}).scaled(strength)
}

// add is light over what is below.
func add(c colour) ink { return func(_, _ float64, under colour) colour { return under.plus(c) } }

// crescent draws the reflex at the field's edge that an eye too near or too far gives.
func (t *retina) crescent() {
	r := t.random
	a, shift := between(r, -math.Pi, math.Pi), t.field*between(r, 0.1, 0.5)
	cx, cy := -shift*math.Cos(a), -shift*math.Sin(a)
	inner, soft := t.field*between(r, 0.95, 1.2), t.field*between(r, 0.15, 0.5)
	light := t.lamp(between(r, 0.3, 0.9))
	t.draw(everywhere(func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) - inner }), soft, add(light))
}

// flare draws one glow, or a hard bright spot with a glow around it.
func (t *retina) flare() {
	r := t.random
	width, light := between(r, 0.3, 1.8), t.lamp(between(r, 0.3, 1))
	x, y := t.aside(1, width)
	t.glow(x, y, width, light)
	if chance(r, 0.5) {
		core := width * between(r, 0.2, 0.7)
		t.draw(blot(r, x, y, core, 0.1, between(r, 0.7, 1.4), between(r, 0, math.Pi)), core*between(r, 0.1, 0.5), add(gray(between(r, 0.3, 1))))
	}
}

// ghosts draws a row of faint discs and rings, the lamp's images in the lenses.
func (t *retina) ghosts() {
	r := t.random
	x, y := t.place(0.8)
	a := math.Atan2(-y, -x)
	for range 1 + r.IntN(4) {
		size, light := between(r, 0.2, 1.6), t.lamp(between(r, 0.05, 0.25))
		s := round(x, y, size)
		if chance(r, 0.3) {
			s = s.band(0, size*0.2)
		}
		t.draw(s, size*between(r, 0.05, 0.4), add(light))
		step := between(r, 0.5, 2.5)
		x, y = x+step*math.Cos(a), y+step*math.Sin(a)
	}
}

// sheen draws the silky bright patches of a young retina, along the nerve fibres.
func (t *retina) sheen() {
	r := t.random
	sin, cos := math.Sincos(t.side)
	light, level := t.lamp(between(r, 0.06, 0.2)), between(r, 0.2, 0.8)
	t.fill(func(x, y float64, under colour) colour {
		u, v := (x*cos+y*sin)*0.25, y*cos-x*sin+0.5*t.clouds.at(y, x) // fibres bend
		s := max(0, t.clouds.at(x*0.9+1, y*0.9)-level) * (1 + 0.25*t.mottling.at(u, v))
		return under.plus(light.scaled(min(1.5, s)))
	})
}

// haze mixes in the light that a clouded lens scatters: grey, yellow or brown, brightest in the
// middle.
func (t *retina) haze() {
	r := t.random
	veil := either(r, colour{0.62, 0.46, 0.34}, colour{0.62, 0.40, 0.16}, colour{0.58, 0.53, 0.47}, colour{0.45, 0.22, 0.08},
		colour{0.75, 0.62, 0.42})
	veil = near(r, veil, 0.15)
	dense, fall := between(r, 0.4, 0.93), between(r, 0.1, 0.9)/sq(t.field)
	cx, cy := t.place(0.6)
	patches := newField(r, between(r, 1.5, 4), vesselReach)
	uneven := between(r, 0, 0.2)
	t.fill(func(x, y float64, under colour) colour {
		light := math.Exp(-fall * (sq(x-cx) + sq(y-cy)))
		share := max(0.3, min(0.97, dense+0.5*uneven*patches.at(x, y)))
		return mixed(under, veil.scaled(1+uneven*patches.at(y, x)), share).scaled(light)
	})
}

// spokes draws the wedges of a cortical cataract: shadows that come in from the edge.
func (t *retina) spokes() {
	r := t.random
	for range 3 + r.IntN(9) {
		a, width := between(r, -math.Pi, math.Pi), between(r, 0.05, 0.25)
		tip, dark := t.field*between(r, 0.05, 0.6), between(r, 0.1, 0.45)
		cos, sin := math.Cos(a), math.Sin(a)
		wedge := polygon([2]float64{tip * cos, tip * sin}, [2]float64{9 * math.Cos(a-width), 9 * math.Sin(a-width)}, [2]float64{9 * math.Cos(a+width), 9 * math.Sin(a+width)})
		t.draw(wedge, t.field*0.12, dim(gray(1-dark)))
	}
}

// clouding draws dark clouds with soft edges, as of blood in the vitreous.
func (t *retina) clouding() {
	r := t.random
	clouds, dark := newField(r, between(r, 1, 2.5), vesselReach), between(r, 0.2, 0.7)
	t.fill(func(x, y float64, under colour) colour {
		return under.scaled(1 - dark*smooth(0.5+0.3*clouds.at(x, y)))
	})
}

// floaters draws bright or dark grains out of focus.
func (t *retina) floaters() {
	r := t.random
	c := either(r, cream, gray(0.9), blood.scaled(0.5))
	largest, opacity := between(r, 0.05, 0.3), between(r, 0.1, 0.5)
	for range 10 + r.IntN(100) {
		x, y := t.place(1)
		size := between(r, 0.03, largest)
		t.draw(round(x, y, size), size*between(r, 0.5, 1.5), sheer(c, opacity*r.Float64()))
	}
}
