package synthetic

import "math"

// drawShapes draws one of several compositions. All but the medley have bright discs, which a
// search could mistake for an optic disc.
func drawShapes(c *canvas) {
	either(c.Rand, medley, medley, medley, spotlights, bokeh, rings, dots)(c)
	if c.chance(0.5) {
		c.camera()
		return
	}
	c.noise = either(c.Rand, 0, 0.01)
}

// paintOf is an ink of one colour, of a gradient, or half transparent.
func paintOf(r draws, base colour) ink {
	switch r.IntN(4) {
	case 0:
		return sheer(base, r.between(0.3, 0.8))
	case 1:
		other, angle := r.anyColour(), r.between(-math.Pi, math.Pi)
		sin, cos := math.Sincos(angle)
		return func(x, y float64, _ colour) colour { return mixed(base, other, smooth(0.5+0.7*(x*cos+y*sin))) }
	}
	return solid(base)
}

// medley is shapes of all sorts over each other.
func medley(c *canvas) {
	c.fill(paintOf(c.draws, either(c.Rand, gray(0.02), gray(0.97), c.anyColour(), c.anyColour())))
	largest := c.between(0.15, 0.7)
	for range 3 + c.IntN(40) {
		x, y := c.anywhere()
		size := largest * c.between(0.15, 1)
		s := either(c.Rand, roundOf, roundOf, ovalOf, starOf, boxOf, triangleOf, strokeOf)(c.draws, x, y, size)
		if c.chance(0.2) {
			s = s.band(size*0.1, size*c.between(0.05, 0.2))
		}
		c.draw(s, either(c.Rand, 0, 0, 0, size*0.3), paintOf(c.draws, c.anyColour()))
	}
}

func roundOf(_ draws, x, y, size float64) shape { return round(x, y, size) }

