//go:build goexperiment.simd && amd64

package vector

import (
	"math"
	"simd/archsimd"
)

// constants have every number in all lanes: to spread one takes three instructions.
var constants = struct {
	least, most, log2e, round, high, low, e6, e5, e4, e3, e2, one                [8]float32
	smallest, shift, shifted, logHigh, logLow, lessHalf, infinite, nan, rootHalf [8]float32
	tailT, tail1, tail2, tail3, tail4, tail5                                     [8]float32
}{
	least: eachLane(least), most: eachLane(most), log2e: eachLane(math.Log2E), round: eachLane(round), high: eachLane(-high), low: eachLane(-low),
	e6: eachLane(1. / 720), e5: eachLane(1. / 120), e4: eachLane(1. / 24), e3: eachLane(1. / 6), e2: eachLane(1. / 2), one: eachLane(1),
	smallest: eachLane(smallest), shift: eachLane(0x1p24), shifted: eachLane(24), logHigh: eachLane(high), logLow: eachLane(low), lessHalf: eachLane(-.5),
	infinite: eachLane(float32(math.Inf(1))), nan: eachLane(float32(math.NaN())), rootHalf: eachLane(math.Float32frombits(rootHalf)),
	tailT: eachLane(tailT), tail1: eachLane(tail1), tail2: eachLane(tail2), tail3: eachLane(tail3), tail4: eachLane(tail4), tail5: eachLane(tail5),
}

func eachLane(v float32) (x [8]float32) {
	for i := range x {
		x[i] = v
	}
	return x
}

// expOf is e^x. A NaN stays: with a NaN Min and Max return the second argument.
func expOf(x eight) eight {
	c := &constants
	x = lanes(&c.most).Min(lanes(&c.least).Max(x))
	shifted := x.MulAdd(lanes(&c.log2e), lanes(&c.round))
	n := shifted.Sub(lanes(&c.round))
	r := n.MulAdd(lanes(&c.low), n.MulAdd(lanes(&c.high), x))
	e := r.MulAdd(lanes(&c.e6), lanes(&c.e5))
	e = r.MulAdd(e, lanes(&c.e4))
	e = r.MulAdd(e, lanes(&c.e3))
	e = r.MulAdd(e, lanes(&c.e2))
	e = r.MulAdd(e, lanes(&c.one))
	e = r.MulAdd(e, lanes(&c.one))
	power := shifted.AsInt32x8().Add(archsimd.BroadcastInt32x8(127)).ShiftAllLeft(23)
	return e.Mul(power.AsFloat32x8())
}

func lanes(x *[8]float32) eight { return archsimd.LoadFloat32x8(x) }

// Numbers for log x: x = 2^n (1 + f) with 1 + f in √½…√2, and the polynomial of Cephes' logf
// for f.
const (
	rootHalf = 0x3f3504f3 // √½, its bits
	smallest = 0x1p-126   // smaller numbers are subnormal
)

var logSeries = [...][8]float32{
	eachLane(7.0376836292e-2), eachLane(-1.1514610310e-1), eachLane(1.1676998740e-1), eachLane(-1.2420140846e-1), eachLane(1.4249322787e-1),
	eachLane(-1.6668057665e-1), eachLane(2.0000714765e-1), eachLane(-2.4999993993e-1), eachLane(3.3333331174e-1),
}

// logOf is log x.
func logOf(x eight) eight {
	c := &constants
	subnormal := x.Less(lanes(&c.smallest))
	f, power := parts(x.Mul(lanes(&c.shift)).Merge(x, subnormal))
	power = power.Sub(lanes(&c.shifted)).Merge(power, subnormal)
	return logAtEnds(x, logOfParts(f, power))
}

// logOfNormal is log x for finite x from `smallest` on.
func logOfNormal(x eight) eight { return logOfParts(parts(x)) }

// parts are the f and n of x = 2^n (1 + f).
func parts(x eight) (f, power eight) {
	c, bits := &constants, x.AsInt32x8()
	n := bits.Sub(lanes(&c.rootHalf).AsInt32x8()).ShiftAllRight(23)
	return bits.Sub(n.ShiftAllLeft(23)).AsFloat32x8().Sub(lanes(&c.one)), n.ConvertToFloat32()
}

func logOfParts(f, power eight) eight {
	c, p := &constants, lanes(&logSeries[0])
	p = f.MulAdd(p, lanes(&logSeries[1]))
	p = f.MulAdd(p, lanes(&logSeries[2]))
	p = f.MulAdd(p, lanes(&logSeries[3]))
	p = f.MulAdd(p, lanes(&logSeries[4]))
	p = f.MulAdd(p, lanes(&logSeries[5]))
	p = f.MulAdd(p, lanes(&logSeries[6]))
	p = f.MulAdd(p, lanes(&logSeries[7]))
	p = f.MulAdd(p, lanes(&logSeries[8]))
	squared := f.Mul(f)
	p = power.MulAdd(lanes(&c.logLow), p.Mul(f).Mul(squared))
	p = squared.MulAdd(lanes(&c.lessHalf), p).Add(f)
	return power.MulAdd(lanes(&c.logHigh), p)
}

// logAtEnds is y = log x with the right values for x ≤ 0, infinity and NaN.
func logAtEnds(x, y eight) eight {
	var zero eight
	c := &constants
	infinite := lanes(&c.infinite)
	y = y.Merge(x, x.Less(infinite))
	y = zero.Sub(infinite).Merge(y, x.Equal(zero))
	return lanes(&c.nan).Merge(y, x.Less(zero))
}

// phiOf is Φ(x), and e^(-x²/2).
func phiOf(x eight) (phi, bell eight) {
	c := &constants
	var zero eight
	bell = expOf(x.Mul(x).Mul(lanes(&c.lessHalf)))
	away := x.Max(zero.Sub(x))
	t := lanes(&c.one).Div(away.MulAdd(lanes(&c.tailT), lanes(&c.one)))
	p := t.MulAdd(lanes(&c.tail5), lanes(&c.tail4))
	p = t.MulAdd(p, lanes(&c.tail3))
	p = t.MulAdd(p, lanes(&c.tail2))
	p = t.MulAdd(p, lanes(&c.tail1))
	p = p.Mul(t).Mul(bell).Mul(lanes(&c.e2))
	return lanes(&c.one).Sub(p).Merge(p, x.Greater(zero)), bell
}
