package vector

import (
	"slices"
	"unsafe"
)

// Winograd's convolution F(4×4, 3×3) (Lavin and Gray, 2016) computes four by four sums of nine
// products each with 36 products instead of 144. These are its transforms along one axis: input
// takes six pixels to six, weights three taps to six, and sums six products to four sums. The points
// are 0, ±3/4 and ±3/2, which halve the error of Lavin's 0, ±1 and ±2.
type Winograd int

const (
	WinogradInput Winograd = iota
	WinogradWeights
	WinogradSums
)

// winograd has functions for multiples of lanes elements.
type winograd struct {
	lanes      int
	transforms [3]transform
}

type transform = func(y *float32, yStep, yNext int, x *float32, xStep, xNext, n, count int)

// winogradSizes are how many elements each transform takes and gives.
var winogradSizes = [3][2]int{{6, 6}, {3, 6}, {6, 4}}

// SuitsWinograd says whether channels fill the vectors of the transforms, at any level.
func SuitsWinograd(inputs, outputs int) bool { return inputs%8 == 0 && outputs%16 == 0 }

// Steps are the distances, in elements, between what one transform takes or gives, and from a block
// to the next one.
type Steps struct{ Step, Next int }

// Transform transforms n elements, a multiple of 8, in each of count blocks:
// element i of place j of block b is x[b*Next + j*Step + i], and of the results y likewise.
func (w Winograd) Transform(y []float32, to Steps, x []float32, from Steps, n, count int) {
	if count == 0 {
		return
	}
	sizes := winogradSizes[w]
	_ = x[(sizes[0]-1)*from.Step+(count-1)*from.Next+n-1] // vectors check no bounds
	_ = y[(sizes[1]-1)*to.Step+(count-1)*to.Next+n-1]
	levels := Current().winograd
	suits := slices.IndexFunc(levels, func(l winograd) bool { return n%l.lanes == 0 })
	levels[suits].transforms[w](&y[0], to.Step, to.Next, &x[0], from.Step, from.Next, n, count)
}

// PackWinograd sets a panel. m has 36 right factors (K/36, N), one below the other: the weights w (3,
// 3, K/36, N), transformed along both axes.
func (m *Matrix) PackWinograd(panel int, w []float32) {
	width, inputs := m.level.columns, m.k/36
	size, count := inputs*width, min(width, m.n-panel*width)
	half := make([]float32, 3*6*size) // (columns of taps, 6, inputs, width)
	for column := range 3 {
		WinogradWeights.Transform(half[column*6*size:], Steps{size, width}, w[column*inputs*m.n+panel*width:],
			Steps{3 * inputs * m.n, m.n}, count, inputs)
	}
	for row := range 6 {
		WinogradWeights.Transform(m.data[(panel*36+row*6)*size:], Steps{size, 0}, half[row*size:], Steps{6 * size, 0}, size, 1)
	}
}

// PackWinogradColumns is PackWinograd for 18 factors: six for each row of taps, transformed along
// columns alone.
func (m *Matrix) PackWinogradColumns(panel int, w []float32) {
	width, inputs := m.level.columns, m.k/18
	size, count := inputs*width, min(width, m.n-panel*width)
	clear(m.data[panel*18*size:][:18*size])
	for row := range 3 {
		WinogradWeights.Transform(m.data[(panel*18+row)*size:], Steps{3 * size, width}, w[row*3*inputs*m.n+panel*width:],
			Steps{inputs * m.n, m.n}, count, inputs)
	}
}

// The transforms in plain Go, with the products and sums of asm/winograd.go.
const (
	pointA, pointB = 3. / 4, 3. / 2
	aa, bb         = pointA * pointA, pointB * pointB
	ofA, ofB       = 1 / (2 * aa * (aa - bb)), 1 / (2 * bb * (bb - aa))
)

func outer(x0, x2, x4 float32) float32 { return fused(x2, -aa-bb, fused(x0, aa*bb, x4)) }

var (
	plainInput = plainTransform(WinogradInput, func(x *[6]float32) [6]float32 {
		d, e := fused(x[2], -bb, x[4]), fused(x[1], -bb, x[3])
		f, g := fused(x[2], -aa, x[4]), fused(x[1], -aa, x[3])
		return [6]float32{outer(x[0], x[2], x[4]), fused(e, pointA, d), fused(e, -pointA, d),
			fused(g, pointB, f), fused(g, -pointB, f), outer(x[1], x[3], x[5])}
	})
	plainWeights = plainTransform(WinogradWeights, func(x *[6]float32) [6]float32 {
		d, e := fused(x[2], ofA*aa, x[0]*ofA), x[1]*(ofA*pointA)
		f, g := fused(x[2], ofB*bb, x[0]*ofB), x[1]*(ofB*pointB)
		return [6]float32{x[0] * (1 / (aa * bb)), d + float32(e), d - float32(e), f + float32(g), f - float32(g), x[2]}
	})
	plainSums = plainTransform(WinogradSums, func(x *[6]float32) [6]float32 {
		d, e, f, g := x[1]+x[2], x[1]-x[2], x[3]+x[4], x[3]-x[4]
		return [6]float32{x[0] + d + f, fused(g, pointB, e*pointA), fused(f, bb, d*aa),
			fused(g, bb*pointB, fused(e, aa*pointA, x[5]))}
	})
)

func plainTransform(w Winograd, results func(x *[6]float32) [6]float32) transform {
	from, to := winogradSizes[w][0], winogradSizes[w][1]
	return func(y *float32, yStep, yNext int, x *float32, xStep, xNext, n, count int) {
		in := unsafe.Slice(x, (from-1)*xStep+(count-1)*xNext+n)
		out := unsafe.Slice(y, (to-1)*yStep+(count-1)*yNext+n)
		for i := range count * n {
			var taken [6]float32
			at, put := i/n*xNext+i%n, i/n*yNext+i%n
			for j := range from {
				taken[j] = in[at+j*xStep]
			}
			given := results(&taken)
			for j := range to {
				out[put+j*yStep] = given[j]
			}
		}
	}
}
