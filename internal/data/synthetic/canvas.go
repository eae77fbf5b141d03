package synthetic

import (
	"image"
	"math"
	"math/rand/v2"
)

// canvas is a picture in the making. Its view places points: a unit is radius pixels, x points to
// the right and y down.
type canvas struct {
	view
	draws
	pix   []colour // row by row, 0..1
	noise float64  // standard deviation of the sensor's noise, share of full scale
	grey  bool     // the three channels are equal
}

// newCanvas is black. Its middle is the point (0, 0), and its longer side spans −1..1.
func newCanvas(width, height int) *canvas {
	v := view{width: width, height: height, x: float64(width-1) / 2, y: float64(height-1) / 2, radius: float64(max(width, height)) / 2}
	return &canvas{view: v, pix: make([]colour, width*height)}
}

// half returns the point of the lower right corner: half of the width and height in units.
func (c *canvas) half() (x, y float64) {
	return float64(c.width) / 2 / c.radius, float64(c.height) / 2 / c.radius
}

// anywhere is a point of the picture, uniformly distributed.
func (c *canvas) anywhere() (x, y float64) {
	px, py := c.Float64()*float64(c.width)-0.5, c.Float64()*float64(c.height)-0.5
	return (px - c.x) / c.radius, (py - c.y) / c.radius
}

// ink gives the colour of a point; it may depend on the colour below.
type ink func(x, y float64, under colour) colour

func solid(c colour) ink { return func(_, _ float64, _ colour) colour { return c } }

// sheer lets the share 1 − opacity of the colour below through.
func sheer(c colour, opacity float64) ink {
	return func(_, _ float64, under colour) colour { return mixed(under, c, opacity) }
}

// dim multiplies the colour below.
func dim(f colour) ink { return func(_, _ float64, under colour) colour { return under.times(f) } }

func (c colour) plus(d colour) colour { return colour{c[0] + d[0], c[1] + d[1], c[2] + d[2]} }

func gray(v float64) colour { return colour{v, v, v} }

// fill inks the whole picture.
func (c *canvas) fill(ink ink) {
	for py := range c.height {
		for px := range c.width {
			x, y := c.point(px, py)
			i := py*c.width + px
			c.pix[i] = ink(x, y, c.pix[i])
		}
	}
}

// shape is an area of the plane.
type shape struct {
	x0, y0, x1, y1 float64                    // a box around it
	depth          func(x, y float64) float64 // distance to its edge, units; negative outside
}

// draw inks a shape. Its edge fades over soft units, half of them on either side, but over at least
// one pixel.
func (c *canvas) draw(s shape, soft float64, ink ink) {
	soft = max(soft, 1/c.radius)
	ax, ay := c.pixel(s.x0-soft, s.y0-soft)
	bx, by := c.pixel(s.x1+soft, s.y1+soft)
	left, right := int(max(0, ax)), int(min(float64(c.width-1), bx))
	for py := int(max(0, ay)); py <= int(min(float64(c.height-1), by)); py++ {
		for px := left; px <= right; px++ {
			x, y := c.point(px, py)
			cover := smooth(s.depth(x, y)/soft + 0.5)
			if cover == 0 {
				continue
			}
			i := py*c.width + px
			c.pix[i] = mixed(c.pix[i], ink(x, y, c.pix[i]), cover)
		}
	}
}

// glow adds light that falls off as a Gaussian of the given width, in units, about a point.
func (c *canvas) glow(x, y, width float64, light colour) {
	s := shape{x - 4*width, y - 4*width, x + 4*width, y + 4*width, func(x, y float64) float64 { return 1 }}
	c.draw(s, 0, func(px, py float64, under colour) colour {
		return under.plus(light.scaled(math.Exp(-(sq(px-x) + sq(py-y)) / (2 * width * width))))
	})
}

// round is a disc.
func round(x, y, radius float64) shape {
	return shape{x - radius, y - radius, x + radius, y + radius, func(px, py float64) float64 { return radius - math.Hypot(px-x, py-y) }}
}

// everywhere is a shape without a box.
func everywhere(depth func(x, y float64) float64) shape { return shape{-1e3, -1e3, 1e3, 1e3, depth} }

// line has round ends.
func line(ax, ay, bx, by, width float64) shape {
	dx, dy, w := bx-ax, by-ay, width/2
	square := dx*dx + dy*dy + 1e-12
	return shape{min(ax, bx) - w, min(ay, by) - w, max(ax, bx) + w, max(ay, by) + w, func(x, y float64) float64 {
		t := max(0, min(1, ((x-ax)*dx+(y-ay)*dy)/square))
		return w - math.Hypot(x-ax-t*dx, y-ay-t*dy)
	}}
}

