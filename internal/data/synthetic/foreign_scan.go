package synthetic

import "math"

// drawScan draws a grey picture, as of a scanner or a microscope.
func drawScan(c *canvas) {
	either(c.Rand, head, head, body, chest, ultrasound, phaseContrast, phaseContrast, fluorescence, layers)(c)
	contrast, dark := c.between(0.5, 1.25), c.between(0, 0.08)
	invert := c.chance(0.08)
	c.blur(either(c.Rand, 0, 0.003, c.between(0, 0.012)))
	c.fill(func(_, _ float64, under colour) colour {
		v := dark + contrast*under[0]
		if invert {
			v = 1 - v
		}
		return gray(v)
	})
	c.grey, c.noise = true, either(c.Rand, 0.01, c.between(0.005, 0.04), c.between(0.02, 0.1))
}

// textured is a grey with a field's variations.
func textured(v, uneven float64, f *field) ink {
	return func(x, y float64, _ colour) colour { return gray(v * (1 + uneven*f.at(x, y))) }
}

// head is a slice of a brain: skull, grey matter in folds, white matter, ventricles.
func head(c *canvas) {
	x, y := c.between(-0.1, 0.1), c.between(-0.1, 0.1)
	size, stretch, angle := 0.8*c.between(0.7, 1.05)*min(1, float64(c.height)/float64(c.width)),
		c.between(1, 1.18), either(c.Rand, 0, math.Pi/2, c.between(0, math.Pi))
	folds, fine := newField(c.Rand, size*c.between(0.06, 0.12), 1.6), newField(c.Rand, 0.03, 1.6)
	oval := func(share, rough float64) shape { return c.blot(x, y, size*share, rough, stretch, angle) }
	skull, fluid, cortex, white := c.between(0.3, 1), c.between(0, 0.9), c.between(0.3, 0.7), c.between(0.3, 0.8)
	c.draw(oval(1, 0.02), 0.01, textured(skull, 0.15, fine))
	c.draw(oval(0.93, 0.02), 0.01, solid(gray(c.between(0, 0.2))))
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
		d, l := side*size*c.between(0.08, 0.16), size*c.between(-0.1, 0.1)
		s := c.blot(x-sin*d+cos*l, y+cos*d+sin*l, size*c.between(0.05, 0.18), 0.25, c.between(1.2, 1.8), angle+0.25*side)
		c.draw(s, 0.01, solid(gray(fluid)))
	}
	c.draw(line(x-0.8*size*cos, y-0.8*size*sin, x+0.8*size*cos, y+0.8*size*sin, 0.012), 0.01, sheer(gray(fluid), 0.6))
	if c.chance(0.3) { // a bright tumour
		c.draw(c.blot(x+0.4*size*c.NormFloat64(), y+0.4*size*c.NormFloat64(), size*c.between(0.06, 0.25), 0.3, 1, 0), 0.03, sheer(gray(0.95), c.between(0.4, 1)))
	}
}

// body is a slice of a trunk: fat, organs, vertebra, air.
func body(c *canvas) {
	size := c.between(0.45, 0.7)
	fine := newField(c.Rand, 0.03, 1.6)
	c.draw(c.blot(0, 0, size, 0.03, c.between(1.1, 1.3), 0), 0.01, textured(c.between(0.2, 0.4), 0.1, fine))
	c.draw(c.blot(0, 0, size*0.9, 0.04, c.between(1.1, 1.3), 0), 0.01, textured(c.between(0.4, 0.55), 0.08, fine))
	for range 5 + c.IntN(12) {
		x, y := size*0.5*c.NormFloat64(), size*0.35*c.NormFloat64()
		s := c.blot(x, y, size*c.between(0.06, 0.3), 0.2, math.Exp(c.between(-0.3, 0.3)), c.between(0, math.Pi))
		c.draw(s, 0.01, textured(either(c.Rand, 0.05, c.between(0.35, 0.7), c.between(0.35, 0.7)), 0.06, fine))
	}
	y := size * c.between(0.4, 0.6)
	c.draw(c.blot(0, y, size*0.16, 0.2, 1.1, 0), 0.01, solid(gray(0.95)))
	c.draw(round(0, y+size*0.12, size*0.05), 0.01, solid(gray(0.3)))
	for range 10 { // ribs
		a := c.between(-math.Pi, math.Pi)
		c.draw(c.blot(size*1.05*math.Cos(a), size*0.75*math.Sin(a), size*0.05, 0.1, 1.8, a+math.Pi/2), 0.01, solid(gray(0.9)))
	}
}

