package synthetic

import "math"

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
	c := mixed(either(t.Rand, amber, yellow, yellow), cream, t.Float64())
	return t.near(c, 0.1)
}

// scar draws a pale area of about a disc's size, seldom larger, with soft or hard edges, and
// sometimes with pigment or a paler middle.
func (t *retina) scar() {
	size := t.between(0.4, 1.5)
	if t.chance(0.12) {
		size = t.between(1.5, 3)
	}
	x, y := t.aside(0.95, size)
	rough := either(t.Rand, 0.01, t.between(0.02, 0.15), t.between(0.1, 0.3))
	s := t.blot(x, y, size, rough, math.Exp(t.between(-0.2, 0.2)), t.between(0, math.Pi))
	ragged, depth := either(t.Rand, 0.01, 0.03, t.between(0.03, 0.12))*size, s.depth
	s.depth = func(x, y float64) float64 { return depth(x, y) + ragged*(t.mottling.at(x, y)+0.7*t.choroid.at(y, x)) }
	if t.chance(0.45) {
		t.pigmentRing(s, size)
	}
	soft := size * either(t.Rand, t.between(0.05, 0.2), t.between(0.2, 0.5), t.between(0.5, 1.2))
	t.draw(s, soft, t.scarred(s, size))
	if t.chance(0.25) { // like a cup
		inner := t.blot(x+size*t.between(-0.2, 0.2), y+size*t.between(-0.2, 0.2), size*t.between(0.3, 0.65), rough, 1, 0)
		t.draw(inner, size*t.between(0.1, 0.4), sheer(cream, t.between(0.3, 0.9)))
	}
	if t.chance(0.45) {
		t.clumps(x, y, size)
	}
}

// scarred is the white of the eye behind a lost retina: uneven, with the choroid's vessels in it,
// sometimes redder towards the edge.
func (t *retina) scarred(s shape, size float64) ink {
	base, opacity, mottle := t.pale(), t.between(0.45, 1), t.between(0.03, 0.16)
	edge, shown := either(t.Rand, 0, t.between(0.2, 0.8)), either(t.Rand, 0, t.between(0.15, 0.5))
	sin, cos := math.Sincos(t.between(-math.Pi, math.Pi))
	slope := t.between(0, 0.15) / size
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
	width, dark := size*t.between(0.1, 0.3), t.between(0.2, 0.7)
	broken := either(t.Rand, 0, 0.5, 1)
	ring := s.band(-width*0.4, width)
	t.draw(ring, width, func(x, y float64, under colour) colour {
		share := dark * max(0, min(1, 1-broken*(0.5+0.7*t.choroid.at(x, y))))
		return under.times(colour{1 - 0.8*share, 1 - share, 1 - share})
	})
}

// clumps draws dark grains of pigment, most of them near the scar's edge.
func (t *retina) clumps(x, y, size float64) {
	c := colour{0.20, 0.09, 0.04}.scaled(t.between(0.4, 1.6))
	largest := size * t.between(0.06, 0.2)
	for range 1 + t.IntN(15) {
		a, d := t.between(-math.Pi, math.Pi), size*math.Pow(t.Float64(), 0.3)
		grain := largest * math.Exp(-1.5*t.Float64())
		s := t.blot(x+d*math.Cos(a), y+d*math.Sin(a), grain, 0.5, math.Exp(t.between(-0.4, 0.4)), a)
		depth := s.depth
		s.depth = func(x, y float64) float64 { return depth(x, y) + 0.25*grain*t.mottling.at(y*2, x*2) }
		t.draw(s, grain*t.between(0.3, 1.2), sheer(c, t.between(0.3, 0.9)))
	}
}

