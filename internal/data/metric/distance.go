package metric

import "math"

// Signed returns the distances (H·W) to a mark's outline in pixels, positive inside, clamped to
// ±most. If a mark has no outline, all distances are ±most.
func Signed(mark []uint8, width int, most float64) []float32 {
	d := make([]float32, len(mark))
	for value, sign := range []float64{1, -1} { // inside: distance to the nearest outside
		for i, square := range squares(mark, uint8(value), width) {
			if mark[i] != uint8(value) {
				d[i] = float32(sign * min(math.Sqrt(square)-.5, most))
			}
		}
	}
	return d
}

// squares returns the squared distances (H·W), in pixels, to the nearest pixel with a value, or
// +Inf if there is none (Felzenszwalb and Huttenlocher, Theory of Computing 2012).
func squares(mark []uint8, value uint8, width int) []float64 {
	all := make([]float64, len(mark))
	lowest, from, column := make([]int, width), make([]float64, width), make([]float64, width)
	for _, run := range [2][2]int{{0, width}, {len(mark) - width, -width}} { // down and up, by columns
		for x := range column {
			column[x] = math.Inf(1)
		}
		for at := run[0]; at >= 0 && at < len(mark); at += run[1] {
			for x, d := range column {
				if d++; mark[at+x] == value {
					d = 0
				}
				if column[x] = d; run[1] > 0 || d*d < all[at+x] {
					all[at+x] = d * d
				}
			}
		}
	}
	for at := 0; at < len(all); at += width { // parabolas over the row: their lower envelope
		row := all[at : at+width]
		copy(column, row)
		n := 0
		for x, f := range column {
			start := math.Inf(-1)
			for ; n > 0 && !math.IsInf(f, 1); n-- {
				p := lowest[n-1]
				start = (f - column[p] + float64(x*x-p*p)) / float64(2*(x-p))
				if start > from[n-1] {
					break
				}
				start = math.Inf(-1)
			}
			if !math.IsInf(f, 1) {
				lowest[n], from[n] = x, start
				n++
			}
		}
		for x, j := 0, 0; x < width && n > 0; x++ {
			for j+1 < n && from[j+1] < float64(x) {
				j++
			}
			p := lowest[j]
			row[x] = column[p] + float64((x-p)*(x-p))
		}
	}
	return all
}
