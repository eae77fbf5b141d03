package synthetic

import (
	"math"
)

// The colours that lesions have, before exposure.
var (
	cream  = colour{0.98, 0.90, 0.66}
	yellow = colour{0.94, 0.74, 0.30}
	amber  = colour{0.88, 0.56, 0.22}
	wool   = colour{0.92, 0.80, 0.62}
	blood  = colour{0.33, 0.055, 0.025}
)

// pale is a colour between amber and cream.
func (t *retina) pale() colour {
	c := mixed(either(t.random, amber, yellow, yellow), cream, t.random.Float64())
	return near(t.random, c, 0.1)
}

// scar draws a pale area of about a disc's size, seldom larger, with soft or hard edges, and
// sometimes with pigment or a paler middle.
func (t *retina) scar() {
	r := t.random
	size := between(r, 0.4, 1.5)
	if chance(r, 0.12) {
		size = between(r, 1.5, 3)
	}
	x, y := t.aside(0.95, size)
	rough := either(r, 0.01, between(r, 0.02, 0.15), between(r, 0.1, 0.3))
	s := blot(r, x, y, size, rough, math.Exp(between(r, -0.2, 0.2)), between(r, 0, math.Pi))
	ragged, depth := either(r, 0.01, 0.03, between(r, 0.03, 0.12))*size, s.depth
	s.depth = func(x, y float64) float64 { return depth(x, y) + ragged*(t.mottling.at(x, y)+0.7*t.choroid.at(y, x)) }
	if chance(r, 0.45) {
		t.pigmentRing(s, size)
	}
	soft := size * either(r, between(r, 0.05, 0.2), between(r, 0.2, 0.5), between(r, 0.5, 1.2))
	t.draw(s, soft, t.scarred(s, size))
	if chance(r, 0.25) { // like a cup
		inner := blot(r, x+size*between(r, -0.2, 0.2), y+size*between(r, -0.2, 0.2), size*between(r, 0.3, 0.65), rough, 1, 0)
		t.draw(inner, size*between(r, 0.1, 0.4), sheer(cream, between(r, 0.3, 0.9)))
	}
	if chance(r, 0.45) {
		t.clumps(x, y, size)
	}
}

// scarred is the white of the eye behind a lost retina: uneven, with the choroid's vessels in it,
// sometimes redder towards the edge.
func (t *retina) scarred(s shape, size float64) ink {
	r := t.random
	base, opacity, mottle := t.pale(), between(r, 0.45, 1), between(r, 0.03, 0.16)
	edge, shown := either(r, 0, between(r, 0.2, 0.8)), either(r, 0, between(r, 0.15, 0.5))
	sin, cos := math.Sincos(between(r, -math.Pi, math.Pi))
	slope := between(r, 0, 0.15) / size
	x0, y0 := (s.x0+s.x1)/2, (s.y0+s.y1)/2
	return func(x, y float64, under colour) colour {
		c := mixed(base, amber, edge*(1-smooth(s.depth(x, y)/(0.5*size))))
		c = mixed(c, colour{0.78, 0.36, 0.15}, shown*t.band(x, y))
		light := 1 + mottle*(0.6*t.choroid.at(x, y)+0.6*t.mottling.at(x, y)+0.4*t.grain.at(x, y)) + slope*((x-x0)*cos+(y-y0)*sin)
		return mixed(under, c.scaled(light), opacity)
	}
}

// pigmentRing draws a dark border, sometimes broken, around a scar.
func (t *retina) pigmentRing(s shape, size float64) {
	r := t.random
	width, dark := size*between(r, 0.1, 0.3), between(r, 0.2, 0.7)
	broken := either(r, 0, 0.5, 1)
	ring := s.band(-width*0.4, width)
	t.draw(ring, width, func(x, y float64, under colour) colour {
		share := dark * max(0, min(1, 1-broken*(0.5+0.7*t.choroid.at(x, y))))
		return under.times(colour{1 - 0.8*share, 1 - share, 1 - share})
	})
}

