package synthetic

import (
	"image"
	"math"

	"mrprism/internal/data/paint"
)

// view places an eye in an image: the disc's centre at pixel (x, y) and its radius in pixels.
type view struct {
	width, height int
	x, y, radius  float64
}

// pixel is the image position of a point of the eye; pixel centres are whole numbers.
func (v view) pixel(x, y float64) (px, py float64) { return v.x + x*v.radius, v.y + y*v.radius }

// point is the point of the eye at a pixel.
func (v view) point(px, py int) (x, y float64) {
	return (float64(px) - v.x) / v.radius, (float64(py) - v.y) / v.radius
}

// palette is the colours of one photograph. Their ranges follow fifty photographs of healthy and
// glaucomatous eyes, with the means: background 110, 55, 15; rim 175, 85, 25; cup 200, 105, 35.
type palette struct {
	fundus, deep, rim, floor paint.Colour
	exposure                 float64
}

// painter evaluates an eye's colour point by point.
type painter struct {
	*Eye
	palette
	light     [2]float64                               // direction in which the illumination falls off
	clouds    *paint.Field                             // slow changes of pigment
	choroid   *paint.Field                             // the choroid, seen through the retina
	mottling  *paint.Field                             // its finer texture
	grain     *paint.Field                             // fine texture
	lamina    *paint.Field                             // the cup's floor
	amplitude struct{ clouds, choroid, grain float64 } // relative amplitudes
}

func newPainter(e *Eye) *painter {
	r := paint.Source(e.seed, forTexture)
	p := &painter{Eye: e}
	warm := r.Between(-1, 1) // from brown-red to orange
	p.fundus = paint.Colour{0.56 + 0.05*warm, 0.255 + 0.05*warm, 0.06 + 0.02*warm}
	p.deep = paint.Colour{0.40, 0.13, 0.03}
	p.rim = paint.Colour{0.79 + 0.03*warm, 0.40 + 0.04*warm, 0.115 + 0.02*warm}
	p.floor = paint.Colour{0.93, 0.62 + 0.04*warm, 0.25 + 0.05*warm}
	p.exposure = r.Between(0.86, 1.04)
	angle := r.Between(-math.Pi, math.Pi)
	p.light = [2]float64{math.Cos(angle), math.Sin(angle)}
	p.clouds = paint.NewField(r.Rand, 2.2, vesselReach)
	p.choroid = paint.NewField(r.Rand, 0.33, vesselReach)
	p.mottling = paint.NewField(r.Rand, 0.17, vesselReach)
	p.grain = paint.NewField(r.Rand, 0.07, vesselReach)
	p.lamina = paint.NewField(r.Rand, 0.09, 1.5)
	p.amplitude.clouds, p.amplitude.choroid, p.amplitude.grain = r.Between(0.06, 0.12), r.Between(0.03, 0.09), r.Between(0.012, 0.02)
	return p
}

// texture is pigment and choroid alone, and the brightness, about 1. Its statistics are equal
// everywhere.
func (p *painter) texture(x, y float64) (c paint.Colour, light float64) {
	light = 1 + p.amplitude.clouds*p.clouds.At(x, y)
	c = paint.Mixed(p.fundus, p.deep, paint.Smooth(0.25+0.16*p.clouds.At(y+3, x-2)))
	// The choroid shows through as mottling, a little of it as a net: ridges of a smooth field.
	g := p.choroid.At(x, y)
	mottle := 0.45*g + 0.5*p.mottling.At(x, y) + 0.35*(0.6-math.Abs(g))
	c = paint.Mixed(c, paint.Colour{0.66, 0.25, 0.05}, p.amplitude.choroid*max(0, mottle))
	return c, light * (1 + p.amplitude.choroid*mottle + p.amplitude.grain*p.grain.At(x, y))
}

// background is the retina without vessels and disc.
func (p *painter) background(x, y float64) paint.Colour {
	c, light := p.texture(x, y)
	// The lamp lights one side better, and the edge of the field less.
	light *= 1 + 0.05*(x*p.light[0]+y*p.light[1]) - 0.011*(x*x+y*y)
	c = p.darkened(c, x, y)
	// Nerve fibres are brightest above and below the disc.
	rho := math.Hypot(x, y) + 1e-9
	fibres := 0.16 * math.Exp(-sq((rho-1)/1.5)) * (0.35 + 0.65*sq(y/rho))
	c = paint.Mixed(c, paint.Colour{0.72, 0.42, 0.14}, fibres)
	return c.Scaled(max(0.1, light))
}

