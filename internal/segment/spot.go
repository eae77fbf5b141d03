package segment

import (
	"math"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
)

// Of spots: neighbours of one shade differ by at most level. What is darker than dark or brighter
// than bright counts as black or white, since JPEG makes waves there. A spot's border is crossed in
// steps of reach pixels. It begins within beside radii of the disc's middle.
const (
	level        = 0.6 / 255
	dark, bright = 10. / 255, 245. / 255
	reach        = 4
	beside       = 1.3
)

// spot is how far a flat spot, such as a reflex, stands out on a disc or beside it: the spot's area
// over the disc's, times how far its shade differs from what surrounds it, 0..1. The disc is a shape
// in s pixels across a region. A spot may be larger than the disc that is left of it, and so the
// region is looked at and then a square of twice its side.
func spot(img *imageio.Image, region imageio.Square, s int, disc shape) (most float64) {
	for range 2 {
		x := make([]float32, 3*s*s)
		img.Crop(x, region, s)
		most = max(most, flattest(x, s, disc))
		region = imageio.Square{X: region.X - region.Side/2, Y: region.Y - region.Side/2, Side: 2 * region.Side}
		disc.area, disc.x, disc.y = disc.area/4, disc.x/2+float64(s)/4, disc.y/2+float64(s)/4
	}
	return most
}

// flattest is spot in pixels (S, S, 3). A piece at their border does not count: it may be the dark
// around a photograph.
func flattest(x []float32, s int, disc shape) (most float64) {
	apart := func(i, j int) (most float64) {
		for c := range 3 {
			most = max(most, math.Abs(min(max(float64(x[3*i+c]), dark), bright)-min(max(float64(x[3*j+c]), dark), bright)))
		}
		return most
	}
	to := [...]int{-1, 1, -s, s}
	flat := func(i int) bool {
		if at := min(i%s, s-1-i%s, i/s, s-1-i/s); at < reach {
			return false
		}
		for _, by := range [...]int{1, s, s + 1} {
			if apart(i, i+by) > level {
				return false
			}
		}
		return true
	}
	for _, piece := range roi.Connected(s*s, s, false, flat) {
		nearest, steps, edges := math.Inf(1), 0., 0.
		within := true
		for _, i := range piece {
			nearest = min(nearest, math.Hypot(float64(i%s)+.5-disc.x, float64(i/s)+.5-disc.y))
			within = within && min(i%s, s-1-i%s, i/s, s-1-i/s) > reach
			for _, by := range to {
				if step := apart(i, i+reach*by); step > level {
					steps, edges = steps+step, edges+1
				}
			}
		}
		if within && edges > 0 && nearest < beside*math.Sqrt(disc.area/math.Pi) {
			most = max(most, float64(len(piece))/disc.area*steps/edges)
		}
	}
	return most
}
