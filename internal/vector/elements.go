package vector

import "math"

// What is done to the elements of slices of one length. Vectors compute the last elements of a
// slice as they do the others, so that a result does not depend on where it is cut.

// Add adds x to y.
func Add(y, x []float32) {
	x = x[:len(y)]
	if vectors() {
		addVectors(y, x)
		return
	}
	for i, v := range x {
		y[i] += v
	}
}

// AddScaled adds s x to y.
func AddScaled(y, x []float32, s float32) {
	x = x[:len(y)]
	if vectors() {
		addScaledVectors(y, x, s)
		return
	}
	for i, v := range x {
		y[i] += s * v
	}
}

// AddProducts adds a[i] b[i] to every y[i].
func AddProducts(y, a, b []float32) {
	a, b = a[:len(y)], b[:len(y)]
	if vectors() {
		addProductsVectors(y, a, b)
		return
	}
	for i, v := range a {
		y[i] += v * b[i]
	}
}

// Filter makes y[i] Σ_t window[t] x[i + t*stride]. It reads len(y) + (len(window)-1)*stride
// elements of x.
func Filter(y, x []float32, stride int, window []float32) {
	x = x[:len(y)+(len(window)-1)*stride]
	if moreVectors() {
		if l := Current(); l.filter != nil && len(y) >= l.lanes && len(window) > 0 {
			n := len(y) / l.lanes * l.lanes
			l.filter(&y[0], &x[0], n, stride, &window[0], len(window))
			y, x = y[n:], x[n:]
		}
		filterVectors(y, x, stride, window)
		return
	}
	for i := range y {
		var sum float32
		for t, w := range window {
			sum += w * x[i+t*stride]
		}
		y[i] = sum
	}
}

// Multiply multiplies y by x.
func Multiply(y, x []float32) {
	x = x[:len(y)]
	if moreVectors() {
		multiplyVectors(y, x)
		return
	}
	for i, v := range x {
		y[i] *= v
	}
}

// TakeLarger makes every y[i] the larger of it and x[i]. A NaN is larger than any number.
func TakeLarger(y, x []float32) {
	x = x[:len(y)]
	if vectors() {
		takeLargerVectors(y, x)
		return
	}
	for i, v := range x {
		if v > y[i] || v != v {
			y[i] = v
		}
	}
}

// PlaceLarger does the same, and notes in places where it took x.
func PlaceLarger(y, places, x []float32, place float32) {
	places, x = places[:len(y)], x[:len(y)]
	if moreVectors() {
		placeLargerVectors(y, places, x, place)
		return
	}
	for i, v := range x {
		if v > y[i] || v != v {
			y[i], places[i] = v, place
		}
	}
}

// Finish is what is done to sums before they are written.
type Finish struct {
	Scale, Shift []float32 // by column; nil: 1 and 0. No Scale without Shift.
	Residual     []float32 // that is added then, in rows; nil: nothing
	Stride       int       // of the residual
	ReLU         bool      // what is below 0 becomes 0 at last; a NaN stays
}

// FinishRows finishes rows of sums x and writes them to y. y may be x, with the same stride or a
// smaller one.
func FinishRows(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish) {
	if rows == 0 || columns == 0 {
		return
	}
	_, _ = y[(rows-1)*stride+columns-1], x[(rows-1)*from+columns-1]
	if f.Shift != nil {
		_ = f.Shift[columns-1]
	}
	if f.Scale != nil {
		_ = f.Scale[columns-1]
	}
	if f.Residual != nil {
		_ = f.Residual[(rows-1)*f.Stride+columns-1]
	}
	moves := &y[0] == &x[0] && stride != from // what is left of a row would be written over
	done := 0
	if !moves {
		done = finishPanels(rows, columns, y, stride, x, from, f)
	}
	if rest := columns - done; vectors() && rest >= 8 && !(moves && rest%8 > 0) {
		r := f.from(done)
		finishRowsVectors(rows, rest&^7, y[done:], stride, x[done:], from, &r)
		done += rest &^ 7
	}
	for i := 0; i < rows && done < columns; i++ {
		finishRow(y[i*stride+done:][:columns-done], x[i*from+done:], done, i, f)
	}
}

