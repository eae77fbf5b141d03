package conv

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/vector"
)

// conv2dForwardFast is a matrix product. The left factor has a row for each position: the pixels of
// x at its taps. The right factor is the weights.
func conv2dForwardFast(p *Params, a []gpu.Array32, split gpu.Split) {
	p.eachPhase(func(p *Params) {
		finish := func(b convBlock, sums []float32, stride int) { p.finish(b, sums, stride, a) }
		switch suits := p.suitsWinograd(); {
		case suits && p.hasTiles():
			p.multiplyTiles(a, split, finish)
		case suits && p.hasColumns():
			p.multiplyColumns(a, split, finish)
		default:
			p.multiply(a, split, false, finish)
		}
	})
}

// convBlock is what one product computes: a run of positions and a run of outputs.
type convBlock struct{ first, count, output, outputs int }

// multiply computes the sums of all positions block by block, and calls finish with each block
// (count, stride). A block has all outputs if whole is true, or if there are enough positions for
// all threads.
func (p *Params) multiply(a []gpu.Array32, split gpu.Split, whole bool, finish func(b convBlock, sums []float32, stride int)) {
	p.Cols = p.Cols.ascending()
	weights := p.packedWeights(a[1], split)
	line, lines := int(p.Cols.Count), int(p.Batch)*int(p.Rows.Count)
	if p.readsOwnPixel() {
		line, lines = 1, p.pixels()
	}
	runs, cuts := kernels.Ceil(lines, max(1, vector.Rows()/line)), 1
	if !whole {
		cuts = min(weights.Panels(), kernels.Ceil(leastBlocks, runs))
	}
	block := func(i int) (b convBlock, part vector.Part) {
		run, cut := i%runs, i/runs // neighbouring blocks use the same weights
		first, end := run*lines/runs, (run+1)*lines/runs
		part.Panel = cut * weights.Panels() / cuts
		part.Panels = (cut+1)*weights.Panels()/cuts - part.Panel
		b = convBlock{first: first * line, count: (end - first) * line, output: part.Panel * vector.Columns()}
		b.outputs = min(part.Panels*vector.Columns(), int(p.Outputs)-b.output)
		return b, part
	}
	kernels.InRooms(runs*cuts, int(p.Rows.Taps), split, func(i int, room *kernels.Room, calls *vector.Calls) {
		b, part := block(i)
		p.sums(b, part, weights, a[0].F, room, calls)
	}, func(i int, room *kernels.Room) {
		b, part := block(i)
		stride := part.Panels * vector.Columns()
		finish(b, room.Sums[:b.count*stride], stride)
	})
}

// leastBlocks is the number of blocks that keeps all threads of a usual machine at work.
const leastBlocks = 16

// sums computes the products of a block in room.Sums.
func (p *Params) sums(b convBlock, part vector.Part, weights *vector.Matrix, x []float32, room *kernels.Room, calls *vector.Calls) {
	stride := part.Panels * vector.Columns()
	sums := kernels.RoomFor(&room.Sums, b.count*stride)
	seen, line := p.linesSeen(b.first, b.count, x, &room.Rows)
	part.Terms = int(p.Cols.Taps) * int(p.Inputs)
	for t := range int(p.Rows.Taps) {
		part.First = t * part.Terms
		now := seen
		now.Values = seen.Values[t*line:]
		calls.MultiplyPart(weights, part, now, sums, stride, t > 0)
	}
}

// packedWeights are the weights of the taps that the positions use, as a packed matrix.
func (p *Params) packedWeights(w gpu.Array32, split gpu.Split) *vector.Matrix {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	return kernels.Packed(w, p.weightsKey(), p.taps()*inputs, outputs, split, func(m *vector.Matrix, panel int) {
		for tap := range p.taps() {
			m.Pack(panel, tap*inputs, inputs, w.F[p.weightAt(tap)*inputs*outputs:], outputs)
		}
	})
}