// polygon is convex; its corners go around in either direction.
func polygon(corners ...[2]float64) shape {
	s := shape{x0: math.Inf(1), y0: math.Inf(1), x1: math.Inf(-1), y1: math.Inf(-1)}
	area, sides := 0.0, make([][3]float64, len(corners)) // a·x + b·y + c is the depth behind a side
	for i, p := range corners {
		q := corners[(i+1)%len(corners)]
		area += p[0]*q[1] - q[0]*p[1]
		s.x0, s.y0, s.x1, s.y1 = min(s.x0, p[0]), min(s.y0, p[1]), max(s.x1, p[0]), max(s.y1, p[1])
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

// blot is a closed curve r(θ) = size(1 + Σ aₖ cos(kθ + φₖ)), stretched by a factor along an
// angle and compressed by it across.
func (r draws) blot(x, y, size, rough, stretch, angle float64) shape {
	h := harmonics{mean: 1}
	for i := range h.amplitude {
		h.amplitude[i], h.phase[i] = rough*r.between(0, 1)/float64(i+1), r.between(-math.Pi, math.Pi)
	}
	sin, cos := math.Sincos(angle)
	reach := size * (1 + 2*rough) * max(stretch, 1/stretch)
	return shape{x - reach, y - reach, x + reach, y + reach, func(px, py float64) float64 {
		dx, dy := px-x, py-y
		u, v := (cos*dx+sin*dy)/stretch, (cos*dy-sin*dx)*stretch
		outline := 1.0
		if rough > 0 {
			outline, _ = h.at(math.Atan2(v, u))
		}
		return size*outline - math.Hypot(u, v)
	}}
}

// band is a stripe of the given width along a shape's edge, shifted inwards.
func (s shape) band(shift, width float64) shape {
	depth, w := s.depth, width/2
	reach := max(0, w-shift)
	return shape{s.x0 - reach, s.y0 - reach, s.x1 + reach, s.y1 + reach, func(x, y float64) float64 {
		return w - math.Abs(depth(x, y)-shift)
	}}
}

// blur applies three box filters that together have the standard deviation width, in units.
func (c *canvas) blur(width float64) {
	// A box of n+1 pixels has the variance ((n+1)² − 1)/12.
	n := int(math.Round(math.Sqrt(1+4*sq(width*c.radius)) - 1))
	n += n % 2
	if n < 2 {
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
	sum := line[0].scaled(float64(reach))
	for i := range reach + 1 {
		sum = sum.plus(line[min(i, last)])
	}
	for i := range line {
		pix[i*stride] = sum.scaled(1 / float64(2*reach+1))
		sum = sum.plus(line[min(i+reach+1, last)]).plus(line[max(i-reach, 0)].scaled(-1))
	}
}

// develop is the sensor: 8 bits with noise.
func (c *canvas) develop(random draws) *image.RGBA {
	img := image.NewRGBA(image.Rect(0, 0, c.width, c.height))
	for i, p := range c.pix {
		shared := random.NormFloat64() * c.noise
		for k := range p {
			v := p[k] + shared
			if !c.grey && c.noise > 0 {
				v = p[k] + random.NormFloat64()*c.noise
			}
			img.Pix[4*i+k] = uint8(max(0, min(255, math.Round(255*v))))
		}
		img.Pix[4*i+3] = 255
	}
	return img
}

// field is a smooth random function of the plane with the standard normal distribution at every
// point: a cubic B-spline of independent normal values on a lattice, divided by the standard
// deviation of the weighted sum. Values farther apart than 4 spacings are independent.
type field struct {
	spacing float64 // lattice step
	origin  float64 // lattice index 0 lies at −origin on both axes
	n       int     // lattice points a side
	values  []float64
}

// newField covers the square [−reach, reach]² and repeats its edge outside.
func newField(random *rand.Rand, spacing, reach float64) *field {
	n := int(math.Ceil(2*reach/spacing)) + 4
	f := &field{spacing: spacing, origin: reach + spacing, n: n, values: make([]float64, n*n)}
	for i := range f.values {
		f.values[i] = random.NormFloat64()
	}
	return f
}

func (f *field) at(x, y float64) float64 {
	i, wx, nx := f.weights(x)
	j, wy, ny := f.weights(y)
	sum := 0.0
	for b := range 4 {
		row := f.values[(j+b)*f.n+i:]
		sum += wy[b] * (wx[0]*row[0] + wx[1]*row[1] + wx[2]*row[2] + wx[3]*row[3])
	}
	return sum / math.Sqrt(nx*ny)
}

// weights returns the first lattice index, the four B-spline weights and the sum of their squares.
func (f *field) weights(x float64) (first int, w [4]float64, squares float64) {
	p := max(1, min(float64(f.n)-2.0001, (x+f.origin)/f.spacing))
	i := math.Floor(p)
	t := p - i
	u := 1 - t
	w = [4]float64{u * u * u / 6, (3*t*t*t - 6*t*t + 4) / 6, (3*u*u*u - 6*u*u + 4) / 6, t * t * t / 6}
	for _, v := range w {
		squares += v * v
	}
	return int(i) - 1, w, squares
}

// draws is a random source.
type draws struct{ *rand.Rand }

// source returns the random source of a seed for a purpose; purposes are independent of each other.
func source(seed, purpose uint64) draws {
	return draws{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15*(purpose+1)))}
}

// The purposes of random sources.
const (
	forGeometry uint64 = iota
	forVessels
	forTexture
	forSensor
	forFraming
	forOrder
	forRaters                  // rater m of a case uses forRaters + m
	forPanel  uint64 = 1 << 20 // far above the raters' purposes
)

// sign is −1 with probability p, and 1 otherwise.
func (r draws) sign(p float64) float64 {
	if r.Float64() < p {
		return -1
	}
	return 1
}

// between draws from U(low, high).
func (r draws) between(low, high float64) float64 { return low + (high-low)*r.Float64() }
