package metric

import (
	"math"
	"slices"
	"strings"
)

// Hours is the number of hours on a clock.
const Hours = 12

// raysAnHour is the number of rays in the 30 degrees of an hour.
const raysAnHour = 10

// Rim is the rim between cup and disc, on rays from the disc's centre of gravity. Its width on a
// ray is how far the disc reaches minus how far the cup reaches. Hour 0 is twelve o'clock, at the
// top of the image; hours go clockwise as displayed.
type Rim struct {
	X, Y float64 // the disc's centre of gravity, pixels; NaN without a disc
	// Hours are the widths at each hour of a clock face in pixels: means over rays within 15
	// degrees. A width is negative where the cup is outside.
	Hours [Hours]float64
	// Narrowest is the least ratio, 0..1, of the width on a ray to the disc's diameter in that
	// direction (Spaeth et al. 2002). It is 0 if the cup reaches as far as the disc.
	Narrowest float64
	At        int     // the hour of the narrowest ray
	Absent    float64 // rays without a rim, degrees of the circle
}

// RimOf measures the rim between masks (h, w). Without a disc or a cup there is only the centre,
// and ok is false.
func RimOf[T Pixel](disc, cup []T, w, h int) (r Rim, ok bool) {
	requireSame("RimOf", len(disc), w*h)
	requireSame("RimOf", len(cup), w*h)
	x, y := centre(disc, w)
	if r.X, r.Y = x, y; math.IsNaN(x) || !slices.ContainsFunc(cup, inside) {
		return r, false
	}
	const rays = Hours * raysAnHour
	var outer, width [rays]float64
	for ray := range rays {
		angle := ((float64(ray)+0.5)/raysAnHour - 0.5) * 2 * math.Pi / Hours
		dx, dy := math.Sin(angle), -math.Cos(angle)
		outer[ray] = reachOf(disc, w, h, x, y, dx, dy)
		width[ray] = outer[ray] - reachOf(cup, w, h, x, y, dx, dy)
		r.Hours[ray/raysAnHour] += width[ray] / raysAnHour
	}
	r.Narrowest = 1
	for ray, width := range width {
		if width <= 0 {
			r.Absent += 360. / rays
		}
		diameter := outer[ray] + outer[(ray+rays/2)%rays]
		if ratio := max(0, width) / max(diameter, 1); ratio < r.Narrowest {
			r.Narrowest, r.At = ratio, ray/raysAnHour
		}
	}
	return r, true
}

// centre is the centre of gravity of a mask (h, w), pixels; NaN without one.
func centre[T Pixel](mask []T, w int) (x, y float64) {
	across, down, n := 0, 0, 0
	for row := 0; row*w < len(mask); row++ {
		before := n
		for column, v := range mask[row*w:][:w] {
			if inside(v) {
				across, n = across+column, n+1
			}
		}
		down += row * (n - before)
	}
	return float64(across)/float64(n) + 0.5, float64(down)/float64(n) + 0.5
}

// reachOf is the largest distance from a point at which a ray is inside a mask, to half a pixel; 0
// if it never is.
func reachOf[T Pixel](mask []T, w, h int, x, y, dx, dy float64) (reach float64) {
	for t := 0.; ; t += 0.5 {
		px, py := int(math.Floor(x+t*dx)), int(math.Floor(y+t*dy))
		if px < 0 || py < 0 || px >= w || py >= h {
			return reach
		}
		if inside(mask[py*w+px]) {
			reach = t
		}
	}
}

// DiscAndCup returns the indices of these classes, in upper or lower case; -1 for a missing one.
func DiscAndCup(classes []string) (disc, cup int) {
	find := func(name string) int {
		return slices.IndexFunc(classes, func(class string) bool { return strings.EqualFold(class, name) })
	}
	return find("disc"), find("cup")
}
