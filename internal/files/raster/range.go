package raster

import (
	"math"
	"slices"
)

// Span is a range of values, from black to white. It is empty unless Low < High.
type Span struct{ Low, High float64 }

// Shows reports whether a picture is more than black and white if it is shown in this span: one in
// ten thousand of its values lies within it. A span of less than four steps may be a threshold: it
// shows values on both of its sides.
func (s Span) Shows(values []float32) bool {
	all, low, high := 0, 0, 0
	for _, v := range values {
		switch f := float64(v); {
		case f <= s.Low:
			low++
		case f >= s.High:
			high++
		}
		if v == v {
			all++
		}
	}
	few := all / 10_000
	return all-low-high > few || s.High-s.Low < 4 && min(low, high) > few
}

// Histogram counts the values that decide a picture's range of grey: those of the picture, or of
// its volume. The caller does not add padding.
type Histogram struct {
	counts     []uint32 // by bin, in the order of the values
	total      float64
	Ends       Span // the least and the largest value
	background int  // the fullest bin; spread sets it
	own        Span // the range that Range has found in the values
}

// binBits is how many bits of a value choose its bin: sign, exponent and 11 of the fraction. Whole
// numbers up to 4096 have bins of their own.
const binBits = 20

// RangeMemory is what a histogram takes in bytes, beside the counts of 16-bit samples.
const RangeMemory = 4<<binBits + 6<<16

// NewHistogram is a histogram of no values.
func NewHistogram() *Histogram {
	return &Histogram{counts: make([]uint32, 1<<binBits), Ends: Span{math.Inf(1), math.Inf(-1)}}
}

// HistogramOf counts the values of a picture.
func HistogramOf(values []float32) *Histogram {
	h := NewHistogram()
	for _, v := range values {
		h.Add(v, 1)
	}
	return h
}

// Add counts a value n times. It ignores values that are not finite.
func (h *Histogram) Add(v float32, n uint32) {
	f := float64(v)
	if n == 0 || math.IsNaN(f) || math.IsInf(f, 0) {
		return
	}
	h.counts[binOf(f)] += n
	h.total += float64(n)
	h.Ends = Span{min(h.Ends.Low, f), max(h.Ends.High, f)}
}

func binOf(v float64) int {
	bits := math.Float32bits(float32(v) + 0) // +0 makes 0 of −0
	if bits>>31 == 1 {
		bits = ^bits // the bits of a negative number fall as the number rises
	} else {
		bits |= 1 << 31
	}
	return int(bits >> (32 - binBits))
}

// value is the number of a bin that is nearest to 0.
func value(bin int) float64 {
	bits := uint32(bin) << (32 - binBits)
	if bits>>31 == 1 {
		return float64(math.Float32frombits(bits &^ (1 << 31)))
	}
	return float64(math.Float32frombits(^bits &^ (1<<(32-binBits) - 1)))
}

// Small is the number of values below which each counts: a thousandth is one at most.
const Small = 2000

const (
	few      = 8     // a picture of so few different values is flat, such as a mask
	ranks    = 2000  // shares are rounded down to a half of a thousandth
	tail     = 0.125 // the share of the pixels at either end that is looked at
	steep    = 6     // a thousandth of the pixels moves white by 0.6 % of the range
	gentle   = 1.5   // and black, where there are negative values, by 0.15 %
	darkest  = 0.064 // a plateau of so many pixels is black
	stray    = 0.005 // pixels below a plateau
	distance = 3     // the range of pictures far from 0, in that of their values, begins so far below
)

