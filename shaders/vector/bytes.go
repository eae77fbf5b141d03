package vector

// words is how a level multiplies int8. A word of 32 bits holds two or four neighbouring inputs,
// and one instruction multiplies whole words and adds up the products.
type words struct {
	inputs  int  // in a word: four bytes, or two 16-bit integers
	columns int  // of a panel
	zero    byte // the byte that stands for 0 in the left factor, whose bytes are unsigned

	// dots sets sums (rows of all lines, columns) to start (columns) and products with a panel.
	dots func(k int, l *Lines, x, b []byte, start, sums []int32)
	// These compute as many elements, or columns, as fill vectors, and return their number.
	toWords  func(to []byte, x []int8) int
	floats   func(to []float32, x []int8) int
	quantize func(to []int8, x []float32, factor float32) int
	finish   func(p *finishing, fixed bool) int
	// negative says whether an element is below 0. It is nil if dots does not need to know.
	negative func(x []int8) (negative bool, done int)
}

// HasWords says whether the level in use multiplies int8 in words.
func HasWords() bool { return Current().words.inputs > 0 }

// WordBytes returns the bytes of an int8 in a word, 1 or 2, and the byte that stands for 0.
func WordBytes() (size int, zero byte) {
	w := &Current().words
	return 4 / w.inputs, w.zero
}

// ToWords writes x as the bytes that Bytes.Multiply takes.
func ToWords(to []byte, x []int8) {
	w := &Current().words
	size := 4 / w.inputs
	to = to[:len(x)*size]
	done := w.toWords(to, x)
	x, to = x[done:], to[done*size:]
	for i, v := range x {
		if size == 1 {
			to[i] = byte(v) ^ w.zero
		} else {
			to[2*i], to[2*i+1] = byte(v), byte(v>>7) // the sign
		}
	}
}

// inWholeVectors rounds n down to whole vectors, calls do with this number, and returns it.
func inWholeVectors(lanes, n int, do func(n int)) int {
	n -= n % lanes
	if n > 0 {
		do(n)
	}
	return n
}

// Lines says where the rows of a left factor lie. A line has Rows rows, and a row's words are in
// Parts parts. Line, Row and Part are the distances from one to the next, in bytes.
type Lines struct {
	Lines, Line int
	Rows, Row   int
	Parts, Part int
	Negative    bool // some bytes may be below 0
}

// HasNegative is the Lines.Negative of x. It is true if it does not matter at this level.
func HasNegative(x []int8) bool {
	w := &Current().words
	if w.negative == nil {
		return true
	}
	negative, done := w.negative(x)
	for _, v := range x[done:] {
		negative = negative || v < 0
	}
	return negative
}

// Bytes is the right factor of a product of int8, (K, N). A panel has the columns of a block. K is
// a multiple of four.
type Bytes struct {
	level *Level
	words words
	k, n  int
	data  []byte  // (panels, K / inputs, columns) words
	start []int32 // by column: minus the products of the byte that stands for 0
}

// Reset makes m a matrix of k rows and n columns, which Pack fills.
func (m *Bytes) Reset(k, n int) {
	m.level, m.k, m.n = Current(), k, n
	m.words = m.level.words
	stride := m.Panels() * m.Columns()
	size := 4 / m.words.inputs * m.k * stride
	if cap(m.data) < size {
		m.data = make([]byte, size)
	}
	if cap(m.start) < stride {
		m.start = make([]int32, stride)
	}
	m.data, m.start = m.data[:size], m.start[:stride]
	clear(m.data)
	clear(m.start)
}

// Holds says whether the matrix was packed at the level in use.
func (m *Bytes) Holds() bool { return m.level == Current() }

// Panels is the number of panels.
func (m *Bytes) Panels() int { return (m.n + m.words.columns - 1) / m.words.columns }

// Columns is the number of columns of a panel.
func (m *Bytes) Columns() int { return m.words.columns }

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

// PackTransposed sets a whole matrix of one panel. Column j is w[j*stride:].
func (m *Bytes) PackTransposed(w []int8, stride int) {
	width, inputs := m.words.columns, m.words.inputs
	for j := range m.n {
		column, to := w[j*stride:][:m.k], m.data[4*j:]
		var sum int32
		if inputs == 4 {
			for i := 0; i < len(column); i += 4 {
				v, word := column[i:i+4:i+4], to[i*width:][:4]
				word[0], word[1], word[2], word[3] = byte(v[0]), byte(v[1]), byte(v[2]), byte(v[3])
				sum += int32(v[0]) + int32(v[1]) + int32(v[2]) + int32(v[3])
			}
		} else {
			for i := 0; i < len(column); i += 2 {
				v, word := column[i:i+2:i+2], to[2*i*width:][:4]
				word[0], word[1], word[2], word[3] = byte(v[0]), byte(v[0]>>7), byte(v[1]), byte(v[1]>>7)
			}
		}
		m.start[j] = -int32(m.words.zero) * sum
	}
}

// Multiply sets sums (rows of all lines, Columns) to the products of rows of words with a panel.
func (m *Bytes) Multiply(panel int, l *Lines, x []byte, sums []int32) {
	w, size := &m.words, 4/m.words.inputs
	if l.Lines == 0 || l.Rows == 0 {
		return
	}
	part := m.k / l.Parts * size                                         // bytes
	_ = x[(l.Lines-1)*l.Line+(l.Rows-1)*l.Row+(l.Parts-1)*l.Part+part-1] // vectors check no bounds
	_ = sums[l.Lines*l.Rows*w.columns-1]
	w.dots(part/4, l, x, m.data[panel*m.k*w.columns*size:], m.start[panel*w.columns:], sums)
}

// FloatsOf converts x to floats.
func FloatsOf(y []float32, x []int8) {
	x = x[:len(y)]
	done := 0
	if w := &Current().words; w.floats != nil {
		done = w.floats(y, x)
	}
	for i, v := range x[done:] {
		y[done+i] = float32(v)
	}
}

// Quantize converts x times factor to int8, rounded to nearest even and clamped to ±127.
func Quantize(y []int8, x []float32, factor float32) {
	x = x[:len(y)]
	done := 0
	if w := &Current().words; w.quantize != nil {
		done = w.quantize(y, x, factor)
	}
	for i, v := range x[done:] {
		y[done+i] = int8(nearest(max(-127, min(127, v*factor))))
	}
}
