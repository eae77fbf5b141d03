package synthetic

import "math"

// Classes are the structures, in channel order. The cup lies inside the disc.
var Classes = []string{"disc", "cup"}

// Indices into Classes.
const (
	Disc = iota
	Cup
)

// Eye is the geometry of one eye, in disc radii from the disc's centre.
type Eye struct {
	seed      uint64
	temporal  float64    // +1 where the macula lies to the right, −1 to the left
	disc      harmonics  // r(θ)
	cup       harmonics  // cup radius as a share of the disc's, by angle
	ambiguity [2]ambient // β(θ) by class
	macula    [2]float64
	vessels   []vessel
}

// harmonics is mean·(1 + Σ_{k=2..4} amplitude_k cos(kθ + phase_k)).
type harmonics struct {
	mean             float64
	amplitude, phase [3]float64
}

// at returns the value and its derivative by θ.
func (h *harmonics) at(theta float64) (value, slope float64) {
	value = 1
	for i := range h.amplitude {
		k := float64(i + 2)
		sin, cos := math.Sincos(k*theta + h.phase[i])
		value += h.amplitude[i] * cos
		slope -= h.amplitude[i] * k * sin
	}
	return h.mean * value, h.mean * slope
}

// ambient is width·(1 + swing·cos(θ − phase)), swing < 1.
type ambient struct{ width, swing, phase float64 }

func (a *ambient) at(theta float64) float64 { return a.width * (1 + a.swing*math.Cos(theta-a.phase)) }

// NewEye draws an eye.
func NewEye(seed uint64) *Eye {
	r := source(seed, forGeometry)
	e := &Eye{seed: seed, temporal: 1}
	if r.Float64() < 0.5 {
		e.temporal = -1
	}
	e.disc.mean = 1
	e.cup.mean = between(r, 0.3, 0.8)
	for i, largest := range []float64{0.05, 0.02, 0.012} {
		e.disc.amplitude[i], e.disc.phase[i] = between(r, 0, largest), between(r, -math.Pi, math.Pi)
	}
	for i, largest := range []float64{0.06, 0.04, 0.02} { // together at most 0.12: the cup stays below 0.9 of the disc
		e.cup.amplitude[i], e.cup.phase[i] = between(r, 0, largest), between(r, -math.Pi, math.Pi)
	}
	e.disc.phase[0] = between(r, -0.5, 0.5) + math.Pi // discs are a little taller than wide
	e.ambiguity[Disc] = ambient{between(r, 0.03, 0.06), between(r, 0.3, 0.8), between(r, -math.Pi, math.Pi)}
	e.ambiguity[Cup] = ambient{between(r, 0.06, 0.14), between(r, 0.3, 0.8), between(r, -math.Pi, math.Pi)}
	e.macula = [2]float64{e.temporal * between(r, 4.6, 5.2), between(r, 0.3, 0.9)}
	e.vessels = growVessels(source(seed, forVessels), e.temporal, e.macula)
	return e
}

// Distance is the signed distance to a structure's contour, positive inside, to first order in the contour's slope: the distance along the
// ray from the centre, times the cosine of the angle between ray and normal.
func (e *Eye) Distance(class int, x, y float64) float64 {
	d, _ := e.distance(class, math.Hypot(x, y), math.Atan2(y, x))
	return d
}

// distance also returns the ambiguity β at the angle theta.
func (e *Eye) distance(class int, rho, theta float64) (s, beta float64) {
	radius, slope := e.disc.at(theta)
	if class == Cup {
		share, shareSlope := e.cup.at(theta)
		radius, slope = radius*share, slope*share+radius*shareSlope
	}
	return (radius - rho) / math.Sqrt(1+slope*slope/(radius*radius)), e.ambiguity[class].at(theta)
}