func ovalOf(r draws, x, y, size float64) shape {
	return r.blot(x, y, size, either(r.Rand, 0, 0.3), r.between(1.05, 1.6), r.between(0, math.Pi))
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

func boxOf(r draws, x, y, size float64) shape {
	sin, cos := math.Sincos(either(r.Rand, 0, r.between(0, math.Pi)))
	a, b := size, size*r.between(0.2, 1)
	at := func(u, v float64) [2]float64 { return [2]float64{x + u*cos - v*sin, y + u*sin + v*cos} }
	return polygon(at(-a, -b), at(a, -b), at(a, b), at(-a, b))
}

func triangleOf(r draws, x, y, size float64) shape {
	return polygon(corners(x, y, size, r.between(-math.Pi, math.Pi), 3+r.IntN(4))...)
}

func strokeOf(r draws, x, y, size float64) shape {
	sin, cos := math.Sincos(r.between(-math.Pi, math.Pi))
	return line(x-2*size*cos, y-2*size*sin, x+2*size*cos, y+2*size*sin, size*r.between(0.05, 0.4))
}

// starOf is a star or flower of 3 to 9 rays.
func starOf(r draws, x, y, size float64) shape {
	n, deep, turn := float64(3+r.IntN(7)), r.between(0.1, 0.45), r.between(-math.Pi, math.Pi)
	reach := size * 1.5
	return shape{x - reach, y - reach, x + reach, y + reach, func(px, py float64) float64 {
		return 0.7 * (size*(1+deep*math.Cos(n*math.Atan2(py-y, px-x)+turn)) - math.Hypot(px-x, py-y))
	}}
}

// spotlights is one to four bright discs on dark ground.
func spotlights(c *canvas) {
	ground := either(c.Rand, gray(c.between(0, 0.15)), c.near(fundusColour, 0.4), c.anyColour().scaled(0.4))
	c.fill(solid(ground))
	for range 1 + c.IntN(4) {
		x, y := c.anywhere()
		size := c.between(0.06, 0.35)
		bright := mixed(either(c.Rand, cream, yellow, amber, gray(1), c.anyColour()), gray(1), c.between(0, 0.5))
		if c.chance(0.4) {
			c.glow(x, y, size*1.2, bright.scaled(c.between(0.2, 0.6)))
		}
		c.draw(either(c.Rand, roundOf, roundOf, ovalOf)(c.draws, x, y, size), size*either(c.Rand, 0, 0.1, 0.6), solid(bright))
	}
}

// bokeh is lights out of focus.
func bokeh(c *canvas) {
	c.fill(solid(c.anyColour().scaled(c.between(0.05, 0.4))))
	size, hue := c.between(0.05, 0.25), c.anyColour()
	for range 8 + c.IntN(50) {
		x, y := c.anywhere()
		s := round(x, y, size*c.between(0.4, 1.2))
		light := c.near(hue, 0.6).scaled(c.between(0.1, 0.6))
		c.draw(s, size*0.1, add(light))
		c.draw(s.band(size*0.05, size*0.06), size*0.05, add(light.scaled(0.4)))
	}
}

// rings are targets: discs within discs.
func rings(c *canvas) {
	c.fill(paintOf(c.draws, c.anyColour()))
	for range 1 + c.IntN(4) {
		x, y := c.anywhere()
		size, n := c.between(0.1, 0.6), 2+c.IntN(6)
		inks := [2]ink{solid(c.anyColour()), solid(c.anyColour())}
		for i := range n {
			c.draw(round(x, y, size*(1-float64(i)/float64(n))), 0, inks[i%2])
		}
	}
}

// dots are a regular pattern of discs, squares or a chessboard.
func dots(c *canvas) {
	c.fill(solid(c.anyColour()))
	step, angle := c.between(0.07, 0.4), either(c.Rand, 0, c.between(0, math.Pi))
	sin, cos := math.Sincos(angle)
	size, ink, square := step*c.between(0.15, 0.48), c.anyColour(), c.chance(0.3)
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
func drawNoise(c *canvas) {
	base := either(c.Rand, gray(0.5), gray(c.between(0.1, 0.9)), c.anyColour(), c.near(fundusColour, 0.3))
	strength := c.between(0.08, 0.45)
	either(c.Rand, pixelNoise, pixelNoise, blobNoise, blobNoise, cloudNoise, rowNoise, blockNoise, saltNoise)(c, base, strength)
	if c.chance(0.25) {
		radius := c.between(0.5, 0.98)
		c.fill(func(x, y float64, under colour) colour {
			return under.scaled(smooth((radius-math.Hypot(x, y))*c.radius + 0.5))
		})
	}
}

// spread draws a deviation of the three channels: equal, tinted, or independent.
func spread(r draws, strength float64) (draw func() colour) {
	tint := either(r.Rand, gray(1), colour{1, 0.45, 0.2}, colour{r.between(0.3, 1), r.between(0.3, 1), r.between(0.3, 1)})
	together := r.chance(0.5)
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

func pixelNoise(c *canvas, base colour, strength float64) {
	draw := spread(c.draws, strength)
	c.fill(func(_, _ float64, _ colour) colour { return base.plus(draw()) })
	c.blur(either(c.Rand, 0, 0, 0.004, 0.01))
}

// smoothNoise is a field for each channel, or one for all.
func smoothNoise(r draws, spacing float64) func(x, y float64) colour {
	fields := [3]*field{newField(r.Rand, spacing, 1.1)}
	fields[1], fields[2] = fields[0], fields[0]
	if r.chance(0.6) {
		fields[1], fields[2] = newField(r.Rand, spacing, 1.1), newField(r.Rand, spacing, 1.1)
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
func blobNoise(c *canvas, base colour, strength float64) {
	noise := smoothNoise(c.draws, math.Exp(c.between(math.Log(0.015), math.Log(0.5))))
	hard := c.chance(0.3) // of few colours, with edges
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
	c.noise = either(c.Rand, 0, 0.01, 0.05)
}

// cloudNoise adds octaves: each has half the size of the one before, and a fixed share of its
// strength.
func cloudNoise(c *canvas, base colour, strength float64) {
	decay := c.between(0.45, 0.9)
	for spacing, share := 0.5, 1.0; spacing > 0.015; spacing, share = spacing/2, share*decay {
		noise := smoothNoise(c.draws, spacing)
		c.fill(func(x, y float64, under colour) colour { return under.plus(noise(x, y).scaled(share * strength)) })
	}
	c.fill(func(_, _ float64, under colour) colour { return base.plus(under.scaled(0.7)) })
}

// rowNoise has rows or columns, as of a broken screen.
func rowNoise(c *canvas, base colour, strength float64) {
	draw, width := spread(c.draws, strength), math.Exp(c.between(math.Log(0.004), math.Log(0.2)))
	angle := either(c.Rand, 0, math.Pi/2, c.between(0, math.Pi))
	sin, cos := math.Sincos(angle)
	rows := make([]colour, int(3/width)+2)
	for i := range rows {
		rows[i] = base.plus(draw())
	}
	c.fill(func(x, y float64, _ colour) colour { return rows[int((x*cos+y*sin+1.45)/width)%len(rows)] })
	c.noise = either(c.Rand, 0, 0.03, 0.15)
}

// blockNoise has squares, as of a damaged file.
func blockNoise(c *canvas, base colour, strength float64) {
	draw, size := spread(c.draws, strength), math.Exp(c.between(math.Log(0.015), math.Log(0.4)))
	n := int(2/size) + 2
	blocks := make([]colour, n*n)
	for i := range blocks {
		blocks[i] = base.plus(draw())
	}
	c.fill(func(x, y float64, _ colour) colour { return blocks[int((y+1)/size)*n+int((x+1)/size)] })
	c.noise = either(c.Rand, 0, 0.02)
}

// saltNoise has bright and dark points on a colour.
func saltNoise(c *canvas, base colour, strength float64) {
	share := strength * c.between(0.05, 1)
	c.fill(func(_, _ float64, _ colour) colour {
		switch v := c.Float64(); {
		case v < share/2:
			return gray(0)
		case v < share:
			return gray(1)
		}
		return base
	})
	c.blur(either(c.Rand, 0, 0, 0.004))
}

// drawFlat draws one colour, or a gradient over the whole picture.
func drawFlat(c *canvas) {
	first := either(c.Rand, gray(0), gray(1), gray(c.Float64()), c.anyColour(), c.anyColour(), c.anyColour(), c.near(fundusColour, 0.4), c.near(fundusColour, 0.4))
	second := either(c.Rand, first, first, c.near(first, 0.5), c.anyColour(), gray(0))
	angle, bend := c.between(-math.Pi, math.Pi), c.between(0.6, 1.6)
	sin, cos := math.Sincos(angle)
	along := func(x, y float64) float64 { return 0.5 + 0.5*(x*cos+y*sin) }
	if c.chance(0.35) { // round, from a point in the picture or beside it
		cx, cy, reach := c.between(-1.2, 1.2), c.between(-1.2, 1.2), c.between(1, 2.2)
		along = func(x, y float64) float64 { return math.Hypot(x-cx, y-cy) / reach }
	}
	c.fill(func(x, y float64, _ colour) colour {
		return mixed(first, second, math.Pow(max(0, min(1, along(x, y))), bend))
	})
	c.noise = either(c.Rand, 0, 0, c.between(0.001, 0.02))
}
