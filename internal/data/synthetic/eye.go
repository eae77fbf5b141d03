package synthetic

import (
	"math"

	"mrprism/internal/data/paint"
)

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
	r := paint.Source(seed, forGeometry)
	e := &Eye{seed: seed, temporal: r.Sign(0.5)}
	e.disc.mean = 1
	e.cup.mean = r.Between(0.3, 0.8)
	for i, largest := range []float64{0.05, 0.02, 0.012} {
		e.disc.amplitude[i], e.disc.phase[i] = r.Between(0, largest), r.Between(-math.Pi, math.Pi)
	}
	// These amplitudes sum to at most 0.12: the cup stays below 0.9 of the disc.
	for i, largest := range []float64{0.06, 0.04, 0.02} {
		e.cup.amplitude[i], e.cup.phase[i] = r.Between(0, largest), r.Between(-math.Pi, math.Pi)
	}
	e.disc.phase[0] = r.Between(-0.5, 0.5) + math.Pi // discs are a little taller than wide
	e.ambiguity[Disc] = ambient{r.Between(0.03, 0.06), r.Between(0.3, 0.8), r.Between(-math.Pi, math.Pi)}
	e.ambiguity[Cup] = ambient{r.Between(0.06, 0.14), r.Between(0.3, 0.8), r.Between(-math.Pi, math.Pi)}
	e.macula = [2]float64{e.temporal * r.Between(4.6, 5.2), r.Between(0.3, 0.9)}
	e.vessels = growVessels(paint.Source(seed, forVessels), e.temporal, e.macula)
	return e
}

// Distance is the signed distance to a structure's contour, positive inside, to first order in the
// contour's slope: the distance along the ray from the centre, times the cosine of the angle
// between ray and normal.
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

// vessel is a polyline with a width at each point, in disc radii.
type vessel struct {
	artery bool
	points []vesselPoint
}

type vesselPoint struct{ x, y, width float64 }

const (
	vesselStep  = 0.09
	vesselReach = 8.0 // past the edge of a photograph
)

// growVessels draws the two trees. Veins and arteries leave the disc upwards and downwards; one
// arcade of each goes to the temporal side, around the macula, and one to the nasal side. Finer
// vessels go straight to both sides. All branch, thin out, and wander.
func growVessels(r paint.Draws, temporal float64, macula [2]float64) []vessel {
	g := grower{random: r, macula: macula}
	hub := [2]float64{-0.16 * temporal, r.Between(-0.08, 0.08)} // the trunks enter nasally
	for _, artery := range []bool{false, true} {
		width, shift := r.Between(0.14, 0.17), 0.06
		if artery {
			width, shift = width*0.74, -0.06
		}
		for _, vertical := range []float64{-1, 1} { // up, down
			trunk := math.Atan2(vertical, -0.12*temporal+shift)
			// The trunk divides into an arcade on each side near the disc's edge; angles from the vertical.
			toTemporal, toNasal := r.Between(0.45, 0.8), r.Between(0.35, 0.8)
			root := walker{artery: artery, x: hub[0] + shift, y: hub[1], heading: trunk, goal: trunk, width: width}
			root = g.grow(root, r.Between(0.6, 1.2), 0)
			for i, angle := range []float64{toTemporal, -toNasal} {
				arcade := root
				arcade.width *= []float64{0.88, 0.72}[i]
				arcade.goal = math.Atan2(vertical*math.Cos(angle), temporal*math.Sin(angle))
				g.grow(arcade, vesselReach, 3)
			}
		}
		for range 3 { // to the sides
			side := temporal * r.Sign(0.4)
			angle := math.Atan2(r.Between(-0.7, 0.7), side)
			fine := walker{artery: artery, x: hub[0], y: hub[1], heading: angle, goal: angle + r.Between(-0.2, 0.2), width: r.Between(0.035, 0.055)}
			g.grow(fine, r.Between(2.5, 4), 2)
		}
	}
	return g.vessels
}

type grower struct {
	random  paint.Draws
	macula  [2]float64
	vessels []vessel
}

// walker is the tip of a growing vessel.
type walker struct {
	artery        bool
	x, y, width   float64
	heading, goal float64 // radians; heading turns slowly towards goal
}

