package dataset

import (
	"math"
	"math/rand/v2"
)

// distract paints things that look like a structure, but are none, on a share of the views (s, s,
// 3): bright and dark patches of the structure's size, clusters of specks, rings, and over
// everything a veil and a flare. Patches keep a distance of half their size from everything marked
// in labels (s, s, ·). distract draws last for a view.
func (a Augmentation) distract(pixels, labels []float32, s int, rng *rand.Rand) {
	if a.Distract == 0 || rng.Float64() >= a.Distract {
		return
	}
	light := brightest(pixels)
	patches(pixels, s, markedCircle(labels, s), light, rng)
	if rng.Float64() < .4 {
		veil(pixels, light, rng)
	}
	if rng.Float64() < .4 {
		flare(pixels, s, rng)
	}
}

// patches paints lesions beside the marked circle. Their colour varies about bright.
func patches(pixels []float32, s int, marked disc, bright [3]float32, rng *rand.Rand) {
	size := marked.radius // the size of patches
	if size < .03*float64(s) {
		size = (.04 + .12*rng.Float64()) * float64(s)
	}
	for range rng.IntN(7) {
		p := patch{disc: disc{rng.Float64() * float64(s), rng.Float64() * float64(s), size * math.Exp(1.2*symmetric(rng))}, rng: rng}
		if marked.radius > 0 {
			p.radius = min(p.radius, math.Hypot(p.x-marked.x, p.y-marked.y)/1.5-marked.radius)
		}
		if p.radius < 1 {
			continue
		}
		p.opacity = .3 + .7*rng.Float64()
		p.edge = .05 + .5*rng.Float64()
		for c := range p.colour {
			p.colour[c] = bright[c] * float32(math.Exp(.15*symmetric(rng)))
		}
		switch kind := rng.Float64(); {
		case kind < .2: // a haemorrhage, or pigment
			for c := range p.colour {
				p.colour[c] *= float32(.1 + .3*rng.Float64())
			}
		case kind < .35: // a ring
			p.hole = .5 + .4*rng.Float64()
		case kind < .55: // exudates
			whole := p
			for range 4 + rng.IntN(20) {
				angle, r := 2*math.Pi*rng.Float64(), whole.radius*math.Sqrt(rng.Float64())
				p.x, p.y, p.radius = whole.x+r*math.Cos(angle), whole.y+r*math.Sin(angle), max(.7, whole.radius*(.05+.15*rng.Float64()))
				p.paint(pixels, s)
			}
			continue
		}
		p.paint(pixels, s)
	}
}

// veil mixes every pixel with one grey.
func veil(pixels []float32, bright [3]float32, rng *rand.Rand) {
	grey, opacity := float32(.2+.7*rng.Float64()), float32(.6*rng.Float64())
	for i := range pixels {
		pixels[i] += opacity * ((grey+bright[i%3])/2 - pixels[i])
	}
}

// flare is a white light anywhere in the view.
func flare(pixels []float32, s int, rng *rand.Rand) {
	x, y := rng.Float64()*float64(s), rng.Float64()*float64(s)
	spread, light := (.1+.4*rng.Float64())*float64(s), .6*rng.Float64()
	for i := range s * s {
		d := math.Hypot(float64(i%s)-x, float64(i/s)-y) / spread
		opacity := float32(light * math.Exp(-d*d))
		for c := range 3 {
			pixels[3*i+c] += opacity * (1 - pixels[3*i+c])
		}
	}
}

// markedCircle is the circle of all pixels with a label.
func markedCircle(labels []float32, s int) disc {
	each := len(labels) / (s * s)
	return circleOf(s*s, s, 0, func(i int) bool {
		for _, v := range labels[i*each:][:each] {
			if v > 0 {
				return true
			}
		}
		return false
	})
}

// brightest is the mean colour of the brightest hundredth of the pixels.
func brightest(pixels []float32) (colour [3]float32) {
	const steps = 256
	var count [steps]int
	var sum [steps][3]float32
	for p := pixels; len(p) > 0; p = p[3:] {
		at := min(steps-1, max(0, int((p[0]+p[1]+p[2])/3*steps)))
		count[at]++
		for c := range 3 {
			sum[at][c] += p[c]
		}
	}
	have := 0
	for at := steps - 1; at >= 0 && have < max(1, len(pixels)/300); at-- {
		have += count[at]
		for c := range 3 {
			colour[c] += sum[at][c]
		}
	}
	for c := range 3 {
		colour[c] /= float32(have)
	}
	return colour
}

// patch is an uneven spot.
type patch struct {
	disc
	hole    float64 // share of the radius that is left out, 0..1
	edge    float64 // share of the radius over which the spot fades
	opacity float64
	colour  [3]float32
	rng     *rand.Rand
}

// paint draws the patch. Three waves bend its outline.
func (p patch) paint(pixels []float32, s int) {
	var size, phase [3]float64
	for k := range size {
		size[k], phase[k] = .18*p.rng.Float64()/float64(k+1), 2*math.Pi*p.rng.Float64()
	}
	stretch, turn := math.Exp(.4*symmetric(p.rng)), math.Pi*p.rng.Float64()
	sin, cos := math.Sincos(turn)
	reach := 1.5 * p.radius
	x0, x1 := max(0, int(p.x-reach)), min(s-1, int(p.x+reach)+1)
	y0, y1 := max(0, int(p.y-reach)), min(s-1, int(p.y+reach)+1)
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			dx, dy := float64(x)-p.x, float64(y)-p.y
			u, v := (cos*dx+sin*dy)*stretch/p.radius, (cos*dy-sin*dx)/stretch/p.radius
			r, angle := math.Hypot(u, v), math.Atan2(v, u)
			outline := 1.
			for k := range size {
				outline += size[k] * math.Cos(float64(k+2)*angle+phase[k])
			}
			inside := rise((outline - r) / p.edge)
			if p.hole > 0 {
				inside *= rise((r - p.hole*outline) / p.edge)
			}
			opacity := float32(p.opacity * inside)
			for c := range 3 {
				at := &pixels[3*(y*s+x)+c]
				*at += opacity * (min(1, p.colour[c]) - *at)
			}
		}
	}
}

// rise goes smoothly from 0 at t = 0 to 1 at t = 1.
func rise(t float64) float64 {
	t = max(0, min(1, t))
	return t * t * (3 - 2*t)
}
