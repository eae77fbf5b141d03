package roi

import "mrprism/shaders/pulse"

// Pieces returns the 8-connected components of p (s, s) above a level, each as a list of pixels.
// They are in the reading order of their first pixels.
func Pieces(p []float32, s int, level float32) [][]int {
	return Connected(len(p), s, true, func(i int) bool { return p[i] > level })
}

// Connected returns the connected parts of the set pixels among pixels 0..n-1, in rows of w.
// Diagonal neighbours are connected if diagonal is true. Each part is a list of pixels. The parts
// are in the reading order of their first pixels.
func Connected(n, w int, diagonal bool, set func(i int) bool) (pieces [][]int) {
	seen, h := make([]bool, n), n/w
	for start := range n {
		if seen[start] || !set(start) {
			continue
		}
		seen[start] = true
		piece := []int{start}
		for i := 0; i < len(piece); i++ {
			if i%1024 == 0 {
				pulse.Beat()
			}
			x, y := piece[i]%w, piece[i]/w
			for ny := max(0, y-1); ny <= min(h-1, y+1); ny++ {
				for nx := max(0, x-1); nx <= min(w-1, x+1); nx++ {
					if next := ny*w + nx; (diagonal || nx == x || ny == y) && !seen[next] && set(next) {
						seen[next] = true
						piece = append(piece, next)
					}
				}
			}
		}
		pieces = append(pieces, piece)
	}
	return pieces
}
