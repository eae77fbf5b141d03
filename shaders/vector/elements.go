package vector

import (
	"math"
	"unsafe"
)

// These functions work on the elements of slices of equal length. Vectors compute the last elements
// of a slice like the others, and so results do not depend on where it is cut. The reference
// computes some of them in float64, always in plain Go.

// Float is float32, which vectors compute, or float64.
type Float interface{ float32 | float64 }

// Singles is x if it is of float32, and otherwise nil. It costs nothing: the compiler knows the
// size.
func Singles[F Float](x []F) []float32 {
	if unsafe.Sizeof(F(0)) != unsafe.Sizeof(float32(0)) {
		return nil
	}
	return *(*[]float32)(unsafe.Pointer(&x))
}

// Add adds x to y.
func Add[F Float](y, x []F) {
	x = x[:len(y)]
	if single := Singles(y); single != nil && vectors() {
		addVectors(single, Singles(x))
		return
	}
	for i, v := range x {
		y[i] += v
	}
}

// AddScaled adds s x to y.
func AddScaled[F Float](y, x []F, s F) {
	x = x[:len(y)]
	if single := Singles(y); single != nil && vectors() {
		addScaledVectors(single, Singles(x), float32(s))
		return
	}
	for i, v := range x {
		y[i] = onceRounded(s, v, y[i])
	}
}

// AddProducts adds a[i] b[i] to every y[i].
func AddProducts[F Float](y, a, b []F) {
	a, b = a[:len(y)], b[:len(y)]
	if single := Singles(y); single != nil && vectors() {
		addProductsVectors(single, Singles(a), Singles(b))
		return
	}
	for i, v := range a {
		y[i] = onceRounded(v, b[i], y[i])
	}
}

// onceRounded is a b + c; of float32 as vectors compute it.
func onceRounded[F Float](a, b, c F) F {
	if unsafe.Sizeof(a) == unsafe.Sizeof(float32(0)) {
		return F(fused(float32(a), float32(b), float32(c)))
	}
	return a*b + c
}

// Filter sets y[i] to Σ_t window[t] x[i + t*stride]. It reads len(y) + (len(window)-1)*stride
// elements of x.
func Filter(y, x []float32, stride int, window []float32) {
	x = x[:len(y)+(len(window)-1)*stride]
	if moreVectors() {
		filterVectors(y, x, stride, window)
		return
	}
	clear(y)
	for t, w := range window {
		AddScaled(y, x[t*stride:], w)
	}
}

// Multiply multiplies y by x.
func Multiply[F Float](y, x []F) {
	x = x[:len(y)]
	if single := Singles(y); single != nil && moreVectors() {
		multiplyVectors(single, Singles(x))
		return
	}
	for i, v := range x {
		y[i] *= v
	}
}

// AddSquares adds (x − mean)² to squares. Each element has its own mean.
func AddSquares[F Float](squares, x, mean []F) {
	x, mean = x[:len(squares)], mean[:len(squares)]
	if single := Singles(squares); single != nil && moreVectors() {
		addSquaresVectors(single, Singles(x), Singles(mean))
		return
	}
	for i, v := range x {
		squares[i] += (v - mean[i]) * (v - mean[i])
	}
}

// TakeLarger sets every y[i] to the larger of y[i] and x[i]. A NaN counts as larger than any
// number.
func TakeLarger[F Float](y, x []F) {
	x = x[:len(y)]
	if single := Singles(y); single != nil && vectors() {
		takeLargerVectors(single, Singles(x))
		return
	}
	for i, v := range x {
		if v > y[i] || v != v {
			y[i] = v
		}
	}
}

// PlaceLarger is TakeLarger. Where it takes x, it also sets places to place.
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

// Finish describes how sums are finished before they are written.
type Finish struct {
	Scale, Shift []float32 // by column; nil: 1 and 0. Scale needs Shift.
	Residual     []float32 // rows that are added next; may be nil
	Stride       int       // of the residual
	ReLU         bool      // at last values below 0 become 0; a NaN stays
}

