// Package vector is arithmetic on float32, in vectors where the processor has them: the matrix
// product under convolutions, linear maps and attention, and what is done to each element of a
// slice. Where there are no vectors it computes the same in plain Go.
package vector

//go:generate sh -c "cd asm && go run . -out ../assembly_amd64.s -stubs ../assembly_amd64.go -pkg vector"
//go:generate go run ./simd128 .

import "sync/atomic"

// Level is a set of instructions.
type Level struct {
	Name string // "AVX-512", "AVX2", "SIMD128", "Go"

	rows, columns int // of the block of sums that a product holds in registers
	most          int // rows that one call computes: those of a block, or any number of blocks
	terms         int // that a product sums before it goes on to the next block
	product       func(k int, a []float32, row, step int, b []float32, c []float32, stride, rows int, add bool)
	elements      bool // slices are computed in vectors, not only products
	words         words

	// Of a panel, in assembly; nil: as of slices.
	expColumns                          func(x *float32, rows int, scale float32, shift, total *float32)
	expGradientColumns, expGradientRows func(x, d *float32, rows int, scale float32, shift, delta *float32)
	// Largest values of the columns of a panel, of four, eight, … rows.
	maxOfColumns func(most, x *float32, rows int)
	// FinishRows of the columns of a panel, where nothing is nil.
	finishRows func(rows int, y *float32, stride int, x *float32, from int, scale, shift, residual *float32, residualStride int, floor float32)

	// Of slices, a multiple of lanes, in assembly; nil: all in Go.
	lanes  int
	filter func(y, x *float32, n, stride int, window *float32, taps int)

	transpose []blocksTransposed // the first that fit first

	// Of SIMD128 alone: pack copies rows of a panel without a rest; chosen is told that it is used.
	pack   func(to, from []float32, rows, stride int)
	chosen func()
}

// Levels are those that this processor has, the fastest first. The last is plain Go.
func Levels() []*Level { return append(levels(), plain) }

// current is what products are computed with.
var current atomic.Pointer[Level]

func init() { Use(Levels()[0]) }

// Use makes all later products use a level, one of Levels. A Matrix is used at the level at which
// it was packed. Only tests change it.
func Use(l *Level) {
	if l.chosen != nil {
		l.chosen()
	}
	current.Store(l)
}

// Current is the level in use.
func Current() *Level { return current.Load() }
