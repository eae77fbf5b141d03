package foreign

import (
	"math"

	"mrprism/internal/data/paint"
)

// fundus is about the mean colour of a fundus photograph.
var fundus = colour{0.45, 0.22, 0.08}

// along is the position of a point along a direction.
func along(angle float64) func(x, y float64) float64 {
	sin, cos := math.Sincos(angle)
	return func(x, y float64) float64 { return x*cos + y*sin }
}

// drawFlat draws one colour, or a gradient over the whole picture.
func drawFlat(c *canvas) {
	first := paint.Either(c.Draws, paint.Grey(0), paint.Grey(1), paint.Grey(c.Float64()), c.anyColour(), c.anyColour(), c.near(fundus, 0.4), c.near(fundus, 0.4))
	second := paint.Either(c.Draws, first, first, c.near(first, 0.5), c.anyColour(), paint.Grey(0))
	straight, bend := along(c.Between(-math.Pi, math.Pi)), c.Between(0.6, 1.6)
	at := func(x, y float64) float64 { return 0.5 + 0.5*straight(x, y) }
	if c.Chance(0.35) { // round, from a point in the picture or beside it
		cx, cy, reach := c.Between(-1.2, 1.2), c.Between(-1.2, 1.2), c.Between(1, 2.2)
		at = func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) / reach }
	}
	c.fill(func(x, y float64, _ colour) colour {
		return paint.Mixed(first, second, math.Pow(max(0, min(1, at(x, y))), bend))
	})
	c.noise = paint.Either(c.Draws, 0, 0, c.Between(0.001, 0.02))
}

// drawNoise draws noise, in one picture of four within a round field on black, as of a fundus
// camera.
func drawNoise(c *canvas) {
	base := paint.Either(c.Draws, paint.Grey(c.Between(0.1, 0.9)), c.anyColour(), c.near(fundus, 0.3))
	strength, tint := c.Between(0.08, 0.45), paint.Either(c.Draws, paint.Grey(1), colour{1, 0.45, 0.2}, c.anyColour())
	coloured := c.Chance(0.5)
	draw := func() (d colour) {
		d = paint.Grey(c.NormFloat64())
		if coloured {
			d[1], d[2] = c.NormFloat64(), c.NormFloat64()
		}
		return base.Plus(d.Times(tint).Scaled(strength))
	}
	size := math.Exp(c.Between(math.Log(0.01), math.Log(0.4)))
	switch c.IntN(5) {
	case 0: // pixels
		c.fill(func(_, _ float64, _ colour) colour { return draw() })
		c.blur(paint.Either(c.Draws, 0, 0, 0.004, 0.01))
	case 1, 2: // blobs, of one size or several, with soft or hard edges
		hard, octaves := paint.Either(c.Draws, 1, 1, 8), paint.Either(c.Draws, 1, 1, 5)
		c.fill(solid(base))
		for range octaves {
			f, shade := c.field(size), draw().Plus(base.Scaled(-1))
			c.fill(func(x, y float64, under colour) colour {
				return under.Plus(shade.Scaled(math.Tanh(float64(hard)*f.At(x, y)) / math.Sqrt(float64(octaves))))
			})
			size = max(0.015, size/2)
		}
		c.noise = paint.Either(c.Draws, 0, 0.01, 0.05)
	default: // rows or columns of a broken screen, or blocks of a damaged file
		blocks, n := c.Chance(0.4), int(3/size)+2
		across := along(paint.Either(c.Draws, 0, math.Pi/2, c.Between(0, math.Pi)))
		cells := make([]colour, n*n)
		for i := range cells {
			cells[i] = draw()
		}
		c.fill(func(x, y float64, _ colour) colour {
			if blocks {
				return cells[int((y+1)/size)*n+int((x+1)/size)]
			}
			return cells[int((across(x, y)+1.45)/size)]
		})
		c.noise = paint.Either(c.Draws, 0, 0.03, 0.15)
	}
	if c.Chance(0.25) {
		inside := round(0, 0, c.Between(0.5, 0.98))
		c.fill(func(x, y float64, under colour) colour {
			return under.Scaled(paint.Smooth(inside.depth(x, y)*c.radius + 0.5))
		})
	}
}

