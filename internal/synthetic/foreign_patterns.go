package synthetic

import (
	"math"
	"math/rand/v2"
)

// drawShapes draws one of several compositions. All but the medley have bright discs, which a
// search could mistake for an optic disc.
func drawShapes(c *canvas, r *rand.Rand) {
	either(r, medley, medley, medley, spotlights, bokeh, rings, dots)(c, r)
	if chance(r, 0.5) {
		c.camera(r)
		return
	}
	c.noise = either(r, 0, 0.01)
}

// paintOf is an ink of one colour, of a gradient, or half transparent.
func paintOf(r *rand.Rand, base colour) ink {
	switch r.IntN(4) {
	case 0:
		return sheer(base, between(r, 0.3, 0.8))
	case 1:
		other, angle := anyColour(r), between(r, -math.Pi, math.Pi)
		sin, cos := math.Sincos(angle)
		return func(x, y float64, _ colour) colour { return mixed(base, other, smooth(0.5+0.7*(x*cos+y*sin))) }
	}
	return solid(base)
}

// medley is shapes of all sorts over each other.
func medley(c *canvas, r *rand.Rand) {
	c.fill(paintOf(r, either(r, gray(0.02), gray(0.97), anyColour(r), anyColour(r))))
	largest := between(r, 0.15, 0.7)
	for range 3 + r.IntN(40) {
		x, y := c.anywhere(r)
		size := largest * between(r, 0.15, 1)
		s := either(r, roundOf, roundOf, ovalOf, starOf, boxOf, triangleOf, strokeOf)(r, x, y, size)
		if chance(r, 0.2) {
			s = s.band(size*0.1, size*between(r, 0.05, 0.2))
		}
		c.draw(s, either(r, 0, 0, 0, size*0.3), paintOf(r, anyColour(r)))
	}
}

func roundOf(_ *rand.Rand, x, y, size float64) shape { return round(x, y, size) }

func ovalOf(r *rand.Rand, x, y, size float64) shape {
	return blot(r, x, y, size, either(r, 0, 0.3), between(r, 1.05, 1.6), between(r, 0, math.Pi))
}

// corners are n points around another, at the given distance.
func corners(x, y, size, turn float64, n int) [][2]float64 {
	points := make([][2]float64, n)
	for i := range points {
		sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(n))
		points[i] = [2]float64{x + size*cos, y + size*sin}
	}
	return points
}

func boxOf(r *rand.Rand, x, y, size float64) shape {
	sin, cos := math.Sincos(either(r, 0, between(r, 0, math.Pi)))
	a, b := size, size*between(r, 0.2, 1)
	at := func(u, v float64) [2]float64 { return [2]float64{x + u*cos - v*sin, y + u*sin + v*cos} }
	return polygon(at(-a, -b), at(a, -b), at(a, b), at(-a, b))
}

func triangleOf(r *rand.Rand, x, y, size float64) shape {
	return polygon(corners(x, y, size, between(r, -math.Pi, math.Pi), 3+r.IntN(4))...)
}

func strokeOf(r *rand.Rand, x, y, size float64) shape {
	sin, cos := math.Sincos(between(r, -math.Pi, math.Pi))
	return line(x-2*size*cos, y-2*size*sin, x+2*size*cos, y+2*size*sin, size*between(r, 0.05, 0.4))
}

// starOf is a star or flower of 3 to 9 rays.
func starOf(r *rand.Rand, x, y, size float64) shape {
	n, deep, turn := float64(3+r.IntN(7)), between(r, 0.1, 0.45), between(r, -math.Pi, math.Pi)
	reach := size * 1.5
	return shape{x - reach, y - reach, x + reach, y + reach, func(px, py float64) float64 {
		return 0.7 * (size*(1+deep*math.Cos(n*math.Atan2(py-y, px-x)+turn)) - math.Hypot(px-x, py-y))
	}}
}

// spotlights is one to four bright discs on dark ground.
func spotlights(c *canvas, r *rand.Rand) {
	ground := either(r, gray(between(r, 0, 0.15)), near(r, fundusColour, 0.4), anyColour(r).scaled(0.4))
	c.fill(solid(ground))
	for range 1 + r.IntN(4) {
		x, y := c.anywhere(r)
		size := between(r, 0.06, 0.35)
		bright := mixed(either(r, cream, yellow, amber, gray(1), anyColour(r)), gray(1), between(r, 0, 0.5))
		if chance(r, 0.4) {
			c.glow(x, y, size*1.2, bright.scaled(between(r, 0.2, 0.6)))
		}
		c.draw(either(r, roundOf, roundOf, ovalOf)(r, x, y, size), size*either(r, 0, 0.1, 0.6), solid(bright))
	}
}

