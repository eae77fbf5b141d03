package vector

import (
	"math"
	"unsafe"
)

// IntegerFinish says what becomes of the sums of an int8 product: shifted right, times By, plus
// Start, plus a residual times ResidualBy, held at 0 from below with ReLU, plus a shortcut times
// ShortcutBy. By … FixedStart have an element for each column, as many as WholeColumns says.
//
// Floats are what that gives. Int8 are the sum of these terms in whole 256ths, each rounded to the
// nearest even number and held within ±2²³, rounded again and held within ±127: so every device and
// every level gives the same.
type IntegerFinish struct {
	Shift                             uint32
	ReLU                              bool
	By, Start, ResidualBy, ShortcutBy []float32
	FixedStart                        []int32 // Start, rounded
}

// WholeColumns is how long the slices of IntegerFinish are for n columns: vectors read whole ones.
func WholeColumns(n int) int { return (n + MaxColumns - 1) / MaxColumns * MaxColumns }

// Sums are rows of sums and what is added to them: in columns First … First+Columns-1 of
// IntegerFinish, a multiple of four. Residual, Residual8 and Shortcut begin with the first of these
// and have rows Step elements apart, as the result has; nil is none.
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

// finishing is what assembly and the modules are given, word for word as finish in asm/int8.go and
// simd128/int8.go reads it. All fields have eight bytes.
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
			v := float32(sum>>f.Shift)*f.By[c] + f.Start[c]
			switch {
			case s.Residual != nil:
				v += s.Residual[at] * f.ResidualBy[c]
			case s.Residual8 != nil:
				v += float32(s.Residual8[at]) * f.ResidualBy[c]
			}
			if f.ReLU && v < 0 {
				v = 0
			}
			if s.Shortcut != nil {
				v += s.Shortcut[at] * f.ShortcutBy[c]
			}
			y[at] = v
		}
	}
}

// run does the columns that vectors can, and says how many.
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
	}
	if s.Residual != nil {
		_ = s.Residual[last]
		s.raw.residual = &s.Residual[0]
	}
	if s.Residual8 != nil {
		_ = s.Residual8[last]
		s.raw.residual8 = &s.Residual8[0]
	}
	if s.Shortcut != nil {
		_ = s.Shortcut[last]
		s.raw.shortcut = &s.Shortcut[0]
	}
	if f.ReLU {
		s.raw.relu = 1
	}
	defer func() { s.raw = finishing{} }() // pointers may outlive what they point to
	return w.finish(&s.raw, fixed)
}

// from leaves out the first columns, fewer than all.
func (p *finishing) from(columns int, fixed bool) {
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

// beyond is so many bytes further; nil stays.
func beyond[T any](p *T, bytes uintptr) unsafe.Pointer {
	if p == nil {
		return nil
	}
	return unsafe.Add(unsafe.Pointer(p), bytes)
}

// mostFixed is far beyond what an int8 can hold in 256ths, and sums of four fit.
const mostFixed = 1 << 23

// ToFixed is v as a whole number, rounded to the nearest even one and held within ±2²³.
func ToFixed(v float32) int32 {
	return nearest(max(-mostFixed, min(mostFixed, v)))
}

// nearest is the nearest whole number to v, of at most 2²³.
func nearest(v float32) int32 {
	const round = 3 << 22
	if v > -1<<22 && v < 1<<22 {
		return int32((v + round) - round)
	}
	return int32(math.RoundToEven(float64(v)))
}

// FromFixed makes of 256ths an int8, rounded and held within ±127.
func FromFixed(t int32) int8 { return int8(max(-127, min(127, (t+128)>>8))) }