// grow walks for a length, branches up to depth deep, and returns the end.
func (g *grower) grow(w walker, length float64, depth int) walker {
	r := g.random
	v := vessel{artery: w.artery, points: []vesselPoint{{w.x, w.y, w.width}}}
	wander, untilBranch := 0.0, r.Between(0.7, 1.8)
	trunk := depth == 0 && length < 1.5 && w.width > 0.09
	for walked := 0.0; walked < length && math.Hypot(w.x, w.y) < vesselReach && w.width > 0.016; walked += vesselStep {
		wander = 0.85*wander + 0.03*r.NormFloat64()
		w.heading += 0.08*turn(w.heading, w.goal) + wander + g.avoid(&w)
		w.x, w.y = w.x+vesselStep*math.Cos(w.heading), w.y+vesselStep*math.Sin(w.heading)
		w.width *= 0.991
		shown := w.width
		if !trunk {
			shown *= 1 - 0.7*paint.Smooth(2*walked/length-1)
		}
		v.points = append(v.points, vesselPoint{w.x, w.y, shown})
		if untilBranch -= vesselStep; untilBranch > 0 || depth == 0 {
			continue
		}
		untilBranch = r.Between(0.7, 1.8)
		side := r.Sign(0.5)
		angle, share := r.Between(0.45, 0.95)*side, r.Between(0.42, 0.72)
		branch := w
		branch.heading, branch.goal, branch.width = w.heading+angle*0.6, w.heading+angle*0.8, w.width*share
		g.grow(branch, r.Between(1.5, 5), depth-1)
		w.width *= math.Cbrt(1 - share*share*share) // Murray's law: the cubes of the widths add up
		w.goal -= angle * 0.1
	}
	g.vessels = append(g.vessels, v)
	return w
}

// avoid turns a vessel away from the macula.
func (g *grower) avoid(w *walker) float64 {
	dx, dy := g.macula[0]-w.x, g.macula[1]-w.y
	distance := math.Hypot(dx, dy)
	if distance > 2.6 {
		return 0
	}
	off := turn(w.heading, math.Atan2(dy, dx)) // positive: the macula is on the positive side
	if math.Abs(off) > math.Pi/2 {
		return 0
	}
	return -math.Copysign(0.22*(1-distance/2.6), off)
}

// turn is the signed angle from a to b in −π..π.
func turn(a, b float64) float64 { return math.Remainder(b-a, 2*math.Pi) }

// vesselCover is the share of each pixel that vessels cover, 0..1, row by row.
type vesselCover struct{ vein, artery, reflex []float32 }

// drawVessels rasterises the trees. Widths are at least a pixel, thinner vessels become fainter
// instead.
func drawVessels(vessels []vessel, v view) *vesselCover {
	c := &vesselCover{make([]float32, v.width*v.height), make([]float32, v.width*v.height), make([]float32, v.width*v.height)}
	for _, vessel := range vessels {
		layer := c.vein
		if vessel.artery {
			layer = c.artery
		}
		for i := 1; i < len(vessel.points); i++ {
			a, b := vessel.points[i-1], vessel.points[i]
			ax, ay := v.pixel(a.x, a.y)
			bx, by := v.pixel(b.x, b.y)
			width := b.width * v.radius
			strength := min(1, width) * min(1, 0.35+b.width/0.09)
			stroke(layer, v, ax, ay, bx, by, max(width, 1), strength)
			if width > 4 {
				stroke(c.reflex, v, ax, ay, bx, by, width*0.25, min(1, width/4-1))
			}
		}
	}
	return c
}

// stroke draws a segment with round ends and soft edges. The stronger of two overlapping strokes
// counts.
func stroke(layer []float32, v view, ax, ay, bx, by, width, strength float64) {
	soft := max(1, width*0.35) // pixels over which the edge fades
	reach := (width + soft) / 2
	x0, x1 := max(0, int(min(ax, bx)-reach)), min(v.width-1, int(max(ax, bx)+reach)+1)
	y0, y1 := max(0, int(min(ay, by)-reach)), min(v.height-1, int(max(ay, by)+reach)+1)
	dx, dy := bx-ax, by-ay
	length := dx*dx + dy*dy
	for y := y0; y <= y1; y++ {
		for x := x0; x <= x1; x++ {
			px, py := float64(x)-ax, float64(y)-ay
			t := 0.0
			if length > 0 {
				t = max(0, min(1, (px*dx+py*dy)/length))
			}
			distance := math.Hypot(px-t*dx, py-t*dy)
			cover := float32(strength * paint.Smooth((reach-distance)/soft))
			i := y*v.width + x
			layer[i] = max(layer[i], cover)
		}
	}
}