// weightsKey identifies the weights of those taps.
func (p *Params) weightsKey() gpu.KeptKey {
	r, c := &p.Rows, &p.Cols
	return gpu.KeptKey{r.Taps, r.WStart, r.WTap, c.Taps, c.WStart, c.WTap, int32(p.Inputs), int32(p.Outputs)}
}

// linesSeen returns the lines of x that the taps of each line of positions read, and the distance
// between two lines in elements. If each position reads only the pixel of its own number, the lines
// are x itself. Otherwise they are a copy in room, with zeros outside the image.
func (p *Params) linesSeen(first, count int, x []float32, room *[]float32) (vector.Left, int) {
	r, c, inputs := &p.Rows, &p.Cols, int(p.Inputs)
	if p.readsOwnPixel() {
		return vector.Left{Values: x[first*inputs:][:count*inputs], Lines: 1, Rows: count, Row: inputs, Step: 1}, 0
	}
	taps, width, lines := int(r.Taps), int(c.Count), count/int(c.Count)
	length := c.extent() * inputs
	seen := kernels.RoomFor(room, lines*taps*length)
	b, u, _ := p.place(first)
	for i := range lines {
		for t := range taps {
			to, at := seen[(i*taps+t)*length:][:length], u*r.XStep+r.XStart+int32(t)*r.XTap
			if at < 0 || at >= r.XSize {
				clear(to)
			} else {
				lineSeen(to, x[int(b*r.XSize+at)*int(c.XSize)*inputs:][:int(c.XSize)*inputs], int(c.XStart)*inputs)
			}
		}
		if u++; u == r.Count {
			b, u = b+1, 0
		}
	}
	return vector.Left{Values: seen, Lines: lines, Rows: width, Line: taps * length, Row: int(c.XStep) * inputs, Step: 1}, length
}

// extent is how many pixels of x, padding included, the positions see. The taps have to ascend.
func (a *conv2dAxis) extent() int { return int((a.Count-1)*a.XStep + a.Taps) }

// lineSeen copies a line of x from element start on. Beyond the ends of the line it writes zeros.
func lineSeen[T float32 | int8](to, x []T, start int) {
	before := min(max(0, -start), len(to))
	clear(to[:before])
	copied := 0
	if from := max(0, start); from < len(x) {
		copied = copy(to[before:], x[from:])
	}
	clear(to[before+copied:])
}

// ascending is an axis with the same products whose taps go forwards in x.
func (a conv2dAxis) ascending() conv2dAxis {
	if last := a.Taps - 1; a.XTap == -1 {
		a.XStart, a.XTap = a.XStart-last, 1
		a.WStart, a.WTap = a.WStart+last*a.WTap, -a.WTap
	}
	return a
}

// readsOwnPixel says that position i reads pixel i alone.
func (p *Params) readsOwnPixel() bool { return p.Rows.readsOwnPixel() && p.Cols.readsOwnPixel() }

func (a *conv2dAxis) readsOwnPixel() bool {
	return a.Taps == 1 && a.XStep == 1 && a.XStart == 0 && a.Count == a.XSize
}

// finish adds, scales and activates the sums of a block as the parameters say. It writes the
// results, for conv2dSplit in two parts.
func (p *Params) finish(b convBlock, sums []float32, stride int, a []gpu.Array32) {
	line := int(p.Cols.Count)
	if p.ordered() {
		if line = int(p.Table); line == 0 {
			line = b.first + b.count
		}
	}
	for b.count > 0 {
		now := b
		now.count = min(b.count, line-b.first%line)
		p.finishTable(now, p.destination(b.first), int(p.Cols.YStep), sums, stride, a)
		b.first, b.count, sums = b.first+now.count, b.count-now.count, sums[now.count*stride:]
	}
}

