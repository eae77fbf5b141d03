package metric

import "math"

// Hours is the number of hours on a clock.
const Hours = 12

// raysAnHour are spread evenly over the 30 degrees of an hour.
const raysAnHour = 10

// Rim is the width of the rim between cup and disc (h, w) at each hour of a clock face, pixels.
// Hour 0 is twelve o'clock, at the top of the image; hours go clockwise as displayed. A width is the
// mean over rays from the disc's centre of gravity, within 15 degrees of the hour: how far the disc
// reaches on a ray, less how far the cup reaches. It is negative where the cup is outside. Without a
// disc or a cup there is no rim, and ok is false.
func Rim[T Pixel](disc, cup []T, w, h int) (widths [Hours]float64, ok bool) {
	same("Rim", len(disc), w*h)
	same("Rim", len(cup), w*h)
	x, y, n := 0., 0., 0
	for i, v := range disc {
		if inside(v) {
			x, y, n = x+float64(i%w)+0.5, y+float64(i/w)+0.5, n+1
		}
	}
	if n == 0 || Area(cup) == 0 {
		return widths, false
	}
	x, y = x/float64(n), y/float64(n)
	for hour := range widths {
		for ray := range raysAnHour {
			angle := (float64(hour) + (float64(ray)+0.5)/raysAnHour - 0.5) * 2 * math.Pi / Hours
			dx, dy := math.Sin(angle), -math.Cos(angle)
			widths[hour] += (reachOf(disc, w, h, x, y, dx, dy) - reachOf(cup, w, h, x, y, dx, dy)) / raysAnHour
		}
	}
	return widths, true
}

// reachOf is the distance from a point at which a ray is inside a mask for the last time, to half a
// pixel; 0 if it never is.
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
