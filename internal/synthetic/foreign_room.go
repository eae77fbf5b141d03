package synthetic

import (
	"math/rand/v2"
)

// room is a box seen from its open side. Points have x to the right, y down and z away, in half
// widths of the picture at z = 1.
type room struct {
	*canvas
	random               *rand.Rand
	left, right, up, low float64 // walls, ceiling and floor
	back                 float64 // z of the back wall
	centreX, centreY     float64 // vanishing point
	lamp                 [3]float64
	warmth               colour
}

// drawRoom draws walls, a window or pictures, furniture and a lamp.
func drawRoom(c *canvas, r *rand.Rand) {
	_, half := c.half()
	m := &room{canvas: c, random: r, left: -between(r, 0.8, 1.6), right: between(r, 0.8, 1.6), up: -half * between(r, 0.9, 1.4), low: half * between(r, 0.8, 1.2),
		back: between(r, 1.4, 3), centreX: between(r, -0.4, 0.4), centreY: half * between(r, -0.3, 0.3)}
	m.lamp = [3]float64{between(r, m.left, m.right) * 0.6, between(r, m.up, 0), between(r, 1.1, m.back)}
	m.warmth = either(r, colour{1, 0.82, 0.55}, colour{1, 0.95, 0.85}, colour{0.9, 0.95, 1})
	m.walls()
	for range r.IntN(3) {
		m.hanging()
	}
	for z := m.back - 0.25; z > 1; z -= between(r, 0.2, 0.6) { // from far to near
		either(r, m.table, m.cupboard, m.sofa, func(float64) {})(z)
	}
	m.light()
	c.camera(r)
}

// project is the picture's point of one in the room.
func (m *room) project(x, y, z float64) [2]float64 {
	return [2]float64{m.centreX + (x-m.centreX)/z, m.centreY + (y-m.centreY)/z}
}

// quad is a parallelogram in the room from a corner and two edges, shaded evenly.
func (m *room) quad(at, a, b [3]float64, c colour) {
	corner := func(s, t float64) [2]float64 {
		return m.project(at[0]+s*a[0]+t*b[0], at[1]+s*a[1]+t*b[1], at[2]+s*a[2]+t*b[2])
	}
	m.draw(polygon(corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)), 0, solid(c))
}

// box shows its front, its top where that lies below the eye, and the side that faces the middle.
func (m *room) box(x, y, z, width, height, depth float64, c colour) {
	if y > m.centreY {
		m.quad([3]float64{x, y, z}, [3]float64{width}, [3]float64{0, 0, depth}, c.scaled(1.15))
	}
	switch {
	case x > m.centreX:
		m.quad([3]float64{x, y, z}, [3]float64{0, height}, [3]float64{0, 0, depth}, c.scaled(0.7))
	case x+width < m.centreX:
		m.quad([3]float64{x + width, y, z}, [3]float64{0, height}, [3]float64{0, 0, depth}, c.scaled(0.7))
	}
	m.quad([3]float64{x, y, z}, [3]float64{width}, [3]float64{0, height}, c)
}

func (m *room) walls() {
	r := m.random
	wall, floor := near(r, either(r, gray(0.7), anyColour(r), colour{0.75, 0.66, 0.52}), 0.2),
		near(r, either(r, colour{0.45, 0.28, 0.15}, gray(0.4), anyColour(r)), 0.2)
	const front = 0.35
	deep := [3]float64{0, 0, m.back - front}
	wide, high := [3]float64{m.right - m.left}, [3]float64{0, m.low - m.up}
	m.fill(solid(wall))
	m.quad([3]float64{m.left, m.up, front}, wide, deep, mixed(wall, gray(0.95), 0.5))
	m.quad([3]float64{m.left, m.low, front}, wide, deep, floor)
	m.quad([3]float64{m.left, m.up, front}, high, deep, wall.scaled(0.8))
	m.quad([3]float64{m.right, m.up, front}, high, deep, wall.scaled(0.9))
	m.quad([3]float64{m.left, m.up, m.back}, wide, high, wall)
	if chance(r, 0.6) { // boards or tiles
		n, dark := 6+r.IntN(12), floor.scaled(0.7)
		for i := range n {
			x := m.left + (m.right-m.left)*float64(i)/float64(n)
			a, b := m.project(x, m.low, front), m.project(x, m.low, m.back)
			m.draw(line(a[0], a[1], b[0], b[1], 0.005), 0, solid(dark))
		}
	}
	if chance(r, 0.4) { // a carpet
		x, z := between(r, m.left, m.right-0.6), between(r, 0.8, m.back-0.5)
		m.quad([3]float64{x, m.low, z}, [3]float64{between(r, 0.4, 1.2)}, [3]float64{0, 0, between(r, 0.3, 0.8)}, anyColour(r))
	}
}

