package roi

import "mrprism/internal/files/imageio"

const (
	dark  = 20     // of 255: the brightest channel of a dark pixel
	tenth = .1     // a field's square is at least this share smaller than the letterbox
	share = .02    // of a row or column that is lit at the border of the field
	least = 1. / 8 // of the letterbox's side: a smaller square is no field
)

// Field is the square around the lit pixels: photographs of the eye's ground have black around
// them, some with a wide margin. Field returns the letterbox if that is not much larger, or if no
// pixel is lit.
func Field(img *imageio.Image) imageio.Square {
	whole := imageio.Letterbox(img.W, img.H)
	rows, columns := make([]int, img.H), make([]int, img.W)
	for y := range img.H {
		row := img.Pix[3*img.W*y:][:3*img.W]
		for x := range img.W {
			if row[3*x] > dark || row[3*x+1] > dark || row[3*x+2] > dark {
				rows[y]++
				columns[x]++
			}
		}
	}
	x0, x1 := lit(columns, share*float64(img.H))
	y0, y1 := lit(rows, share*float64(img.W))
	side := max(x1-x0, y1-y0)
	if float64(side) > (1-tenth)*float64(whole.Side) || float64(side) < least*float64(whole.Side) {
		return whole
	}
	return imageio.Square{X: (x0 + x1 - side) / 2, Y: (y0 + y1 - side) / 2, Side: side}
}

// lit is the range [from, to) from the first to the last line that has more than `more` lit pixels.
func lit(count []int, more float64) (from, to int) {
	from = len(count)
	for i, n := range count {
		if float64(n) > more {
			from, to = min(from, i), i+1
		}
	}
	return min(from, to), to
}