// bokeh is lights out of focus.
func bokeh(c *canvas, r *rand.Rand) {
	c.fill(solid(anyColour(r).scaled(between(r, 0.05, 0.4))))
	size, hue := between(r, 0.05, 0.25), anyColour(r)
	for range 8 + r.IntN(50) {
		x, y := c.anywhere(r)
		s := round(x, y, size*between(r, 0.4, 1.2))
		light := near(r, hue, 0.6).scaled(between(r, 0.1, 0.6))
		c.draw(s, size*0.1, add(light))
		c.draw(s.band(size*0.05, size*0.06), size*0.05, add(light.scaled(0.4)))
	}
}

// rings are targets: discs within discs.
func rings(c *canvas, r *rand.Rand) {
	c.fill(paintOf(r, anyColour(r)))
	for range 1 + r.IntN(4) {
		x, y := c.anywhere(r)
		size, n := between(r, 0.1, 0.6), 2+r.IntN(6)
		one, other := anyColour(r), anyColour(r)
		for i := range n {
			ink := one
			if i%2 == 1 {
				ink = other
			}
			c.draw(round(x, y, size*(1-float64(i)/float64(n))), 0, solid(ink))
		}
	}
}

// dots are a regular pattern of discs, squares or a chessboard.
func dots(c *canvas, r *rand.Rand) {
	c.fill(solid(anyColour(r)))
	step, angle := between(r, 0.07, 0.4), either(r, 0, between(r, 0, math.Pi))
	sin, cos := math.Sincos(angle)
	size, ink, square := step*between(r, 0.15, 0.48), anyColour(r), chance(r, 0.3)
	c.draw(everywhere(func(x, y float64) float64 {
		u, v := math.Remainder(x*cos+y*sin, step), math.Remainder(y*cos-x*sin, step)
		if square {
			return size - max(math.Abs(u), math.Abs(v))
		}
		return size - math.Hypot(u, v)
	}), 0, solid(ink))
}

// fundusColour is about the mean colour of a fundus photograph.
var fundusColour = colour{0.45, 0.22, 0.08}

// drawNoise draws noise, in one picture of four within a round field on black, as of a fundus
// camera.
func drawNoise(c *canvas, r *rand.Rand) {
	base := either(r, gray(0.5), gray(between(r, 0.1, 0.9)), anyColour(r), near(r, fundusColour, 0.3))
	strength := between(r, 0.08, 0.45)
	either(r, pixelNoise, pixelNoise, blobNoise, blobNoise, cloudNoise, rowNoise, blockNoise, saltNoise)(c, r, base, strength)
	if chance(r, 0.25) {
		radius := between(r, 0.5, 0.98)
		c.fill(func(x, y float64, under colour) colour {
			return under.scaled(smooth((radius-math.Hypot(x, y))*c.radius + 0.5))
		})
	}
}

// spread draws a deviation of the three channels: equal, tinted, or independent.
func spread(r *rand.Rand, strength float64) (draw func() colour) {
	tint := either(r, gray(1), colour{1, 0.45, 0.2}, colour{between(r, 0.3, 1), between(r, 0.3, 1), between(r, 0.3, 1)})
	together := chance(r, 0.5)
	return func() (d colour) {
		v := r.NormFloat64()
		for k := range d {
			if !together {
				v = r.NormFloat64()
			}
			d[k] = v * strength * tint[k]
		}
		return d
	}
}

func pixelNoise(c *canvas, r *rand.Rand, base colour, strength float64) {
	draw := spread(r, strength)
	c.fill(func(_, _ float64, _ colour) colour { return base.plus(draw()) })
	c.blur(either(r, 0, 0, 0.004, 0.01))
}

// smoothNoise is a field for each channel, or one for all.
func smoothNoise(r *rand.Rand, spacing float64) func(x, y float64) colour {
	fields := [3]*field{newField(r, spacing, 1.1)}
	fields[1], fields[2] = fields[0], fields[0]
	if chance(r, 0.6) {
		fields[1], fields[2] = newField(r, spacing, 1.1), newField(r, spacing, 1.1)
	}
	return func(x, y float64) (d colour) {
		d[0] = fields[0].at(x, y)
		if fields[1] == fields[0] {
			return gray(d[0])
		}
		d[1], d[2] = fields[1].at(x, y), fields[2].at(x, y)
		return d
	}
}

