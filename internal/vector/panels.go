package vector

// What attention does to a panel x (rows, Columns) of scores: softmax along its columns, for which
// most, shift, total and delta have an element for each, and its gradient along columns or rows.

// MaxOfColumns gives the largest value of each column of one or more rows.
func MaxOfColumns(most, x []float32) {
	l, n := Current(), len(most)
	if l.maxOfColumns != nil && n == l.columns && len(x)%(4*n) == 0 {
		l.maxOfColumns(&most[0], &x[0], len(x)/n)
		return
	}
	if vectors() && n%8 == 0 {
		maxOfColumnsVectors(most, x)
		return
	}
	copy(most, x)
	for i, v := range x {
		most[i%n] = max(most[i%n], v)
	}
}

// ExpColumns replaces every x by e^(scale x + shift of its column), at most e^88, and adds these to
// total. shift and total have an element for each of Columns.
func ExpColumns(x []float32, scale float32, shift, total []float32) {
	l, n := Current(), len(shift)
	switch {
	case len(x) == 0:
	case l.expColumns != nil && n == l.columns:
		l.expColumns(&x[0], len(x)/n, scale, &shift[0], &total[:n][0])
	case vectors() && n%8 == 0:
		expColumnsVectors(x, scale, shift, total)
	default:
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
}

// ExpRows replaces every x by e^(scale x + shift of its row), at most e^88.
func ExpRows(x []float32, scale float32, shift []float32) {
	l, n := Current(), len(x)/len(shift)
	if l.expRows != nil && n == l.columns {
		l.expRows(&x[0], len(shift), scale, &shift[0])
		return
	}
	for i, s := range shift {
		Exp(x[i*n:][:n], scale, s)
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
