package synthetic

import (
	"math"
	"math/rand/v2"
)

// drawScan draws a grey picture, as of a scanner or a microscope.
func drawScan(c *canvas, r *rand.Rand) {
	either(r, head, head, body, chest, ultrasound, phaseContrast, phaseContrast, fluorescence, layers)(c, r)
	contrast, dark := between(r, 0.5, 1.25), between(r, 0, 0.08)
	invert := chance(r, 0.08)
	c.blur(either(r, 0, 0.003, between(r, 0, 0.012)))
	c.fill(func(_, _ float64, under colour) colour {
		v := dark + contrast*under[0]
		if invert {
			v = 1 - v
		}
		return gray(v)
	})
	c.grey, c.noise = true, either(r, 0.01, between(r, 0.005, 0.04), between(r, 0.02, 0.1))
}

// textured is a grey with a field's variations.
func textured(v, uneven float64, f *field) ink {
	return func(x, y float64, _ colour) colour { return gray(v * (1 + uneven*f.at(x, y))) }
}

// head is a slice of a brain: skull, grey matter in folds, white matter, ventricles.
func head(c *canvas, r *rand.Rand) {
	x, y := between(r, -0.1, 0.1), between(r, -0.1, 0.1)
	size, stretch, angle := 0.8*between(r, 0.7, 1.05)*min(1, float64(c.height)/float64(c.width)),
		between(r, 1, 1.18), either(r, 0, math.Pi/2, between(r, 0, math.Pi))
	folds, fine := newField(r, size*between(r, 0.06, 0.12), 1.6), newField(r, 0.03, 1.6)
	oval := func(share, rough float64) shape { return blot(r, x, y, size*share, rough, stretch, angle) }
	skull, fluid, cortex, white := between(r, 0.3, 1), between(r, 0, 0.9), between(r, 0.3, 0.7), between(r, 0.3, 0.8)
	c.draw(oval(1, 0.02), 0.01, textured(skull, 0.15, fine))
	c.draw(oval(0.93, 0.02), 0.01, solid(gray(between(r, 0, 0.2))))
	c.draw(oval(0.88, 0.02), 0.01, solid(gray(fluid)))
	brain := oval(0.86, 0.03)
	c.draw(brain, 0.01, func(x, y float64, _ colour) colour {
		ridge := smooth(1.4 - 2.2*math.Abs(folds.at(x, y)))
		inner := smooth((brain.depth(x, y)/size - 0.06) / 0.2)
		v := cortex + (white-cortex)*inner*(1-0.5*ridge) + (fluid-cortex)*ridge*(1-inner)*0.7
		return gray(v * (1 + 0.05*fine.at(x, y)))
	})
	cos, sin := math.Cos(angle), math.Sin(angle)
	for _, side := range []float64{-1, 1} { // ventricles beside the middle
		d, l := side*size*between(r, 0.08, 0.16), size*between(r, -0.1, 0.1)
		s := blot(r, x-sin*d+cos*l, y+cos*d+sin*l, size*between(r, 0.05, 0.18), 0.25, between(r, 1.2, 1.8), angle+0.25*side)
		c.draw(s, 0.01, solid(gray(fluid)))
	}
	c.draw(line(x-0.8*size*cos, y-0.8*size*sin, x+0.8*size*cos, y+0.8*size*sin, 0.012), 0.01, sheer(gray(fluid), 0.6))
	if chance(r, 0.3) { // a bright tumour
		c.draw(blot(r, x+0.4*size*r.NormFloat64(), y+0.4*size*r.NormFloat64(), size*between(r, 0.06, 0.25), 0.3, 1, 0), 0.03, sheer(gray(0.95), between(r, 0.4, 1)))
	}
}

