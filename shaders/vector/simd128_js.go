//go:build simd128

package vector

import (
	_ "embed"
	"math"
	"strings"
	"unsafe"
)

// In WebAssembly Go has no vectors. A program with the build tag simd128 embeds modules that have
// vectors (the program in simd128/ writes them) and imports their functions, which work on its
// memory. The page runs worker/vectors.js first. It compiles the modules when the program asks for
// them.

//go:embed simd128.wasm
var simd128 string

//go:embed simd128_relaxed.wasm
var simd128Relaxed string

var installed = append(install("SIMD128 relaxed", simd128Relaxed, bytes), install("SIMD128", simd128, shorts)...)

func levels() []*Level { return installed }

// These are the declarations of an imported memory. A shared one has at most 65536 pages.
const (
	anyMemory    = "\x03mem\x02\x00\x80\x80\x80\x00"
	sharedMemory = "\x03mem\x02\x03\x00\x80\x80\x04"
)

// install returns the level of a module. It returns none if the engine refuses the module or
// computes wrongly, like the relaxed product of bytes in V8 11.3 (Node 20, behind a flag).
func install(name, module string, w words) []*Level {
	number := compile(strings.Replace(module, anyMemory, sharedMemory, 1))
	if number < 0 { // usually the program's memory is not shared
		number = compile(module)
	}
	if number < 0 {
		return nil
	}
	if choose(number); !w.exact() {
		return nil
	}
	return []*Level{{
		Name: name, Exact: fuses(), rows: 4, columns: 8, most: math.MaxInt, terms: terms,
		product: productModule, pack: packModule, chosen: func() { choose(number) }, words: w,
		windows:  []windowsSummed{{8, windowsModule}},
		winograd: []winograd{{4, [3]transform{winogradModule(inputModule), winogradModule(weightsModule), winogradModule(sumsModule)}}},
		softmax: func(x *int32, rows int, scale float32, total *float32) {
			softmaxModule(x, total, int32(rows), scale)
		},
		expColumns: func(x *float32, rows int, scale float32, shift, total *float32) {
			expColumnsModule(x, shift, total, int32(rows), scale)
		},
		maxOfColumns: func(most, x *float32, rows int) { maxOfColumnsModule(x, most, int32(rows)) },
	}}
}

// fuses says whether the chosen module rounds a multiplication and an addition once: relaxed_madd
// may also round twice.
func fuses() bool {
	x, y := []float32{1 + 0x1p-12}, []float32{-1 - 0x1p-11}
	addProductsVectors(y, x, x)
	return y[0] == 0x1p-24
}

// exact checks the product of a word, with and without negative bytes.
func (w *words) exact() bool {
	for _, l := range []Lines{{Lines: 1, Rows: 1, Parts: 1}, {Lines: 1, Rows: 1, Parts: 1, Negative: true}} {
		var x [4]byte
		var b [8 * 4]byte
		var start, sums [8]int32
		size, want := 4/w.inputs, int32(0)
		for i := range w.inputs {
			v, by := int8(127-3*i), int8(-127+5*i)
			if l.Negative && i%2 == 0 {
				v = -v
			}
			x[i*size], b[i*size] = byte(v), byte(by)
			if size == 2 {
				x[2*i+1], b[2*i+1] = byte(v>>7), byte(by>>7)
			}
			want += int32(v) * int32(by)
		}
		w.dots(1, &l, x[:], b[:], start[:], sums[:])
		if sums[0] != want {
			return false
		}
	}
	return true
}

func productModule(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
	product(int32(k), &a[0], int32(row), int32(step), &b[0], &c[0], int32(stride), int32(rows), add)
}

func packModule(to, from []float32, rows, stride int) {
	pack(&to[0], &from[0], int32(rows), int32(stride))
}

// bytes needs the relaxed product of bytes, and shorts SIMD128.
var bytes, shorts = wordsOf(4), wordsOf(2)

