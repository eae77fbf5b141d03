package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// elementConstants are the numbers of elements.go, and those of Cephes' logf: x = 2^n (1 + f) with
// 1 + f in √½…√2, and a polynomial for f.
func elementConstants() constants {
	nan, infinite := float32(math.NaN()), float32(math.Inf(1))
	numbers := []number{
		float("zero", 0), float("one", 1), float("half", .5), float("lessHalf", -.5), float("six", 6), float("nan", nan),
		float("infinite", infinite), float("negative", -infinite), float("most", 88), float("normal", 0.3989422804014327),
		float("tailT", 0.3275911/math.Sqrt2), number{"rootHalf", 0x3f3504f3}, float("smallest", 0x1p-126), float("shift", 0x1p24),
		float("shifted", 24), float("logHigh", 0.693359375), float("logLow", -2.12194440e-4),
	}
	for i, v := range []float32{7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
		-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1} {
		numbers = append(numbers, float(fmt.Sprint("log", i), v))
	}
	for i, v := range []float32{1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592} {
		numbers = append(numbers, float(fmt.Sprint("tail", i), v))
	}
	return newConstants("element_", numbers...)
}

// polynomial is the polynomial of x with constants name0, name1, …, the highest power's first.
func polynomial(x Op, name string, count int) Op {
	p := of(name + "0")
	for i := 1; i < count; i++ {
		p = mulAdd(x, p, of(fmt.Sprint(name, i)))
	}
	return p
}

// log is log x.
func log(x Op) Op {
	subnormal := less(x, of("smallest"))
	bits := where(subnormal, mul(x, of("shift")), x)
	n, power := shift(VPSRAD, subIntegers(bits, of("rootHalf"))), YMM()
	VCVTDQ2PS(n, power)
	f := sub(subIntegers(bits, shift(VPSLLD, n)), of("one"))
	n = where(subnormal, sub(power, of("shifted")), power)
	squared := mul(f, f)
	y := mulAdd(n, of("logLow"), mul(mul(polynomial(f, "log", 9), f), squared))
	y = mulAdd(n, of("logHigh"), add(mulAdd(squared, of("lessHalf"), y), f))
	y = where(less(x, of("infinite")), y, x)
	y = where(equal(x, of("zero")), of("negative"), y)
	return where(less(x, of("zero")), of("nan"), y)
}