// from is f of the columns from one on.
func (f *Finish) from(column int) Finish {
	r := *f
	for _, part := range []*[]float32{&r.Scale, &r.Shift, &r.Residual} {
		if *part != nil {
			*part = (*part)[column:]
		}
	}
	return r
}

// What a Finish has in a column where it is nil.
var (
	noScale [MaxColumns]float32
	nothing [MaxColumns]float32
)

func init() {
	for i := range noScale {
		noScale[i] = 1
	}
}

// finishPanels finishes as many columns as make panels, in assembly.
func finishPanels(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish) (done int) {
	l := Current()
	if l.finishRows == nil {
		return 0
	}
	floor := float32(math.Inf(-1))
	if f.ReLU {
		floor = 0
	}
	for ; done+l.columns <= columns; done += l.columns {
		scale, shift, residual, residualStride := &noScale[0], &nothing[0], &nothing[0], 0
		if f.Scale != nil {
			scale = &f.Scale[done]
		}
		if f.Shift != nil {
			shift = &f.Shift[done]
		}
		if f.Residual != nil {
			residual, residualStride = &f.Residual[done], f.Stride
		}
		l.finishRows(rows, &y[done], stride, &x[done], from, scale, shift, residual, residualStride, floor)
	}
	return done
}

// finishRow finishes what row i has from a column on.
func finishRow(y, x []float32, column, i int, f *Finish) {
	for j, v := range x[:len(y)] {
		if f.Scale != nil {
			v *= f.Scale[column+j]
		}
		if f.Shift != nil {
			v += f.Shift[column+j]
		}
		if f.Residual != nil {
			v += f.Residual[i*f.Stride+column+j]
		}
		if f.ReLU && v < 0 {
			v = 0
		}
		y[j] = v
	}
}

// ReLU makes what is below 0 zero. A NaN stays.
func ReLU(x []float32) {
	if vectors() {
		reluVectors(x)
		return
	}
	for i, v := range x {
		if v < 0 {
			x[i] = 0
		}
	}
}

// Sum adds up the elements.
func Sum(x []float32) float32 {
	if vectors() {
		return sumVectors(x)
	}
	var sum float32
	for _, v := range x {
		sum += v
	}
	return sum
}