// blobNoise has one size of blobs.
func blobNoise(c *canvas, r *rand.Rand, base colour, strength float64) {
	noise := smoothNoise(r, math.Exp(between(r, math.Log(0.015), math.Log(0.5))))
	hard := chance(r, 0.3) // of few colours, with edges
	c.fill(func(x, y float64, _ colour) colour {
		d := noise(x, y)
		for k := range d {
			if hard {
				d[k] = math.Tanh(8 * d[k])
			}
			d[k] *= strength
		}
		return base.plus(d)
	})
	c.noise = either(r, 0, 0.01, 0.05)
}

// cloudNoise adds octaves: each has half the size of the one before, and a fixed share of its
// strength.
func cloudNoise(c *canvas, r *rand.Rand, base colour, strength float64) {
	decay := between(r, 0.45, 0.9)
	for spacing, share := 0.5, 1.0; spacing > 0.015; spacing, share = spacing/2, share*decay {
		noise := smoothNoise(r, spacing)
		c.fill(func(x, y float64, under colour) colour { return under.plus(noise(x, y).scaled(share * strength)) })
	}
	c.fill(func(_, _ float64, under colour) colour { return base.plus(under.scaled(0.7)) })
}

// rowNoise has rows or columns, as of a broken screen.
func rowNoise(c *canvas, r *rand.Rand, base colour, strength float64) {
	draw, width := spread(r, strength), math.Exp(between(r, math.Log(0.004), math.Log(0.2)))
	angle := either(r, 0, math.Pi/2, between(r, 0, math.Pi))
	sin, cos := math.Sincos(angle)
	rows := make([]colour, int(3/width)+2)
	for i := range rows {
		rows[i] = base.plus(draw())
	}
	c.fill(func(x, y float64, _ colour) colour { return rows[int((x*cos+y*sin+1.45)/width)%len(rows)] })
	c.noise = either(r, 0, 0.03, 0.15)
}

// blockNoise has squares, as of a damaged file.
func blockNoise(c *canvas, r *rand.Rand, base colour, strength float64) {
	draw, size := spread(r, strength), math.Exp(between(r, math.Log(0.015), math.Log(0.4)))
	n := int(2/size) + 2
	blocks := make([]colour, n*n)
	for i := range blocks {
		blocks[i] = base.plus(draw())
	}
	c.fill(func(x, y float64, _ colour) colour { return blocks[int((y+1)/size)*n+int((x+1)/size)] })
	c.noise = either(r, 0, 0.02)
}

// saltNoise has bright and dark points on a colour.
func saltNoise(c *canvas, r *rand.Rand, base colour, strength float64) {
	share := strength * between(r, 0.05, 1)
	c.fill(func(_, _ float64, _ colour) colour {
		switch v := r.Float64(); {
		case v < share/2:
			return gray(0)
		case v < share:
			return gray(1)
		}
		return base
	})
	c.blur(either(r, 0, 0, 0.004))
}

// drawFlat draws one colour, or a gradient over the whole picture.
func drawFlat(c *canvas, r *rand.Rand) {
	first := either(r, gray(0), gray(1), gray(r.Float64()), anyColour(r), anyColour(r), anyColour(r), near(r, fundusColour, 0.4), near(r, fundusColour, 0.4))
	second := either(r, first, first, near(r, first, 0.5), anyColour(r), gray(0))
	angle, bend := between(r, -math.Pi, math.Pi), between(r, 0.6, 1.6)
	sin, cos := math.Sincos(angle)
	along := func(x, y float64) float64 { return 0.5 + 0.5*(x*cos+y*sin) }
	if chance(r, 0.35) { // round, from a point in the picture or beside it
		cx, cy, reach := between(r, -1.2, 1.2), between(r, -1.2, 1.2), between(r, 1, 2.2)
		along = func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) / reach }
	}
	c.fill(func(x, y float64, _ colour) colour {
		return mixed(first, second, math.Pow(max(0, min(1, along(x, y))), bend))
	})
	c.noise = either(r, 0, 0, between(r, 0.001, 0.02))
}