// body is a slice of a trunk: fat, organs, vertebra, air.
func body(c *canvas, r *rand.Rand) {
	size := between(r, 0.45, 0.7)
	fine := newField(r, 0.03, 1.6)
	c.draw(blot(r, 0, 0, size, 0.03, between(r, 1.1, 1.3), 0), 0.01, textured(between(r, 0.2, 0.4), 0.1, fine))
	c.draw(blot(r, 0, 0, size*0.9, 0.04, between(r, 1.1, 1.3), 0), 0.01, textured(between(r, 0.4, 0.55), 0.08, fine))
	for range 5 + r.IntN(12) {
		x, y := size*0.5*r.NormFloat64(), size*0.35*r.NormFloat64()
		s := blot(r, x, y, size*between(r, 0.06, 0.3), 0.2, math.Exp(between(r, -0.3, 0.3)), between(r, 0, math.Pi))
		c.draw(s, 0.01, textured(either(r, 0.05, between(r, 0.35, 0.7), between(r, 0.35, 0.7)), 0.06, fine))
	}
	y := size * between(r, 0.4, 0.6)
	c.draw(blot(r, 0, y, size*0.16, 0.2, 1.1, 0), 0.01, solid(gray(0.95)))
	c.draw(round(0, y+size*0.12, size*0.05), 0.01, solid(gray(0.3)))
	for range 10 { // ribs
		a := between(r, -math.Pi, math.Pi)
		c.draw(blot(r, size*1.05*math.Cos(a), size*0.75*math.Sin(a), size*0.05, 0.1, 1.8, a+math.Pi/2), 0.01, solid(gray(0.9)))
	}
}

// chest is a radiograph: dark lungs, ribs, a heart, a spine.
func chest(c *canvas, r *rand.Rand) {
	_, half := c.half()
	soft := newField(r, 0.15, 1.2)
	c.fill(func(x, y float64, _ colour) colour { return gray(0.62*math.Exp(-sq(x/0.9)) + 0.05*soft.at(x, y)) })
	dark, wide := between(r, 0.4, 0.75), between(r, 0.2, 0.3)
	for _, side := range []float64{-1, 1} {
		s := blot(r, side*between(r, 0.33, 0.42), between(r, -0.1, 0.05), wide*1.3, 0.08, math.Sqrt(half/wide*0.55), math.Pi/2)
		c.draw(s, 0.12, dim(gray(1-dark)))
		for i := range 9 {
			y := half * (-0.85 + 0.19*float64(i))
			cx, radius := side*0.08, 0.62+0.02*float64(i)
			arc := blot(r, cx, y+0.3, radius, 0, 1.05, 0).band(0, between(r, 0.03, 0.05))
			depth := arc.depth
			arc.depth = func(px, py float64) float64 { return min(depth(px, py), side*px-0.05, y+0.3-py) }
			c.draw(arc, 0.02, add(gray(0.12)))
		}
	}
	c.draw(blot(r, 0.1, half*0.35, half*0.35, 0.1, 1.1, 0.6), 0.1, sheer(gray(between(r, 0.7, 0.9)), 0.8))
	c.draw(line(0, -half, 0, half, 0.12), 0.08, sheer(gray(0.8), 0.5))
	if chance(r, 0.3) {
		x, y := c.anywhere(r)
		c.draw(round(x, y, between(r, 0.02, 0.1)), 0.03, sheer(gray(0.9), 0.7))
	}
}

// ultrasound is a sector of speckle on black.
func ultrasound(c *canvas, r *rand.Rand) {
	_, half := c.half()
	speckle, tissue := newField(r, 0.02, 2.2), newField(r, between(r, 0.15, 0.4), 2.2)
	top, open := -half*1.1, between(r, 0.4, 0.8)
	far := 2 * half * between(r, 0.9, 1.05)
	c.fill(func(x, y float64, _ colour) colour {
		rho, theta := math.Hypot(x, y-top), math.Atan2(x, y-top)
		inside := smooth((open-math.Abs(theta))*60) * smooth((far-rho)*60) * smooth((rho-0.2)*60)
		bright := 0.35 + 0.2*tissue.at(x, rho*0.7)
		return gray(inside * max(0, bright) * math.Abs(1+0.9*speckle.at(theta*1.2, rho)))
	})
	for range r.IntN(4) { // cysts and vessels are dark, walls bright
		x, y := between(r, -0.4, 0.4), between(r, -0.3, half*0.7)
		s := blot(r, x, y, between(r, 0.06, 0.25), 0.2, math.Exp(between(r, -0.3, 0.3)), between(r, 0, math.Pi))
		c.draw(s, 0.03, dim(gray(between(r, 0.05, 0.4))))
		c.draw(s.band(0, 0.03), 0.02, func(x, y float64, under colour) colour { return under.scaled(1.8) })
	}
}