// drawShapes draws shapes over each other, lights and targets on dark ground, or a regular pattern.
// All but the first have bright discs, which a search could mistake for an optic disc.
func drawShapes(c *canvas) {
	size := c.Between(0.08, 0.4)
	switch c.IntN(6) {
	case 0, 1, 2:
		c.fill(solid(c.anyColour()))
		for range 3 + c.IntN(40) {
			x, y := c.anywhere()
			size, angle := 2*size*c.Between(0.15, 1), c.Between(-math.Pi, math.Pi)
			dx, dy := 2*size*math.Cos(angle), 2*size*math.Sin(angle)
			s := paint.Either(c.Draws, round(x, y, size), c.anyBlot(x, y, size, paint.Either(c.Draws, 0, 0.3)), c.anyBlot(x, y, size, 0).band(0, size*0.15),
				polygon(corners(x, y, size, angle, 3+c.IntN(4))...), line(x-dx, y-dy, x+dx, y+dy, size*c.Between(0.05, 0.4)))
			c.draw(s, paint.Either(c.Draws, 0, 0, 0, size*0.3), sheer(c.anyColour(), paint.Either(c.Draws, 1, 1, c.Between(0.3, 0.8))))
		}
	case 3, 4: // a few spotlights, targets of several rings, or many lights out of focus
		ground := paint.Either(c.Draws, paint.Grey(c.Between(0, 0.15)), c.near(fundus, 0.4), c.anyColour().Scaled(0.4))
		n, rings, soft := paint.Either(c.Draws, 1+c.IntN(4), 1+c.IntN(4), 10+c.IntN(50)), paint.Either(c.Draws, 1, 1, 2+c.IntN(6)), paint.Either(c.Draws, 0, 0.1, 0.6)
		c.fill(solid(ground))
		for range n {
			x, y := c.anywhere()
			bright := paint.Mixed(paint.Either(c.Draws, cream, yellow, amber, c.anyColour()), paint.Grey(1), c.Between(0, 0.5))
			if n < 5 && c.Chance(0.4) {
				c.glow(x, y, size*1.2, bright.Scaled(c.Between(0.2, 0.6)))
			}
			for i := range rings {
				c.draw(round(x, y, size*(1-float64(i)/float64(rings))), size*soft, sheer([2]colour{bright, ground}[i%2], min(1, 8/float64(n))))
			}
		}
	default: // discs or squares side by side
		angle, step, square := c.Between(0, math.Pi), c.Between(0.07, 0.4), c.Chance(0.3)
		across, down, radius := along(angle), along(angle+math.Pi/2), step*c.Between(0.15, 0.48)
		c.fill(solid(c.anyColour()))
		c.draw(everywhere(func(x, y float64) float64 {
			u, v := math.Remainder(across(x, y), step), math.Remainder(down(x, y), step)
			if square {
				return radius - max(math.Abs(u), math.Abs(v))
			}
			return radius - math.Hypot(u, v)
		}), 0, solid(c.anyColour()))
	}
	if c.Chance(0.5) {
		c.camera()
	}
}

// drawText draws a page of letters in columns: scanned or photographed, on paper or on a screen.
// Letters are strokes between points of a grid.
func drawText(c *canvas) {
	letters := make([][][4]float64, 26) // strokes in a square of side 1
	grid := func() float64 { return 0.3 * float64(c.IntN(3)) }
	for i := range letters {
		x, y := grid(), 1.6*grid()
		for range 1 + c.IntN(4) {
			toX, toY := grid(), 1.6*grid()
			letters[i] = append(letters[i], [4]float64{x, y, toX, toY})
			x, y = toX, toY
		}
	}
	paper, ink := c.near(paint.Either(c.Draws, paint.Grey(0.97), colour{0.95, 0.90, 0.75}, c.anyColour()), 0.08), paint.Either(c.Draws, paint.Grey(0.08), colour{0.1, 0.15, 0.5}, c.anyColour().Scaled(0.4))
	if c.Chance(0.25) { // a dark screen
		paper, ink = ink.Scaled(0.8), paint.Mixed(paper, c.anyColour(), 0.3)
	}
	c.fill(solid(paper))
	sin, cos := math.Sincos(paint.Either(c.Draws, 0, c.Between(-0.05, 0.05), c.Between(-0.5, 0.5)))
	stroke := func(ax, ay, bx, by, width float64) { // on the turned page
		c.draw(line(ax*cos-ay*sin, ax*sin+ay*cos, bx*cos-by*sin, bx*sin+by*cos, width), 0, solid(ink))
	}
	size, weight, spacing := c.Between(0.022, 0.07), c.Between(0.09, 0.2), c.Between(1.5, 2.4)
	columns, edge := float64(1+c.IntN(3)), c.Between(0.7, 0.95)
	for column := range int(columns) {
		left, top := edge*(2*float64(column)/columns-1), -edge
		for y := top; y < edge-size; y += size * spacing {
			right := left + 2*edge/columns - 1.5*size
			if c.Chance(0.15) { // a paragraph's last line
				right = left + (right-left)*c.Float64()
			}
			for x := left; x < right-size; x += size * 0.8 {
				for _, s := range paint.Either(c.Draws, letters...) {
					stroke(x+s[0]*size, y+s[1]*size, x+s[2]*size, y+s[3]*size, size*weight)
				}
				x += paint.Either(c.Draws, 0, 0, 0, 0, size*0.6) // a space
			}
		}
	}
	if c.Chance(0.5) {
		c.camera()
	}
}