func wordsOf(inputs int) words {
	w := words{
		inputs: inputs, columns: 8,
		dots: func(k int, l *Lines, x, b []byte, start, sums []int32) {
			dotsModule(int32(k), unsafe.Pointer(l), &x[0], &b[0], &start[0], &sums[0])
		},
		toWords: func(to []byte, x []int8) int {
			return inWholeVectors(8, len(x), func(n int) { wordsModule(&to[0], &x[0], int32(n)) })
		},
		floats: func(to []float32, x []int8) int {
			return inWholeVectors(8, len(x), func(n int) { floatsModule(&to[0], &x[0], int32(n)) })
		},
		quantize: func(to []int8, x []float32, factor float32) int {
			return inWholeVectors(16, len(x), func(n int) { quantizeModule(&to[0], &x[0], int32(n), factor) })
		},
		finish: func(p *finishing, fixed bool) int {
			if fixed {
				finishFixedModule(unsafe.Pointer(p))
			} else {
				finishFloatsModule(unsafe.Pointer(p))
			}
			return p.columns // a multiple of four
		},
	}
	if inputs == 4 {
		w.toWords = func(to []byte, x []int8) int {
			return copy(to, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)))
		}
		w.negative = func(x []int8) (negative bool, done int) {
			done = inWholeVectors(16, len(x), func(n int) { negative = negativeModule(&x[0], int32(n)) != 0 })
			return negative, done
		}
	}
	return w
}

// compile returns the number of a module, or -1. choose selects the module to call.
//
//go:wasmimport vectors compile
func compile(module string) int32

//go:wasmimport vectors choose
func choose(number int32)

// The functions of simd128/product.go and elements.go, and Go functions that call them with slices
// of n elements.

// ptr is the address of a slice.
func ptr(x []float32) *float32 { return unsafe.SliceData(x) }

//go:wasmimport vectors product
//go:noescape
func product(k int32, a *float32, row, step int32, b, c *float32, stride, rows int32, add bool)

//go:wasmimport vectors pack
//go:noescape
func pack(to, from *float32, rows, stride int32)

//go:wasmimport vectors add
//go:noescape
func addModule(y, x *float32, n int32)

func addVectors(y, x []float32) { addModule(ptr(y), ptr(x), int32(len(y))) }

//go:wasmimport vectors addScaled
//go:noescape
func addScaledModule(y, x *float32, n int32, s float32)

func addScaledVectors(y, x []float32, s float32) { addScaledModule(ptr(y), ptr(x), int32(len(y)), s) }

//go:wasmimport vectors addProducts
//go:noescape
func addProductsModule(y, a, b *float32, n int32)

func addProductsVectors(y, a, b []float32) {
	addProductsModule(ptr(y), ptr(a), ptr(b), int32(len(y)))
}

//go:wasmimport vectors takeLarger
//go:noescape
func takeLargerModule(y, x *float32, n int32)

func takeLargerVectors(y, x []float32) { takeLargerModule(ptr(y), ptr(x), int32(len(y))) }

//go:wasmimport vectors relu
//go:noescape
func reluModule(x *float32, n int32)

func reluVectors(x []float32) { reluModule(ptr(x), int32(len(x))) }

//go:wasmimport vectors sum
//go:noescape
func sumModule(x *float32, n int32) float32

func sumVectors(x []float32) float32 { return sumModule(ptr(x), int32(len(x))) }

//go:wasmimport vectors dot
//go:noescape
func dotModule(a, b *float32, n int32) float32

func dotVectors(a, b []float32) float32 { return dotModule(ptr(a), ptr(b), int32(len(a))) }

//go:wasmimport vectors exp
//go:noescape
func expModule(x *float32, n int32, scale, shift float32)

func expVectors(x []float32, scale, shift float32) { expModule(ptr(x), int32(len(x)), scale, shift) }

//go:wasmimport vectors sigmoid
//go:noescape
func sigmoidModule(x *float32, n int32)

func sigmoidVectors(x []float32) { sigmoidModule(ptr(x), int32(len(x))) }

//go:wasmimport vectors gelu
//go:noescape
func geluModule(x *float32, n int32)

func geluVectors(x []float32) { geluModule(ptr(x), int32(len(x))) }

//go:wasmimport vectors addGELUGradient
//go:noescape
func addGELUGradientModule(dx, dy, x *float32, n int32)