// exudates draws a cluster of small yellow deposits with sharp edges: in a patch, a ring, or rays
// as around a macula.
func (t *retina) exudates() {
	x, y := t.place(0.9)
	reach, c, opacity := t.between(0.4, 2), t.pale(), t.between(0.6, 1)
	ring, star := t.chance(0.35), t.chance(0.2)
	for range 6 + t.IntN(60) {
		a, d := t.between(-math.Pi, math.Pi), reach*math.Abs(t.NormFloat64())*0.6
		if ring {
			d = reach * (1 + 0.15*t.NormFloat64())
		}
		size, stretch, angle := math.Exp(t.between(math.Log(0.025), math.Log(0.14))), math.Exp(t.between(-0.3, 0.3)), a
		if star {
			stretch = t.between(1.3, 2)
		}
		s := t.blot(x+d*math.Cos(a), y+d*math.Sin(a), size, 0.3, stretch, angle)
		t.draw(s, 0.03, sheer(c, opacity*t.between(0.6, 1)))
	}
}

// drusen draws many dull dots.
func (t *retina) drusen() {
	x, y := t.place(0.7)
	reach, c, largest := t.between(0.8, 3), t.pale(), t.between(0.06, 0.3)
	for range 20 + t.IntN(120) {
		dx, dy := reach*t.NormFloat64()*0.6, reach*t.NormFloat64()*0.6
		size := t.between(0.03, largest)
		t.draw(round(x+dx, y+dy, size), size*t.between(0.4, 1), sheer(c, t.between(0.15, 0.55)))
	}
}

// naevus draws a flat dark area.
func (t *retina) naevus() {
	x, y := t.place(0.9)
	size := t.between(0.4, 1.8)
	s := t.blot(x, y, size, 0.15, math.Exp(t.between(-0.3, 0.3)), t.between(0, math.Pi))
	dark := t.between(0.25, 0.75)
	t.draw(s, size*t.between(0.1, 0.8), dim(colour{1 - 0.8*dark, 1 - 0.9*dark, 1 - 0.6*dark}))
}

// laser draws a field of small pale burns in loose rows, some with pigment in the middle.
func (t *retina) laser() {
	x, y := t.place(0.9)
	size, step, c := t.between(0.1, 0.28), t.between(0.45, 0.9), t.pale()
	opacity, dark := t.between(0.25, 0.9), either(t.Rand, 0, t.between(0.2, 0.8))
	n := 1 + t.IntN(5)
	sin, cos := math.Sincos(t.between(0, math.Pi))
	for i := -n; i <= n; i++ {
		for j := -n; j <= n; j++ {
			u, v := step*(float64(i)+0.25*t.NormFloat64()), step*(float64(j)+0.25*t.NormFloat64())
			s := t.blot(x+u*cos-v*sin, y+u*sin+v*cos, size*t.between(0.6, 1.2), 0.12, 1, 0)
			if t.chance(0.2) {
				continue
			}
			t.draw(s, size*0.5, sheer(c, opacity*t.between(0.5, 1)))
			core := round((s.x0+s.x1)/2, (s.y0+s.y1)/2, size*t.between(0.2, 0.6))
			t.draw(core, size*0.3, sheer(colour{0.16, 0.07, 0.04}, dark*t.Float64()))
		}
	}
}

// bleeding is blood in front of the retina: of its own colour on pale ground, dark on dark ground.
func (t *retina) bleeding() func(opacity float64) ink {
	c := t.near(blood, 0.3)
	return func(opacity float64) ink {
		return func(_, _ float64, under colour) colour {
			return mixed(under, colour{min(c[0], 0.6*under[0]), min(c[1], 0.3*under[1]), min(c[2], 0.4*under[2])}, opacity)
		}
	}
}

// haemorrhages draws dark red dots and blots.
func (t *retina) haemorrhages() {
	x, y := t.place(0.9)
	reach, largest, red := t.between(0.5, 4), math.Exp(t.between(math.Log(0.08), math.Log(0.8))), t.bleeding()
	for range 2 + t.IntN(30) {
		dx, dy := reach*t.NormFloat64()*0.5, reach*t.NormFloat64()*0.5
		size := largest * math.Exp(-2.5*t.Float64())
		s := t.blot(x+dx, y+dy, size, 0.3, math.Exp(t.between(-0.25, 0.25)), t.between(0, math.Pi))
		t.draw(s, size*t.between(0.2, 0.8), red(t.between(0.5, 0.95)))
	}
}

