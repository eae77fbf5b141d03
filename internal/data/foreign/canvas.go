package foreign

import (
	"image"
	"math"

	"mrprism/internal/data/paint"
)

type colour = paint.Colour

// canvas is a picture in the making. A unit is radius pixels, x points to the right and y down.
type canvas struct {
	paint.Draws
	width, height int
	x, y, radius  float64  // pixel of the point (0, 0), and pixels of a unit
	pix           []colour // row by row, 0..1
	noise         float64  // standard deviation of the sensor's noise, share of full scale
	grey          bool     // the three channels are equal
}

// newCanvas is black. Its middle is the point (0, 0), and its longer side spans −1..1.
func newCanvas(width, height int) *canvas {
	return &canvas{width: width, height: height, x: float64(width-1) / 2, y: float64(height-1) / 2, radius: float64(max(width, height)) / 2, pix: make([]colour, width*height)}
}

// point is the point at a pixel; pixel centres are whole numbers.
func (c *canvas) point(px, py float64) (x, y float64) {
	return (px - c.x) / c.radius, (py - c.y) / c.radius
}

// half is half of the height in units, or of the width if that is smaller.
func (c *canvas) half() float64 { return float64(min(c.width, c.height)) / 2 / c.radius }

// anywhere is a point of the picture, uniformly distributed.
func (c *canvas) anywhere() (x, y float64) {
	return c.point(c.Float64()*float64(c.width)-0.5, c.Float64()*float64(c.height)-0.5)
}

// field is a random field over the whole picture.
func (c *canvas) field(spacing float64) *paint.Field { return paint.NewField(c.Rand, spacing, 1.6) }

// anyColour is a colour of any hue, brightness and saturation.
func (c *canvas) anyColour() colour {
	hue := colour{c.Float64(), c.Float64(), c.Float64()}
	mean := (hue[0] + hue[1] + hue[2]) / 3
	return paint.Mixed(paint.Grey(mean), hue, paint.Either(c.Draws, 0.3, 1, 1)).Scaled(c.Between(0.4, 1.2))
}

// near varies a colour: the brightness by up to a share, each channel by up to half of it.
func (c *canvas) near(base colour, share float64) colour {
	light := c.Between(1-share, 1+share)
	for i := range base {
		base[i] *= light * c.Between(1-share/2, 1+share/2)
	}
	return base
}

// ink gives the colour of a point; it may depend on the colour below.
type ink func(x, y float64, under colour) colour

func solid(c colour) ink { return sheer(c, 1) }

// sheer lets the share 1 − opacity of the colour below through.
func sheer(c colour, opacity float64) ink {
	return func(_, _ float64, under colour) colour { return paint.Mixed(under, c, opacity) }
}

// dim multiplies the colour below.
func dim(f float64) ink { return func(_, _ float64, under colour) colour { return under.Scaled(f) } }

// add adds light to the colour below.
func add(c colour) ink { return func(_, _ float64, under colour) colour { return under.Plus(c) } }

// textured is a colour with a field's variations.
func textured(base colour, uneven float64, f *paint.Field) ink {
	return func(x, y float64, _ colour) colour { return base.Scaled(1 + uneven*f.At(x, y)) }
}

// fill inks the whole picture.
func (c *canvas) fill(ink ink) {
	for i := range c.pix {
		x, y := c.point(float64(i%c.width), float64(i/c.width))
		c.pix[i] = ink(x, y, c.pix[i])
	}
}

// shape is an area of the plane.
type shape struct {
	x, y, reach float64                    // a square around it: its middle and half of its side
	depth       func(x, y float64) float64 // distance to its edge, units; negative outside
}

// draw inks a shape. Its edge fades over soft units, half of them on either side, but over at least
// one pixel.
func (c *canvas) draw(s shape, soft float64, ink ink) {
	soft = max(soft, 1/c.radius)
	pixels := func(at, origin float64, n int) (from, to int) {
		middle, reach := origin+at*c.radius, (s.reach+soft)*c.radius
		return int(max(0, middle-reach)), int(min(float64(n-1), middle+reach))
	}
	left, right := pixels(s.x, c.x, c.width)
	top, bottom := pixels(s.y, c.y, c.height)
	for py := top; py <= bottom; py++ {
		for px := left; px <= right; px++ {
			x, y := c.point(float64(px), float64(py))
			if cover := paint.Smooth(s.depth(x, y)/soft + 0.5); cover > 0 {
				i := py*c.width + px
				c.pix[i] = paint.Mixed(c.pix[i], ink(x, y, c.pix[i]), cover)
			}
		}
	}
}

// glow adds light that falls off as a Gaussian of the given width, in units, about a point.
func (c *canvas) glow(x, y, width float64, light colour) {
	c.fill(func(px, py float64, under colour) colour {
		return under.Plus(light.Scaled(math.Exp(-(square(px-x) + square(py-y)) / (2 * width * width))))
	})
}

func square(v float64) float64 { return v * v }

// round is a disc.
func round(x, y, radius float64) shape {
	return shape{x, y, radius, func(px, py float64) float64 { return radius - math.Hypot(px-x, py-y) }}
}

// everywhere is a shape without a border.
func everywhere(depth func(x, y float64) float64) shape { return shape{reach: 1e3, depth: depth} }

// line has round ends.
func line(ax, ay, bx, by, width float64) shape {
	dx, dy := bx-ax, by-ay
	long := dx*dx + dy*dy + 1e-12
	return shape{(ax + bx) / 2, (ay + by) / 2, (math.Sqrt(long) + width) / 2, func(x, y float64) float64 {
		t := max(0, min(1, ((x-ax)*dx+(y-ay)*dy)/long))
		return width/2 - math.Hypot(x-ax-t*dx, y-ay-t*dy)
	}}
}