func addGELUGradientVectors(dx, dy, x []float32) {
	addGELUGradientModule(ptr(dx), ptr(dy), ptr(x), int32(len(dx)))
}

//go:wasmimport vectors maxOfColumns
//go:noescape
func maxOfColumnsModule(x, most *float32, rows int32)

//go:wasmimport vectors expColumns
//go:noescape
func expColumnsModule(x, shift, total *float32, rows int32, scale float32)

//go:wasmimport vectors finishRows
//go:noescape
func finishRowsModule(rows, columns int32, y *float32, stride int32, x *float32, from int32, scale, shift, residual *float32, residualStride int32, relu bool)

// The module counts rows in bytes, and goes over them in order.
func finishRowsVectors(rows, columns int, y []float32, stride int, x []float32, from int, f *Finish, _ bool) (done int) {
	if done = columns &^ 7; done > 0 {
		finishRowsModule(int32(rows), int32(4*done), ptr(y), int32(4*stride), ptr(x), int32(4*from),
			ptr(f.Scale), ptr(f.Shift), ptr(f.Residual), int32(4*f.Stride), f.ReLU)
	}
	return done
}

//go:wasmimport vectors layerNorm
//go:noescape
func layerNormModule(rows, columns int32, y, x, scale, bias, mean, r *float32, eps float32)

func layerNormVectors(y, x, scale, bias []float32, eps float32, mean, r []float32) {
	layerNormModule(int32(len(mean)), int32(4*len(scale)), ptr(y), ptr(x), ptr(scale), ptr(bias), ptr(mean), ptr(r), eps)
}

// The function of simd128/windows.go takes a windows.

//go:wasmimport vectors windows
//go:noescape
func windowsModule(p *byte)

// The functions of simd128/winograd.go.

//go:wasmimport vectors winogradInput
//go:noescape
func inputModule(y *float32, yStep, yNext int32, x *float32, xStep, xNext, n, count int32)

//go:wasmimport vectors winogradWeights
//go:noescape
func weightsModule(y *float32, yStep, yNext int32, x *float32, xStep, xNext, n, count int32)

//go:wasmimport vectors winogradSums
//go:noescape
func sumsModule(y *float32, yStep, yNext int32, x *float32, xStep, xNext, n, count int32)

func winogradModule(do func(y *float32, yStep, yNext int32, x *float32, xStep, xNext, n, count int32)) transform {
	return func(y *float32, yStep, yNext int, x *float32, xStep, xNext, n, count int) {
		do(y, int32(yStep), int32(yNext), x, int32(xStep), int32(xNext), int32(n), int32(count))
	}
}

// The functions of simd128/int8.go. They take a Lines and a finishing.

//go:wasmimport vectors dots
//go:noescape
func dotsModule(k int32, lines unsafe.Pointer, x, b *byte, start, sums *int32)

//go:wasmimport vectors finishFixed
//go:noescape
func finishFixedModule(p unsafe.Pointer)

//go:wasmimport vectors finishFloats
//go:noescape
func finishFloatsModule(p unsafe.Pointer)

//go:wasmimport vectors words
//go:noescape
func wordsModule(to *byte, from *int8, n int32)

//go:wasmimport vectors floats
//go:noescape
func floatsModule(to *float32, from *int8, n int32)

//go:wasmimport vectors quantize
//go:noescape
func quantizeModule(to *int8, from *float32, n int32, factor float32)

//go:wasmimport vectors softmax
//go:noescape
func softmaxModule(x *int32, total *float32, rows int32, scale float32)

//go:wasmimport vectors negative
//go:noescape
func negativeModule(x *int8, n int32) int32

// The threads of site/worker/vectors.js. crew.go uses them.

//go:wasmimport vectors startCrew
func startCrew(board *int32)

//go:wasmimport vectors readyCrew
func readyCrew() int32

//go:wasmimport vectors publishPiece
func publishPiece(slot int32)

//go:wasmimport vectors finishPiece
func finishPiece(slot int32) int32

//go:wasmimport vectors donePiece
func donePiece(slot int32) int32