// clumps draws dark grains of pigment, most of them near the scar's edge.
func (t *retina) clumps(x, y, size float64) {
	r := t.random
	c := colour{0.20, 0.09, 0.04}.scaled(between(r, 0.4, 1.6))
	largest := size * between(r, 0.06, 0.2)
	for range 1 + r.IntN(15) {
		a, d := between(r, -math.Pi, math.Pi), size*math.Pow(r.Float64(), 0.3)
		grain := largest * math.Exp(-1.5*r.Float64())
		s := blot(r, x+d*math.Cos(a), y+d*math.Sin(a), grain, 0.5, math.Exp(between(r, -0.4, 0.4)), a)
		depth := s.depth
		s.depth = func(x, y float64) float64 { return depth(x, y) + 0.25*grain*t.mottling.at(y*2, x*2) }
		t.draw(s, grain*between(r, 0.3, 1.2), sheer(c, between(r, 0.3, 0.9)))
	}
}

// exudates draws a cluster of small yellow deposits with sharp edges: in a patch, a ring, or rays
// as around a macula.
func (t *retina) exudates() {
	r := t.random
	x, y := t.place(0.9)
	reach, c, opacity := between(r, 0.4, 2), t.pale(), between(r, 0.6, 1)
	ring, star := chance(r, 0.35), chance(r, 0.2)
	for range 6 + r.IntN(60) {
		a, d := between(r, -math.Pi, math.Pi), reach*math.Abs(r.NormFloat64())*0.6
		if ring {
			d = reach * (1 + 0.15*r.NormFloat64())
		}
		size, stretch, angle := math.Exp(between(r, math.Log(0.025), math.Log(0.14))), math.Exp(between(r, -0.3, 0.3)), a
		if star {
			stretch = between(r, 1.3, 2)
		}
		s := blot(r, x+d*math.Cos(a), y+d*math.Sin(a), size, 0.3, stretch, angle)
		t.draw(s, 0.03, sheer(c, opacity*between(r, 0.6, 1)))
	}
}

// drusen draws many dull dots.
func (t *retina) drusen() {
	r := t.random
	x, y := t.place(0.7)
	reach, c, largest := between(r, 0.8, 3), t.pale(), between(r, 0.06, 0.3)
	for range 20 + r.IntN(120) {
		dx, dy := reach*r.NormFloat64()*0.6, reach*r.NormFloat64()*0.6
		size := between(r, 0.03, largest)
		t.draw(round(x+dx, y+dy, size), size*between(r, 0.4, 1), sheer(c, between(r, 0.15, 0.55)))
	}
}

// naevus draws a flat dark area.
func (t *retina) naevus() {
	r := t.random
	x, y := t.place(0.9)
	size := between(r, 0.4, 1.8)
	s := blot(r, x, y, size, 0.15, math.Exp(between(r, -0.3, 0.3)), between(r, 0, math.Pi))
	dark := between(r, 0.25, 0.75)
	t.draw(s, size*between(r, 0.1, 0.8), dim(colour{1 - 0.8*dark, 1 - 0.9*dark, 1 - 0.6*dark}))
}

// laser draws a field of small pale burns in loose rows, some with pigment in the middle.
func (t *retina) laser() {
	r := t.random
	x, y := t.place(0.9)
	size, step, c := between(r, 0.1, 0.28), between(r, 0.45, 0.9), t.pale()
	opacity, dark := between(r, 0.25, 0.9), either(r, 0, between(r, 0.2, 0.8))
	n := 1 + r.IntN(5)
	sin, cos := math.Sincos(between(r, 0, math.Pi))
	for i := -n; i <= n; i++ {
		for j := -n; j <= n; j++ {
			u, v := step*(float64(i)+0.25*r.NormFloat64()), step*(float64(j)+0.25*r.NormFloat64())
			s := blot(r, x+u*cos-v*sin, y+u*sin+v*cos, size*between(r, 0.6, 1.2), 0.12, 1, 0)
			if chance(r, 0.2) {
				continue
			}
			t.draw(s, size*0.5, sheer(c, opacity*between(r, 0.5, 1)))
			core := round((s.x0+s.x1)/2, (s.y0+s.y1)/2, size*between(r, 0.2, 0.6))
			t.draw(core, size*0.3, sheer(colour{0.16, 0.07, 0.04}, dark*r.Float64()))
		}
	}
}

