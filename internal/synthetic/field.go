package synthetic

import (
	"math"
	"math/rand/v2"
)

// field is a smooth random function of the plane with the standard normal distribution at every point: a cubic B-spline through independent normal
// values on a lattice, divided by the standard deviation that the spline's weights leave. Values farther apart than 4 spacings are
// independent.
type field struct {
	spacing float64 // lattice step
	origin  float64 // lattice index 0 lies at −origin on both axes
	n       int     // lattice points a side
	values  []float64
}

// newField covers the square [−reach, reach]²; outside, the edge is repeated.
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

// source returns a random source for one purpose of one seed; purposes are independent of each other.
func source(seed, purpose uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15*(purpose+1)))
}

// The purposes that seeds are used for.
const (
	forGeometry uint64 = iota
	forVessels
	forTexture
	forSensor
	forFraming
	forOrder
	forRaters // rater m of a case uses forRaters + m
)

// between draws from U(low, high).
func between(random *rand.Rand, low, high float64) float64 { return low + (high-low)*random.Float64() }