// Dot is Σ a[i] b[i].
func Dot(a, b []float32) float32 {
	b = b[:len(a)]
	if vectors() {
		return dotVectors(a, b)
	}
	var sum float32
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// LayerNorm makes each row of y of that of x: less its mean, times r = 1/√(variance + eps), times
// scale, plus bias. y may be x. It gives what it found of each row.
func LayerNorm(y, x, scale, bias []float32, eps float32, mean, r []float32) {
	n := len(scale)
	bias, r = bias[:n], r[:len(mean)]
	y, x = y[:len(mean)*n], x[:len(mean)*n]
	if vectors() && n > 0 && n%8 == 0 && len(mean) > 0 {
		layerNormVectors(y, x, scale, bias, eps, mean, r)
		return
	}
	for i := range mean {
		x, y := x[i*n:][:n], y[i*n:][:n]
		m := Sum(x) / float32(n)
		var squares float32
		for _, v := range x {
			squares += (v - m) * (v - m)
		}
		s := deviations(squares/float32(n), eps)
		for j, v := range x {
			y[j] = (v-m)*s*scale[j] + bias[j]
		}
		mean[i], r[i] = m, s
	}
}

// deviations is 1/√(variance + eps).
func deviations(variance, eps float32) float32 {
	return float32(1 / math.Sqrt(float64(variance+eps)))
}

// Of e^x: x is taken as at least least and at most most. e^x = 2^n e^r with n = round(x / log 2),
// so that |r| ≤ log 2 / 2, where Taylor's series up to r⁶ / 6! is off by 1.2e-7 at most. Adding
// 1.5·2²³ leaves n in the last bits of a float32.
const (
	round       = 3 << 22
	high, low   = 0.693359375, -2.12194440e-4 // log 2 in two parts, so that n high is exact
	least, most = -87, 88
)

// plainExp is Exp in one loop: a call for each element would take as long as the rest.
func plainExp(values []float32, scale, shift float32) {
	for i, x := range values {
		x = scale*x + shift
		if x < least {
			x = least
		}
		if x > most {
			x = most
		}
		shifted := x*math.Log2E + round
		n := shifted - round
		r := x - n*high - n*low
		e := 1 + r*(1+r*(1./2+r*(1./6+r*(1./24+r*(1./120+r*(1./720))))))
		values[i] = e * math.Float32frombits((math.Float32bits(shifted)+127)<<23)
	}
}

// Exp replaces every x by e^(scale x + shift), within three units of its last place where the
// exponent is in -87…88; further out it stays what it is there.
func Exp(x []float32, scale, shift float32) {
	if vectors() {
		expVectors(x, scale, shift)
		return
	}
	plainExp(x, scale, shift)
}

// Log replaces every x by its natural logarithm, within two units of its last place.
func Log(x []float32) {
	if moreVectors() {
		logVectors(x)
		return
	}
	for i, v := range x {
		x[i] = float32(math.Log(float64(v)))
	}
}

// LogLikelihood makes every y[i] label log q + (1 - label) log(1 - q). y may be q.
func LogLikelihood(y, q, label []float32) {
	q, label = q[:len(y)], label[:len(y)]
	if moreVectors() {
		logLikelihoodVectors(y, q, label)
		return
	}
	for i, v := range q {
		y[i] = label[i]*float32(math.Log(float64(v))) + (1-label[i])*float32(math.Log(float64(1-v)))
	}
}

// Sigmoid replaces every x by 1 / (1 + e^-x).
func Sigmoid(x []float32) {
	if vectors() {
		sigmoidVectors(x)
		return
	}
	plainExp(x, -1, 0)
	for i, e := range x {
		x[i] = 1 / (1 + e)
	}
}

// Of Φ(-|x|), the area under the normal density: formula 7.1.26 of Abramowitz and Stegun, whose
// error is below 1e-7.
const (
	tailT  = 0.3275911 / math.Sqrt2
	tail1  = 0.254829592
	tail2  = -0.284496736
	tail3  = 1.421413741
	tail4  = -1.453152027
	tail5  = 1.061405429
	normal = 0.3989422804014327 // 1/√(2π)
)

// block is how many elements plain Go computes in steps.
const block = 64

// plainPhi gives Φ(x), and e^(-x²/2), of up to a block.
func plainPhi(x []float32, phi, bell *[block]float32) {
	b, p := bell[:len(x)], phi[:len(x)]
	for i, v := range x {
		b[i] = -v * v / 2
	}
	plainExp(b, 1, 0)
	for i, v := range x {
		away := v
		if v < 0 {
			away = -v
		}
		t := 1 / (1 + tailT*away)
		tail := 0.5 * b[i] * t * (tail1 + t*(tail2+t*(tail3+t*(tail4+t*tail5))))
		if v > 0 {
			tail = 1 - tail
		}
		p[i] = tail
	}
}

// GELU replaces every x by x Φ(x).
func GELU(x []float32) {
	if vectors() {
		geluVectors(x)
		return
	}
	var phi, bell [block]float32
	for ; len(x) > 0; x = x[min(block, len(x)):] {
		now := x[:min(block, len(x))]
		plainPhi(now, &phi, &bell)
		for i := range now {
			now[i] *= phi[i]
		}
	}
}

// AddGELUGradient adds to dx what GELU's gradient makes of dy: dy (Φ(x) + x φ(x)).
func AddGELUGradient(dx, dy, x []float32) {
	dy, x = dy[:len(dx)], x[:len(dx)]
	if vectors() {
		addGELUGradientVectors(dx, dy, x)
		return
	}
	var phi, bell [block]float32
	for at := 0; at < len(x); at += block {
		now := x[at:min(at+block, len(x))]
		plainPhi(now, &phi, &bell)
		for i, v := range now {
			dx[at+i] += dy[at+i] * (phi[i] + v*normal*bell[i])
		}
	}
}

// AddWhere adds x to y where a place is the one given.
func AddWhere(y, x, places []float32, place float32) {
	x, places = x[:len(y)], places[:len(y)]
	if moreVectors() {
		addWhereVectors(y, x, places, place)
		return
	}
	for i, v := range x {
		if places[i] == place {
			y[i] += v
		}
	}
}
