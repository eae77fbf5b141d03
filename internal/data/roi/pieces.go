package roi

// Pieces returns the 8-connected components of p (s, s) above a level, each as a list of pixels.
// They are in the reading order of their first pixels.
func Pieces(p []float32, s int, level float32) (pieces [][]int) {
	seen := make([]bool, len(p))
	for start := range p {
		if seen[start] || p[start] <= level {
			continue
		}
		seen[start] = true
		piece := []int{start}
		for i := 0; i < len(piece); i++ {
			x, y := piece[i]%s, piece[i]/s
			for ny := max(0, y-1); ny <= min(s-1, y+1); ny++ {
				for nx := max(0, x-1); nx <= min(s-1, x+1); nx++ {
					if n := ny*s + nx; !seen[n] && p[n] > level {
						seen[n] = true
						piece = append(piece, n)
					}
				}
			}
		}
		pieces = append(pieces, piece)
	}
	return pieces
}