// darkened is a colour as the macula shows it: darker and redder, darkest in the fovea.
func (p *painter) darkened(c paint.Colour, x, y float64) paint.Colour {
	m := math.Hypot(x-p.macula[0], y-p.macula[1])
	dark := 0.42*math.Exp(-sq(m/0.95)/2) + 0.22*math.Exp(-sq(m/0.32)/2)
	return c.Times(paint.Colour{1 - 0.75*dark, 1 - dark, 1 - dark})
}

// at is the colour at a point; vein, artery and reflex are the shares of it that they cover.
func (p *painter) at(x, y float64, vein, artery, reflex float64) paint.Colour {
	c := p.background(x, y)
	depth := 1.0 // vessels are clearer on the disc
	if rho := math.Hypot(x, y); rho < 3 {
		var disc float64
		c, disc = p.nerve(c, x, y, rho)
		depth += 0.12 * disc
	}
	return bleed(c, vein, artery, reflex, depth)
}

// bleed lays vessels over a colour. vein, artery and reflex are the shares of the point that they
// cover; depth is the vessels' clearness, 1 on the retina.
func bleed(c paint.Colour, vein, artery, reflex, depth float64) paint.Colour {
	artery *= 1 - 0.6*vein // where they cross, one lies over the other
	c = c.Times(paint.Colour{1 - 0.24*vein*depth, 1 - 0.58*vein*depth, 1 - 0.45*vein})
	c = c.Times(paint.Colour{1 - 0.12*artery, 1 - 0.46*artery*depth, 1 - 0.35*artery})
	return paint.Mixed(c, paint.Colour{0.72, 0.34, 0.14}, 0.14*reflex*(1-vein*0.5))
}

// nerve lays disc and cup over the retina's colour c, each through its ramp σ(s/β). It also
// returns the disc's share of the point.
func (p *painter) nerve(c paint.Colour, x, y, rho float64) (paint.Colour, float64) {
	theta := math.Atan2(y, x)
	s, beta := p.distance(Disc, rho, theta)
	disc := logistic(s / beta)
	nasal := -p.temporal * x / (rho + 0.3)
	// A thin pale crescent often adjoins the disc on the temporal side.
	crescent := 0.18 * math.Exp(-sq((s+0.1)/0.07)) * paint.Smooth(0.2-nasal)
	c = paint.Mixed(c, paint.Colour{0.80, 0.50, 0.20}, crescent)
	// The rim is redder to the nasal side.
	rim := p.rim.Times(paint.Colour{1 - 0.10*nasal, 1 - 0.20*nasal, 1 - 0.24*nasal})
	c = paint.Mixed(c, rim.Scaled(1+0.02*p.grain.At(x, y)), disc)
	t, cupBeta := p.distance(Cup, rho, theta)
	floor := p.floor.Scaled(1 + 0.025*p.lamina.At(x, y) - 0.05*nasal)
	return paint.Mixed(c, floor, disc*logistic(t/cupBeta)), disc
}

// paint renders the view. aperture gives the share of each pixel in the camera's field. The sensor
// adds noise.
func (p *painter) paint(v view, aperture func(x, y int) float64) *image.RGBA {
	cover := drawVessels(p.vessels, v)
	return p.expose(v, func(px, py int) (paint.Colour, float64) {
		open := aperture(px, py)
		if open == 0 {
			return darkness, 0
		}
		x, y := v.point(px, py)
		i := py*v.width + px
		return paint.Mixed(darkness, p.at(x, y, float64(cover.vein[i]), float64(cover.artery[i]), float64(cover.reflex[i])).Scaled(p.exposure), open), open
	})
}

// paintTexture renders the view without the eye's structures.
func (p *painter) paintTexture(v view) *image.RGBA {
	return p.expose(v, func(px, py int) (paint.Colour, float64) {
		c, light := p.texture(v.point(px, py))
		return c.Scaled(light * p.exposure), 1
	})
}

var darkness = paint.Colour{0.010, 0.002, 0.008} // a camera's black

// expose is the sensor: 8 bits a channel with noise. at gives each pixel's colour and the share of
// it in the camera's field.
func (p *painter) expose(v view, at func(x, y int) (c paint.Colour, open float64)) *image.RGBA {
	random := paint.Source(p.seed, forSensor)
	img := image.NewRGBA(image.Rect(0, 0, v.width, v.height))
	for y := range v.height {
		for x := range v.width {
			c, open := at(x, y)
			pixel := img.Pix[img.PixOffset(x, y):]
			for k := range c {
				noise := random.NormFloat64() * (0.002 + 0.008*open)
				pixel[k] = uint8(max(0, min(255, math.Round(255*(paint.Shoulder(c[k])+noise)))))
			}
			pixel[3] = 255
		}
	}
	return img
}

func logistic(t float64) float64 { return 1 / (1 + math.Exp(-t)) }
func sq(v float64) float64       { return v * v }
