//go:build !arm64

package vector

import "math"

// fused is x y + z, rounded once, as vectors compute it.
func fused(x, y, z float32) float32 {
	s := wide(x, y, z)
	if halfWay(s) {
		s = aside(s, float64(x)*float64(y), float64(z))
	}
	return float32(s)
}

// wide is x y + z in float64, which holds the product exactly. It is to be rounded again, which is
// wrong only half-way between two float32. Callers test that to spare the call of fused.
func wide(x, y, z float32) float64 { return float64(x)*float64(y) + float64(z) }

// halfWay says that s lies half-way between two float32, normal or below the normal numbers, or has
// as many zeros at its end.
func halfWay(s float64) bool {
	const subnormal = (1023 - 126) << 53
	b := math.Float64bits(s)
	return b&(1<<28-1) == 0 && (b&(1<<28) != 0 || b<<1-1 < subnormal-1)
}

// aside is s = p + z, moved by one step of float64 to the side on which the exact sum lies.
func aside(s, p, z float64) float64 {
	of := s - p
	lost := (p - (s - of)) + (z - of)
	if lost == 0 {
		return s
	}
	return math.Nextafter(s, math.Copysign(math.Inf(1), lost))
}