// FinishRows finishes rows of sums x and writes them to y. y may be x, with an equal or smaller
// stride.
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
	moves := &y[0] == &x[0] && stride != from // a row would overwrite the row before it
	done := 0
	if vectors() && !(moves && columns%8 > 0) {
		done = finishRowsVectors(rows, columns, y, stride, x, from, f, moves)
	}
	for i := 0; i < rows && done < columns; i++ {
		finishRow(y[i*stride+done:][:columns-done], x[i*from+done:], done, i, f)
	}
}

// rowsFinished is FinishRows for some columns. No argument is nil.
type rowsFinished struct {
	columns int
	finish  func(rows int, y *float32, stride int, x *float32, from int, scale, shift, residual *float32, residualStride int, floor float32)
}

// finishRow finishes row i from a column on.
func finishRow(y, x []float32, column, i int, f *Finish) {
	for j, v := range x[:len(y)] {
		switch {
		case f.Scale != nil:
			v = fused(v, f.Scale[column+j], f.Shift[column+j])
		case f.Shift != nil:
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

// ReLU sets elements below 0 to 0. A NaN stays.
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

// ReLU6 sets elements below 0 to 0 and those above 6 to 6. A NaN stays.
func ReLU6(x []float32) {
	if moreVectors() {
		relu6Vectors(x)
		return
	}
	clamp(x, 0, 6)
}

// Sum adds up the elements, of float32 in eight lanes.
func Sum[F Float](x []F) F {
	if single := Singles(x); single != nil {
		if vectors() {
			return F(sumVectors(single))
		}
		var s lanes
		for i, v := range single {
			s[i%8] += v
		}
		return F(s.together())
	}
	var sum F
	for _, v := range x {
		sum += v
	}
	return sum
}

// Dot is Σ a[i] b[i], of float32 in eight lanes.
func Dot[F Float](a, b []F) F {
	b = b[:len(a)]
	if single := Singles(a); single != nil {
		other := Singles(b)
		if vectors() {
			return F(dotVectors(single, other))
		}
		var s lanes
		for i, v := range single {
			s[i%8] = fused(v, other[i], s[i%8])
		}
		return F(s.together())
	}
	var sum F
	for i, v := range a {
		sum += v * b[i]
	}
	return sum
}

// lanes are sums of every eighth element, as vectors have them.
type lanes [8]float32

func (s *lanes) together() float32 {
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

// LayerNorm sets each row of y to (x − mean) r scale + bias with r = 1/√(variance + eps). y may
// be x. It returns mean and r of each row.
func LayerNorm[F Float](y, x, scale, bias []F, eps F, mean, r []F) {
	n := len(scale)
	bias, r = bias[:n], r[:len(mean)]
	y, x = y[:len(mean)*n], x[:len(mean)*n]
	if single := Singles(y); single != nil && vectors() && n > 0 && n%8 == 0 && len(mean) > 0 {
		layerNormVectors(single, Singles(x), Singles(scale), Singles(bias), float32(eps), Singles(mean), Singles(r))
		return
	}
	for i := range mean {
		x, y := x[i*n:][:n], y[i*n:][:n]
		m := Sum(x) / F(n)
		for j, v := range x {
			y[j] = v - m
		}
		s := 1 / F(math.Sqrt(float64(Dot(y, y)/F(n)+eps)))
		for j, d := range y {
			y[j] = onceRounded(d*s, scale[j], bias[j])
		}
		mean[i], r[i] = m, s
	}
}

// Numbers for e^x. x is clamped to least … most. e^x = 2^n e^r with n = round(x / log 2) and
// therefore |r| ≤ log 2 / 2. For such r, Taylor's series up to r⁶ / 6! is off by at most 1.2e-7.
// Adding 1.5·2²³ leaves n in the last bits of a float32.
const (
	round       = 3 << 22
	high, low   = 0.693359375, -2.12194440e-4 // log 2 in two parts: n high is exact
	least, most = -87, 88
)

// plainExp is Exp in one loop. A call for each element would double the time.
func plainExp(values []float32, scale, shift float32) {
	for i, x := range values {
		x = fused(scale, x, shift)
		if x < least {
			x = least
		}
		if x > most {
			x = most
		}
		shifted := fused(x, math.Log2E, round)
		n := shifted - round
		r := fused(n, -low, fused(n, -high, x))
		e := fused(fused(fused(1./720, r, 1./120), r, 1./24), r, 1./6)
		e = fused(fused(fused(e, r, 1./2), r, 1), r, 1)
		values[i] = e * math.Float32frombits((math.Float32bits(shifted)+127)<<23)
	}
}

// Exp replaces every x by e^(scale x + shift), within three units of its last place. It clamps the
// exponent to -87…88.
func Exp(x []float32, scale, shift float32) {
	if vectors() {
		expVectors(x, scale, shift)
		return
	}
	plainExp(x, scale, shift)
}

// Log replaces every x by its natural logarithm, within two units of its last place.
func Log[F Float](x []F) {
	if single := Singles(x); single != nil && moreVectors() {
		logVectors(single)
		return
	}
	for i, v := range x {
		x[i] = logarithm(v)
	}
}

// logFactors are those of Cephes' logf, the highest power's first.
var logFactors = [...]float32{7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
	-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1}

// logarithm is log v; of float32 as vectors compute it: v = 2^n (1 + f) with 1 + f in √½…√2.
func logarithm[F Float](v F) F {
	x := float32(v)
	switch {
	case unsafe.Sizeof(v) != unsafe.Sizeof(x) || x != x || x <= 0 || x > math.MaxFloat32:
		return F(math.Log(float64(v)))
	case x < 0x1p-126:
		return F(logOf(x*0x1p24, -24))
	}
	return F(logOf(x, 0))
}

// logOf is log(2^n x), x normal.
func logOf(x, n float32) float32 {
	const rootHalf = 0x3f3504f3
	power := int32(math.Float32bits(x)-rootHalf) >> 23
	n += float32(power)
	f := math.Float32frombits(math.Float32bits(x)-uint32(power)<<23) - 1
	p := logFactors[0]
	for _, c := range logFactors[1:] {
		p = fused(f, p, c)
	}
	squared := f * f
	return fused(n, high, fused(squared, -.5, fused(n, low, p*f*squared))+f)
}

// LogLikelihood sets every y[i] to label log q + (1 - label) log(1 - q). y may be q.
func LogLikelihood[F Float](y, q, label []F) {
	q, label = q[:len(y)], label[:len(y)]
	if single := Singles(y); single != nil && moreVectors() {
		logLikelihoodVectors(single, Singles(q), Singles(label))
		return
	}
	for i, v := range q {
		y[i] = F(label[i]*logarithm(v)) - F((label[i]-1)*logarithm(1-v))
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

// Numbers for Φ(-|x|), the area under the normal density: formula 7.1.26 of Abramowitz and Stegun,
// with an error below 1e-7.
const (
	tailT  = 0.3275911 / math.Sqrt2
	tail1  = 0.254829592
	tail2  = -0.284496736
	tail3  = 1.421413741
	tail4  = -1.453152027
	tail5  = 1.061405429
	normal = 0.3989422804014327 // 1/√(2π)
)

// block is the number of elements that plain Go computes at a time.
const block = 64

// plainPhi computes Φ(x) and e^(-x²/2) of up to a block.
func plainPhi(x []float32, phi, bell *[block]float32) {
	b, p := bell[:len(x)], phi[:len(x)]
	for i, v := range x {
		b[i] = v * v * -.5
	}
	plainExp(b, 1, 0)
	for i, v := range x {
		away := v
		if v < 0 {
			away = -v
		}
		t := 1 / fused(away, tailT, 1)
		tail := fused(t, fused(t, fused(t, fused(t, tail5, tail4), tail3), tail2), tail1) * t * b[i] * .5
		if v > 0 {
			tail = 1 - float32(tail)
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

// AddGELUGradient adds GELU's gradient to dx: dy (Φ(x) + x φ(x)).
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
			dx[at+i] = fused(fused(v*normal, bell[i], phi[i]), dy[at+i], dx[at+i])
		}
	}
}

// AddWhere adds x to y where places equals place.
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
