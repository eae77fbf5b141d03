package synthetic

import "math"

// glyph is the strokes of a letter in a square of side 1; (0, 1) is the left end of the baseline.
type glyph [][4]float64

// alphabet invents letters of one to four strokes; bent ones are approximated by two lines.
func alphabet(r draws) []glyph {
	grid := func() [2]float64 { return [2]float64{0.3 * float64(r.IntN(3)), 0.5 * float64(r.IntN(3))} }
	letters := make([]glyph, 26)
	for i := range letters {
		from := grid()
		for range 1 + r.IntN(4) {
			to := grid()
			middle := [2]float64{(from[0]+to[0])/2 + r.between(-0.2, 0.2), (from[1]+to[1])/2 + r.between(-0.2, 0.2)}
			letters[i] = append(letters[i], [4]float64{from[0], from[1], middle[0], middle[1]}, [4]float64{middle[0], middle[1], to[0], to[1]})
			from = to
		}
	}
	return letters
}

// page is a sheet, turned in the picture.
type page struct {
	*canvas
	letters  []glyph
	sin, cos float64
	ink      colour
}

// turned converts a point of the page to the picture's.
func (p *page) turned(x, y float64) (float64, float64) { return x*p.cos - y*p.sin, x*p.sin + y*p.cos }

// drawText draws a page with a heading, columns of lines and sometimes a figure: scanned,
// photographed or on a screen.
func drawText(c *canvas) {
	sin, cos := math.Sincos(either(c.Rand, 0, c.between(-0.05, 0.05), c.between(-0.5, 0.5)))
	p := &page{canvas: c, letters: alphabet(c.draws), sin: sin, cos: cos}
	paper := c.near(either(c.Rand, gray(0.97), gray(0.97), colour{0.95, 0.90, 0.75}, c.anyColour()), 0.08)
	p.ink = either(c.Rand, gray(0.08), gray(0.08), colour{0.1, 0.15, 0.5}, c.anyColour().scaled(0.4))
	if c.chance(0.25) { // a dark screen
		paper, p.ink = p.ink.scaled(0.8), mixed(paper, c.anyColour(), 0.3)
	}
	c.fill(solid(paper))
	halfX, halfY := c.half()
	halfX, halfY = halfX*c.between(0.75, 1.1), halfY*c.between(0.8, 1.1)
	if c.chance(0.3) { // the sheet lies on something
		c.fill(solid(c.anyColour()))
		p.slab(-halfX, -halfY, halfX, halfY, paper)
	}
	p.layout(halfX*0.9, halfY*0.9, paper)
	if c.chance(0.5) { // uneven light
		slope, angle := c.between(0.1, 0.5), c.between(-math.Pi, math.Pi)
		sin, cos := math.Sincos(angle)
		c.fill(func(x, y float64, under colour) colour { return under.scaled(1 - slope*(0.5+0.5*(x*cos+y*sin))) })
		c.camera()
	}
	c.grey = c.chance(0.3) && p.ink[0] == p.ink[1] && paper[0] == paper[1] && paper[1] == paper[2]
}

// slab is a rectangle of the page.
func (p *page) slab(x0, y0, x1, y1 float64, c colour) {
	var corners [4][2]float64
	for i, q := range [4][2]float64{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}} {
		corners[i][0], corners[i][1] = p.turned(q[0], q[1])
	}
	p.draw(polygon(corners[:]...), 0, solid(c))
}

// layout fills the page's middle, from −x to x and −y to y.
func (p *page) layout(x, y float64, paper colour) {
	size, top := p.between(0.022, 0.07), -y
	if p.chance(0.6) {
		p.words(-x*p.between(0.3, 1), x*p.between(0.3, 1), top, size*2, 0.16)
		top += size * 5
	}
	columns := 1 + p.IntN(3)
	if size > 0.045 {
		columns = 1
	}
	width, gap := 2*x/float64(columns), size*1.5
	weight, spacing := p.between(0.09, 0.2), p.between(1.5, 2.4)
	for i := range columns {
		left := -x + width*float64(i)
		right := left + width - gap
		figure := top + (y-top)*p.between(0.1, 3) // beyond the page: none
		for line := top; line < y-size; line += size * spacing {
			if line > figure && figure < y-0.3 {
				p.figure(left, line, right, line+0.25, paper)
				line, figure = line+0.25+size, 9
			}
			end := right
			if p.chance(0.15) { // a paragraph's last line
				end = left + (right-left)*p.between(0.1, 0.9)
			}
			if p.chance(0.93) {
				p.words(left, end, line, size, weight)
			}
		}
	}
}

