package vector

import (
	"encoding/binary"
	"math"
)

// words is how a level multiplies int8: words of 32 bits hold a few neighbouring inputs, and an
// instruction multiplies and adds up whole words.
type words struct {
	inputs        int  // in a word: four bytes, or two 16-bit integers
	rows, columns int  // of a block
	zero          byte // what stands for 0 in the left factor: bytes there are without sign
	dots          func(k int, a []byte, row int, b []byte, c []int32, stride, rows int)
}

// HasWords says whether the level in use multiplies int8 in words.
func HasWords() bool { return Current().words.inputs > 0 }

// WordBytes is how many bytes of a word an int8 takes, 1 or 2, and the byte that stands for zero.
func WordBytes() (size int, zero byte) {
	w := &Current().words
	return 4 / w.inputs, w.zero
}

// ToWords writes x in the bytes that Bytes.Multiply takes.
func ToWords(to []byte, x []int8) {
	if size, zero := WordBytes(); size == 1 {
		to = to[:len(x)]
		for i, v := range x {
			to[i] = byte(v) ^ zero
		}
		return
	}
	for i, v := range x {
		binary.LittleEndian.PutUint16(to[2*i:], uint16(int16(v)))
	}
}

// Bytes is the right factor of a product of int8, (K, N), packed in panels of as many columns as a
// block has. K is a multiple of four.
type Bytes struct {
	level *Level
	words words
	k, n  int
	data  []byte  // (panels, K / inputs, columns) words
	start []int32 // by column: what the zero of the left factor adds, taken off
}

// Reset makes it a matrix of k rows and n columns, for Pack to fill.
func (m *Bytes) Reset(k, n int) {
	m.level, m.k, m.n = Current(), k, n
	m.words = m.level.words
	size := 4 / m.words.inputs * m.k * m.Stride()
	if cap(m.data) < size {
		m.data = make([]byte, size)
	}
	if cap(m.start) < m.Stride() {
		m.start = make([]int32, m.Stride())
	}
	m.data, m.start = m.data[:size], m.start[:m.Stride()]
	clear(m.data)
	clear(m.start)
}

// Holds says whether the matrix was packed at the level in use.
func (m *Bytes) Holds() bool { return m.level == Current() }

// Panels is the number of panels.
func (m *Bytes) Panels() int { return (m.n + m.words.columns - 1) / m.words.columns }

// Stride is the number of columns of all panels: N, rounded up.
func (m *Bytes) Stride() int { return m.Panels() * m.words.columns }

// Pack sets rows first … first+rows-1 of a panel from w (rows / 4, N, 4).
func (m *Bytes) Pack(panel, first, rows int, w []int8) {
	width, size := m.words.columns, 4/m.words.inputs
	from := panel * width
	for i := range rows / 4 {
		for j := range min(width, m.n-from) {
			for t, v := range w[(i*m.n+from+j)*4:][:4] {
				k := first + 4*i + t
				at := (((panel*m.k+k)/m.words.inputs*width+j)*m.words.inputs + k%m.words.inputs) * size
				m.data[at] = byte(v)
				if size == 2 {
					m.data[at+1] = byte(v >> 7) // the sign
				}
				m.start[from+j] -= int32(m.words.zero) * int32(v)
			}
		}
	}
}

// Multiply sets sums (rows, Stride) to the products of rows of words, row bytes apart, with the
// matrix.
func (m *Bytes) Multiply(rows int, x []byte, row int, sums []int32) {
	w, stride := &m.words, m.Stride()
	if rows == 0 {
		return
	}
	size := 4 / w.inputs
	_, _ = x[(rows-1)*row+m.k*size-1], sums[rows*stride-1] // assembly checks nothing
	for i := range rows {
		copy(sums[i*stride:][:stride], m.start)
	}
	for panel := range m.Panels() {
		b := m.data[panel*m.k*w.columns*size:]
		for i := 0; i < rows; i += w.rows {
			w.dots(m.k/w.inputs, x[i*row:], row, b, sums[i*stride+panel*w.columns:], stride, min(w.rows, rows-i))
		}
	}
}

// Fixed makes of sums whole numbers t: sums / 2^shift, times by, rounded to the nearest even number
// and held within ±2²³, plus start. One t may be its sum.
func Fixed(t, sums []int32, shift uint32, by []float32, start []int32) {
	sums, by, start = sums[:len(t)], by[:len(t)], start[:len(t)]
	if moreVectors() {
		fixedVectors(t, sums, shift, by, start)
		return
	}
	for i, sum := range sums {
		t[i] = ToFixed(float32(sum>>shift)*by[i]) + start[i]
	}
}

// AddFixed adds x times by to t, rounded and held likewise.
func AddFixed(t []int32, x, by []float32) {
	x, by = x[:len(t)], by[:len(t)]
	if moreVectors() {
		addFixedVectors(t, x, by)
		return
	}
	for i, v := range x {
		t[i] += ToFixed(v * by[i])
	}
}

// mostFixed is far beyond what an int8 can hold in 256ths, and sums of four fit.
const mostFixed = 1 << 23

// ToFixed is v as a whole number.
func ToFixed(v float32) int32 {
	v = max(-mostFixed, min(mostFixed, v))
	const round = 3 << 22
	if v > -1<<22 && v < 1<<22 {
		return int32((v + round) - round)
	}
	return int32(math.RoundToEven(float64(v)))
}

// FromFixed makes of t, in 256ths, int8, rounded and held within ±127.
func FromFixed(y []int8, t []int32) {
	t = t[:len(y)]
	for i, v := range t {
		y[i] = int8(max(-127, min(127, (v+128)>>8)))
	}
}

// ReLUFixed makes what is below 0 zero.
func ReLUFixed(t []int32) {
	for i, v := range t {
		t[i] = max(v, 0)
	}
}

// Floats makes y of sums / 2^shift.
func Floats(y []float32, sums []int32, shift uint32) {
	sums = sums[:len(y)]
	for i, v := range sums {
		y[i] = float32(v >> shift)
	}
}

// FloatsOf makes y of x.
func FloatsOf(y []float32, x []int8) {
	x = x[:len(y)]
	for i, v := range x {
		y[i] = float32(v)
	}
}
