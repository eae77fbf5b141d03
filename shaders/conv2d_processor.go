package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

// conv2dForwardFast is a matrix product: what positions see of x, all taps in a row, times the
// weights.
func conv2dForwardFast(p *conv2dParams, a []gpu.Array32, split gpu.Split) {
	p.eachPhase(func(p *conv2dParams) {
		seen, outputs, positions := p.taps()*int(p.Inputs), int(p.Outputs), p.pixels()
		weights := p.packedWeights(a[1], split)
		rows := vector.Rows()
		split(ceil(positions, rows), func(from, to int) {
			room := takeRoom()
			defer room.leave()
			for first := from * rows; first < min(to*rows, positions); first += rows {
				count := min(rows, positions-first)
				sums := roomFor(&room.sums, count*weights.Stride())
				weights.Multiply(count, seenBy(p, first, count, a[0].F, &room.rows, 0), seen, 1, sums, weights.Stride(), false)
				for i := range count {
					p.finish(first+i, sums[i*weights.Stride():][:outputs], a)
				}
			}
		})
	})
}

// packedWeights are those of the taps that the positions see, kept from dispatch to dispatch.
func (p *conv2dParams) packedWeights(w gpu.Array32, split gpu.Split) *vector.Matrix {
	kept, fresh := w.Kept.Get(p.weightsKey())
	m, made := kept.(*vector.Matrix)
	if fresh && m.Holds() {
		return m
	}
	if !made {
		m = new(vector.Matrix)
	}
	m.Reset(p.taps()*int(p.Inputs), int(p.Outputs))
	if each(m.Panels(), split, func(panel int) { p.packWeights(m, panel, w.F) }) {
		w.Kept.Set(p.weightsKey(), m)
	}
	return m
}

// weightsKey says which weights the positions see.
func (p *conv2dParams) weightsKey() gpu.KeptKey {
	r, c := &p.Rows, &p.Cols
	return gpu.KeptKey{r.Taps, r.WStart, r.WTap, c.Taps, c.WStart, c.WTap, int32(p.Inputs), int32(p.Outputs)}
}

// packWeights packs a panel of the taps that the positions see.
func (p *conv2dParams) packWeights(to *vector.Matrix, panel int, w []float32) {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	for tap := range p.taps() {
		to.Pack(panel, tap*inputs, inputs, w[p.weightAt(tap)*inputs*outputs:], outputs)
	}
}

// seenBy is what positions from first on see of x, (count, taps, inputs): x itself where each sees
// its own pixel, else copied into room.
func seenBy[T float32 | byte](p *conv2dParams, first, count int, x []T, room *[]T, zero T) []T {
	seen := p.taps() * int(p.Inputs)
	if p.Rows.own() && p.Cols.own() {
		return x[first*seen:][:count*seen]
	}
	rows := roomFor(room, count*seen)
	for i := range count {
		row := rows[i*seen:][:seen]
		if from := sees(p, first+i, x, row, zero); &from[0] != &row[0] {
			copy(row, from)
		}
	}
	return rows
}

// own says that each position reads the pixel of its own number.
func (a *conv2dAxis) own() bool {
	return a.Taps == 1 && a.XStep == 1 && a.XStart == 0 && a.Count == a.XSize
}

// weightChannels is how many input channels a piece of the gradient by the weight has.
const weightChannels = 96

// conv2dBackwardWeightFast is, for each tap, a matrix product: what the positions see there of x,
// transposed, times dy.
func conv2dBackwardWeightFast(p *conv2dParams, a []gpu.Array32, split gpu.Split) {
	shared := takeRoom()
	defer shared.leave()
	inputs, outputs, positions := int(p.Inputs), int(p.Outputs), p.pixels()
	dy, dw := &shared.matrix, a[2].F
	dy.Reset(positions, outputs)
	const packed = 256 // rows at once
	split(ceil(positions, packed), func(from, to int) {
		for first := from * packed; first < min(to*packed, positions); first += packed {
			p.packResults(dy, first, min(packed, positions-first), a[1].F)
		}
	})
	all := int(p.Rows.WSize*p.Cols.WSize) * inputs * outputs
	blocks := ceil(inputs, weightChannels)
	split(int(p.Parts)*p.taps()*blocks, func(from, to int) {
		room := takeRoom()
		defer room.leave()
		for item := from; item < to; item++ {
			block, tap, part := item%blocks, item/blocks%p.taps(), item/blocks/p.taps()
			first := block * weightChannels
			channels := min(weightChannels, inputs-first)
			sums := roomFor(&room.sums, channels*dy.Stride())
			clear(sums)
			end := min((part+1)*int(p.Chunk), positions)
			for at := part * int(p.Chunk); at < end; at += packed {
				count := min(packed, end-at)
				x := p.tapSeen(tap, at, count, first, channels, a[0].F, roomFor(&room.rows, packed*channels))
				dy.MultiplyTerms(at, count, channels, x, 1, channels, sums, dy.Stride(), true)
			}
			to := dw[part*all+(p.weightAt(tap)*inputs+first)*outputs:]
			for i := range channels {
				if row, sum := to[i*outputs:][:outputs], sums[i*dy.Stride():][:outputs]; p.Adds == 0 {
					copy(row, sum)
				} else {
					vector.Add(row, sum)
				}
			}
		}
	})
}

