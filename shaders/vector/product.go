package vector

import "math"

// terms is the number of rows of a panel that fit the first cache, which has at least 32 KiB.
const terms = 256

// Matrix is the right factor of a product, (K, N). A panel has the columns of a block of sums.
// Columns beyond the last one are 0.
type Matrix struct {
	level *Level
	k, n  int
	data  []float32 // (panels, K, columns)
}

// Reset makes m a matrix of k rows and n columns, which Pack fills. It reuses its memory.
func (m *Matrix) Reset(k, n int) {
	m.level, m.k, m.n = Current(), k, n
	size := m.Panels() * k * m.level.columns
	if cap(m.data) < size {
		m.data = make([]float32, size)
	}
	m.data = m.data[:size]
}

// Holds says whether the matrix was packed at the level in use.
func (m *Matrix) Holds() bool { return m.level == Current() }

// Panels is the number of panels.
func (m *Matrix) Panels() int { return (m.n + m.level.columns - 1) / m.level.columns }

// Stride is the number of columns of all panels together: N, rounded up.
func (m *Matrix) Stride() int { return m.Panels() * m.level.columns }

// Pack sets rows first … first+rows-1 of a panel from w, which has all N columns: element (i, j) of
// these rows is w[i*stride + j].
func (m *Matrix) Pack(panel, first, rows int, w []float32, stride int) {
	width := m.level.columns
	from := panel * width
	count := min(width, m.n-from)
	to := m.data[(panel*m.k+first)*width:][:rows*width]
	if pack := m.level.pack; pack != nil && rows > 0 && count == width {
		_ = w[(rows-1)*stride+from+width-1] // the module checks no bounds
		pack(to, w[from:], rows, stride)
		return
	}
	for i := range rows {
		line := to[i*width:][:width]
		copy(line, w[i*stride+from:][:count])
		clear(line[count:])
	}
}

// PackTransposed sets a panel, all K rows. Element (i, j) is w[j*stride + i].
func (m *Matrix) PackTransposed(panel int, w []float32, stride int) {
	width := m.level.columns
	from := panel * width
	count := min(width, m.n-from)
	to := m.data[panel*m.k*width:][:m.k*width]
	Transpose(to, width, w[from*stride:], stride, count, m.k, false)
	if count < width {
		for i := range m.k {
			clear(to[i*width+count : (i+1)*width])
		}
	}
}

// Left is the left factor of a product: lines of rows of terms. Term k of row i of line l is
// Values[l*Line + i*Row + k*Step].
type Left struct {
	Values          []float32
	Lines, Rows     int
	Line, Row, Step int
}

// Part is a part of a Matrix: some of its rows, the terms, and some of its panels.
type Part struct{ First, Terms, Panel, Panels int }

// Multiply sets c = a m, or adds a m to c. Element (i, k) of a is a[i*row + k*step]. Element (i, j)
// of c is c[i*stride + j]. c has Stride columns; those beyond N have arbitrary values.
func (m *Matrix) Multiply(rows int, a []float32, row, step int, c []float32, stride int, add bool) {
	m.MultiplyTerms(0, m.k, rows, a, row, step, c, stride, add)
}

// MultiplyTerms is Multiply by rows first … first+count-1 of the matrix. Element (i, 0) of a
// belongs to row first.
func (m *Matrix) MultiplyTerms(first, count, rows int, a []float32, row, step int, c []float32, stride int, add bool) {
	m.MultiplyPart(Part{first, count, 0, m.Panels()}, Left{a, 1, rows, 0, row, step}, c, stride, add)
}