// hanging is a window, a picture or a clock on the back wall.
func (m *room) hanging() {
	r := m.random
	width, height := between(r, 0.3, 0.9), between(r, 0.3, 0.7)
	x, y := between(r, m.left, m.right-width), between(r, m.up+0.05, 0)
	z := m.back - 0.01
	frame := near(r, either(r, gray(0.9), colour{0.35, 0.22, 0.12}, gray(0.1)), 0.2)
	if chance(r, 0.25) {
		p := m.project(x, y, z)
		m.draw(round(p[0], p[1], width*0.25), 0, solid(frame))
		m.draw(round(p[0], p[1], width*0.21), 0, solid(near(r, gray(0.9), 0.1)))
		m.draw(line(p[0], p[1], p[0]+width*0.1, p[1]-width*0.08, 0.01), 0, solid(gray(0.1)))
		m.draw(line(p[0], p[1], p[0]-width*0.03, p[1]-width*0.16, 0.008), 0, solid(gray(0.1)))
		return
	}
	view := either(r, colour{0.75, 0.87, 1}, colour{0.03, 0.04, 0.10}, anyColour(r), gray(1))
	border := 0.04
	m.quad([3]float64{x, y, z}, [3]float64{width}, [3]float64{0, height}, frame)
	m.quad([3]float64{x + border, y + border, z}, [3]float64{width - 2*border}, [3]float64{0, height - 2*border}, view)
	m.quad([3]float64{x + border, y + height*0.6, z}, [3]float64{width - 2*border}, [3]float64{0, height*0.4 - border}, near(r, view, 0.6))
	if chance(r, 0.5) {
		m.quad([3]float64{x + width/2 - border/2, y, z}, [3]float64{border}, [3]float64{0, height}, frame)
		m.quad([3]float64{x, y + height/2 - border/2, z}, [3]float64{width}, [3]float64{0, border}, frame)
	}
}

// table has four legs, and maybe things on it.
func (m *room) table(z float64) {
	r := m.random
	width, height, depth := between(r, 0.4, 1), between(r, 0.25, 0.45), between(r, 0.2, 0.5)
	x, c := between(r, m.left, m.right-width), near(r, either(r, colour{0.5, 0.32, 0.18}, gray(0.8), gray(0.15)), 0.3)
	top := m.low - height
	for _, leg := range [][2]float64{{0.02, depth}, {width - 0.06, depth}, {0.02, 0}, {width - 0.06, 0}} {
		m.box(x+leg[0], top, z+leg[1], 0.04, height, 0.04, c.scaled(0.8))
	}
	m.box(x, top, z, width, 0.04, depth, c)
	for range r.IntN(4) {
		size := between(r, 0.04, 0.15)
		px := x + r.Float64()*(width-size)
		if chance(r, 0.5) {
			m.box(px, top-size, z+depth*r.Float64()*0.5, size, size, size, anyColour(r))
			continue
		}
		p := m.project(px+size/2, top-size/2, z+depth*0.3)
		m.draw(round(p[0], p[1], size/2/z), 0, solid(anyColour(r))) // a ball or fruit
	}
}

// cupboard has shelves with books, or drawers.
func (m *room) cupboard(z float64) {
	r := m.random
	width, height := between(r, 0.3, 0.8), between(r, 0.4, 1)
	x, c := either(r, m.left, m.right-width, between(r, m.left, m.right-width)), near(r, either(r, colour{0.42, 0.26, 0.14}, gray(0.85), anyColour(r)), 0.3)
	m.box(x, m.low-height, z, width, height, 0.25, c)
	rows := 2 + r.IntN(4)
	step := height / float64(rows)
	books := chance(r, 0.6)
	for i := range rows {
		y := m.low - height + step*float64(i)
		m.quad([3]float64{x + 0.02, y + 0.02, z}, [3]float64{width - 0.04}, [3]float64{0, step - 0.03}, c.scaled(either(r, 0.5, 0.8)))
		for px := x + 0.02; books && px < x+width-0.06; {
			thick := between(r, 0.015, 0.05)
			tall := step * between(r, 0.5, 0.85)
			m.quad([3]float64{px, y + step - 0.01 - tall, z}, [3]float64{thick}, [3]float64{0, tall}, anyColour(r))
			px += thick + either(r, 0.002, 0.002, 0.03)
		}
	}
}

func (m *room) sofa(z float64) {
	r := m.random
	width, c := between(r, 0.5, 1.1), near(r, anyColour(r), 0.2)
	x := between(r, m.left, m.right-width)
	m.box(x, m.low-0.5, z+0.3, width, 0.5, 0.1, c.scaled(0.9))
	m.box(x, m.low-0.25, z, width, 0.25, 0.3, c)
	m.box(x-0.08, m.low-0.35, z, 0.1, 0.35, 0.4, c.scaled(1.05))
	m.box(x+width-0.02, m.low-0.35, z, 0.1, 0.35, 0.4, c.scaled(1.05))
}

// light draws the lamp, a bright ball or shade with its glow, and leaves the rest in the shade.
func (m *room) light() {
	r := m.random
	p := m.project(m.lamp[0], m.lamp[1], m.lamp[2])
	dark, reach := between(r, 0.2, 0.85), between(r, 0.5, 1.5)
	m.fill(func(x, y float64, under colour) colour {
		share := 1 / (1 + (sq(x-p[0])+sq(y-p[1]))/sq(reach))
		return under.times(mixed(gray(1-dark), m.warmth, share))
	})
	if chance(r, 0.15) {
		return
	}
	size := between(r, 0.06, 0.2) / m.lamp[2]
	top := m.project(m.lamp[0], m.up, m.lamp[2])
	m.draw(line(p[0], p[1], top[0], top[1], 0.008), 0, solid(gray(0.1)))
	bulb := round(p[0], p[1], size)
	if chance(r, 0.4) {
		bulb = polygon([2]float64{p[0] - size*0.6, p[1] - size}, [2]float64{p[0] + size*0.6, p[1] - size},
			[2]float64{p[0] + size*1.2, p[1] + size}, [2]float64{p[0] - size*1.2, p[1] + size})
	}
	m.draw(bulb, 0.01, solid(mixed(m.warmth, gray(1), between(r, 0, 0.8))))
	m.glow(p[0], p[1], size*between(r, 1.5, 3.5), m.warmth.scaled(between(r, 0.2, 0.7)))
}
