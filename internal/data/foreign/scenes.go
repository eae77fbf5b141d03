package foreign

import (
	"math"

	"mrprism/internal/data/paint"
)

// daylight is the colours of a landscape.
type daylight struct{ zenith, horizon, sun, ground, leaf colour }

// daylights are noon, dusk, night, snow and desert.
var daylights = []daylight{
	{colour{0.25, 0.50, 0.85}, colour{0.70, 0.82, 0.92}, colour{1, 0.98, 0.85}, colour{0.35, 0.48, 0.18}, colour{0.14, 0.32, 0.10}},
	{colour{0.35, 0.25, 0.45}, colour{0.98, 0.55, 0.22}, colour{1, 0.85, 0.45}, colour{0.25, 0.18, 0.12}, colour{0.08, 0.07, 0.05}},
	{colour{0.02, 0.03, 0.10}, colour{0.08, 0.10, 0.20}, colour{0.92, 0.92, 0.82}, colour{0.04, 0.05, 0.06}, colour{0.02, 0.03, 0.03}},
	{colour{0.62, 0.66, 0.70}, colour{0.80, 0.82, 0.83}, colour{0.95, 0.95, 0.92}, colour{0.88, 0.90, 0.93}, colour{0.20, 0.22, 0.20}},
	{colour{0.80, 0.45, 0.25}, colour{0.95, 0.75, 0.45}, colour{1, 0.95, 0.75}, colour{0.70, 0.42, 0.20}, colour{0.35, 0.25, 0.10}},
}

// drawLandscape draws from far to near: sky, sun, clouds, ridges, ground, trees.
func drawLandscape(c *canvas) {
	d := paint.Either(c.Draws, daylights...)
	for _, part := range []*colour{&d.zenith, &d.horizon, &d.ground, &d.leaf} {
		*part = c.near(*part, 0.35)
	}
	half := c.half()
	horizon, wide, fine := half*c.Between(-0.4, 0.5), c.field(c.Between(0.15, 0.4)), c.field(0.05)
	c.fill(func(_, y float64, _ colour) colour {
		return paint.Mixed(d.horizon, d.zenith, paint.Smooth((horizon-y)/(half+horizon+0.2)))
	})
	if c.Chance(0.65) {
		x, y, size := c.Between(-0.9, 0.9), c.Between(-half, horizon+0.1), c.Between(0.03, 0.16)
		c.draw(round(x, y, size), 0.01, solid(d.sun))
		c.glow(x, y, size*c.Between(1, 4), d.sun.Scaled(c.Between(0.1, 0.6)))
	}
	level, white := c.Between(-0.3, 2), paint.Mixed(d.horizon, paint.Grey(1), 0.5)
	c.fill(func(x, y float64, under colour) colour {
		return paint.Mixed(under, white, 0.8*paint.Smooth((wide.At(x, 2*y)+0.45*fine.At(x, 2*y)-level)*0.8))
	})
	for i := range c.IntN(4) { // the farther a ridge the hazier
		near := 0.25 + 0.25*float64(i)
		y, row, height := horizon-half*c.Between(0.05, 0.35)*(1.2-near), c.Between(-1, 1), c.Between(0.03, 0.15)
		c.draw(everywhere(func(px, py float64) float64 { return py - y + height*(wide.At(px, row)+0.2*fine.At(px, row)) }),
			0.004, solid(paint.Mixed(d.horizon, paint.Mixed(d.leaf, d.ground, c.Float64()*0.6), near)))
	}
	furrow := paint.Either(c.Draws, 0, 0, c.Between(0.05, 0.2))
	c.draw(everywhere(func(_, y float64) float64 { return y - horizon }), 0.005, func(x, y float64, _ colour) colour {
		depth := max(0.04, (y-horizon)/(half-horizon+0.01)) // 1 at the lower edge
		u, v := x/depth, 0.5/depth
		return paint.Mixed(d.horizon, d.ground.Scaled(1+0.15*wide.At(u/5, v/5)+0.1*fine.At(u/2, v/2)+furrow*math.Sin(30*u)), paint.Smooth(0.5+2*depth))
	})
	for i, n := 0, c.IntN(14); i < n; i++ {
		depth := math.Pow(float64(i+1)/float64(n), 2) // 0 at the horizon, 1 at the lower edge
		c.tree(c.Between(-1, 1), horizon+(half-horizon)*depth*0.9, half*(0.1+0.7*depth)*c.Between(0.6, 1.3), paint.Mixed(d.horizon, d.leaf, 0.5+0.5*depth))
	}
	c.camera()
}

