package conv

import (
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/vector"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
)

func conv2dInt8Fast(p *Int8Params, a []gpu.Array32, split gpu.Split) {
	if vector.HasWords() {
		conv2dInt8Words(p, a, split)
	} else {
		conv2dInt8Plain(p, a, split)
	}
}

// conv2dInt8Words is a matrix product in words of a few inputs. A piece is a few lines of positions
// and some panels of outputs.
func conv2dInt8Words(p *Int8Params, a []gpu.Array32, split gpu.Split) {
	shared := kernels.TakeRoom()
	defer shared.Leave()
	var padded []byte
	if !p.own() {
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
	blockRows   = 96 // that a block has if its lines allow
)

// extent is how many pixels of x, with those around it, the positions see.
func (a *conv2dAxis) extent() int { return int((a.Count-1)*a.XStep + a.Taps) }

// Padded is x in words with zeros around it, (B, rows seen, columns seen, inputs).
func (p *Params) padded(x []int8, room *[]byte, split gpu.Split) []byte {
	size, zero := vector.WordBytes()
	inputs, height, width := int(p.Inputs), p.Rows.extent(), p.Cols.extent()
	line := width * inputs * size
	all := kernels.RoomFor(room, int(p.Batch)*height*line)
	before := int(-p.Cols.XStart)
	inside := max(0, min(int(p.Cols.XSize), width-before)) // what is seen of a row
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

// int8Blocks are the positions of a phase in blocks of lines.
type int8Blocks struct {
	*Params
	padded       []byte // nil: x itself
	height       int    // of padded
	lines        vector.Lines
	each, images int // lines of a block; blocks of an image
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

// block gives a block: its first position, where its rows lie, and in what.
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

// packedBytes is packedWeights of int8.
func (p *Params) packedBytes(w gpu.Array32, split gpu.Split) *vector.Bytes {
	kept, fresh := w.Kept.Get(p.weightsKey())
	m, made := kept.(*vector.Bytes)
	if fresh && m.Holds() {
		return m
	}
	if !made {
		m = new(vector.Bytes)
	}
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	m.Reset(p.taps()*inputs, outputs)
	if kernels.Each(m.Panels(), split, func(panel int) {
		for tap := range p.taps() {
			m.Pack(panel, tap*inputs, inputs, w.B[p.weightAt(tap)*inputs*outputs:])
		}
	}) {
		w.Kept.Set(p.weightsKey(), m)
	}
	return m
}

// int8Finish does with sums what the parameters say; see finishInt8.
type int8Finish struct {
	*Int8Params
	vector.IntegerFinish
	later bool // the activation follows when all outputs are there: IntegerFinish lacks it
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
		f.By[i], f.ResidualBy[i], f.ShortcutBy[i] = a[int8Scale].F[i]*p.SumFactor, p.ResidualFactor, p.Factor
		switch p.HasBias {
		case 1:
			f.Start[i] = a[int8Bias].F[i] * p.Factor
		case ScaleAndShift:
			factor := a[int8Bias].F[i]
			f.By[i] *= factor
			f.Start[i] = a[int8Bias].F[outputs+i] * p.Factor
			if p.Adds&3 == AddResidualFirst {
				f.ResidualBy[i] *= factor
			}
		}
		f.FixedStart[i] = vector.ToFixed(f.Start[i])
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
	*s = vector.Sums{} // the room is kept for longer than what these are of
}

// rows finishes sums of pixels that lie step apart in y.
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

// activate does with the results of some positions what comes later.
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

// The processor multiplies three values of x by a weight at once: they lie in one int64, 21 bits
// apart, and so do their sums, as long as each stays within ±2^20, which it does for 64 products of
// 127 by 127.
const (
	abreast      = 3 // positions
	apart        = 21
	mostProducts = 64
)

// conv2dInt8Plain is the matrix product without vectors.
func conv2dInt8Plain(p *Int8Params, a []gpu.Array32, split gpu.Split) {
	p.eachPhase(func(q *Params) {
		seen, inputs, outputs := q.taps()*int(q.Inputs), int(q.Inputs), int(q.Outputs)
		positions := q.pixels()
		split(kernels.Ceil(positions, abreast), func(from, to int) {
			room, x, sums := make([]int8, seen), make([]int64, seen), make([][abreast]int32, outputs)
			for first := abreast * from; first < min(abreast*to, positions); first += abreast {
				count := min(abreast, positions-first)
				clear(x)
				for i := range count {
					for j, v := range sees(q, first+i, a[0].B, room) {
						x[j] += int64(v) << (apart * i)
					}
				}
				clear(sums)
				for tap := range q.taps() {
					for k := 0; k < inputs; k += mostProducts {
						addProducts(sums, x[tap*inputs+k:][:min(mostProducts, inputs-k)], a[1].B[(q.weightAt(tap)*inputs+k)*outputs:])
					}
				}
				for i := range count {
					to := q.destination(first+i) * outputs
					for n := range sums {
						finishInt8(p, to+n, n, sums[n][i], a)
					}
				}
			}
		})
	})
}

// sees gives the values of x at the taps of a position, (taps, inputs), with zeros outside the
// image. Of one tap they are x itself, else a copy in room.
func sees(p *Params, position int, x, room []int8) []int8 {
	b, u, v := p.place(position)
	r, c, inputs := &p.Rows, &p.Cols, int(p.Inputs)
	col := v*c.XStep + c.XStart
	beside := c.XTap == 1 && col >= 0 && col+c.Taps <= c.XSize // the taps of a row are neighbours in x
	at := 0
	for t := range r.Taps {
		row := u*r.XStep + r.XStart + t*r.XTap
		line := room[at:][:int(c.Taps)*inputs]
		at += len(line)
		if row < 0 || row >= r.XSize {
			clear(line)
			continue
		}
		pixels := x[int((b*r.XSize+row)*c.XSize)*inputs:][:int(c.XSize)*inputs]
		switch {
		case beside && r.Taps == 1:
			return pixels[int(col)*inputs:][:len(line)]
		case beside:
			copy(line, pixels[int(col)*inputs:])
		default:
			for s := range c.Taps {
				pixel := line[int(s)*inputs:][:inputs]
				if col := col + s*c.XTap; col < 0 || col >= c.XSize {
					clear(pixel)
				} else {
					copy(pixel, pixels[int(col)*inputs:])
				}
			}
		}
	}
	return room
}

// addProducts adds to sums (Cout) the products of x, of at most mostProducts channels, with their
// weights (…, Cout, 4), four channels after four.
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

// addParted adds the three numbers that are in s.
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
