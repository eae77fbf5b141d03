package synthetic

import "math"

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

// drawLandscape draws from far to near: sky, sun, clouds, ridges, ground, water, trees.
func drawLandscape(c *canvas) {
	d := either(c.Rand, daylights...)
	for _, part := range []*colour{&d.zenith, &d.horizon, &d.ground, &d.leaf} {
		*part = c.near(*part, 0.35)
	}
	_, half := c.half()
	horizon := half * c.between(-0.4, 0.5)
	skyAndSun(c, &d, horizon, half)
	base := horizon
	for i := range c.IntN(4) { // the farther a ridge the hazier
		near := 0.25 + 0.25*float64(i)
		ridge(c, base-half*c.between(0.05, 0.35)*(1.2-near), mixed(d.horizon, mixed(d.leaf, d.ground, c.Float64()*0.6), near))
	}
	ground(c, &d, horizon, half)
	if c.chance(0.3) {
		lake(c, &d, horizon, half)
	}
	for i, n := 0, c.IntN(14); i < n; i++ {
		depth := math.Pow(float64(i+1)/float64(n), 2) // 0 at the horizon, 1 at the lower edge
		x := c.between(-1, 1)
		tree(c, x, horizon+(half-horizon)*depth*0.9, half*(0.1+0.7*depth)*c.between(0.6, 1.3), mixed(d.horizon, d.leaf, 0.5+0.5*depth))
	}
	c.camera()
}

func skyAndSun(c *canvas, d *daylight, horizon, half float64) {
	c.fill(func(_, y float64, _ colour) colour {
		return mixed(d.horizon, d.zenith, smooth((horizon-y)/(half+horizon+0.2)))
	})
	if d.zenith[2] < 0.16 {
		for range c.IntN(150) {
			x, y := c.anywhere()
			c.draw(round(x, y, c.between(0.001, 0.004)), 0, add(gray(c.between(0.2, 0.9))))
		}
	}
	if c.chance(0.65) {
		x, y, size := c.between(-0.9, 0.9), c.between(-half, horizon+0.1), c.between(0.03, 0.16)
		c.draw(round(x, y, size), 0.01, solid(d.sun))
		c.glow(x, y, size*c.between(1, 4), d.sun.scaled(c.between(0.1, 0.6)))
	}
	if c.chance(0.6) {
		clouds(c, mixed(d.horizon, gray(1), 0.5).scaled(c.between(0.8, 1.05)), horizon)
	}
}

// clouds are wide, and narrower towards the horizon.
func clouds(c *canvas, white colour, horizon float64) {
	large, small := newField(c.Rand, c.between(0.15, 0.4), 3), newField(c.Rand, 0.06, 3)
	level, dense := c.between(-0.3, 1), c.between(0.4, 1)
	c.fill(func(x, y float64, under colour) colour {
		if y > horizon {
			return under
		}
		v := y * 2.2 / (1 + 0.4*(1+y))
		n := large.at(x, v) + 0.45*small.at(x, v)
		return mixed(under, white.scaled(1-0.08*n), dense*smooth((n-level)*0.8))
	})
}

// ridge is a range of mountains whose mean height is y.
func ridge(c *canvas, y float64, ink colour) {
	large, fine := newField(c.Rand, c.between(0.15, 0.5), 1.1), newField(c.Rand, 0.04, 1.1)
	height, row := c.between(0.03, 0.15), c.between(-1, 1)
	c.draw(everywhere(func(px, py float64) float64 {
		return py - y + height*(large.at(px, row)+0.2*fine.at(px, row))
	}), 0.004, func(px, py float64, _ colour) colour { return ink.scaled(1 + 0.06*fine.at(px, py)) })
}

// ground is a plain in perspective, sometimes with furrows or a road.
func ground(c *canvas, d *daylight, horizon, half float64) {
	patches, grain := newField(c.Rand, 0.25, 8), newField(c.Rand, 0.06, 8)
	furrow, at := either(c.Rand, 0, 0, c.between(0.05, 0.2)), c.between(-1, 1)
	c.draw(everywhere(func(_, y float64) float64 { return y - horizon }), 0.005, func(x, y float64, _ colour) colour {
		depth := max(0.04, (y-horizon)/(half-horizon+0.01)) // 1 at the lower edge
		u, v := (x-at)*0.8/depth, 0.5/depth
		light := 1 + 0.15*patches.at(u, v) + 0.12*depth*grain.at(u, v) + furrow*math.Sin(30*u)
		return mixed(d.horizon, d.ground.scaled(light), smooth(0.5+2*depth))
	})
	if c.chance(0.3) {
		end, width := c.between(-0.5, 0.5), c.between(0.2, 0.8)
		road := polygon([2]float64{end, horizon}, [2]float64{at - width, half}, [2]float64{at + width, half})
		c.draw(road, 0.01, solid(c.near(mixed(gray(0.35), d.ground, 0.4), 0.2)))
	}
}

// lake mirrors the sky's colours with ripples.
func lake(c *canvas, d *daylight, horizon, half float64) {
	y := horizon + (half-horizon)*c.between(0.2, 0.6)
	s := c.blot(c.between(-0.6, 0.6), y, (half-horizon)*c.between(0.3, 0.6), 0.12, c.between(1.5, 2.5), 0)
	ripples := newField(c.Rand, 0.05, 3)
	c.draw(s, 0.01, func(x, y float64, _ colour) colour {
		return mixed(d.horizon, d.zenith, 0.4+0.2*ripples.at(x*0.4, y*2.5)).scaled(0.85)
	})
}

// tree draws a tree at (x, y): a trunk with a crown of many blots, or a fir of triangles.
func tree(c *canvas, x, y, height float64, leaf colour) {
	bark := mixed(leaf, colour{0.25, 0.16, 0.10}, 0.6)
	c.draw(line(x, y, x+0.05*height*c.NormFloat64(), y-height*0.6, height*c.between(0.04, 0.1)), 0, solid(bark))
	leaf = c.near(leaf, 0.3)
	if c.chance(0.4) {
		for i := range 5 {
			top, wide := y-height+height*0.17*float64(i), height*(0.10+0.05*float64(i))
			s := polygon([2]float64{x, top}, [2]float64{x - wide, top + height*0.27}, [2]float64{x + wide, top + height*0.27})
			c.draw(s, 0.004, solid(leaf.scaled(0.85+0.08*float64(i))))
		}
		return
	}
	for range 8 + c.IntN(25) {
		dx, dy := 0.2*height*c.NormFloat64()*0.7, 0.2*height*c.NormFloat64()*0.6
		light := 1 - dy/height*1.5 + c.between(-0.2, 0.2)
		s := c.blot(x+dx, y-height*0.68+dy, height*c.between(0.06, 0.16), 0.3, 1, 0)
		c.draw(s, height*0.03, sheer(leaf.scaled(max(0.3, light)), 0.85))
	}
}