// tree draws a tree at (x, y): a trunk with a crown of many blots.
func (c *canvas) tree(x, y, height float64, leaf colour) {
	c.draw(line(x, y, x+0.05*height*c.NormFloat64(), y-height*0.6, height*c.Between(0.04, 0.1)), 0, solid(paint.Mixed(leaf, colour{0.25, 0.16, 0.10}, 0.6)))
	leaf = c.near(leaf, 0.3)
	for range 8 + c.IntN(25) {
		dx, dy := 0.14*height*c.NormFloat64(), 0.12*height*c.NormFloat64()
		s := c.anyBlot(x+dx, y-height*0.68+dy, height*c.Between(0.06, 0.16), 0.3)
		c.draw(s, height*0.03, sheer(leaf.Scaled(max(0.3, 1-dy/height*1.5+c.Between(-0.2, 0.2))), 0.85))
	}
}

// room is a box seen from its open side. Points have x to the right, y down and z away, in half
// widths of the picture at z = 1.
type room struct {
	*canvas
	x, y float64 // vanishing point
}

// project converts a point of the room to the picture's.
func (m *room) project(p [3]float64) [2]float64 {
	return [2]float64{m.x + (p[0]-m.x)/p[2], m.y + (p[1]-m.y)/p[2]}
}

// quad draws a parallelogram of one colour, given by a corner and two edges.
func (m *room) quad(at, a, b [3]float64, of colour) {
	corner := func(s, t float64) [2]float64 {
		return m.project([3]float64{at[0] + s*a[0] + t*b[0], at[1] + s*a[1] + t*b[1], at[2] + s*a[2] + t*b[2]})
	}
	m.draw(polygon(corner(0, 0), corner(1, 0), corner(1, 1), corner(0, 1)), 0, solid(of))
}

// box draws a box: its top and its sides, and then its front, which hides those that nobody sees.
func (m *room) box(x, y, z, width, height, depth float64, of colour) {
	m.quad([3]float64{x, y, z}, [3]float64{width}, [3]float64{0, 0, depth}, of.Scaled(1.15))
	for _, side := range []float64{x, x + width} {
		m.quad([3]float64{side, y, z}, [3]float64{0, height}, [3]float64{0, 0, depth}, of.Scaled(0.7))
	}
	m.quad([3]float64{x, y, z}, [3]float64{width}, [3]float64{0, height}, of)
}

