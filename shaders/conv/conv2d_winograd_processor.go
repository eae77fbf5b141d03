package conv

import (
	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/vector"
)

// Winograd's convolution computes a square of tile by tile positions from a square of window by
// window pixels. It has a product for each of the factors.
const tile, window, factors = 4, 6, 6 * 6

// suitsWinograd says that a convolution has 3 × 3 taps, stride 1 and channels that fill vectors.
func (p *Params) suitsWinograd() bool {
	for _, a := range []*conv2dAxis{&p.Rows, &p.Cols} {
		if a.Taps != 3 || a.WSize != 3 || a.WStart != 0 || a.WTap != 1 || a.XStep != 1 || a.XTap != 1 {
			return false
		}
	}
	return p.ordered() && vector.SuitsWinograd(int(p.Inputs), int(p.Outputs))
}

// hasTiles says that there are enough tiles for the transformed weights, four times as many numbers,
// to be read quickly enough. hasColumns says the same of tiles along rows alone, which have twice as
// many numbers.
func (p *Params) hasTiles() bool {
	return int(p.Batch)*kernels.Ceil(int(p.Rows.Count), tile)*kernels.Ceil(int(p.Cols.Count), tile) >= leastTiles
}

func (p *Params) hasColumns() bool {
	return p.Cols.Count%tile == 0 && p.Rows.Count*p.Cols.Count/tile >= leastTiles
}

// With fewer than leastTiles the products take less time than reading their weights. With fewer
// than tilesOfRun in a block, weights are read more often; with more, the block's numbers leave the
// second cache.
const leastTiles, tilesOfRun = 16, 24

// multiplyTiles is multiply for suitsWinograd. A block has whole rows of tiles, and some panels.
func (p *Params) multiplyTiles(a []gpu.Array32, split gpu.Split, finish func(b convBlock, sums []float32, stride int)) {
	inputs, outputs, line := int(p.Inputs), int(p.Outputs), int(p.Cols.Count)
	weights := kernels.Packed(a[1], gpu.KeptKey{factors, int32(inputs), int32(outputs)}, factors*inputs, outputs, split,
		func(m *vector.Matrix, panel int) { m.PackWinograd(panel, a[1].F) })
	across, down := kernels.Ceil(line, tile), kernels.Ceil(int(p.Rows.Count), tile)
	rows := int(p.Batch) * down
	runs := min(rows, kernels.Ceil(rows*across, tilesOfRun))
	cuts := min(weights.Panels(), kernels.Ceil(leastBlocks/2, runs)) // each cut transforms x anew
	width := (tile*across + window - tile) * inputs                  // of a line with its border
	type block struct {
		first, end, tiles, stride int // rows of tiles
		part                      vector.Part
	}
	cut := func(i int) (b block) {
		run, cut := i%runs, i/runs
		b.first, b.end = run*rows/runs, (run+1)*rows/runs
		b.part.Panel, b.part.Terms = cut*weights.Panels()/cuts, inputs
		b.part.Panels = (cut+1)*weights.Panels()/cuts - b.part.Panel
		b.tiles, b.stride = (b.end-b.first)*across, b.part.Panels*vector.Columns()
		return b
	}
	kernels.InRooms(runs*cuts, factors, split, func(i int, room *kernels.Room, calls *vector.Calls) {
		b := cut(i)
		left := kernels.RoomFor(&room.Rows, factors*b.tiles*inputs)
		for row := b.first; row < b.end; row++ {
			seen, half := p.tilesSeen(row/down, row%down*tile, width, a[0].F, room)
			vector.WinogradInput.Transform(half, vector.Steps{Step: width}, seen, vector.Steps{Step: width}, width, 1)
			for i := range window {
				vector.WinogradInput.Transform(left[(window*i*b.tiles+(row-b.first)*across)*inputs:], vector.Steps{Step: b.tiles * inputs, Next: inputs},
					half[i*width:], vector.Steps{Step: inputs, Next: tile * inputs}, inputs, across)
			}
		}
		products, size := kernels.RoomFor(&room.Products, factors*b.tiles*b.stride), b.tiles*b.stride
		for i := range factors {
			b.part.First = i * inputs
			x := vector.Left{Values: left[i*b.tiles*inputs:], Lines: 1, Rows: b.tiles, Row: inputs, Step: 1}
			calls.MultiplyPart(weights, b.part, x, products[i*size:], b.stride, false)
		}
	}, func(i int, room *kernels.Room) {
		b := cut(i)
		sums, half := kernels.RoomFor(&room.Sums, b.tiles*tile*tile*b.stride), kernels.RoomFor(&room.Seen, window*tile*across*b.stride)
		to := convBlock{output: b.part.Panel * vector.Columns()}
		to.outputs = min(b.stride, outputs-to.output)
		to.first = (b.first/down*int(p.Rows.Count) + b.first%down*tile) * line
		for row := b.first; row < b.end; row++ {
			for i := range window {
				vector.WinogradSums.Transform(half[i*tile*across*b.stride:], vector.Steps{Step: b.stride, Next: tile * b.stride},
					room.Products[(window*i*b.tiles+(row-b.first)*across)*b.stride:], vector.Steps{Step: b.tiles * b.stride, Next: b.stride}, b.stride, across)
			}
			vector.WinogradSums.Transform(sums[to.count*b.stride:], vector.Steps{Step: line * b.stride},
				half, vector.Steps{Step: tile * across * b.stride}, line*b.stride, 1)
			to.count += min(tile, int(p.Rows.Count)-row%down*tile) * line
		}
		finish(to, sums[:to.count*b.stride], b.stride)
	})
}

