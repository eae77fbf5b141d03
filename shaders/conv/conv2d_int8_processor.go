package conv

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/vector"
)

func conv2dInt8Fast(p *Int8Params, a []gpu.Array32, split gpu.Split) {
	if vector.HasWords() {
		conv2dInt8Words(p, a, split)
	} else {
		conv2dInt8Plain(p, a, split)
	}
}

// conv2dInt8Words is a matrix product; a word holds a few inputs. A piece of the work has a few
// lines of positions and some panels of outputs.
func conv2dInt8Words(p *Int8Params, a []gpu.Array32, split gpu.Split) {
	shared := kernels.TakeRoom()
	defer shared.Leave()
	var padded []byte
	if !p.readsOwnPixel() {
		padded = p.padded(a[0].B, &shared.Bytes, split)
	}
	finish, negative := newInt8Finish(p, a), vector.HasNegative(a[0].B)
	p.eachPhase(func(q *Params) {
		weights := q.packedBytes(a[1], split)
		blocks := newInt8Blocks(q, padded)
		blocks.lines.Negative = negative
		panels := weights.Panels()
		groups := 1 // of panels
		if !finish.later {
			groups = min(panels, kernels.Ceil(leastPieces, blocks.count))
		}
		split(blocks.count*groups, func(from, to int) {
			room := kernels.TakeRoom()
			defer room.Leave()
			for piece := from; piece < to; piece++ {
				group, l := piece%groups, vector.Lines{}
				position, x := blocks.block(piece/groups, &l, a[0].B, room)
				sums := kernels.RoomFor(&room.Integers, l.Lines*l.Rows*weights.Columns())
				for panel := group * panels / groups; panel < (group+1)*panels/groups; panel++ {
					weights.Multiply(panel, &l, x, sums)
					finish.panel(q, position, &l, panel*weights.Columns(), weights.Columns(), sums, room)
				}
				if finish.later {
					finish.activate(q, position, l.Lines*l.Rows)
				}
			}
		})
	})
}

const (
	leastPieces = 8  // for the processors to share
	blockRows   = 96 // of a block, unless one line has more
)

// padded is x in words with zeros around it: (B, rows, columns, inputs) that the taps see.
func (p *Params) padded(x []int8, room *[]byte, split gpu.Split) []byte {
	size, zero := vector.WordBytes()
	inputs, height, width := int(p.Inputs), p.Rows.extent(), p.Cols.extent()
	line := width * inputs * size
	all := kernels.RoomFor(room, int(p.Batch)*height*line)
	before := int(-p.Cols.XStart)
	inside := max(0, min(int(p.Cols.XSize), width-before)) // pixels of a row that taps see
	split(int(p.Batch)*height, func(from, to int) {
		for i := from; i < to; i++ {
			to := all[i*line:][:line]
			row := i%height + int(p.Rows.XStart)
			if row < 0 || row >= int(p.Rows.XSize) {
				fill(to, zero)
				continue
			}
			pixels := x[(i/height*int(p.Rows.XSize)+row)*int(p.Cols.XSize)*inputs:][:inside*inputs]
			at := before * inputs * size
			fill(to[:at], zero)
			vector.ToWords(to[at:], pixels)
			fill(to[at+len(pixels)*size:], zero)
		}
	})
	return all
}

// int8Blocks divides the positions of a phase into blocks of lines.
type int8Blocks struct {
	*Params
	padded       []byte // nil: x itself
	height       int    // of padded
	lines        vector.Lines
	each, images int // lines of a block, 0 if all positions are one line; blocks of an image
	count        int
}

func newInt8Blocks(p *Params, padded []byte) *int8Blocks {
	size, _ := vector.WordBytes()
	inputs := int(p.Inputs)
	b := &int8Blocks{Params: p, padded: padded, height: p.Rows.extent()}
	if padded == nil && p.ordered() { // one line
		b.lines = vector.Lines{Lines: 1, Rows: blockRows, Row: inputs * size, Parts: 1}
		b.count = kernels.Ceil(p.pixels(), blockRows)
		return b
	}
	pixel, line := inputs*size, p.Cols.extent()*inputs*size
	b.lines = vector.Lines{
		Rows: int(p.Cols.Count), Row: int(p.Cols.XStep) * pixel, Line: int(p.Rows.XStep) * line,
		Parts: int(p.Rows.Taps), Part: line,
	}
	b.each = min(max(1, blockRows/int(p.Cols.Count)), int(p.Rows.Count))
	b.images = kernels.Ceil(int(p.Rows.Count), b.each)
	b.count = int(p.Batch) * b.images
	return b
}

