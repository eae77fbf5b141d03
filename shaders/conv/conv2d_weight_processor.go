package conv

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

// weightChannels is how many input channels a piece of the gradient by the weight has at most.
const weightChannels = 96

// conv2dBackwardWeightFast is a matrix product for each tap: the pixels of x that it reads,
// transposed, times dy. If there are few channels, one product serves a row of taps.
func conv2dBackwardWeightFast(p *Params, a []gpu.Array32, split gpu.Split) {
	shared := kernels.TakeRoom()
	defer shared.Leave()
	inputs, dy := int(p.Inputs), p.packedResults(a[1].F, shared, split)
	taps, together := p.taps(), 1 // of a product
	if inputs*int(p.Cols.Taps) <= weightChannels {
		together = int(p.Cols.Taps)
		taps /= together
	}
	blocks := kernels.Ceil(inputs, weightChannels)
	split(int(p.Parts)*taps*blocks, func(from, to int) {
		room := kernels.TakeRoom()
		defer room.Leave()
		for item := from; item < to; item++ {
			g := weightGradient{Params: p, tap: item / blocks % taps * together, part: item / blocks / taps}
			g.first = item % blocks * weightChannels
			g.rows = min(weightChannels, inputs-g.first)
			if together > 1 {
				g.rows *= together
			}
			g.sum(dy, a[0].F, room)
			g.write(room.Sums, dy.Stride(), a[2].F)
		}
	})
}

const (
	packedPositions = 256 // at once
	// A line of at least this many positions is a product of its own. For shorter lines, starting a
	// product takes longer than copying them together.
	shortLine = 32
)

// weightGradient is a piece of the gradient by the weight: some input channels at a tap, or all
// input channels at several taps of a row. It sums a part of the positions.
type weightGradient struct {
	*Params
	tap, part, first, rows int
}

// together says that the piece has several taps.
func (g *weightGradient) together() bool { return g.rows > int(g.Inputs) }

// sum adds up the products in room.
func (g *weightGradient) sum(dy *vector.Matrix, x []float32, room *kernels.Room) {
	sums := kernels.RoomFor(&room.Sums, g.rows*dy.Stride())
	clear(sums)
	line := int(g.Cols.Count)
	add := func(at, count int, x []float32, step int) { // the products of dy at these positions with rows of x
		dy.MultiplyTerms(at, count, g.rows, x, 1, step, sums, dy.Stride(), true)
	}
	end := min((g.part+1)*int(g.Chunk), g.pixels())
	for at := g.part * int(g.Chunk); at < end; {
		if count := min(line-at%line, end-at); line >= shortLine || g.together() {
			g.addLine(at, count, x, room, add)
			at += count
			continue
		}
		count := min(packedPositions, end-at)
		add(at, count, g.tapSeen(g.tap, at, count, g.first, g.rows, x, kernels.RoomFor(&room.Rows, packedPositions*g.rows)), g.rows)
		at += count
	}
}

// addLine calls add with the pixels that positions of a line read: for several taps a copy, with
// zeros beside x, for one tap x itself, without positions that read no pixel.
func (g *weightGradient) addLine(at, count int, x []float32, room *kernels.Room, add func(at, count int, x []float32, step int)) {
	c, inputs := &g.Cols, int(g.Inputs)
	b, u, v := g.place(at)
	row := u*g.Rows.XStep + g.Rows.XStart + int32(g.tap)/c.Taps*g.Rows.XTap
	if row < 0 || row >= g.Rows.XSize {
		return
	}
	x = x[int((b*g.Rows.XSize+row)*c.XSize)*inputs:][:int(c.XSize)*inputs]
	if g.together() {
		seen := kernels.RoomFor(&room.Rows, (int(c.XStep)*(count-1)+int(c.Taps))*inputs)
		lineSeen(seen, x, int(c.XStart+v*c.XStep)*inputs)
		add(at, count, seen, int(c.XStep)*inputs)
		return
	}
	col := v*c.XStep + c.XStart + int32(g.tap)%c.Taps*c.XTap
	before := 0
	if col < 0 {
		before = min(count, kernels.Ceil(int(-col), int(c.XStep)))
	}
	first := int(col) + before*int(c.XStep)
	if inside := min(count-before, kernels.Ceil(int(c.XSize)-first, int(c.XStep))); inside > 0 {
		add(at+before, inside, x[first*inputs+g.first:], int(c.XStep)*inputs)
	}
}

// write writes the sums, or adds them, to the gradient.
func (g *weightGradient) write(sums []float32, stride int, dw []float32) {
	inputs, outputs := int(g.Inputs), int(g.Outputs)
	all := int(g.Rows.WSize*g.Cols.WSize) * inputs * outputs
	for i := range g.rows {
		row := dw[g.part*all+(g.weightAt(g.tap+i/inputs)*inputs+g.first+i%inputs)*outputs:][:outputs]
		if sum := sums[i*stride:][:outputs]; g.Adds == 0 {
			copy(row, sum)
		} else {
			vector.Add(row, sum)
		}
	}
}

// packedResults is dy as a packed matrix. If dy already lies as one panel does, it is not copied.
func (p *Params) packedResults(dy []float32, room *kernels.Room, split gpu.Split) *vector.Matrix {
	outputs, positions := int(p.Outputs), p.pixels()
	if p.ordered() && outputs == vector.Columns() {
		room.Wrapped.Wrap(positions, dy)
		return &room.Wrapped
	}
	packed := &room.Matrix
	packed.Reset(positions, outputs)
	split(kernels.Ceil(positions, packedPositions), func(from, to int) {
		for first := from * packedPositions; first < min(to*packedPositions, positions); first += packedPositions {
			p.packResults(packed, first, min(packedPositions, positions-first), dy)
		}
	})
	return packed
}

// packResults packs dy at positions from first on.
func (p *Params) packResults(to *vector.Matrix, first, count int, dy []float32) {
	outputs := int(p.Outputs)
	for panel := range to.Panels() {
		if p.ordered() {
			to.Pack(panel, first, count, dy[first*outputs:], outputs)
			continue
		}
		for i := first; i < first+count; i++ {
			to.Pack(panel, i, 1, dy[p.destination(i)*outputs:], outputs)
		}
	}
}

// tapSeen copies into room (count, channels) the pixels that positions from first on read with a
// tap, some channels of each.
func (p *Params) tapSeen(tap, first, count, channel, channels int, x, room []float32) []float32 {
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