// multiplyColumns is multiply for suitsWinograd, with tiles of four positions of a row: products of
// their windows are summed over the rows of taps. A block is an image, and some panels.
func (p *Params) multiplyColumns(a []gpu.Array32, split gpu.Split, finish func(b convBlock, sums []float32, stride int)) {
	const taps = 3
	inputs, outputs, lines, across := int(p.Inputs), int(p.Outputs), int(p.Rows.Count), int(p.Cols.Count)/tile
	weights := kernels.Packed(a[1], gpu.KeptKey{window * taps, int32(inputs), int32(outputs)}, window*taps*inputs, outputs, split,
		func(m *vector.Matrix, panel int) { m.PackWinogradColumns(panel, a[1].F) })
	cuts := min(weights.Panels(), kernels.Ceil(leastBlocks/2, int(p.Batch)))
	width, tiles, size := (tile*across+window-tile)*inputs, lines*across, (lines+taps-1)*across*inputs
	cut := func(i int) (image int, part vector.Part) {
		image, first := i/cuts, i%cuts*weights.Panels()/cuts
		return image, vector.Part{Terms: inputs, Panel: first, Panels: (i%cuts+1)*weights.Panels()/cuts - first}
	}
	kernels.InRooms(int(p.Batch)*cuts, window*taps, split, func(i int, room *kernels.Room, calls *vector.Calls) {
		image, part := cut(i)
		left, seen := kernels.RoomFor(&room.Rows, window*size), kernels.RoomFor(&room.Seen, width)
		for line := range lines + taps - 1 {
			p.pixelsSeen(image, line, a[0].F, seen)
			vector.WinogradInput.Transform(left[line*across*inputs:], vector.Steps{Step: size, Next: inputs},
				seen, vector.Steps{Step: inputs, Next: tile * inputs}, inputs, across)
		}
		stride := part.Panels * vector.Columns()
		products := kernels.RoomFor(&room.Products, window*tiles*stride)
		for i := range window * taps {
			part.First = i * inputs
			x := vector.Left{Values: left[i/taps*size+i%taps*across*inputs:], Lines: 1, Rows: tiles, Row: inputs, Step: 1}
			calls.MultiplyPart(weights, part, x, products[i/taps*tiles*stride:], stride, i%taps > 0)
		}
	}, func(i int, room *kernels.Room) {
		image, part := cut(i)
		stride := part.Panels * vector.Columns()
		sums := kernels.RoomFor(&room.Sums, tile*tiles*stride)
		vector.WinogradSums.Transform(sums, vector.Steps{Step: stride, Next: tile * stride},
			room.Products, vector.Steps{Step: tiles * stride, Next: stride}, stride, tiles)
		to := convBlock{first: image * tile * tiles, count: tile * tiles, output: part.Panel * vector.Columns()}
		to.outputs = min(stride, outputs-to.output)
		finish(to, sums, stride)
	})
}

// tilesSeen returns the lines of x, each of width elements, that a row of tiles sees, with zeros
// outside the image, and room for as many.
func (p *Params) tilesSeen(image, top, width int, x []float32, room *kernels.Room) (seen, half []float32) {
	all := kernels.RoomFor(&room.Seen, 2*window*width)
	for i := range window {
		p.pixelsSeen(image, top+i, x, all[i*width:][:width])
	}
	return all, all[window*width:]
}

// pixelsSeen copies a line of x to `to`, with zeros outside the image. Line 0 is the first that
// positions see.
func (p *Params) pixelsSeen(image, line int, x, to []float32) {
	length, lines, at := int(p.Cols.XSize)*int(p.Inputs), int(p.Rows.XSize), line+int(p.Rows.XStart)
	if at < 0 || at >= lines {
		clear(to)
		return
	}
	lineSeen(to, x[(image*lines+at)*length:][:length], int(p.Cols.XStart)*int(p.Inputs))
}