// block returns the first position of a block and its x in words, and says in l where rows lie.
func (b *int8Blocks) block(i int, l *vector.Lines, x []int8, room *kernels.Room) (position int, words []byte) {
	*l = b.lines
	inputs := int(b.Inputs)
	if b.each == 0 {
		position = i * blockRows
		l.Rows = min(blockRows, b.pixels()-position)
	} else {
		image, line := i/b.images, i%b.images*b.each
		l.Lines = min(b.each, int(b.Rows.Count)-line)
		position = (image*int(b.Rows.Count) + line) * int(b.Cols.Count)
		if b.padded != nil {
			return position, b.padded[(image*b.height+line*int(b.Rows.XStep))*l.Part:]
		}
	}
	size, _ := vector.WordBytes()
	x = x[position*inputs:][:l.Lines*l.Rows*inputs]
	words = kernels.RoomFor(&room.Bytes, len(x)*size)
	vector.ToWords(words, x)
	return position, words
}

// packedBytes are the weights in int8, packed as packedWeights packs floats.
func (p *Params) packedBytes(w gpu.Array32, split gpu.Split) *vector.Bytes {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	return kernels.Packed(w, p.weightsKey(), p.taps()*inputs, outputs, split, func(m *vector.Bytes, panel int) {
		for tap := range p.taps() {
			m.Pack(panel, tap*inputs, inputs, w.B[p.weightAt(tap)*inputs*outputs:])
		}
	})
}

// int8Finish computes results from sums, as finishInt8 does, in vectors.
type int8Finish struct {
	*Int8Params
	vector.IntegerFinish
	later bool // activate applies the activation, which IntegerFinish lacks
	a     []gpu.Array32
}

func newInt8Finish(p *Int8Params, a []gpu.Array32) *int8Finish {
	outputs := int(p.Outputs)
	n := vector.WholeColumns(outputs)
	relu := p.Activation == pointwise.Activation(pointwise.ReLUKind)
	f := &int8Finish{p, vector.IntegerFinish{
		Shift: p.Shift, ReLU: relu, By: make([]float32, n), Start: make([]float32, n), FixedStart: make([]int32, n),
		ResidualBy: make([]float32, n), ShortcutBy: make([]float32, n),
	}, p.Activation != 0 && !relu, a}
	for i := range outputs {
		f.By[i], f.ResidualBy[i], f.Start[i] = int8Factors(p, i, a)
		f.ShortcutBy[i], f.FixedStart[i] = p.Factor, vector.ToFixed(f.Start[i])
	}
	return f
}

// panel finishes the sums (rows of all lines, columns) of the outputs from first on.
func (f *int8Finish) panel(q *Params, position int, l *vector.Lines, first, columns int, sums []int32, room *kernels.Room) {
	s := &room.Finish
	*s = vector.Sums{Stride: columns, Rows: l.Rows, First: first, Columns: min(columns, int(q.Outputs)-first)}
	lines := l.Lines
	if q.ordered() { // all in a row
		s.Rows, lines = l.Rows*l.Lines, 1
	}
	for line := range lines {
		s.Sums = sums[line*s.Rows*columns:]
		f.rows(q.destination(position+line*s.Rows), int(q.Cols.YStep), s)
	}
	*s = vector.Sums{} // the room lives longer than the buffers
}

// rows finishes the sums of every step-th pixel of y from one on.
func (f *int8Finish) rows(pixel, step int, s *vector.Sums) {
	outputs := int(f.Outputs)
	s.Step = step * outputs
	at := pixel*outputs + s.First
	switch {
	case f.Adds&3 != 0 && f.Int8Residual == 1:
		s.Residual8 = f.a[int8Residual].B[at:]
	case f.Adds&3 != 0:
		s.Residual = f.a[int8Residual].F[at:]
	}
	if f.Adds&AddShortcut != 0 && !f.later {
		s.Shortcut = f.a[int8Shortcut].F[at:]
	}
	if f.Int8 == 1 {
		f.ToFixed(f.a[int8Result].B[at:], s)
	} else {
		f.ToFloats(f.a[int8Result].F[at:], s)
	}
}

// activate applies the activation and what follows it, if panel could not.
func (f *int8Finish) activate(q *Params, position, count int) {
	pixels := 1 // at once
	if q.ordered() {
		pixels = count
	}
	for i := 0; i < count; i += pixels {
		at, n := q.destination(position+i)*int(f.Outputs), pixels*int(f.Outputs)
		y := f.a[int8Result].F[at:][:n]
		pointwise.ActivateAll(f.Activation, y)
		if f.Adds&AddShortcut != 0 {
			vector.Add(y, f.a[int8Shortcut].F[at:][:n])
		}
	}
}

