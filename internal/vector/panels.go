package vector

// What attention does to a panel x (rows, Columns) of scores: softmax along its columns, for which most,
// shift, total and delta have an element for each, and its gradient along columns or rows.

// MaxOfColumns gives the largest value of each column of one or more rows.
func MaxOfColumns(most, x []float32) {
	n := len(most)
	if vectors() && n%8 == 0 {
		maxOfColumnsVectors(most, x)
		return
	}
	copy(most, x)
	for i, v := range x {
		most[i%n] = max(most[i%n], v)
	}
}

// ExpColumns replaces every x by e^(scale x + shift of its column), and adds these up in total.
func ExpColumns(x []float32, scale float32, shift, total []float32) {
	n := len(shift)
	if vectors() && n%8 == 0 {
		expColumnsVectors(x, scale, shift, total)
		return
	}
	for ; len(x) >= n; x = x[n:] {
		row := x[:n]
		for i, v := range row {
			row[i] = scale*v + shift[i]
		}
		plainExp(row, 1, 0)
		for i, v := range row {
			total[i] += v
		}
	}
}

// SoftmaxGradientColumns makes every d scale w (d − delta of its column): see SoftmaxGradient.
func SoftmaxGradientColumns(d, w, delta []float32, scale float32) {
	n := len(delta)
	if moreVectors() && n%8 == 0 {
		softmaxGradientColumnsVectors(d, w, delta, scale)
		return
	}
	for i, v := range d {
		d[i] = scale * w[i] * (v - delta[i%n])
	}
}
