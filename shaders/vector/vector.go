// Package vector is arithmetic on float32 and int8: the matrix product of convolutions, linear maps
// and attention, and functions of each element of a slice. It uses the processor's vectors if there
// are any, and otherwise plain Go.
package vector

//go:generate sh -c "cd asm && go run . -out ../assembly_amd64.s -stubs /dev/stdout -pkg vector | grep . | sed 1G | gofmt >../assembly_amd64.go"
//go:generate go run ./simd128 .

import "sync/atomic"

// Level is a set of instructions.
type Level struct {
	Name string // "AVX-512", "AVX2", "SIMD128 relaxed", "SIMD128", "Go"
	// Exact says that the level gives the bits that all exact levels give: products and sums in
	// float32 with fused multiply-add, in one order. The only other level is SIMD128, which has none.
	Exact bool

	rows, columns int // of the block of sums that a product holds in registers
	most          int // largest number of rows in a call
	terms         int // number of terms that a product sums before the next block
	product       func(k int, a []float32, row, step int, b []float32, c []float32, stride, rows int, add bool)
	words         words

	// Functions of a panel; nil: use the functions of slices.
	expColumns                          func(x *float32, rows int, scale float32, shift, total *float32)
	expGradientColumns, expGradientRows func(x, d *float32, rows int, scale float32, shift, delta *float32)
	// Largest values of the columns of a panel with four rows or more.
	maxOfColumns func(most, x *float32, rows int)
	attend       map[int]attended // by the channels of a head
	finishRows   []rowsFinished   // the widest first

	transpose []blocksTransposed                                      // in order of preference
	windows   []windowsSummed                                         // the widest first
	winograd  []winograd                                              // the widest first
	softmax   func(x *int32, rows int, scale float32, total *float32) // its scale is for powers of 2

	// Only SIMD128 has these. pack copies rows of a whole panel; chosen is called when the level is
	// used.
	pack   func(to, from []float32, rows, stride int)
	chosen func()
}

// attended is Matrix.Attend in assembly.
type attended = func(keys int, k, v *float32, step int, q, y, total *float32)

// Levels are the levels of this processor, the fastest first. The last one is plain Go.
func Levels() []*Level { return append(levels(), plain) }

// current is the level in use.
var current atomic.Pointer[Level]

func init() { Use(Levels()[0]) }

// Use makes later products use one of Levels. A Matrix keeps the level at which it was packed. Only
// tests change the level.
func Use(l *Level) {
	if l.chosen != nil {
		l.chosen()
	}
	current.Store(l)
}

// Current is the level in use.
func Current() *Level { return current.Load() }

// vectors says whether slices are computed in vectors.
func vectors() bool { return Current() != plain }