// drawRoom draws walls, windows and pictures, furniture of boxes from far to near, and a lamp, away
// from which the room is darker.
func drawRoom(c *canvas) {
	half := c.half()
	m := &room{c, c.Between(-0.4, 0.4), half * c.Between(-0.3, 0.3)}
	left, right, up, low := -c.Between(0.8, 1.6), c.Between(0.8, 1.6), -half*c.Between(0.9, 1.4), half*c.Between(0.8, 1.2)
	const front = 0.35
	back := c.Between(1.4, 3)
	wall, floor := c.near(paint.Either(c.Draws, paint.Grey(0.7), c.anyColour(), colour{0.75, 0.66, 0.52}), 0.2), c.near(paint.Either(c.Draws, colour{0.45, 0.28, 0.15}, paint.Grey(0.4), c.anyColour()), 0.2)
	wide, high, deep := [3]float64{right - left}, [3]float64{0, low - up}, [3]float64{0, 0, back - front}
	m.fill(solid(wall))
	m.quad([3]float64{left, up, front}, wide, deep, paint.Mixed(wall, paint.Grey(0.95), 0.5))
	m.quad([3]float64{left, low, front}, wide, deep, floor)
	m.quad([3]float64{left, up, front}, high, deep, wall.Scaled(0.8))
	m.quad([3]float64{right, up, front}, high, deep, wall.Scaled(0.9))
	m.quad([3]float64{left, up, back}, wide, high, wall)
	for range c.IntN(4) { // windows and pictures
		width, height := c.Between(0.3, 0.9), c.Between(0.3, 0.7)
		m.quad([3]float64{c.Between(left, right-width), c.Between(up+0.05, 0), back}, [3]float64{width}, [3]float64{0, height}, c.anyColour())
	}
	for z := back - 0.25; z > 1; z -= c.Between(0.1, 0.4) { // furniture, with shelves and things on it
		width, height, shade := c.Between(0.2, 1), c.Between(0.2, 0.9), c.near(paint.Either(c.Draws, colour{0.45, 0.28, 0.16}, paint.Grey(0.8), c.anyColour()), 0.3)
		x := c.Between(left, right-width)
		m.box(x, low-height, z, width, height, c.Between(0.2, 0.5), shade)
		for range c.IntN(20) {
			size, thick := c.Between(0.04, 0.15), c.Between(0.2, 1)
			top := paint.Either(c.Draws, low-height, low-height*c.Float64())
			m.box(x+c.Float64()*(width-size), top-size, z, size*thick, size, size, c.anyColour())
		}
	}
	lamp := [3]float64{c.Between(left, right) * 0.6, c.Between(up, 0), c.Between(1.1, back)}
	p, warmth := m.project(lamp), paint.Either(c.Draws, colour{1, 0.82, 0.55}, colour{1, 0.95, 0.85}, colour{0.9, 0.95, 1})
	dark, reach := c.Between(0.2, 0.85), c.Between(0.5, 1.5)
	m.fill(func(x, y float64, under colour) colour {
		share := 1 / (1 + (square(x-p[0])+square(y-p[1]))/square(reach))
		return under.Times(paint.Mixed(paint.Grey(1-dark), warmth, share))
	})
	size := c.Between(0.06, 0.2) / lamp[2]
	m.draw(round(p[0], p[1], size), size*0.2, solid(warmth.Scaled(1.1)))
	m.glow(p[0], p[1], size*c.Between(1, 3), warmth.Scaled(c.Between(0.1, 0.5)))
	c.camera()
}

// drawScan draws a grey picture, as of a scanner or a microscope.
func drawScan(c *canvas) {
	paint.Either(c.Draws, (*canvas).slice, (*canvas).slice, (*canvas).chest, (*canvas).ultrasound, (*canvas).cells, (*canvas).cells)(c)
	contrast, dark, invert := c.Between(0.5, 1.25), c.Between(0, 0.08), c.Chance(0.08)
	c.blur(paint.Either(c.Draws, 0, 0.003, c.Between(0, 0.012)))
	c.fill(func(_, _ float64, under colour) colour {
		v := dark + contrast*under[0]
		if invert {
			v = 1 - v
		}
		return paint.Grey(v)
	})
	c.grey, c.noise = true, paint.Either(c.Draws, 0.01, c.Between(0.005, 0.04), c.Between(0.02, 0.1))
}

// slice is one of a head or a trunk: a rind, a ground with folds, and organs or ventricles in it.
func (c *canvas) slice() {
	size, stretch, angle := c.half()*c.Between(0.6, 0.9), c.Between(1, 1.25), paint.Either(c.Draws, 0, math.Pi/2, c.Between(0, math.Pi))
	folds, fine := c.field(size*c.Between(0.06, 0.12)), c.field(0.03)
	oval := func(share float64) shape { return c.blot(0, 0, size*share, 0.03, stretch, angle) }
	c.draw(oval(1), 0.01, textured(paint.Grey(c.Between(0.3, 1)), 0.15, fine))
	c.draw(oval(0.93), 0.01, solid(paint.Grey(c.Between(0, 0.2))))
	brain, cortex, inside, deep := oval(0.86), c.Between(0.3, 0.7), c.Between(0.3, 0.8), c.Between(0, 0.9)
	c.draw(brain, 0.01, func(x, y float64, _ colour) colour {
		ridge := paint.Smooth(1.4 - 2.2*math.Abs(folds.At(x, y)))
		inner := paint.Smooth((brain.depth(x, y)/size - 0.06) / 0.2)
		return paint.Grey(cortex + (inside-cortex)*inner*(1-0.5*ridge) + (deep-cortex)*ridge*(1-inner)*0.7 + 0.03*fine.At(x, y))
	})
	for range 2 + c.IntN(10) {
		s := c.anyBlot(size*0.4*c.NormFloat64(), size*0.35*c.NormFloat64(), size*c.Between(0.05, 0.25), 0.25)
		c.draw(s, 0.01, textured(paint.Grey(paint.Either(c.Draws, deep, deep, c.Between(0.05, 0.95))), 0.06, fine))
	}
}