// flames draws streaked bleedings along the nerve fibres.
func (t *retina) flames() {
	x, y := t.place(0.9)
	red := t.bleeding()
	for range 1 + t.IntN(8) {
		px, py := x+0.9*t.NormFloat64(), y+0.9*t.NormFloat64()
		angle := t.side + t.between(-0.35, 0.35)
		sin, cos := math.Sincos(angle)
		length := t.between(0.15, 0.8)
		for range 5 + t.IntN(10) {
			u, v := length*t.NormFloat64()*0.4, length*t.NormFloat64()*0.16
			half, width := length*t.between(0.3, 0.8), t.between(0.03, 0.1)
			ax, ay := px+u*cos-v*sin, py+u*sin+v*cos
			t.draw(line(ax-half*cos, ay-half*sin, ax+half*cos, ay+half*sin, width), 0.06, red(t.between(0.25, 0.6)))
		}
	}
}

// pool draws blood that has sunk in front of the retina: round below, level above.
func (t *retina) pool() {
	x, y := t.place(0.8)
	size := t.between(0.6, 2)
	s := t.blot(x, y, size, 0.1, t.between(1, 1.3), 0)
	level, depth := y+size*t.between(-0.5, 0.4), s.depth
	s.depth = func(x, y float64) float64 { return min(depth(x, y), y-level) }
	t.draw(s, t.between(0.05, 0.3), t.bleeding()(t.between(0.6, 0.95)))
}

// cottonWool draws white spots with feathery edges, over the vessels.
func (t *retina) cottonWool() {
	c := t.near(wool, 0.08)
	for range 1 + t.IntN(5) {
		x, y := t.place(0.9)
		size := t.between(0.15, 0.7)
		for range 4 + t.IntN(8) {
			s := t.blot(x+0.4*size*t.NormFloat64(), y+0.3*size*t.NormFloat64(), size*t.between(0.3, 0.7), 0.3, 1.2, t.between(0, math.Pi))
			t.draw(s, size*t.between(0.4, 0.9), sheer(c, t.between(0.2, 0.6)))
		}
	}
}

// lamp is the light that lens and cornea reflect: bluish, white, pink or yellow.
func (t *retina) lamp(strength float64) colour {
	return either(t.Rand, colour{0.75, 0.85, 1}, gray(1), colour{1, 0.75, 0.7}, colour{1, 0.85, 0.5}).scaled(strength)
}

// add adds light to the colour below.
func add(c colour) ink { return func(_, _ float64, under colour) colour { return under.plus(c) } }

// crescent draws the reflex at the field's edge that appears if the eye is too near or too far.
func (t *retina) crescent() {
	a, shift := t.between(-math.Pi, math.Pi), t.field*t.between(0.1, 0.5)
	cx, cy := -shift*math.Cos(a), -shift*math.Sin(a)
	inner, soft := t.field*t.between(0.95, 1.2), t.field*t.between(0.15, 0.5)
	light := t.lamp(t.between(0.3, 0.9))
	t.draw(everywhere(func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) - inner }), soft, add(light))
}

// flare draws one glow, or a hard bright spot with a glow around it.
func (t *retina) flare() {
	width, light := t.between(0.3, 1.8), t.lamp(t.between(0.3, 1))
	x, y := t.aside(1, width)
	t.glow(x, y, width, light)
	if t.chance(0.5) {
		core := width * t.between(0.2, 0.7)
		t.draw(t.blot(x, y, core, 0.1, t.between(0.7, 1.4), t.between(0, math.Pi)), core*t.between(0.1, 0.5), add(gray(t.between(0.3, 1))))
	}
}