// chest is a radiograph: dark lungs, ribs, a heart, a spine.
func chest(c *canvas) {
	_, half := c.half()
	soft := newField(c.Rand, 0.15, 1.2)
	c.fill(func(x, y float64, _ colour) colour { return gray(0.62*math.Exp(-sq(x/0.9)) + 0.05*soft.at(x, y)) })
	dark, wide := c.between(0.4, 0.75), c.between(0.2, 0.3)
	for _, side := range []float64{-1, 1} {
		s := c.blot(side*c.between(0.33, 0.42), c.between(-0.1, 0.05), wide*1.3, 0.08, math.Sqrt(half/wide*0.55), math.Pi/2)
		c.draw(s, 0.12, dim(gray(1-dark)))
		for i := range 9 {
			y := half * (-0.85 + 0.19*float64(i))
			cx, radius := side*0.08, 0.62+0.02*float64(i)
			arc := c.blot(cx, y+0.3, radius, 0, 1.05, 0).band(0, c.between(0.03, 0.05))
			depth := arc.depth
			arc.depth = func(px, py float64) float64 { return min(depth(px, py), side*px-0.05, y+0.3-py) }
			c.draw(arc, 0.02, add(gray(0.12)))
		}
	}
	c.draw(c.blot(0.1, half*0.35, half*0.35, 0.1, 1.1, 0.6), 0.1, sheer(gray(c.between(0.7, 0.9)), 0.8))
	c.draw(line(0, -half, 0, half, 0.12), 0.08, sheer(gray(0.8), 0.5))
	if c.chance(0.3) {
		x, y := c.anywhere()
		c.draw(round(x, y, c.between(0.02, 0.1)), 0.03, sheer(gray(0.9), 0.7))
	}
}

// ultrasound is a sector of speckle on black.
func ultrasound(c *canvas) {
	_, half := c.half()
	speckle, tissue := newField(c.Rand, 0.02, 2.2), newField(c.Rand, c.between(0.15, 0.4), 2.2)
	top, open := -half*1.1, c.between(0.4, 0.8)
	far := 2 * half * c.between(0.9, 1.05)
	c.fill(func(x, y float64, _ colour) colour {
		rho, theta := math.Hypot(x, y-top), math.Atan2(x, y-top)
		inside := smooth((open-math.Abs(theta))*60) * smooth((far-rho)*60) * smooth((rho-0.2)*60)
		bright := 0.35 + 0.2*tissue.at(x, rho*0.7)
		return gray(inside * max(0, bright) * math.Abs(1+0.9*speckle.at(theta*1.2, rho)))
	})
	for range c.IntN(4) { // cysts and vessels are dark, walls bright
		x, y := c.between(-0.4, 0.4), c.between(-0.3, half*0.7)
		s := c.blot(x, y, c.between(0.06, 0.25), 0.2, math.Exp(c.between(-0.3, 0.3)), c.between(0, math.Pi))
		c.draw(s, 0.03, dim(gray(c.between(0.05, 0.4))))
		c.draw(s.band(0, 0.03), 0.02, func(x, y float64, under colour) colour { return under.scaled(1.8) })
	}
}

// phaseContrast is cells with dark bodies and bright halos on grey.
func phaseContrast(c *canvas) {
	slow, fine := newField(c.Rand, 0.6, 1.3), newField(c.Rand, 0.02, 1.3)
	level, halo := c.between(0.35, 0.6), c.between(0.1, 0.5)
	c.fill(func(x, y float64, _ colour) colour {
		return gray(level * (1 + 0.08*slow.at(x, y) + 0.02*fine.at(x, y)))
	})
	size, long := c.between(0.03, 0.16), c.between(1, 2.2)
	inner := newField(c.Rand, size*0.15, 1.3)
	floating := c.chance(0.3) // round and bright
	for range 6 + c.IntN(int(4/size)) {
		x, y := c.anywhere()
		s := c.blot(x, y, size*c.between(0.6, 1.2), 0.25, math.Sqrt(c.between(1, long)), c.between(0, math.Pi))
		c.draw(s.band(-size*0.12, size*0.25), size*0.25, add(gray(halo)))
		body := level * c.between(0.6, 0.95)
		if floating {
			body = level * c.between(1.1, 1.7)
		}
		c.draw(s, size*0.15, textured(body, 0.12, inner))
		c.draw(round((s.x0+s.x1)/2, (s.y0+s.y1)/2, size*c.between(0.2, 0.4)), size*0.2, sheer(gray(level*c.between(0.5, 1.3)), 0.6))
	}
}

// fluorescence is bright nuclei on black.
func fluorescence(c *canvas) {
	size, soft := c.between(0.03, 0.18), c.between(0.1, 0.6)
	inner := newField(c.Rand, size*0.3, 1.3)
	c.fill(solid(gray(c.between(0, 0.06))))
	for range 3 + c.IntN(int(3/size)) {
		x, y := c.anywhere()
		s := c.blot(x, y, size*c.between(0.6, 1.2), 0.15, math.Exp(c.between(0, 0.3)), c.between(0, math.Pi))
		c.draw(s, size*soft, textured(c.between(0.2, 1), 0.25, inner))
	}
}

// layers are bands across the picture, as of optical coherence tomography.
func layers(c *canvas) {
	_, half := c.half()
	bend, speckle := newField(c.Rand, c.between(0.3, 0.8), 1.3), newField(c.Rand, 0.012, 1.3)
	amplitude, pit := half*c.between(0.03, 0.15), c.between(0, 0.25)
	edges := make([]float64, 5+c.IntN(6))
	at := half * c.between(-0.5, 0)
	for i := range edges {
		edges[i] = at
		at += half * c.between(0.04, 0.16)
	}
	bright := make([]float64, len(edges)+1) // above the first edge, between, below the last
	for i := range bright {
		bright[i] = c.between(0.15, 0.9)
	}
	bright[0], bright[len(edges)] = 0.03, c.between(0.05, 0.3)
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