// words writes a line from left to right. size is a letter's height, weight the strokes' width as a
// share of size.
func (p *page) words(left, right, top, size, weight float64) {
	for x := left; x < right-size*0.6; {
		for range 1 + p.IntN(9) {
			if x > right-size*0.6 {
				break
			}
			scale := size * either(p.Rand, 0.7, 0.7, 1)
			for _, s := range either(p.Rand, p.letters...) {
				ax, ay := p.turned(x+s[0]*scale, top+size-scale+s[1]*scale)
				bx, by := p.turned(x+s[2]*scale, top+size-scale+s[3]*scale)
				p.draw(line(ax, ay, bx, by, size*weight), 0, solid(p.ink))
			}
			x += scale*0.6 + size*0.22
		}
		x += size * 0.5
	}
}

// figure is a chart of bars, a curve, or a table.
func (p *page) figure(x0, y0, x1, y1 float64, paper colour) {
	p.slab(x0, y0, x1, y1, mixed(paper, p.anyColour(), 0.3))
	n, c := 4+p.IntN(8), p.anyColour()
	step := (x1 - x0) / float64(n)
	kind := p.IntN(3)
	last := p.Float64()
	for i := range n {
		x, v := x0+step*float64(i), p.Float64()
		switch kind {
		case 0:
			p.slab(x+step*0.2, y1-(y1-y0)*v*0.9, x+step*0.8, y1, c)
		case 1:
			ax, ay := p.turned(x, y1-(y1-y0)*last)
			bx, by := p.turned(x+step, y1-(y1-y0)*v)
			p.draw(line(ax, ay, bx, by, 0.008), 0, solid(c))
			last = v
		case 2:
			y := y0 + (y1-y0)*float64(i)/float64(n)
			p.slab(x0, y, x1, y+0.004, p.ink)
			p.slab(x, y0, x+0.004, y1, p.ink)
		}
	}
}

// room is a box seen from its open side. Points have x to the right, y down and z away, in half
// widths of the picture at z = 1.
type room struct {
	*canvas
	left, right, up, low float64 // walls, ceiling and floor
	back                 float64 // z of the back wall
	centreX, centreY     float64 // vanishing point
	lamp                 [3]float64
	warmth               colour
}

// drawRoom draws walls, a window or pictures, furniture and a lamp.
func drawRoom(c *canvas) {
	_, half := c.half()
	m := &room{canvas: c, left: -c.between(0.8, 1.6), right: c.between(0.8, 1.6), up: -half * c.between(0.9, 1.4), low: half * c.between(0.8, 1.2),
		back: c.between(1.4, 3), centreX: c.between(-0.4, 0.4), centreY: half * c.between(-0.3, 0.3)}
	m.lamp = [3]float64{c.between(m.left, m.right) * 0.6, c.between(m.up, 0), c.between(1.1, m.back)}
	m.warmth = either(c.Rand, colour{1, 0.82, 0.55}, colour{1, 0.95, 0.85}, colour{0.9, 0.95, 1})
	m.walls()
	for range c.IntN(3) {
		m.hanging()
	}
	for z := m.back - 0.25; z > 1; z -= c.between(0.2, 0.6) { // from far to near
		either(c.Rand, m.table, m.cupboard, m.sofa, func(float64) {})(z)
	}
	m.light()
	c.camera()
}

// project converts a point of the room to the picture's.
func (m *room) project(x, y, z float64) [2]float64 {
	return [2]float64{m.centreX + (x-m.centreX)/z, m.centreY + (y-m.centreY)/z}
}

// quad draws a parallelogram of one colour, given by a corner and two edges.
func (m *room) quad(at, a, b [3]float64, c colour) {
	corner := func(s, t float64) [2]float64 {
		return m.project(at[0]+s*a[0]+t*b[0], at[1]+s*a[1]+t*b[1], at[2]+s*a[2]+t*b[2])
	}
	m.draw(polygon(corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)), 0, solid(c))
}