// packResults packs dy at positions from first on.
func (p *conv2dParams) packResults(to *vector.Matrix, first, count int, dy []float32) {
	outputs := int(p.Outputs)
	for panel := range to.Panels() {
		if p.Rows.Count == p.Rows.YSize && p.Cols.Count == p.Cols.YSize { // pixels are numbered as positions are
			to.Pack(panel, first, count, dy[first*outputs:], outputs)
			continue
		}
		for i := first; i < first+count; i++ {
			to.Pack(panel, i, 1, dy[p.destination(i)*outputs:], outputs)
		}
	}
}

// tapSeen copies into room some channels of what positions from first on see of x at a tap, (count,
// channels).
func (p *conv2dParams) tapSeen(tap, first, count, channel, channels int, x, room []float32) []float32 {
	t, s, inputs := int32(tap)/p.Cols.Taps, int32(tap)%p.Cols.Taps, int(p.Inputs)
	b, u, v := p.place(first)
	r, c := &p.Rows, &p.Cols
	for i := range count {
		to := room[i*channels:][:channels]
		row, col := u*r.XStep+r.XStart+t*r.XTap, v*c.XStep+c.XStart+s*c.XTap
		if row < 0 || row >= r.XSize || col < 0 || col >= c.XSize {
			clear(to)
		} else {
			copy(to, x[int((b*r.XSize+row)*c.XSize+col)*inputs+channel:])
		}
		if v++; v == c.Count {
			u, v = u+1, 0
			if u == r.Count {
				b, u = b+1, 0
			}
		}
	}
	return room[:count*channels]
}

// weightAt is where the weights of tap (t, s), numbered from 0, lie among the (kh, kw).
func (p *conv2dParams) weightAt(tap int) int {
	t, s := int32(tap)/p.Cols.Taps, int32(tap)%p.Cols.Taps
	return int((p.Rows.WStart+t*p.Rows.WTap)*p.Cols.WSize + p.Cols.WStart + s*p.Cols.WTap)
}

// place is position (b, u, v) of the positions numbered from 0.
func (p *conv2dParams) place(position int) (b, u, v int32) {
	row := int32(position) / p.Cols.Count
	return row / p.Rows.Count, row % p.Rows.Count, int32(position) % p.Cols.Count
}

// destination is the pixel of y that a position writes.
func (p *conv2dParams) destination(position int) int {
	b, u, v := p.place(position)
	return int((b*p.Rows.YSize+u*p.Rows.YStep+p.Rows.YStart)*p.Cols.YSize + v*p.Cols.YStep + p.Cols.YStart)
}

// sees is what a position sees of x, (taps, inputs), zero outside the image: x itself where that is one pixel, else copied into room.
func sees[T float32 | int8 | byte](p *conv2dParams, position int, x, room []T, zero T) []T {
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
			fill(line, zero)
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
					fill(pixel, zero)
				} else {
					copy(pixel, pixels[int(col)*inputs:])
				}
			}
		}
	}
	return room
}

// fill makes every value the same.
func fill[T float32 | int8 | byte](x []T, value T) {
	for i := range x {
		x[i] = value
	}
}

// finish does with the sums (outputs) of a position what the parameters say, and writes them, in two parts for conv2dSplit.
func (p *conv2dParams) finish(position int, sums []float32, a []gpu.Array32) {
	outputs, pixel := len(sums), p.destination(position)
	at := func(argument int) []float32 { return a[argument].F[pixel*outputs:][:outputs] }
	adds := p.Adds &^ addShortcut
	if adds == addResidualFirst {
		vector.Add(sums, at(convResidual))
	}
	switch p.HasBias {
	case 1:
		vector.Add(sums, a[convBias].F[:outputs])
	case scaleAndShift:
		vector.ScaleAndShift(sums, a[convBias].F[:outputs], a[convBias].F[outputs:][:outputs])
	}
	switch adds {
	case addResidual:
		vector.Add(sums, at(convResidual))
	case addToY:
		vector.Add(sums, at(convResult))
	}
	if p.Activation != 0 {
		activations[p.Activation-1].fast(sums)
	}
	if p.Adds&addShortcut != 0 {
		vector.Add(sums, at(convShortcut))
	}
	if len(a) <= convRest {
		copy(at(convResult), sums)
		return
	}
	first := int(p.Chunk)
	copy(a[convResult].F[pixel*first:], sums[:first])
	copy(a[convRest].F[pixel*(outputs-first):], sums[first:])
}
