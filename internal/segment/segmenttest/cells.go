package segmenttest

import (
	"image"
	"math"
	"math/rand/v2"
)

// CellCentres are where the six cells of Cells lie.
var CellCentres = []image.Point{{100, 120}, {300, 90}, {480, 150}, {120, 350}, {330, 330}, {500, 480}}

// Cells draws a field of view of 600² with six cells: bright ellipses with axes of 60 and 35 pixels
// and a halo, on noise.
func Cells() *image.Gray {
	const side = 600
	r, picture := rand.New(rand.NewPCG(1, 0)), image.NewGray(image.Rect(0, 0, side, side))
	for i := range picture.Pix {
		v := 60 + 4*r.NormFloat64()
		for n, c := range CellCentres {
			x, y, turn := float64(i%side-c.X), float64(i/side-c.Y), 0.7*float64(n)
			d := math.Hypot((x*math.Cos(turn)+y*math.Sin(turn))/60, (y*math.Cos(turn)-x*math.Sin(turn))/35)
			v += 70/(1+math.Exp(14*(d-1))) + 20*math.Exp(-math.Pow((d-1.1)/0.08, 2))
			if d < 0.9 {
				v += 10 * r.NormFloat64()
			}
		}
		picture.Pix[i] = uint8(min(255, max(0, v)))
	}
	return picture
}
