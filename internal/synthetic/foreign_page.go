package synthetic

import (
	"math"
	"math/rand/v2"
)

// glyph is strokes in a square of side 1, (0, 1) at the baseline's left.
type glyph [][4]float64

// alphabet invents letters of one to four strokes; bent ones are approximated by two lines.
func alphabet(r *rand.Rand) []glyph {
	grid := func() [2]float64 { return [2]float64{0.3 * float64(r.IntN(3)), 0.5 * float64(r.IntN(3))} }
	letters := make([]glyph, 26)
	for i := range letters {
		from := grid()
		for range 1 + r.IntN(4) {
			to := grid()
			middle := [2]float64{(from[0]+to[0])/2 + between(r, -0.2, 0.2), (from[1]+to[1])/2 + between(r, -0.2, 0.2)}
			letters[i] = append(letters[i], [4]float64{from[0], from[1], middle[0], middle[1]}, [4]float64{middle[0], middle[1], to[0], to[1]})
			from = to
		}
	}
	return letters
}

// page is a sheet that lies turned in the picture.
type page struct {
	*canvas
	random   *rand.Rand
	letters  []glyph
	sin, cos float64
	ink      colour
}

// turned is the picture's point of the page's.
func (p *page) turned(x, y float64) (float64, float64) { return x*p.cos - y*p.sin, x*p.sin + y*p.cos }

// drawText draws a page with a heading, columns of lines and maybe a figure, as scanned,
// photographed or on a screen.
func drawText(c *canvas, r *rand.Rand) {
	sin, cos := math.Sincos(either(r, 0, between(r, -0.05, 0.05), between(r, -0.5, 0.5)))
	p := &page{canvas: c, random: r, letters: alphabet(r), sin: sin, cos: cos}
	paper := near(r, either(r, gray(0.97), gray(0.97), colour{0.95, 0.90, 0.75}, anyColour(r)), 0.08)
	p.ink = either(r, gray(0.08), gray(0.08), colour{0.1, 0.15, 0.5}, anyColour(r).scaled(0.4))
	if chance(r, 0.25) { // a dark screen
		paper, p.ink = p.ink.scaled(0.8), mixed(paper, anyColour(r), 0.3)
	}
	c.fill(solid(paper))
	halfX, halfY := c.half()
	halfX, halfY = halfX*between(r, 0.75, 1.1), halfY*between(r, 0.8, 1.1)
	if chance(r, 0.3) { // the sheet lies on something
		c.fill(solid(anyColour(r)))
		p.slab(-halfX, -halfY, halfX, halfY, paper)
	}
	p.layout(halfX*0.9, halfY*0.9, paper)
	if chance(r, 0.5) { // uneven light
		slope, angle := between(r, 0.1, 0.5), between(r, -math.Pi, math.Pi)
		sin, cos := math.Sincos(angle)
		c.fill(func(x, y float64, under colour) colour { return under.scaled(1 - slope*(0.5+0.5*(x*cos+y*sin))) })
		c.camera(r)
	}
	c.grey = chance(r, 0.3) && p.ink[0] == p.ink[1] && paper[0] == paper[1] && paper[1] == paper[2]
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
	r := p.random
	size, top := between(r, 0.022, 0.07), -y
	if chance(r, 0.6) {
		p.words(-x*between(r, 0.3, 1), x*between(r, 0.3, 1), top, size*2, 0.16)
		top += size * 5
	}
	columns := 1 + r.IntN(3)
	if size > 0.045 {
		columns = 1
	}
	width, gap := 2*x/float64(columns), size*1.5
	weight, spacing := between(r, 0.09, 0.2), between(r, 1.5, 2.4)
	for i := range columns {
		left := -x + width*float64(i)
		right := left + width - gap
		figure := top + (y-top)*between(r, 0.1, 3) // beyond the page: none
		for line := top; line < y-size; line += size * spacing {
			if line > figure && figure < y-0.3 {
				p.figure(left, line, right, line+0.25, paper)
				line, figure = line+0.25+size, 9
			}
			end := right
			if chance(r, 0.15) { // a paragraph's last line
				end = left + (right-left)*between(r, 0.1, 0.9)
			}
			if chance(r, 0.93) {
				p.words(left, end, line, size, weight)
			}
		}
	}
}

// words writes a line from left to right; size is a letter's height, weight its strokes' width as a
// share of it.
func (p *page) words(left, right, top, size, weight float64) {
	r := p.random
	for x := left; x < right-size*0.6; {
		for range 1 + r.IntN(9) {
			if x > right-size*0.6 {
				break
			}
			scale := size * either(r, 0.7, 0.7, 1)
			for _, s := range either(r, p.letters...) {
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
	r := p.random
	p.slab(x0, y0, x1, y1, mixed(paper, anyColour(r), 0.3))
	n, c := 4+r.IntN(8), anyColour(r)
	step := (x1 - x0) / float64(n)
	kind := r.IntN(3)
	last := r.Float64()
	for i := range n {
		x, v := x0+step*float64(i), r.Float64()
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