// polygon is convex; its corners go around in either direction.
func polygon(corners ...[2]float64) shape {
	s, area := shape{x: corners[0][0], y: corners[0][1]}, 0.
	sides := make([][3]float64, len(corners)) // a·x + b·y + c is the depth behind a side
	for i, p := range corners {
		q := corners[(i+1)%len(corners)]
		area += p[0]*q[1] - q[0]*p[1]
		s.reach = max(s.reach, math.Hypot(p[0]-s.x, p[1]-s.y))
	}
	for i, p := range corners {
		q := corners[(i+1)%len(corners)]
		length := math.Copysign(math.Hypot(q[0]-p[0], q[1]-p[1])+1e-12, area)
		a, b := -(q[1]-p[1])/length, (q[0]-p[0])/length
		sides[i] = [3]float64{a, b, -a*p[0] - b*p[1]}
	}
	s.depth = func(x, y float64) float64 {
		least := math.Inf(1)
		for _, side := range sides {
			least = min(least, side[0]*x+side[1]*y+side[2])
		}
		return least
	}
	return s
}

// corners are n points around another, at the given distance; four are a square.
func corners(x, y, size, turn float64, n int) (points [][2]float64) {
	for i := range n {
		sin, cos := math.Sincos(turn + 2*math.Pi*float64(i)/float64(n))
		points = append(points, [2]float64{x + size*cos, y + size*sin})
	}
	return points
}

// blot is a closed curve r(θ) = size(1 + Σ aₖ cos(kθ + φₖ)), k = 2 to 4, stretched by a factor
// along an angle and compressed by it across.
func (c *canvas) blot(x, y, size, rough, stretch, angle float64) shape {
	var amplitude, phase [3]float64
	for i := range amplitude {
		amplitude[i], phase[i] = rough*c.Float64()/float64(i+1), c.Between(-math.Pi, math.Pi)
	}
	sin, cos := math.Sincos(angle)
	return shape{x, y, size * (1 + 2*rough) * max(stretch, 1/stretch), func(px, py float64) float64 {
		dx, dy := px-x, py-y
		u, v := (cos*dx+sin*dy)/stretch, (cos*dy-sin*dx)*stretch
		outline := 1.0
		for i := range amplitude {
			outline += amplitude[i] * math.Cos(float64(i+2)*math.Atan2(v, u)+phase[i])
		}
		return size*outline - math.Hypot(u, v)
	}}
}

// anyBlot is a blot of about that size, a little long in any direction.
func (c *canvas) anyBlot(x, y, size, rough float64) shape {
	return c.blot(x, y, size, rough, math.Exp(c.Between(-0.3, 0.3)), c.Between(0, math.Pi))
}

// band is a stripe of the given width along a shape's edge, shifted inwards.
func (s shape) band(shift, width float64) shape {
	depth := s.depth
	return shape{s.x, s.y, s.reach + max(0, width/2-shift), func(x, y float64) float64 { return width/2 - math.Abs(depth(x, y)-shift) }}
}

// blur applies three box filters that together have the standard deviation width, in units.
func (c *canvas) blur(width float64) {
	// A box of n+1 pixels has the variance ((n+1)² − 1)/12.
	n := int(math.Round(math.Sqrt(1+4*square(width*c.radius)) - 1))
	if n += n % 2; n < 2 {
		return
	}
	line := make([]colour, max(c.width, c.height))
	for range 3 {
		for y := range c.height {
			boxFilter(c.pix[y*c.width:], line[:c.width], 1, n/2)
		}
		for x := range c.width {
			boxFilter(c.pix[x:], line[:c.height], c.width, n/2)
		}
	}
}

// boxFilter averages over reach elements on both sides and repeats the ends. The elements lie
// stride apart; line is room for a copy.
func boxFilter(pix, line []colour, stride, reach int) {
	for i := range line {
		line[i] = pix[i*stride]
	}
	last := len(line) - 1
	sum := line[0].Scaled(float64(reach))
	for i := range reach + 1 {
		sum = sum.Plus(line[min(i, last)])
	}
	for i := range line {
		pix[i*stride] = sum.Scaled(1 / float64(2*reach+1))
		sum = sum.Plus(line[min(i+reach+1, last)]).Plus(line[max(i-reach, 0)].Scaled(-1))
	}
}

// camera adds the faults of a camera to a drawn picture: focus, vignette, colour balance, contrast
// and noise.
func (c *canvas) camera() {
	c.blur(paint.Either(c.Draws, 0, 0, c.Between(0, 0.004), c.Between(0, 0.02)))
	vignette, contrast, black := c.Between(0, 0.4), c.Between(0.65, 1.15), paint.Either(c.Draws, 0, c.Between(0, 0.12))
	balance := colour{c.Between(0.85, 1.15), 1, c.Between(0.8, 1.2)}
	c.fill(func(x, y float64, under colour) colour {
		return under.Times(balance).Scaled(contrast * (1 - vignette*(x*x+y*y))).Plus(paint.Grey(black))
	})
	c.noise = paint.Either(c.Draws, 0.002, c.Between(0.002, 0.02), c.Between(0.01, 0.06))
}

// develop is the sensor: 8 bits with noise.
func (c *canvas) develop(random paint.Draws) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, c.width, c.height))
	for i, p := range c.pix {
		shared := random.NormFloat64() * c.noise
		for k, v := range p {
			if c.grey {
				v += shared
			} else {
				v += random.NormFloat64() * c.noise
			}
			img.Pix[4*i+k] = uint8(max(0, min(255, math.Round(255*v))))
		}
		img.Pix[4*i+3] = 255
	}
	return img
}
