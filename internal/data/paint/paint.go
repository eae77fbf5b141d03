// Package paint has what drawn pictures are made of: colours, smooth random fields and random
// sources. A seed decides everything, in every program.
package paint

import (
	"math"
	"math/rand/v2"
)

// Colour is red, green and blue, linear in what a camera stores, 0..1.
type Colour [3]float64

// Grey is a colour of three equal channels.
func Grey(v float64) Colour { return Colour{v, v, v} }

// Mixed is a·(1 − t) + b·t.
func Mixed(a, b Colour, t float64) Colour {
	for i := range a {
		a[i] += (b[i] - a[i]) * t
	}
	return a
}

// Times multiplies channel by channel.
func (c Colour) Times(f Colour) Colour { return Colour{c[0] * f[0], c[1] * f[1], c[2] * f[2]} }

// Scaled multiplies all channels.
func (c Colour) Scaled(f float64) Colour { return c.Times(Grey(f)) }

// Plus adds channel by channel.
func (c Colour) Plus(d Colour) Colour { return Colour{c[0] + d[0], c[1] + d[1], c[2] + d[2]} }

// Shoulder bends values above 0.8: highlights approach 1 and do not clip.
func Shoulder(v float64) float64 {
	if v < 0.8 {
		return v
	}
	return 1 - 0.2*math.Exp(-(v-0.8)/0.2)
}

// Smooth is 0 below 0, 1 above 1 and 3t² − 2t³ between.
func Smooth(t float64) float64 {
	t = max(0, min(1, t))
	return t * t * (3 - 2*t)
}

// Field is a smooth random function of the plane with the standard normal distribution at every
// point: a cubic B-spline of independent normal values on a lattice, divided by the standard
// deviation of the weighted sum. Values farther apart than 4 spacings are independent.
type Field struct {
	spacing float64 // lattice step
	origin  float64 // lattice index 0 lies at −origin on both axes
	n       int     // lattice points a side
	values  []float64
}

// NewField covers the square [−reach, reach]² and repeats its edge outside.
func NewField(random *rand.Rand, spacing, reach float64) *Field {
	n := int(math.Ceil(2*reach/spacing)) + 4
	f := &Field{spacing: spacing, origin: reach + spacing, n: n, values: make([]float64, n*n)}
	for i := range f.values {
		f.values[i] = random.NormFloat64()
	}
	return f
}

// At is the value at a point.
func (f *Field) At(x, y float64) float64 {
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
func (f *Field) weights(x float64) (first int, w [4]float64, squares float64) {
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

// Draws is a random source.
type Draws struct{ *rand.Rand }

// Source returns the random source of a seed for a purpose; purposes are independent of each other.
func Source(seed, purpose uint64) Draws {
	return Draws{rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15*(purpose+1)))}
}

// Sign is −1 with probability p, and 1 otherwise.
func (r Draws) Sign(p float64) float64 {
	if r.Chance(p) {
		return -1
	}
	return 1
}

// Chance is true with probability p.
func (r Draws) Chance(p float64) bool { return r.Float64() < p }

// Between draws from U(low, high).
func (r Draws) Between(low, high float64) float64 { return low + (high-low)*r.Float64() }

// Either returns one of the values.
func Either[T any](r Draws, values ...T) T { return values[r.IntN(len(values))] }