// elements writes the functions of elements.go and training.go, eight elements at a time. Wider
// vectors gain little, because memory takes most of the time.
func (l *level) elements(powers, c constants) {
	exp := func(x Op) Op {
		e := minimum(of("most"), x)
		l.exp(powers, e)
		return e
	}
	phi := func(x Op) (phi, bell Op) {
		bell = exp(mul(mul(x, x), of("lessHalf")))
		t := div(of("one"), mulAdd(maximum(x, sub(of("zero"), x)), of("tailT"), of("one")))
		tail := mul(mul(mul(polynomial(t, "tail", 5), t), bell), of("half"))
		return where(less(of("zero"), x), sub(of("one"), tail), tail), bell
	}
	each := func(name, parameters string, do func() Op) { each(c, name, parameters, do) }
	fold := func(name, parameters string, do func(sum Op) Op) { fold(c, name, parameters, do) }

	each("add", "y, x []float32", func() Op { return add(of("y"), of("x")) })
	each("multiply", "y, x []float32", func() Op { return mul(of("y"), of("x")) })
	each("addScaled", "y, x []float32, s float32", func() Op { return mulAdd(of("s"), of("x"), of("y")) })
	each("addProducts", "y, a, b []float32", func() Op { return mulAdd(of("a"), of("b"), of("y")) })
	each("addSquares", "squares, x, mean []float32", func() Op {
		d := sub(of("x"), of("mean"))
		return mulAdd(d, d, of("squares"))
	})
	fold("sum", "x []float32", func(sum Op) Op { return add(sum, of("x")) })
	fold("dot", "a, b []float32", func(sum Op) Op { return mulAdd(of("a"), of("b"), sum) })

	exceeds := func(v, than Op) Op { // or is NaN
		m := YMM()
		VORPS(unequal(v, v), less(than, v), m)
		return m
	}
	each("takeLarger", "y, x []float32", func() Op {
		y, x := of("y"), of("x")
		return where(exceeds(x, y), x, y)
	})
	each("placeLarger", "y, places, x []float32, place float32", func() Op {
		y, x := of("y"), of("x")
		larger := exceeds(x, y)
		put("places", where(larger, of("place"), of("places")))
		return where(larger, x, y)
	})
	each("addWhere", "y, x, places []float32, place float32", func() Op {
		return add(of("y"), where(equal(of("places"), of("place")), of("x"), of("zero")))
	})

	each("relu", "x []float32", func() Op {
		x := of("x")
		return where(less(x, of("zero")), of("zero"), x)
	})
	each("relu6", "x []float32", func() Op { return minimum(of("six"), maximum(of("zero"), of("x"))) })
	each("exp", "x []float32, scale, shift float32", func() Op { return exp(mulAdd(of("scale"), of("x"), of("shift"))) })
	each("sigmoid", "x []float32", func() Op {
		return div(of("one"), add(of("one"), exp(sub(of("zero"), of("x")))))
	})
	each("gelu", "x []float32", func() Op {
		x := of("x")
		p, _ := phi(x)
		return mul(x, p)
	})
	each("log", "x []float32", func() Op { return log(of("x")) })
	each("logLikelihood", "y, q, label []float32", func() Op {
		q, label := of("q"), of("label")
		marked := mul(label, log(q))
		return sub(marked, mul(sub(label, of("one")), log(sub(of("one"), q))))
	})
	each("addGELUGradient", "dx, dy, x []float32", func() Op {
		x := of("x")
		p, bell := phi(x)
		return mulAdd(mulAdd(mul(x, of("normal")), bell, p), of("dy"), of("dx"))
	})
	each("addReLUGradient", "dx, dy, x []float32", func() Op {
		return add(of("dx"), where(less(of("zero"), of("x")), of("dy"), of("zero")))
	})

	clamped := func() Op { return minimum(of("most"), maximum(of("least"), of("q"))) }
	each("addCrossEntropyGradient", "dx, q, label, dy []float32, least, most float32", func() Op {
		q := clamped()
		slope := div(sub(q, of("label")), mul(q, sub(of("one"), q)))
		return mulAdd(slope, of("dy"), of("dx"))
	})
	each("adam", "x, g, m, v, average []float32, factor, rate, correction1, correction2, averaging, beta1, beta2, epsilon, decay float32", func() Op {
		rest := func(share string) Op { return sub(of("one"), of(share)) }
		g := mul(of("g"), of("factor"))
		m := mulAdd(of("m"), of("beta1"), mul(g, rest("beta1")))
		put("m", m)
		v := mulAdd(of("v"), of("beta2"), mul(mul(g, g), rest("beta2")))
		put("v", v)
		root := YMM()
		VSQRTPS(mul(v, of("correction2")), root)
		step, x := div(mul(m, of("correction1")), add(root, of("epsilon"))), of("x")
		x = sub(x, mul(mulAdd(x, of("decay"), step), of("rate")))
		put("average", mulAdd(of("average"), of("averaging"), mul(x, rest("averaging"))))
		return x
	})

	xHat := func() Op { return mul(sub(of("x"), of("mean")), of("r")) }
	normalised := func() Op { return mulAdd(xHat(), of("scale"), of("bias")) }
	weighted := func() Op { return mul(of("dy"), of("scale")) }
	fold("sumWeighted", "dy, scale []float32", func(sum Op) Op { return add(sum, weighted()) })
	fold("sumWeightedX", "x, dy, scale []float32, mean float32", func(sum Op) Op {
		return mulAdd(sub(of("x"), of("mean")), weighted(), sum)
	})
	each("addLayerNormGradientByX", "dx, dy, x, scale []float32, mean, r, less, lessX float32", func() Op {
		d := sub(sub(weighted(), of("less")), mul(sub(of("x"), of("mean")), of("lessX")))
		return mulAdd(d, of("r"), of("dx"))
	})
	addGradients := func(name, parameters string, passed func(x Op) Op) {
		each(name, parameters, func() Op {
			x := xHat()
			dy := passed(x)
			put("sums", add(of("sums"), dy))
			return mulAdd(x, dy, of("products"))
		})
	}
	addGradients("addLayerNormGradients", "products, sums, dy, x []float32, mean, r float32",
		func(Op) Op { return of("dy") })

	each("normalise", "y, x; mean, r, scale, bias []float32, floor float32",
		func() Op { return maximum(of("floor"), normalised()) })
	passed := func(x Op) Op {
		return where(atMost(mulAdd(x, of("scale"), of("bias")), of("floor")), of("zero"), of("dy"))
	}
	addGradients("addNormalisationGradients",
		"products, sums, x, dy; mean, r, scale, bias []float32, floor float32", passed)
	each("addNormalisationGradientByX",
		"dx, x, dy; mean, r, scale, bias, products, sums []float32, floor, less float32", func() Op {
			x := xHat()
			g := mulAdd(mulAdd(x, of("products"), of("sums")), of("less"), passed(x))
			return mulAdd(g, mul(of("scale"), of("r")), of("dx"))
		})
}
