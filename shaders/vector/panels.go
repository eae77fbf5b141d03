package vector

import "math"

// These functions are attention's softmax of a panel x (rows, Columns) of scores, along its
// columns, and the gradient along columns or rows. most, shift, total and delta have an element for
// each of these.

// MaxOfColumns sets most to the largest value of each column. x has one or more rows.
func MaxOfColumns(most, x []float32) {
	l, n := Current(), len(most)
	if l.maxOfColumns != nil && n == l.columns && len(x) >= 4*n {
		l.maxOfColumns(&most[0], &x[0], len(x)/n)
		return
	}
	copy(most, x)
	for i, v := range x {
		most[i%n] = max(most[i%n], v)
	}
}

// Attends says whether the level in use has Attend for heads of some channels.
func Attends(channels int) bool { return Current().attend[channels] != nil }

// Scale multiplies all elements by s.
func (m *Matrix) Scale(s float32) {
	for i := range m.data {
		m.data[i] *= s
	}
}

// Attend is attention of the queries that are the columns of m, a panel (width, Columns), by keys k
// and values v, step elements apart: y (width, Columns) becomes the sums of the values times
// weights, and total (Columns) the sums of the weights, which are those of ExpColumns of k q.
func (m *Matrix) Attend(keys int, k, v []float32, step int, y, total []float32) {
	end := (keys-1)*step + m.k - 1
	_, _, _, _ = k[end], v[end], y[m.k*m.level.columns-1], total[m.level.columns-1] // vectors check no bounds
	m.level.attend[m.k](keys, &k[0], &v[0], step, &m.data[0], &y[0], &total[0])
}

// ExpColumns replaces every x by 2^(scale x + shift of its column), with exponents nearer to 0 than
// ±125.5, and adds the results to total. shift and total have an element for each of Columns.
func ExpColumns(x []float32, scale float32, shift, total []float32) {
	l, n := Current(), len(shift)
	switch {
	case len(x) == 0:
	case l.expColumns != nil && n == l.columns:
		l.expColumns(&x[0], len(x)/n, scale, &shift[0], &total[:n][0])
	default:
		for ; len(x) >= n; x = x[n:] {
			row := x[:n]
			for i, v := range row {
				v = fused(scale, v, shift[i])
				whole := float32(math.RoundToEven(float64(v)))
				exponent := int32(min(max(whole, -125), 125)) + 127
				row[i] = powerOf(v-whole) * math.Float32frombits(uint32(exponent)<<23)
				total[i] += row[i]
			}
		}
	}
}

// powerOf is 2^x, |x| ≤ ½.
func powerOf(x float32) float32 {
	p := fused(0.0013276472, x, 0.009675541)
	for _, c := range [...]float32{0.05550713, 0.2402212, 0.69314694, 1} {
		p = fused(p, x, c)
	}
	return p
}

// ExpGradientColumns replaces every x by w = e^(scale x + shift of its column), at most e^88, and
// every d by scale w (d − delta of its column). With w the results of softmax and delta = Σ w d,
// this turns the gradient by w into the gradient by x.
func ExpGradientColumns(x, d []float32, scale float32, shift, delta []float32) {
	l, n := Current(), len(shift)
	d, delta = d[:len(x)], delta[:n]
	if l.expGradientColumns != nil && n == l.columns && len(x) > 0 {
		l.expGradientColumns(&x[0], &d[0], len(x)/n, scale, &shift[0], &delta[0])
		return
	}
	var total, scaled [MaxColumns]float32
	AddScaled(scaled[:n], shift, math.Log2E)
	ExpColumns(x, scale*math.Log2E, scaled[:n], total[:n])
	for i, w := range x {
		d[i] = scale * w * (d[i] - delta[i%n])
	}
}

// ExpGradientRows is ExpGradientColumns with shift and delta by row.
func ExpGradientRows(x, d []float32, scale float32, shift, delta []float32) {
	l, n := Current(), len(x)/len(shift)
	d, delta = d[:len(x)], delta[:len(shift)]
	if l.expGradientRows != nil && n == l.columns && len(x) > 0 {
		l.expGradientRows(&x[0], &d[0], len(shift), scale, &shift[0], &delta[0])
		return
	}
	for i, s := range shift {
		w, d := x[i*n:][:n], d[i*n:][:n]
		Exp(w, scale, s)
		for j, v := range d {
			d[j] = scale * w[j] * (v - delta[i])
		}
	}
}
