package synthetic

import (
	"math"
	"math/rand/v2"
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

// drawLandscape draws from far to near: sky, sun, clouds, ridges, ground, water, trees.
func drawLandscape(c *canvas, r *rand.Rand) {
	d := either(r, daylights...)
	for _, part := range []*colour{&d.zenith, &d.horizon, &d.ground, &d.leaf} {
		*part = near(r, *part, 0.35)
	}
	_, half := c.half()
	horizon := half * between(r, -0.4, 0.5)
	skyAndSun(c, r, &d, horizon, half)
	base := horizon
	for i := range r.IntN(4) { // the farther a ridge the hazier
		near := 0.25 + 0.25*float64(i)
		ridge(c, r, base-half*between(r, 0.05, 0.35)*(1.2-near), mixed(d.horizon, mixed(d.leaf, d.ground, r.Float64()*0.6), near))
	}
	ground(c, r, &d, horizon, half)
	if chance(r, 0.3) {
		lake(c, r, &d, horizon, half)
	}
	for i, n := 0, r.IntN(14); i < n; i++ {
		depth := math.Pow(float64(i+1)/float64(n), 2) // 0 at the horizon, 1 at the lower edge
		x := between(r, -1, 1)
		tree(c, r, x, horizon+(half-horizon)*depth*0.9, half*(0.1+0.7*depth)*between(r, 0.6, 1.3), mixed(d.horizon, d.leaf, 0.5+0.5*depth))
	}
	c.camera(r)
}

func skyAndSun(c *canvas, r *rand.Rand, d *daylight, horizon, half float64) {
	c.fill(func(_, y float64, _ colour) colour {
		return mixed(d.horizon, d.zenith, smooth((horizon-y)/(half+horizon+0.2)))
	})
	if d.zenith[2] < 0.16 {
		for range r.IntN(150) {
			x, y := c.anywhere(r)
			c.draw(round(x, y, between(r, 0.001, 0.004)), 0, add(gray(between(r, 0.2, 0.9))))
		}
	}
	if chance(r, 0.65) {
		x, y, size := between(r, -0.9, 0.9), between(r, -half, horizon+0.1), between(r, 0.03, 0.16)
		c.draw(round(x, y, size), 0.01, solid(d.sun))
		c.glow(x, y, size*between(r, 1, 4), d.sun.scaled(between(r, 0.1, 0.6)))
	}
	if chance(r, 0.6) {
		clouds(c, r, mixed(d.horizon, gray(1), 0.5).scaled(between(r, 0.8, 1.05)), horizon)
	}
}

// clouds are wide, and narrower towards the horizon.
func clouds(c *canvas, r *rand.Rand, white colour, horizon float64) {
	large, small := newField(r, between(r, 0.15, 0.4), 3), newField(r, 0.06, 3)
	level, dense := between(r, -0.3, 1), between(r, 0.4, 1)
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
func ridge(c *canvas, r *rand.Rand, y float64, ink colour) {
	large, fine := newField(r, between(r, 0.15, 0.5), 1.1), newField(r, 0.04, 1.1)
	height, row := between(r, 0.03, 0.15), between(r, -1, 1)
	c.draw(everywhere(func(px, py float64) float64 {
		return py - y + height*(large.at(px, row)+0.2*fine.at(px, row))
	}), 0.004, func(px, py float64, _ colour) colour { return ink.scaled(1 + 0.06*fine.at(px, py)) })
}

// ground is a plain in perspective, maybe with furrows or a road.
func ground(c *canvas, r *rand.Rand, d *daylight, horizon, half float64) {
	patches, grain := newField(r, 0.25, 8), newField(r, 0.06, 8)
	furrow, at := either(r, 0, 0, between(r, 0.05, 0.2)), between(r, -1, 1)
	c.draw(everywhere(func(_, y float64) float64 { return y - horizon }), 0.005, func(x, y float64, _ colour) colour {
		depth := max(0.04, (y-horizon)/(half-horizon+0.01)) // 1 at the lower edge
		u, v := (x-at)*0.8/depth, 0.5/depth
		light := 1 + 0.15*patches.at(u, v) + 0.12*depth*grain.at(u, v) + furrow*math.Sin(30*u)
		return mixed(d.horizon, d.ground.scaled(light), smooth(0.5+2*depth))
	})
	if chance(r, 0.3) {
		end, width := between(r, -0.5, 0.5), between(r, 0.2, 0.8)
		road := polygon([2]float64{end, horizon}, [2]float64{at - width, half}, [2]float64{at + width, half})
		c.draw(road, 0.01, solid(near(r, mixed(gray(0.35), d.ground, 0.4), 0.2)))
	}
}

// lake mirrors the sky's colours with ripples.
func lake(c *canvas, r *rand.Rand, d *daylight, horizon, half float64) {
	y := horizon + (half-horizon)*between(r, 0.2, 0.6)
	s := blot(r, between(r, -0.6, 0.6), y, (half-horizon)*between(r, 0.3, 0.6), 0.12, between(r, 1.5, 2.5), 0)
	ripples := newField(r, 0.05, 3)
	c.draw(s, 0.01, func(x, y float64, _ colour) colour {
		return mixed(d.horizon, d.zenith, 0.4+0.2*ripples.at(x*0.4, y*2.5)).scaled(0.85)
	})
}

// tree draws a tree at (x, y): a trunk with a crown of many blots, or a fir of triangles.
func tree(c *canvas, r *rand.Rand, x, y, height float64, leaf colour) {
	bark := mixed(leaf, colour{0.25, 0.16, 0.10}, 0.6)
	c.draw(line(x, y, x+0.05*height*r.NormFloat64(), y-height*0.6, height*between(r, 0.04, 0.1)), 0, solid(bark))
	leaf = near(r, leaf, 0.3)
	if chance(r, 0.4) {
		for i := range 5 {
			top, wide := y-height+height*0.17*float64(i), height*(0.10+0.05*float64(i))
			s := polygon([2]float64{x, top}, [2]float64{x - wide, top + height*0.27}, [2]float64{x + wide, top + height*0.27})
			c.draw(s, 0.004, solid(leaf.scaled(0.85+0.08*float64(i))))
		}
		return
	}
	for range 8 + r.IntN(25) {
		dx, dy := 0.2*height*r.NormFloat64()*0.7, 0.2*height*r.NormFloat64()*0.6
		light := 1 - dy/height*1.5 + between(r, -0.2, 0.2)
		s := blot(r, x+dx, y-height*0.68+dy, height*between(r, 0.06, 0.16), 0.3, 1, 0)
		c.draw(s, height*0.03, sheer(leaf.scaled(max(0.3, light)), 0.85))
	}
}
