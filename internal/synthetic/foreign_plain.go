package synthetic

import (
	"math"
	"math/rand/v2"
)

// fundusColour is about the mean of a fundus photograph.
var fundusColour = colour{0.45, 0.22, 0.08}

// drawNoise draws noise, one picture in four within a round field on black as a fundus camera's.
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

// spread is a deviation for each channel: equal, tinted, or independent.
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

// cloudNoise adds octaves, each half as large and as strong in some proportion.
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
