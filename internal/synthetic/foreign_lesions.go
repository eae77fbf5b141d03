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
	c := mixed(either(t.random, amber, yellow, yellow), cream, t.random.Float64())
	return near(t.random, c, 0.1)
}

// scar draws a pale place of about a disc's size, seldom larger, with soft or hard edges, maybe
// with pigment, maybe with a paler middle.
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
	if chance(r, 0.25) { // as a cup is
		inner := blot(r, x+size*between(r, -0.2, 0.2), y+size*between(r, -0.2, 0.2), size*between(r, 0.3, 0.65), rough, 1, 0)
		t.draw(inner, size*between(r, 0.1, 0.4), sheer(cream, between(r, 0.3, 0.9)))
	}
	if chance(r, 0.45) {
		t.clumps(x, y, size)
	}
}

// scarred is the white of the eye, of which the retina before it has gone: uneven, with the
// choroid's vessels in it, maybe redder towards the edge.
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

// pigmentRing draws a dark border around a scar, in places.
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

// naevus draws a flat dark place.
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

// bleeding is blood before the retina: of its own colour on pale ground, dark on dark.
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

// flames draws bleedings that lie along the nerve fibres, streaked.
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

// pool draws blood that has sunk before the retina: round below, level above.
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