// MultiplyPart is Multiply of all rows of all lines, in order, by a part of the matrix. Column 0 of
// c belongs to the first panel of the part. Each panel is used for all rows while it is in the
// first cache.
func (m *Matrix) MultiplyPart(part Part, a Left, c []float32, stride int, add bool) {
	l, width, rows := m.level, m.level.columns, a.Lines*a.Rows
	if rows == 0 || part.Terms == 0 {
		for i := 0; i < rows && !add; i++ {
			clear(c[i*stride:][:part.Panels*width])
		}
		return
	}
	// Assembly checks no bounds.
	_ = a.Values[(a.Lines-1)*a.Line+(a.Rows-1)*a.Row+(part.Terms-1)*a.Step]
	_ = c[(rows-1)*stride+part.Panels*width-1]
	block := blockSize(a.Rows, l.most)
	for from := 0; from < part.Terms; from += l.terms {
		terms := min(l.terms, part.Terms-from)
		for panel := range part.Panels {
			b := m.data[((part.Panel+panel)*m.k+part.First+from)*width:][:terms*width]
			for line := range a.Lines {
				x, y := a.Values[line*a.Line+from*a.Step:], c[line*a.Rows*stride+panel*width:]
				for i := 0; i < a.Rows; i += block {
					l.product(terms, x[i*a.Row:], a.Row, a.Step, b, y[i*stride:], stride, min(block, a.Rows-i), add || from > 0)
				}
			}
		}
	}
}

// blockSize is the size of blocks of n elements: as few blocks of at most `most` elements, and as
// equal ones, as possible.
func blockSize(n, most int) int {
	blocks := (n-1)/most + 1
	return (n-1)/blocks + 1
}

// Wrap makes m a matrix of one panel, (k, Columns), in the memory of values.
func (m *Matrix) Wrap(k int, values []float32) {
	m.level = Current()
	m.k, m.n = k, m.level.columns
	m.data = values[:k*m.n]
}

// Columns is the number of columns of a panel, at most MaxColumns.
func Columns() int { return Current().columns }

// MaxColumns is the largest Columns of any level.
const MaxColumns = 32

// Rows is a good number of rows of a left factor for one pass over the matrix.
func Rows() int { return 8 * Current().rows }

// MostRows is the largest Rows of any level.
const MostRows = 96

// plain is Go without vectors. Two rows times four columns are eight sums, which fit into registers
// together with their factors.
var plain = &Level{
	Name: "Go", Exact: true, rows: 2, columns: plainColumns, most: 2, terms: math.MaxInt, product: plainProduct,
	winograd: []winograd{{1, [3]transform{plainInput, plainWeights, plainSums}}}, softmax: plainSoftmax,
}

const plainColumns = 4

func plainProduct(k int, a []float32, row, step int, b, c []float32, stride, rows int, add bool) {
	second := min(1, rows-1)
	var s0, s1, s2, s3, t0, t1, t2, t3 float32
	if add {
		s0, s1, s2, s3 = c[0], c[1], c[2], c[3]
		t0, t1, t2, t3 = c[second*stride], c[second*stride+1], c[second*stride+2], c[second*stride+3]
	}
	for i := range k {
		x, y, w := a[i*step], a[i*step+second*row], (*[4]float32)(b[4*i:])
		w0, w1, w2, w3 := w[0], w[1], w[2], w[3]
		u0, u1, u2, u3 := wide(x, w0, s0), wide(x, w1, s1), wide(x, w2, s2), wide(x, w3, s3)
		v0, v1, v2, v3 := wide(y, w0, t0), wide(y, w1, t1), wide(y, w2, t2), wide(y, w3, t3)
		if halfWay(u0) || halfWay(u1) || halfWay(u2) || halfWay(u3) || halfWay(v0) || halfWay(v1) || halfWay(v2) || halfWay(v3) {
			s0, s1, s2, s3 = fused(x, w0, s0), fused(x, w1, s1), fused(x, w2, s2), fused(x, w3, s3)
			t0, t1, t2, t3 = fused(y, w0, t0), fused(y, w1, t1), fused(y, w2, t2), fused(y, w3, t3)
			continue
		}
		s0, s1, s2, s3 = float32(u0), float32(u1), float32(u2), float32(u3)
		t0, t1, t2, t3 = float32(v0), float32(v1), float32(v2), float32(v3)
	}
	*(*[4]float32)(c) = [4]float32{s0, s1, s2, s3}
	*(*[4]float32)(c[second*stride:]) = [4]float32{t0, t1, t2, t3}
}