// box draws a box: its front, its top if that lies below the eye, and the side that faces the
// middle.
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
	wall, floor := m.near(either(m.Rand, gray(0.7), m.anyColour(), colour{0.75, 0.66, 0.52}), 0.2),
		m.near(either(m.Rand, colour{0.45, 0.28, 0.15}, gray(0.4), m.anyColour()), 0.2)
	const front = 0.35
	deep := [3]float64{0, 0, m.back - front}
	wide, high := [3]float64{m.right - m.left}, [3]float64{0, m.low - m.up}
	m.fill(solid(wall))
	m.quad([3]float64{m.left, m.up, front}, wide, deep, mixed(wall, gray(0.95), 0.5))
	m.quad([3]float64{m.left, m.low, front}, wide, deep, floor)
	m.quad([3]float64{m.left, m.up, front}, high, deep, wall.scaled(0.8))
	m.quad([3]float64{m.right, m.up, front}, high, deep, wall.scaled(0.9))
	m.quad([3]float64{m.left, m.up, m.back}, wide, high, wall)
	if m.chance(0.6) { // boards or tiles
		n, dark := 6+m.IntN(12), floor.scaled(0.7)
		for i := range n {
			x := m.left + (m.right-m.left)*float64(i)/float64(n)
			a, b := m.project(x, m.low, front), m.project(x, m.low, m.back)
			m.draw(line(a[0], a[1], b[0], b[1], 0.005), 0, solid(dark))
		}
	}
	if m.chance(0.4) { // a carpet
		x, z := m.between(m.left, m.right-0.6), m.between(0.8, m.back-0.5)
		m.quad([3]float64{x, m.low, z}, [3]float64{m.between(0.4, 1.2)}, [3]float64{0, 0, m.between(0.3, 0.8)}, m.anyColour())
	}
}

// hanging draws a window, a picture or a clock on the back wall.
func (m *room) hanging() {
	width, height := m.between(0.3, 0.9), m.between(0.3, 0.7)
	x, y := m.between(m.left, m.right-width), m.between(m.up+0.05, 0)
	z := m.back - 0.01
	frame := m.near(either(m.Rand, gray(0.9), colour{0.35, 0.22, 0.12}, gray(0.1)), 0.2)
	if m.chance(0.25) {
		p := m.project(x, y, z)
		m.draw(round(p[0], p[1], width*0.25), 0, solid(frame))
		m.draw(round(p[0], p[1], width*0.21), 0, solid(m.near(gray(0.9), 0.1)))
		m.draw(line(p[0], p[1], p[0]+width*0.1, p[1]-width*0.08, 0.01), 0, solid(gray(0.1)))
		m.draw(line(p[0], p[1], p[0]-width*0.03, p[1]-width*0.16, 0.008), 0, solid(gray(0.1)))
		return
	}
	view := either(m.Rand, colour{0.75, 0.87, 1}, colour{0.03, 0.04, 0.10}, m.anyColour(), gray(1))
	border := 0.04
	m.quad([3]float64{x, y, z}, [3]float64{width}, [3]float64{0, height}, frame)
	m.quad([3]float64{x + border, y + border, z}, [3]float64{width - 2*border}, [3]float64{0, height - 2*border}, view)
	m.quad([3]float64{x + border, y + height*0.6, z}, [3]float64{width - 2*border}, [3]float64{0, height*0.4 - border}, m.near(view, 0.6))
	if m.chance(0.5) {
		m.quad([3]float64{x + width/2 - border/2, y, z}, [3]float64{border}, [3]float64{0, height}, frame)
		m.quad([3]float64{x, y + height/2 - border/2, z}, [3]float64{width}, [3]float64{0, border}, frame)
	}
}