// phaseContrast is cells with dark bodies and bright halos on grey.
func phaseContrast(c *canvas, r *rand.Rand) {
	slow, fine := newField(r, 0.6, 1.3), newField(r, 0.02, 1.3)
	level, halo := between(r, 0.35, 0.6), between(r, 0.1, 0.5)
	c.fill(func(x, y float64, _ colour) colour {
		return gray(level * (1 + 0.08*slow.at(x, y) + 0.02*fine.at(x, y)))
	})
	size, long := between(r, 0.03, 0.16), between(r, 1, 2.2)
	inner := newField(r, size*0.15, 1.3)
	floating := chance(r, 0.3) // round and bright
	for range 6 + r.IntN(int(4/size)) {
		x, y := c.anywhere(r)
		s := blot(r, x, y, size*between(r, 0.6, 1.2), 0.25, math.Sqrt(between(r, 1, long)), between(r, 0, math.Pi))
		c.draw(s.band(-size*0.12, size*0.25), size*0.25, add(gray(halo)))
		body := level * between(r, 0.6, 0.95)
		if floating {
			body = level * between(r, 1.1, 1.7)
		}
		c.draw(s, size*0.15, textured(body, 0.12, inner))
		c.draw(round((s.x0+s.x1)/2, (s.y0+s.y1)/2, size*between(r, 0.2, 0.4)), size*0.2, sheer(gray(level*between(r, 0.5, 1.3)), 0.6))
	}
}

// fluorescence is bright nuclei on black.
func fluorescence(c *canvas, r *rand.Rand) {
	size, soft := between(r, 0.03, 0.18), between(r, 0.1, 0.6)
	inner := newField(r, size*0.3, 1.3)
	c.fill(solid(gray(between(r, 0, 0.06))))
	for range 3 + r.IntN(int(3/size)) {
		x, y := c.anywhere(r)
		s := blot(r, x, y, size*between(r, 0.6, 1.2), 0.15, math.Exp(between(r, 0, 0.3)), between(r, 0, math.Pi))
		c.draw(s, size*soft, textured(between(r, 0.2, 1), 0.25, inner))
	}
}

// layers are bands across the picture, as of optical coherence tomography.
func layers(c *canvas, r *rand.Rand) {
	_, half := c.half()
	bend, speckle := newField(r, between(r, 0.3, 0.8), 1.3), newField(r, 0.012, 1.3)
	amplitude, pit := half*between(r, 0.03, 0.15), between(r, 0, 0.25)
	edges := make([]float64, 5+r.IntN(6))
	at := half * between(r, -0.5, 0)
	for i := range edges {
		edges[i] = at
		at += half * between(r, 0.04, 0.16)
	}
	bright := make([]float64, len(edges)+1) // above the first edge, between, below the last
	for i := range bright {
		bright[i] = between(r, 0.15, 0.9)
	}
	bright[0], bright[len(edges)] = 0.03, between(r, 0.05, 0.3)
	c.fill(func(x, y float64, _ colour) colour {
		dip := pit * math.Exp(-sq(x/0.25))
		v := y - amplitude*bend.at(x, 0)
		level := bright[0]
		for i, e := range edges {
			share := dip * (1 - float64(i)/float64(len(edges)))
			level += (bright[i+1] - level) * smooth((v-e-share)*60)
		}
		return gray(level * max(0, 1+0.4*speckle.at(x, y)))
	})
}
