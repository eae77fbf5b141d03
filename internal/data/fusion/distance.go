package fusion

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
	for x := range width { // within columns, down and up
		for _, run := range [2][2]int{{x, width}, {len(mark) - width + x, -width}} {
			d := math.Inf(1)
			for i := run[0]; i >= 0 && i < len(mark); i += run[1] {
				if d++; mark[i] == value {
					d = 0
				}
				if run[1] > 0 || d*d < all[i] {
					all[i] = d * d
				}
			}
		}
	}
	lowest, from, column := make([]int, width), make([]float64, width), make([]float64, width)
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