// ghosts draws a row of faint discs and rings, the lamp's images in the lenses.
func (t *retina) ghosts() {
	x, y := t.place(0.8)
	a := math.Atan2(-y, -x)
	for range 1 + t.IntN(4) {
		size, light := t.between(0.2, 1.6), t.lamp(t.between(0.05, 0.25))
		s := round(x, y, size)
		if t.chance(0.3) {
			s = s.band(0, size*0.2)
		}
		t.draw(s, size*t.between(0.05, 0.4), add(light))
		step := t.between(0.5, 2.5)
		x, y = x+step*math.Cos(a), y+step*math.Sin(a)
	}
}

// sheen draws the silky bright patches of a young retina, along the nerve fibres.
func (t *retina) sheen() {
	sin, cos := math.Sincos(t.side)
	light, level := t.lamp(t.between(0.06, 0.2)), t.between(0.2, 0.8)
	t.fill(func(x, y float64, under colour) colour {
		u, v := (x*cos+y*sin)*0.25, y*cos-x*sin+0.5*t.clouds.at(y, x) // fibres bend
		s := max(0, t.clouds.at(x*0.9+1, y*0.9)-level) * (1 + 0.25*t.mottling.at(u, v))
		return under.plus(light.scaled(min(1.5, s)))
	})
}

// haze mixes in the light that a clouded lens scatters: grey, yellow or brown, brightest in the
// middle.
func (t *retina) haze() {
	veil := either(t.Rand, colour{0.62, 0.46, 0.34}, colour{0.62, 0.40, 0.16}, colour{0.58, 0.53, 0.47}, colour{0.45, 0.22, 0.08},
		colour{0.75, 0.62, 0.42})
	veil = t.near(veil, 0.15)
	dense, fall := t.between(0.4, 0.93), t.between(0.1, 0.9)/sq(t.field)
	cx, cy := t.place(0.6)
	patches := newField(t.Rand, t.between(1.5, 4), vesselReach)
	uneven := t.between(0, 0.2)
	t.fill(func(x, y float64, under colour) colour {
		light := math.Exp(-fall * (sq(x-cx) + sq(y-cy)))
		share := max(0.3, min(0.97, dense+0.5*uneven*patches.at(x, y)))
		return mixed(under, veil.scaled(1+uneven*patches.at(y, x)), share).scaled(light)
	})
}

// spokes draws the wedges of a cortical cataract: shadows from the edge inwards.
func (t *retina) spokes() {
	for range 3 + t.IntN(9) {
		a, width := t.between(-math.Pi, math.Pi), t.between(0.05, 0.25)
		tip, dark := t.field*t.between(0.05, 0.6), t.between(0.1, 0.45)
		cos, sin := math.Cos(a), math.Sin(a)
		wedge := polygon([2]float64{tip * cos, tip * sin}, [2]float64{9 * math.Cos(a-width), 9 * math.Sin(a-width)}, [2]float64{9 * math.Cos(a+width), 9 * math.Sin(a+width)})
		t.draw(wedge, t.field*0.12, dim(gray(1-dark)))
	}
}

// clouding draws dark clouds with soft edges, as of blood in the vitreous.
func (t *retina) clouding() {
	clouds, dark := newField(t.Rand, t.between(1, 2.5), vesselReach), t.between(0.2, 0.7)
	t.fill(func(x, y float64, under colour) colour {
		return under.scaled(1 - dark*smooth(0.5+0.3*clouds.at(x, y)))
	})
}

// floaters draws bright or dark grains out of focus.
func (t *retina) floaters() {
	c := either(t.Rand, cream, gray(0.9), blood.scaled(0.5))
	largest, opacity := t.between(0.05, 0.3), t.between(0.1, 0.5)
	for range 10 + t.IntN(100) {
		x, y := t.place(1)
		size := t.between(0.03, largest)
		t.draw(round(x, y, size), size*t.between(0.5, 1.5), sheer(c, opacity*t.Float64()))
	}
}