// finishTable is finishLine for outputs some of which may lack a residual. With them, nothing but
// the residual follows the sum and its bias.
func (p *Params) finishTable(b convBlock, pixel, step int, sums []float32, stride int, a []gpu.Array32) {
	if lack := b.output + b.outputs - p.residualOutputs(); lack > 0 {
		lacking, plain := b, *p
		lacking.outputs, plain.Adds, plain.TableOutputs = min(lack, b.outputs), 0, 0
		b.outputs -= lacking.outputs
		lacking.output += b.outputs
		plain.finishLine(lacking, pixel, step, sums[b.outputs:], stride, a)
	}
	if b.outputs > 0 {
		p.finishLine(b, pixel, step, sums, stride, a)
	}
}

// finishLine is finish for positions that write every step-th pixel, from `pixel` on.
func (p *Params) finishLine(b convBlock, pixel, step int, sums []float32, stride int, a []gpu.Array32) {
	outputs := int(p.Outputs)
	finish := func(y []float32, to int, x []float32, from int, f *vector.Finish) {
		vector.FinishRows(b.count, b.outputs, y, to, x, from, f)
	}
	at := func(argument int) []float32 { return a[argument].F[pixel*outputs+b.output:] }
	residual := func() []float32 {
		from, _ := p.inResidual(pixel, b.output)
		return a[ResidualAt].F[from:]
	}
	of := &vector.Finish{Stride: step * outputs}
	adds := p.Adds &^ (AddShortcut | timesSlope)
	switch adds {
	case AddResidualFirst:
		finish(sums, stride, sums, stride, &vector.Finish{Residual: residual(), Stride: of.Stride})
	case AddResidual:
		of.Residual, of.Stride = residual(), step*p.residualOutputs()
	case addToY:
		of.Residual = at(ResultAt)
	}
	switch bias := a[BiasAt].F; p.HasBias {
	case 1:
		of.Shift = bias[b.output:]
	case ScaleAndShift:
		of.Scale, of.Shift = bias[b.output:], bias[outputs+b.output:]
	}
	if p.Adds&timesSlope != 0 {
		finish(sums, b.outputs, sums, stride, of)
		for i := range b.count {
			dx, from := at(ResultAt)[i*step*outputs:][:b.outputs], i*b.outputs
			clear(dx)
			pointwise.Scalars[p.Activation-1].Scalar.AddGradient(dx, sums[from:from+b.outputs], at(ShortcutAt)[i*step*outputs:][:b.outputs])
		}
		return
	}
	split := len(a) > restAt
	both := split && p.Chunk == 0
	of.ReLU = p.Activation == pointwise.Activation(pointwise.ReLUKind) && !both
	if split || p.Activation != 0 && !of.ReLU || p.Adds&AddShortcut != 0 {
		finish(sums, b.outputs, sums, stride, of)
		sums, stride = sums[:b.count*b.outputs], b.outputs
		if both {
			finish(at(restAt), step*outputs, sums, stride, &vector.Finish{})
		}
		if p.Activation != 0 && !of.ReLU {
			pointwise.ActivateAll(p.Activation, sums)
		}
		of = &vector.Finish{}
		if p.Adds&AddShortcut != 0 {
			of.Residual, of.Stride = at(ShortcutAt), step*outputs
		}
		if split && !both {
			p.finishParts(b, pixel, step, sums, a)
			return
		}
	}
	finish(at(ResultAt), step*outputs, sums, stride, of)
}

// finishParts writes the first channels to one tensor and the rest to another.
func (p *Params) finishParts(b convBlock, pixel, step int, sums []float32, a []gpu.Array32) {
	part := func(to []float32, first, end, channels int) {
		from, until := max(first, b.output), min(end, b.output+b.outputs)
		if from < until {
			vector.FinishRows(b.count, until-from, to[pixel*channels+from-first:], step*channels, sums[from-b.output:], b.outputs, &vector.Finish{})
		}
	}
	first, outputs := int(p.Chunk), int(p.Outputs)
	part(a[ResultAt].F, 0, first, first)
	part(a[restAt].F, first, outputs, outputs-first)
}
