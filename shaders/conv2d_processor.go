package shaders

import "mrprism/internal/gpu"

// convolvedRows is how many positions share one pass over the weights.
const convolvedRows = 8

// conv2dForwardFast is a matrix product: what a position sees of x, all taps in a row, times the weights.
func conv2dForwardFast(p *conv2dParams, a []gpu.Array32, split gpu.Split) {
	p.eachPhase(func(p *conv2dParams) {
		seen, outputs := p.taps()*int(p.Inputs), int(p.Outputs)
		weights := newColumns(seen, outputs)
		split(ceil(outputs, 4), func(from, to int) {
			for c := from; c < to; c++ {
				p.packWeights(weights, c, a[1].F)
			}
		})
		positions := p.pixels()
		split(ceil(positions, convolvedRows), func(from, to int) {
			rows, gathered := make([][]float32, 0, convolvedRows), make([]float32, convolvedRows*seen)
			sums := make([]float32, convolvedRows*ceil(outputs, 4)*4)
			for first := from * convolvedRows; first < min(to*convolvedRows, positions); first += convolvedRows {
				rows = rows[:0]
				for i := range min(convolvedRows, positions-first) {
					rows = append(rows, sees(p, first+i, a[0].F, gathered[i*seen:][:seen]))
				}
				weights.times(rows, sums)
				for i := range rows {
					p.finish(first+i, sums[i*ceil(outputs, 4)*4:][:outputs], a)
				}
			}
		})
	})
}

// packWeights packs outputs 4c … 4c+3 of the taps that the positions see.
func (p *conv2dParams) packWeights(to columns, c int, w []float32) {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	for tap := range p.taps() {
		to.pack(c, p.taps()*inputs, tap*inputs, inputs, w[p.weightAt(tap)*inputs*outputs:], outputs, outputs)
	}
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
func sees[T float32 | int8](p *conv2dParams, position int, x, room []T) []T {
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

// finish does with the sums (outputs) of a position what the parameters say, and writes them, in two parts for conv2dSplit.
func (p *conv2dParams) finish(position int, sums []float32, a []gpu.Array32) {
	outputs, pixel := len(sums), p.destination(position)
	at := func(argument int) []float32 { return a[argument].F[pixel*outputs:][:outputs] }
	adds := p.Adds &^ addShortcut
	if adds == addResidualFirst {
		addFast(sums, at(convResidual))
	}
	switch p.HasBias {
	case 1:
		addFast(sums, a[convBias].F[:outputs])
	case scaleAndShift:
		scale, shift := a[convBias].F[:outputs], a[convBias].F[outputs:][:outputs]
		for i := range sums {
			sums[i] = sums[i]*scale[i] + shift[i]
		}
	}
	switch adds {
	case addResidual:
		addFast(sums, at(convResidual))
	case addToY:
		addFast(sums, at(convResult))
	}
	if p.Activation != 0 {
		activations[p.Activation-1].fast(sums)
	}
	if p.Adds&addShortcut != 0 {
		addFast(sums, at(convShortcut))
	}
	if len(a) <= convRest {
		copy(at(convResult), sums)
		return
	}
	first := int(p.Chunk)
	copy(a[convResult].F[pixel*first:], sums[:first])
	copy(a[convRest].F[pixel*(outputs-first):], sums[first:])
}

// addFast adds x to sums of the same length.
func addFast(sums, x []float32) {
	x = x[:len(sums)]
	for i, v := range x {
		sums[i] += v
	}
}
