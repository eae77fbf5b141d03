package vector

import (
	"math"
	"unsafe"
)

// IntegerFinish describes how the sums of an int8 product are finished. A sum is shifted right and
// multiplied by By. Start and a residual times ResidualBy are added. With ReLU values below 0
// become 0. A shortcut times ShortcutBy is added. By … FixedStart have an element for each of
// WholeColumns columns.
//
// ToFloats writes this value. ToFixed adds the terms in whole 256ths, each rounded to nearest even
// and clamped to ±2²³, and rounds the sum to int8, clamped to ±127. Every device and every
// level then gives the same bits.
type IntegerFinish struct {
	Shift                             uint32
	ReLU                              bool
	By, Start, ResidualBy, ShortcutBy []float32
	FixedStart                        []int32 // Start, rounded
}

// WholeColumns is the length of the slices of IntegerFinish for n columns: vectors read whole
// vectors.
func WholeColumns(n int) int { return (n + MaxColumns - 1) / MaxColumns * MaxColumns }

// Sums are rows of sums, and the terms that are added to them, for columns First …
// First+Columns-1 of IntegerFinish, a multiple of four. Residual, Residual8 and Shortcut begin at
// column First. Their rows, and those of the result, are Step elements apart. Each may be nil.
type Sums struct {
	Sums           []int32
	Stride         int // of Sums
	Rows           int
	First, Columns int
	Step           int
	Residual       []float32
	Residual8      []int8
	Shortcut       []float32

	raw finishing
}

// finishing is the argument of assembly and modules. finish in asm/int8.go and simd128/int8.go
// reads the fields in this order. All fields have eight bytes.
type finishing struct {
	sums                 *int32
	stride               int
	y                    unsafe.Pointer // int8 or float32
	step, rows, columns  int
	by                   *float32
	start                unsafe.Pointer // int32 or float32
	residual             *float32
	residual8            *int8
	residualBy, shortcut *float32
	shortcutBy           *float32
	shift, relu          int
}

// ToFixed writes int8.
func (f *IntegerFinish) ToFixed(y []int8, s *Sums) {
	if s.Rows == 0 || s.Columns == 0 {
		return
	}
	for column := s.run(f, unsafe.Pointer(unsafe.SliceData(y)), unsafe.Pointer(&f.FixedStart[s.First]), len(y), true); column < s.Columns; column++ {
		c := s.First + column
		for row := range s.Rows {
			sum, at := s.Sums[row*s.Stride+column], row*s.Step+column
			t := ToFixed(float32(sum>>f.Shift)*f.By[c]) + f.FixedStart[c]
			switch {
			case s.Residual != nil:
				t += ToFixed(s.Residual[at] * f.ResidualBy[c])
			case s.Residual8 != nil:
				t += ToFixed(float32(s.Residual8[at]) * f.ResidualBy[c])
			}
			if f.ReLU {
				t = max(t, 0)
			}
			if s.Shortcut != nil {
				t += ToFixed(s.Shortcut[at] * f.ShortcutBy[c])
			}
			y[at] = FromFixed(t)
		}
	}
}

// ToFloats writes floats. y may be the memory of the sums.
func (f *IntegerFinish) ToFloats(y []float32, s *Sums) {
	if s.Rows == 0 || s.Columns == 0 {
		return
	}
	for column := s.run(f, unsafe.Pointer(unsafe.SliceData(y)), unsafe.Pointer(&f.Start[s.First]), len(y), false); column < s.Columns; column++ {
		c := s.First + column
		for row := range s.Rows {
			sum, at := s.Sums[row*s.Stride+column], row*s.Step+column
			v := fused(float32(sum>>f.Shift), f.By[c], f.Start[c])
			switch {
			case s.Residual != nil:
				v = fused(s.Residual[at], f.ResidualBy[c], v)
			case s.Residual8 != nil:
				v = fused(float32(s.Residual8[at]), f.ResidualBy[c], v)
			}
			if f.ReLU && v < 0 {
				v = 0
			}
			if s.Shortcut != nil {
				v = fused(s.Shortcut[at], f.ShortcutBy[c], v)
			}
			y[at] = v
		}
	}
}

// run finishes the columns that fill vectors, and returns their number.
func (s *Sums) run(f *IntegerFinish, y, start unsafe.Pointer, length int, fixed bool) int {
	w := &Current().words
	if w.finish == nil {
		return 0
	}
	last, end := (s.Rows-1)*s.Step+s.Columns-1, WholeColumns(s.First+s.Columns)-1
	_ = s.Sums[(s.Rows-1)*s.Stride+s.Columns-1] // vectors check nothing
	_, _, _, _ = f.By[end], f.Start[end], f.ResidualBy[end], f.ShortcutBy[end]
	_ = f.FixedStart[end]
	if last >= length {
		panic("vector: sums beyond the result")
	}
	s.raw = finishing{
		sums: &s.Sums[0], stride: s.Stride, y: y, step: s.Step, rows: s.Rows, columns: s.Columns,
		by: &f.By[s.First], start: start, residualBy: &f.ResidualBy[s.First], shortcutBy: &f.ShortcutBy[s.First], shift: int(f.Shift),
		residual: checked(s.Residual, last), residual8: checked(s.Residual8, last), shortcut: checked(s.Shortcut, last),
	}
	if f.ReLU {
		s.raw.relu = 1
	}
	defer func() { s.raw = finishing{} }() // raw must not keep the memory alive
	return w.finish(&s.raw, fixed)
}

// checked is the address of x, or nil if x is nil. It panics unless x has an element last.
func checked[T any](x []T, last int) *T {
	if x == nil {
		return nil
	}
	_ = x[last]
	return &x[0]
}

// skip leaves out the first columns. At least one column stays.
func (p *finishing) skip(columns int, fixed bool) {
	size := uintptr(4)
	if fixed {
		size = 1
	}
	n := uintptr(columns)
	p.columns -= columns
	p.sums, p.y = (*int32)(beyond(p.sums, 4*n)), unsafe.Add(p.y, size*n)
	p.by, p.start = (*float32)(beyond(p.by, 4*n)), unsafe.Add(p.start, 4*n)
	p.residual, p.residual8 = (*float32)(beyond(p.residual, 4*n)), (*int8)(beyond(p.residual8, n))
	p.residualBy, p.shortcutBy = (*float32)(beyond(p.residualBy, 4*n)), (*float32)(beyond(p.shortcutBy, 4*n))
	p.shortcut = (*float32)(beyond(p.shortcut, 4*n))
}

// beyond is p moved by bytes; nil stays nil.
func beyond[T any](p *T, bytes uintptr) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(p), bytes)
}

// mostFixed limits a term. It is far beyond an int8 in 256ths, and four terms fit an int32.
const mostFixed = 1 << 23

// ToFixed rounds v to nearest even, clamped to ±2²³.
func ToFixed(v float32) int32 {
	return nearest(max(-mostFixed, min(mostFixed, v)))
}

// nearest rounds v, at most 2²³, to nearest even.
func nearest(v float32) int32 {
	const round = 3 << 22
	if v > -1<<22 && v < 1<<22 {
		return int32((v + round) - round)
	}
	return int32(math.RoundToEven(float64(v)))
}

// FromFixed rounds 256ths to an int8, clamped to ±127.
func FromFixed(t int32) int8 { return int8(max(-127, min(127, (t+128)>>8))) }