// Range decides which values are black and white. Few pixels cannot change this much: in the
// pictures of ../shared/data, a thousandth of the pixels moves no grey of the others by more than
// two levels of 255, whatever its values are.
//
// White is the least of black + (value − black)·e^6p, over values that a share p ≤ 1/8 of the
// pixels exceeds. Black is 0. It is lower where values are negative, and higher where 6.4 % of the
// pixels share the lowest value, or where all values are far from 0. The most frequent value is
// often an empty background: it counts at most three times as much as all others.
//
// file is the range that the file asks for. Each of its ends counts if it lies within the range of
// the values. A range with less than half of the pixels, without the background, is taken for a
// mistake. A small or flat picture gets the range of its type, bits, or that of its values if bits
// is empty. Call no Add afterwards.
func (h *Histogram) Range(file, bits Span) (low, high float64) {
	if h.total == 0 {
		return 0, 1
	}
	own, robust := h.spread()
	if !robust {
		if own = h.Ends; bits.Low < bits.High {
			own = bits
		}
	}
	h.own = own
	if file.Low < file.High && file.Low < own.High && file.High > own.Low && h.holdsHalf(file) {
		return max(own.Low, file.Low), min(own.High, file.High)
	}
	return own.Low, own.High
}

// holdsHalf reports whether at least half of the values, without the background, lie in a range.
func (h *Histogram) holdsHalf(s Span) bool {
	within := 0.
	for bin := binOf(max(s.Low, h.Ends.Low)); bin <= binOf(min(s.High, h.Ends.High)); bin++ {
		if bin != h.background {
			within += float64(h.counts[bin])
		}
	}
	return within >= (h.total-float64(h.counts[h.background]))/2
}

// Cut is the shown range, if it leaves out more than a tenth of the range that Range has found in
// the values. Otherwise it is empty.
func (h *Histogram) Cut(shown Span) Span {
	if slack := (h.own.High - h.own.Low) / 10; slack > 0 && (shown.Low > h.own.Low+slack || shown.High < h.own.High-slack) {
		return shown
	}
	return Span{}
}

// spread is the range found in the values alone; false for a small or flat picture.
func (h *Histogram) spread() (Span, bool) {
	var fullest [few]uint32                    // ascending
	h.counts = h.counts[:binOf(h.Ends.High)+1] // the rest is empty
	for bin := binOf(h.Ends.Low); bin < len(h.counts); bin++ {
		n := h.counts[bin]
		if n > fullest[few-1] {
			h.background = bin
		}
		if n > fullest[0] {
			fullest[0] = n
			slices.Sort(fullest[:])
		}
	}
	held := 0.
	for _, n := range fullest {
		held += float64(n)
	}
	if h.total < Small || held >= 0.99*h.total {
		return Span{}, false
	}
	background := float64(fullest[few-1])
	if most := 3 * (h.total - background); background > most {
		h.counts[h.background] = uint32(most)
		h.total += most - background
	}
	low := h.black()
	return Span{low, h.white(low)}, true
}

// white is the value of white if low is black.
func (h *Histogram) white(low float64) float64 {
	span, above := math.Inf(1), 0.
	for bin, n := range slices.Backward(h.counts) {
		if n > 0 {
			span = min(span, (value(bin)-low)*math.Exp2(math.Log2E*steep*share(above, h.total)))
		}
		if above += float64(n); above > tail*h.total {
			break
		}
	}
	return low + span
}

func (h *Histogram) black() float64 {
	dark := h.quantile(darkest)
	span := h.white(dark) - dark
	if dark-h.quantile(stray) < span/256 {
		return dark
	}
	low, below := dark-distance*span, 0.
	for bin := binOf(h.Ends.Low); bin < len(h.counts); bin++ {
		n := h.counts[bin]
		if n > 0 {
			low = max(low, min(0, value(bin))-gentle*span*share(below, h.total))
		}
		if below += float64(n); below > tail*h.total {
			break
		}
	}
	return low
}

// share is a part of a total, rounded down to steps of 1/ranks.
func share(part, total float64) float64 { return math.Floor(part/total*ranks) / ranks }

// quantile is the least value such that more than a share of the pixels are not above it.
func (h *Histogram) quantile(share float64) float64 {
	below := 0.
	for bin := binOf(h.Ends.Low); bin < len(h.counts); bin++ {
		if below += float64(h.counts[bin]); below > share*h.total {
			return value(bin)
		}
	}
	return h.Ends.High
}
