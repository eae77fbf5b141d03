package vector

import (
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

type assembled = func(k int, a *float32, row, step int, b, c *float32, stride int, add bool)

var (
	avx512 = &Level{Name: "AVX-512", rows: 12, columns: 32, most: 12, terms: terms, elements: true, words: shorts,
		expColumns:         expColumnsAVX512,
		expGradientColumns: expGradientColumnsAVX512, expGradientRows: expGradientRowsAVX512,
		maxOfColumns: maxOfColumnsAVX512, finishRows: finishRowsAVX512, transpose: blocks,
		lanes: 16, filter: filterAVX512, product: assembly([]assembled{
			productAVX512x1, productAVX512x2, productAVX512x3, productAVX512x4, productAVX512x5, productAVX512x6,
			productAVX512x7, productAVX512x8, productAVX512x9, productAVX512x10, productAVX512x11, productAVX512x12,
		})}
	avx2 = &Level{Name: "AVX2", rows: 6, columns: 16, most: 6, terms: terms, elements: true, words: shorts,
		expColumns:         expColumnsAVX2,
		expGradientColumns: expGradientColumnsAVX2, expGradientRows: expGradientRowsAVX2,
		maxOfColumns: maxOfColumnsAVX2, finishRows: finishRowsAVX2, transpose: blocks,
		lanes: 8, filter: filterAVX2, product: assembly([]assembled{
			productAVX2x1, productAVX2x2, productAVX2x3, productAVX2x4, productAVX2x5, productAVX2x6,
		})}
)

var blocks = []blocksTransposed{{8, 4, transpose8x4}, {4, 8, transpose4x8}}

// assembly returns a product that calls the one for its number of rows.
func assembly(products []assembled) func(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
	return func(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
		products[rows-1](k, &a[0], row, step, &b[0], &c[0], stride, add)
	}
}

type assembledDots = func(k, parts, part int, a *byte, row int, b *byte, start, c *int32, stride int)

// bytes needs AVX-512's instructions for neural networks, and shorts AVX2.
var (
	bytes = words{
		inputs: 4, columns: 32, zero: 128,
		dots: assemblyDots(32, []assembledDots{
			dotsAVX512x1, dotsAVX512x2, dotsAVX512x3, dotsAVX512x4, dotsAVX512x5, dotsAVX512x6,
			dotsAVX512x7, dotsAVX512x8, dotsAVX512x9, dotsAVX512x10, dotsAVX512x11, dotsAVX512x12,
		}),
		toWords: func(to []byte, x []int8) int {
			return whole(64, len(x), func(n int) { wordsAVX512(&to[0], &x[0], n) })
		},
		floats: func(to []float32, x []int8) int {
			return whole(16, len(x), func(n int) { floatsAVX512(&to[0], &x[0], n) })
		},
		softmax: func(x []int32, scale float32, total []float32) {
			softmaxAVX512(&x[0], len(x)/32, scale, &total[0])
		},
		quantize: func(to []int8, x []float32, factor float32) int {
			return whole(16, len(x), func(n int) { quantizeAVX512(&to[0], &x[0], n, factor) })
		},
		finish: func(p *finishing, fixed bool) int {
			done := p.finish(16, fixed, finishFixedAVX512, finishFloatsAVX512)
			if done == p.columns {
				return done
			}
			p.from(done, fixed)
			return done + p.finish(8, fixed, finishFixedAVX2, finishFloatsAVX2)
		},
	}
	shorts = words{
		inputs: 2, columns: 16,
		dots: assemblyDots(16, []assembledDots{
			dotsAVX2x1, dotsAVX2x2, dotsAVX2x3, dotsAVX2x4, dotsAVX2x5, dotsAVX2x6,
		}),
		toWords: func(to []byte, x []int8) int {
			return whole(16, len(x), func(n int) { wordsAVX2(&to[0], &x[0], n) })
		},
		floats: func(to []float32, x []int8) int {
			return whole(8, len(x), func(n int) { floatsAVX2(&to[0], &x[0], n) })
		},
		softmax: func(x []int32, scale float32, total []float32) {
			softmaxAVX2(&x[0], len(x)/16, scale, &total[0])
		},
		quantize: func(to []int8, x []float32, factor float32) int {
			return whole(8, len(x), func(n int) { quantizeAVX2(&to[0], &x[0], n, factor) })
		},
		finish: func(p *finishing, fixed bool) int {
			return p.finish(8, fixed, finishFixedAVX2, finishFloatsAVX2)
		},
	}
)

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
