package vector

import (
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/cpu"
)

func levels() (all []*Level) {
	x := &cpu.X86
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
		if x.HasAVX512VNNI {
			avx512.words = bytes
		}
		all = append(all, avx512)
	}
	if x.HasAVX2 && x.HasFMA {
		all = append(all, avx2)
	}
	return all
}

var (
	avx512 = &Level{Name: "AVX-512", Exact: true, rows: 12, columns: 32, most: 12, terms: terms, words: shorts,
		expColumns: expColumnsAVX512, expGradientColumns: expGradientColumnsAVX512, expGradientRows: expGradientRowsAVX512,
		maxOfColumns: maxOfColumnsAVX512, transpose: blocks,
		finishRows: []rowsFinished{{32, finishRowsAVX512x2}, {16, finishRowsAVX512x1}, {8, finishRowsAVX2x1}},
		windows:    []windowsSummed{{16, windowsAVX512}, {8, windowsAVX2}},
		attend:     map[int]attended{4: attendAVX512x4},
		winograd: []winograd{{16, [3]transform{winogradInputAVX512, winogradWeightsAVX512, winogradSumsAVX512}},
			{8, [3]transform{winogradInputAVX2, winogradWeightsAVX2, winogradSumsAVX2}}},
		softmax: softmaxAVX512,
		product: assembly(productAVX512x1, productAVX512x2, productAVX512x3, productAVX512x4, productAVX512x5, productAVX512x6,
			productAVX512x7, productAVX512x8, productAVX512x9, productAVX512x10, productAVX512x11, productAVX512x12)}
	avx2 = &Level{Name: "AVX2", Exact: true, rows: 6, columns: 16, most: 6, terms: terms, words: shorts,
		expColumns: expColumnsAVX2, expGradientColumns: expGradientColumnsAVX2, expGradientRows: expGradientRowsAVX2,
		maxOfColumns: maxOfColumnsAVX2, transpose: blocks,
		finishRows: []rowsFinished{{16, finishRowsAVX2x2}, {8, finishRowsAVX2x1}},
		windows:    []windowsSummed{{8, windowsAVX2}},
		winograd:   []winograd{{8, [3]transform{winogradInputAVX2, winogradWeightsAVX2, winogradSumsAVX2}}},
		softmax:    softmaxAVX2,
		product:    assembly(productAVX2x1, productAVX2x2, productAVX2x3, productAVX2x4, productAVX2x5, productAVX2x6)}
)

// moreVectors is vectors for functions that pages do not need.
func moreVectors() bool { return vectors() }

// layerNormVectors is LayerNorm for rows of a multiple of eight.
func layerNormVectors(y, x, scale, bias []float32, eps float32, mean, r []float32) {
	layerNormRows(&y[0], &x[0], &scale[0], &bias[0], len(mean), len(scale), eps, &mean[0], &r[0])
}

// These replace the nil slices of a Finish. The sum with −0 is the other summand, 0 or −0 too.
var (
	noScale = slices.Repeat([]float32{1}, MaxColumns)
	nothing = slices.Repeat([]float32{float32(math.Copysign(0, -1))}, MaxColumns)
)

// finishRowsVectors finishes the columns that fill vectors, and returns their number. moves means
// that rows of y begin where other rows of x are.
func finishRowsVectors(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish, moves bool) (done int) {
	floor := float32(math.Inf(-1))
	if f.ReLU {
		floor = 0
	}
	turns := 1
	if moves { // row by row
		turns, rows = rows, 1
	}
	for row := range turns {
		done = 0
		for _, panel := range Current().finishRows {
			for ; done+panel.columns <= columns; done += panel.columns {
				scale, shift, residual, residualStride := &noScale[0], &nothing[0], &nothing[0], 0
				if f.Scale != nil {
					scale = &f.Scale[done]
				}
				if f.Shift != nil {
					shift = &f.Shift[done]
				}
				if f.Residual != nil {
					residual, residualStride = &f.Residual[row*f.Stride+done], f.Stride
				}
				panel.finish(rows, &y[row*stride+done], stride, &x[row*from+done], from, scale, shift, residual, residualStride, floor)
			}
		}
	}
	return done
}