// table draws a table, sometimes with things on it.
func (m *room) table(z float64) {
	width, height, depth := m.between(0.4, 1), m.between(0.25, 0.45), m.between(0.2, 0.5)
	x, c := m.between(m.left, m.right-width), m.near(either(m.Rand, colour{0.5, 0.32, 0.18}, gray(0.8), gray(0.15)), 0.3)
	top := m.low - height
	for _, leg := range [][2]float64{{0.02, depth}, {width - 0.06, depth}, {0.02, 0}, {width - 0.06, 0}} {
		m.box(x+leg[0], top, z+leg[1], 0.04, height, 0.04, c.scaled(0.8))
	}
	m.box(x, top, z, width, 0.04, depth, c)
	for range m.IntN(4) {
		size := m.between(0.04, 0.15)
		px := x + m.Float64()*(width-size)
		if m.chance(0.5) {
			m.box(px, top-size, z+depth*m.Float64()*0.5, size, size, size, m.anyColour())
			continue
		}
		p := m.project(px+size/2, top-size/2, z+depth*0.3)
		m.draw(round(p[0], p[1], size/2/z), 0, solid(m.anyColour())) // a ball or fruit
	}
}

// cupboard draws shelves with books, or drawers.
func (m *room) cupboard(z float64) {
	width, height := m.between(0.3, 0.8), m.between(0.4, 1)
	x, c := either(m.Rand, m.left, m.right-width, m.between(m.left, m.right-width)), m.near(either(m.Rand, colour{0.42, 0.26, 0.14}, gray(0.85), m.anyColour()), 0.3)
	m.box(x, m.low-height, z, width, height, 0.25, c)
	rows := 2 + m.IntN(4)
	step := height / float64(rows)
	books := m.chance(0.6)
	for i := range rows {
		y := m.low - height + step*float64(i)
		m.quad([3]float64{x + 0.02, y + 0.02, z}, [3]float64{width - 0.04}, [3]float64{0, step - 0.03}, c.scaled(either(m.Rand, 0.5, 0.8)))
		for px := x + 0.02; books && px < x+width-0.06; {
			thick := m.between(0.015, 0.05)
			tall := step * m.between(0.5, 0.85)
			m.quad([3]float64{px, y + step - 0.01 - tall, z}, [3]float64{thick}, [3]float64{0, tall}, m.anyColour())
			px += thick + either(m.Rand, 0.002, 0.002, 0.03)
		}
	}
}

func (m *room) sofa(z float64) {
	width, c := m.between(0.5, 1.1), m.near(m.anyColour(), 0.2)
	x := m.between(m.left, m.right-width)
	m.box(x, m.low-0.5, z+0.3, width, 0.5, 0.1, c.scaled(0.9))
	m.box(x, m.low-0.25, z, width, 0.25, 0.3, c)
	m.box(x-0.08, m.low-0.35, z, 0.1, 0.35, 0.4, c.scaled(1.05))
	m.box(x+width-0.02, m.low-0.35, z, 0.1, 0.35, 0.4, c.scaled(1.05))
}

// light draws the lamp, a bright ball or shade with its glow, and darkens the rest of the room.
func (m *room) light() {
	p := m.project(m.lamp[0], m.lamp[1], m.lamp[2])
	dark, reach := m.between(0.2, 0.85), m.between(0.5, 1.5)
	m.fill(func(x, y float64, under colour) colour {
		share := 1 / (1 + (sq(x-p[0])+sq(y-p[1]))/sq(reach))
		return under.times(mixed(gray(1-dark), m.warmth, share))
	})
	if m.chance(0.15) {
		return
	}
	size := m.between(0.06, 0.2) / m.lamp[2]
	top := m.project(m.lamp[0], m.up, m.lamp[2])
	m.draw(line(p[0], p[1], top[0], top[1], 0.008), 0, solid(gray(0.1)))
	bulb := round(p[0], p[1], size)
	if m.chance(0.4) {
		bulb = polygon([2]float64{p[0] - size*0.6, p[1] - size}, [2]float64{p[0] + size*0.6, p[1] - size},
			[2]float64{p[0] + size*1.2, p[1] + size}, [2]float64{p[0] - size*1.2, p[1] + size})
	}
	m.draw(bulb, 0.01, solid(mixed(m.warmth, gray(1), m.between(0, 0.8))))
	m.glow(p[0], p[1], size*m.between(1.5, 3.5), m.warmth.scaled(m.between(0.2, 0.7)))
}
