package vector

import (
	"math"
	"unsafe"
)

// Windows describes the sums of a depthwise convolution: y of each position is Start plus the
// products of x and Weights at each tap of its window, channel by channel, clamped to Least … Most.
// Distances count elements. Those of x and Weights may be negative.
type Windows struct {
	Channels                int
	Positions               int
	YStep, StartStep, XStep int    // from a position to the next one
	Taps                    [2]int // rows, columns
	XTap, WeightTap         [2]int // from a row of taps to the next one, and from a column

	Y, Start, X, Weights []float32 // Start may be nil, for 0, or Y
	X0, Weight0          int       // the first tap of the first position
	Least, Most          float32

	raw windows
}

// windows is the argument of assembly and modules. asm/windows.go and simd128/windows.go read the
// fields in this order. All fields but the last two have eight bytes.
type windows struct {
	y, start, x, weights    *float32
	yStep, startStep, xStep int // in bytes, like all distances
	positions, done         int // done is counted by assembly
	channels                int // in bytes
	rows, columns           int // of taps
	xColumn, weightColumn   int // from a column of taps to the next one
	xRow, weightRow         int // from beyond a row of taps to the next one
	least, most             float32
}

// windowsSummed computes the sums for a multiple of `channels` channels.
type windowsSummed struct {
	channels int
	sum      func(p *byte)
}

// Sum computes y. Products are added to the start one by one, rows of taps first.
func (w *Windows) Sum() {
	if w.Positions == 0 || w.Channels == 0 {
		return
	}
	done := 0 // channels
	for _, s := range Current().windows {
		if n := (w.Channels - done) / s.channels * s.channels; n > 0 {
			w.describe(done, n)
			s.sum((*byte)(unsafe.Pointer(&w.raw)))
			done += n
		}
	}
	if done < w.Channels {
		w.sumTaps(done)
	}
}

// describe fills raw for some channels from first on.
func (w *Windows) describe(first, channels int) {
	rows, columns := w.Taps[0], w.Taps[1]
	w.raw = windows{
		y:     reach(w.Y, first, channels, [2]int{w.Positions, w.YStep}),
		yStep: 4 * w.YStep, xStep: 4 * w.XStep,
		positions: w.Positions, channels: 4 * channels, least: w.Least, most: w.Most,
	}
	r := &w.raw
	if w.Start != nil {
		r.start, r.startStep = reach(w.Start, first, channels, [2]int{w.Positions, w.StartStep}), 4*w.StartStep
	}
	if rows == 0 || columns == 0 {
		return
	}
	r.rows, r.columns = rows, columns
	r.x = reach(w.X, w.X0+first, channels, [2]int{w.Positions, w.XStep}, [2]int{rows, w.XTap[0]}, [2]int{columns, w.XTap[1]})
	r.weights = reach(w.Weights, w.Weight0+first, channels, [2]int{rows, w.WeightTap[0]}, [2]int{columns, w.WeightTap[1]})
	r.xColumn, r.weightColumn = 4*w.XTap[1], 4*w.WeightTap[1]
	r.xRow, r.weightRow = 4*w.XTap[0]-columns*r.xColumn, 4*w.WeightTap[0]-columns*r.weightColumn
}

// reach is the address of element first of x. Vectors check no bounds: it panics unless x has
// `channels` elements there, and after all steps: a step is a number and a distance.
func reach(x []float32, first, channels int, steps ...[2]int) *float32 {
	low, high := first, first+channels
	for _, s := range steps {
		far := (s[0] - 1) * s[1]
		low, high = low+min(far, 0), high+max(far, 0)
	}
	_ = x[low:high]
	return (*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(x)), 4*first))
}

// sumTaps is Sum for channels from first on, tap by tap.
func (w *Windows) sumTaps(first int) {
	clamps := !math.IsInf(float64(w.Least), -1) || !math.IsInf(float64(w.Most), 1)
	for i := range w.Positions {
		y := w.Y[i*w.YStep:][first:w.Channels]
		if w.Start == nil {
			clear(y)
		} else {
			copy(y, w.Start[i*w.StartStep:][first:w.Channels])
		}
		for t := range w.Taps[0] {
			for s := range w.Taps[1] {
				x := w.X[w.X0+first+i*w.XStep+t*w.XTap[0]+s*w.XTap[1]:][:len(y)]
				weights := w.Weights[w.Weight0+first+t*w.WeightTap[0]+s*w.WeightTap[1]:][:len(y)]
				AddProducts(y, x, weights)
			}
		}
		if clamps {
			clamp(y, w.Least, w.Most)
		}
	}
}

// clamp clamps x. A NaN stays. In WebAssembly min and max would take much longer.
func clamp(x []float32, least, most float32) {
	for i, v := range x {
		if v < least {
			x[i] = least
		} else if v > most {
			x[i] = most
		}
	}
}