var blocks = []blocksTransposed{{8, 4, transpose8x4}, {4, 8, transpose4x8}}

// assembly returns a product that calls the one for its number of rows.
func assembly(
	products ...func(k int, a *float32, row, step int, b, c *float32, stride int, add bool),
) func(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
	return func(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
		products[rows-1](k, &a[0], row, step, &b[0], &c[0], stride, add)
	}
}

// bytes needs AVX-512's instructions for neural networks, and shorts AVX2.
var (
	bytes = assemblyWords(words{inputs: 4, columns: 32, zero: 128}, 16, wordsAVX512, floatsAVX512, quantizeAVX512,
		func(p *finishing, fixed bool) int {
			done := p.finish(16, fixed, finishFixedAVX512, finishFloatsAVX512)
			if done == p.columns {
				return done
			}
			p.skip(done, fixed)
			return done + p.finish(8, fixed, finishFixedAVX2, finishFloatsAVX2)
		},
		dotsAVX512x1, dotsAVX512x2, dotsAVX512x3, dotsAVX512x4, dotsAVX512x5, dotsAVX512x6,
		dotsAVX512x7, dotsAVX512x8, dotsAVX512x9, dotsAVX512x10, dotsAVX512x11, dotsAVX512x12)
	shorts = assemblyWords(words{inputs: 2, columns: 16}, 8, wordsAVX2, floatsAVX2, quantizeAVX2,
		func(p *finishing, fixed bool) int { return p.finish(8, fixed, finishFixedAVX2, finishFloatsAVX2) },
		dotsAVX2x1, dotsAVX2x2, dotsAVX2x3, dotsAVX2x4, dotsAVX2x5, dotsAVX2x6)
)

// assemblyWords completes w with assembly for vectors of lanes columns.
func assemblyWords(
	w words, lanes int, toWords func(to *byte, x *int8, n int), floats func(to *float32, x *int8, n int),
	quantize func(to *int8, x *float32, n int, factor float32), finish func(p *finishing, fixed bool) int, dots ...assembledDots,
) words {
	w.toWords = func(to []byte, x []int8) int {
		return inWholeVectors(lanes*w.inputs, len(x), func(n int) { toWords(&to[0], &x[0], n) })
	}
	w.floats = func(to []float32, x []int8) int {
		return inWholeVectors(lanes, len(x), func(n int) { floats(&to[0], &x[0], n) })
	}
	w.quantize = func(to []int8, x []float32, factor float32) int {
		return inWholeVectors(lanes, len(x), func(n int) { quantize(&to[0], &x[0], n, factor) })
	}
	w.finish, w.dots = finish, assemblyDots(w.columns, dots)
	return w
}

type assembledDots = func(k, parts, part int, a *byte, row int, b *byte, start, c *int32, stride int)

// assemblyDots computes line by line, in blocks of up to len(dots) rows.
func assemblyDots(columns int, dots []assembledDots) func(k int, l *Lines, x, b []byte, start, sums []int32) {
	return func(k int, l *Lines, x, b []byte, start, sums []int32) {
		for line := range l.Lines {
			for row := 0; row < l.Rows; row += len(dots) {
				rows := min(len(dots), l.Rows-row)
				dots[rows-1](k, l.Parts, l.Part, &x[line*l.Line+row*l.Row], l.Row, &b[0], &start[0], &sums[(line*l.Rows+row)*columns], columns)
			}
		}
	}
}

// finish finishes the columns that fill vectors, and returns their number.
func (p *finishing) finish(lanes int, fixed bool, toFixed, toFloats func(p *byte)) int {
	given := p.columns
	done := given - given%lanes
	p.columns = done
	if fixed {
		toFixed((*byte)(unsafe.Pointer(p)))
	} else {
		toFloats((*byte)(unsafe.Pointer(p)))
	}
	p.columns = given
	return done
}