// Without vectors, one multiplication serves three positions. The three values of x lie in one
// int64, 21 bits apart, and so do the three sums. A sum has to stay within ±2^20: 64 products of
// 127 by 127 do.
const (
	abreast      = 3 // positions
	apart        = 21
	mostProducts = 64
)

// conv2dInt8Plain is conv2dInt8Words without vectors.
func conv2dInt8Plain(p *Int8Params, a []gpu.Array32, split gpu.Split) {
	finish := newInt8Finish(p, a)
	p.eachPhase(func(q *Params) {
		seen, inputs, outputs := q.taps()*int(q.Inputs), int(q.Inputs), int(q.Outputs)
		positions := q.pixels()
		split(kernels.Ceil(positions, abreast), func(from, to int) {
			room, x, sums := make([]int8, seen), make([]int64, seen), make([][abreast]int32, outputs)
			whole := kernels.TakeRoom()
			defer whole.Leave()
			for first := abreast * from; first < min(abreast*to, positions); first += abreast {
				count := min(abreast, positions-first)
				clear(x)
				for i := range count {
					copyTaps(q, first+i, a[0].B, room)
					for j, v := range room {
						x[j] += int64(v) << (apart * i)
					}
				}
				clear(sums)
				for tap := range q.taps() {
					for k := 0; k < inputs; k += mostProducts {
						addProducts(sums, x[tap*inputs+k:][:min(mostProducts, inputs-k)], a[1].B[(q.weightAt(tap)*inputs+k)*outputs:])
					}
				}
				of := kernels.RoomFor(&whole.Integers, count*outputs)
				for i := range of {
					of[i] = sums[i%outputs][i/outputs]
				}
				finish.panel(q, first, &vector.Lines{Lines: count, Rows: 1}, 0, outputs, of, whole)
				if finish.later {
					finish.activate(q, first, count)
				}
			}
		})
	})
}

// copyTaps copies into room the values of x at the taps of a position, (taps, inputs), with zeros
// outside the image.
func copyTaps(p *Params, position int, x, room []int8) {
	b, u, v := p.place(position)
	r, c, inputs := &p.Rows, &p.Cols, int(p.Inputs)
	width := int(c.XSize) * inputs
	for t := range r.Taps {
		line := room[int(t*c.Taps)*inputs:][:int(c.Taps)*inputs]
		row := u*r.XStep + r.XStart + t
		if row < 0 || row >= r.XSize {
			clear(line)
			continue
		}
		lineSeen(line, x[int(b*r.XSize+row)*width:][:width], int(v*c.XStep+c.XStart)*inputs)
	}
}

// addProducts adds to sums (Cout) the products of x, of at most mostProducts channels, with its
// weights (Cin / 4, Cout, 4).
func addProducts(sums [][abreast]int32, x []int64, weights []int8) {
	stride := 4 * len(sums)
	for n := 0; n < len(sums); n += 4 {
		var s0, s1, s2, s3 int64
		w := weights[4*n:]
		for x := x; len(x) >= 4; x = x[4:] {
			v := (*[16]int8)(w) // four outputs
			x0, x1, x2, x3 := x[0], x[1], x[2], x[3]
			s0 += x0*int64(v[0]) + x1*int64(v[1]) + x2*int64(v[2]) + x3*int64(v[3])
			s1 += x0*int64(v[4]) + x1*int64(v[5]) + x2*int64(v[6]) + x3*int64(v[7])
			s2 += x0*int64(v[8]) + x1*int64(v[9]) + x2*int64(v[10]) + x3*int64(v[11])
			s3 += x0*int64(v[12]) + x1*int64(v[13]) + x2*int64(v[14]) + x3*int64(v[15])
			if len(w) > stride {
				w = w[stride:]
			}
		}
		to := (*[4][abreast]int32)(sums[n:])
		addParted(&to[0], s0)
		addParted(&to[1], s1)
		addParted(&to[2], s2)
		addParted(&to[3], s3)
	}
}

// addParted adds the three 21-bit numbers in s to three sums.
func addParted(to *[abreast]int32, s int64) {
	const above = 64 - apart
	first := s << above >> above
	s = (s - first) >> apart
	second := s << above >> above
	to[0] += int32(first)
	to[1] += int32(second)
	to[2] += int32((s - second) >> apart)
}

// fill sets every byte to a value.
func fill(x []byte, value byte) {
	for i := range x {
		x[i] = value
	}
}