// chest is a radiograph: dark lungs, ribs, a heart, a spine.
func (c *canvas) chest() {
	half, soft := c.half(), c.field(0.15)
	c.fill(func(x, y float64, _ colour) colour {
		return paint.Grey(0.62*math.Exp(-square(x/0.9)) + 0.05*soft.At(x, y))
	})
	for _, side := range []float64{-1, 1} {
		c.draw(c.blot(side*c.Between(0.33, 0.42), c.Between(-0.1, 0.05), 0.33*half, 0.08, 1.4, math.Pi/2), 0.12, dim(c.Between(0.25, 0.6)))
		for i := range 9 {
			y := half * (-0.85 + 0.19*float64(i))
			c.draw(line(side*0.05, y, side*0.7, y+0.2, c.Between(0.03, 0.05)), 0.02, add(paint.Grey(0.12)))
		}
	}
	c.draw(c.blot(0.1, half*0.35, half*0.35, 0.1, 1.1, 0.6), 0.1, sheer(paint.Grey(c.Between(0.7, 0.9)), 0.8))
	c.draw(line(0, -half, 0, half, 0.12), 0.08, sheer(paint.Grey(0.8), 0.5))
}

// ultrasound is a sector of speckle on black, with dark cysts.
func (c *canvas) ultrasound() {
	half, speckle, tissue := c.half(), c.field(0.02), c.field(c.Between(0.15, 0.4))
	top, open, far := -half*1.1, c.Between(0.4, 0.8), 2*half*c.Between(0.9, 1.05)
	c.fill(func(x, y float64, _ colour) colour {
		rho, theta := math.Hypot(x, y-top), math.Atan2(x, y-top)
		inside := paint.Smooth((open-math.Abs(theta))*60) * paint.Smooth((far-rho)*60) * paint.Smooth((rho-0.2)*60)
		return paint.Grey(inside * max(0, 0.35+0.2*tissue.At(x, rho*0.7)) * math.Abs(1+0.9*speckle.At(theta*1.2, rho)))
	})
	for range c.IntN(4) {
		s := c.anyBlot(c.Between(-0.4, 0.4), c.Between(-0.3, half*0.7), c.Between(0.06, 0.25), 0.2)
		c.draw(s, 0.03, dim(c.Between(0.05, 0.4)))
		c.draw(s.band(0, 0.03), 0.02, dim(1.8))
	}
}

// cells are dark bodies with bright halos on grey, or bright nuclei on black.
func (c *canvas) cells() {
	size, slow, glowing := c.Between(0.03, 0.16), c.field(0.6), c.Chance(0.4)
	inner, level, halo := c.field(size*0.2), c.Between(0.35, 0.6), c.Between(0.1, 0.5)
	if glowing {
		level, halo = c.Between(0, 0.06), 0
	}
	c.fill(textured(paint.Grey(level), 0.08, slow))
	for range 6 + c.IntN(int(4/size)) {
		x, y := c.anywhere()
		s, body := c.anyBlot(x, y, size*c.Between(0.6, 1.2), 0.25), level*paint.Either(c.Draws, c.Between(0.6, 0.95), c.Between(1.1, 1.7))
		if glowing {
			body = c.Between(0.2, 1)
		}
		c.draw(s.band(-size*0.12, size*0.25), size*0.25, add(paint.Grey(halo)))
		c.draw(s, size*0.2, textured(paint.Grey(body), 0.15, inner))
	}
}