// bleeding is blood in front of the retina: of its own colour on pale ground, dark on dark ground.
func (t *retina) bleeding() func(opacity float64) ink {
	c := near(t.random, blood, 0.3)
	return func(opacity float64) ink {
		return func(_, _ float64, under colour) colour {
			return mixed(under, colour{min(c[0], 0.6*under[0]), min(c[1], 0.3*under[1]), min(c[2], 0.4*under[2])}, opacity)
		}
	}
}

// haemorrhages draws dark red dots and blots.
func (t *retina) haemorrhages() {
	r := t.random
	x, y := t.place(0.9)
	reach, largest, red := between(r, 0.5, 4), math.Exp(between(r, math.Log(0.08), math.Log(0.8))), t.bleeding()
	for range 2 + r.IntN(30) {
		dx, dy := reach*r.NormFloat64()*0.5, reach*r.NormFloat64()*0.5
		size := largest * math.Exp(-2.5*r.Float64())
		s := blot(r, x+dx, y+dy, size, 0.3, math.Exp(between(r, -0.25, 0.25)), between(r, 0, math.Pi))
		t.draw(s, size*between(r, 0.2, 0.8), red(between(r, 0.5, 0.95)))
	}
}

// flames draws streaked bleedings along the nerve fibres.
func (t *retina) flames() {
	r := t.random
	x, y := t.place(0.9)
	red := t.bleeding()
	for range 1 + r.IntN(8) {
		px, py := x+0.9*r.NormFloat64(), y+0.9*r.NormFloat64()
		angle := t.side + between(r, -0.35, 0.35)
		sin, cos := math.Sincos(angle)
		length := between(r, 0.15, 0.8)
		for range 5 + r.IntN(10) {
			u, v := length*r.NormFloat64()*0.4, length*r.NormFloat64()*0.16
			half, width := length*between(r, 0.3, 0.8), between(r, 0.03, 0.1)
			ax, ay := px+u*cos-v*sin, py+u*sin+v*cos
			t.draw(line(ax-half*cos, ay-half*sin, ax+half*cos, ay+half*sin, width), 0.06, red(between(r, 0.25, 0.6)))
		}
	}
}

// pool draws blood that has sunk in front of the retina: round below, level above.
func (t *retina) pool() {
	r := t.random
	x, y := t.place(0.8)
	size := between(r, 0.6, 2)
	s := blot(r, x, y, size, 0.1, between(r, 1, 1.3), 0)
	level, depth := y+size*between(r, -0.5, 0.4), s.depth
	s.depth = func(x, y float64) float64 { return min(depth(x, y), y-level) }
	t.draw(s, between(r, 0.05, 0.3), t.bleeding()(between(r, 0.6, 0.95)))
}

// cottonWool draws white spots with feathery edges, over the vessels.
func (t *retina) cottonWool() {
	r := t.random
	c := near(r, wool, 0.08)
	for range 1 + r.IntN(5) {
		x, y := t.place(0.9)
		size := between(r, 0.15, 0.7)
		for range 4 + r.IntN(8) {
			s := blot(r, x+0.4*size*r.NormFloat64(), y+0.3*size*r.NormFloat64(), size*between(r, 0.3, 0.7), 0.3, 1.2, between(r, 0, math.Pi))
			t.draw(s, size*between(r, 0.4, 0.9), sheer(c, between(r, 0.2, 0.6)))
		}
	}
}

// lamp is the light that lens and cornea reflect: bluish, white, pink or yellow.
func (t *retina) lamp(strength float64) colour {
	r := t.random
	return either(r, colour{0.75, 0.85, 1}, gray(1), colour{1, 0.75, 0.7}, colour{1, 0.85, 0.5}).scaled(strength)
}

// add adds light to the colour below.
func add(c colour) ink { return func(_, _ float64, under colour) colour { return under.plus(c) } }

// crescent draws the reflex at the field's edge that appears if the eye is too near or too far.
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

// spokes draws the wedges of a cortical cataract: shadows from the edge inwards.
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
