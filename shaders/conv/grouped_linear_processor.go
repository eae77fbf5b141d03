package conv

import (
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/vector"
	"mrprism/shaders/kernels"
)

// groups calls f for each group of each pixel of a run, with the first elements of its x, weight
// and y.
func (p *GroupedLinearParams) groups(from, to int, f func(x, w, y int)) {
	for i := from * int(p.Groups); i < to*int(p.Groups); i++ {
		f(i*int(p.Inputs), i%int(p.Groups)*int(p.Inputs*p.Outputs), i*int(p.Outputs))
	}
}

// groupedLinearForwardFast is one product, by weights that are 0 from one group to another: a
// vector has room for many more outputs than a group has.
func groupedLinearForwardFast(p *GroupedLinearParams, a []gpu.Array32, split gpu.Split) {
	inputs, outputs := int(p.Groups*p.Inputs), int(p.Groups*p.Outputs)
	weights, rows := p.packedGroups(a[1]), vector.Rows()
	f := &vector.Finish{}
	if p.HasBias == 1 {
		f.Shift = a[2].F[:outputs]
	}
	split(kernels.Ceil(int(p.Pixels), rows), func(from, to int) {
		room := kernels.TakeRoom()
		defer room.Leave()
		sums := kernels.RoomFor(&room.Sums, rows*weights.Stride())
		for first := from * rows; first < min(to*rows, int(p.Pixels)); first += rows {
			count := min(rows, int(p.Pixels)-first)
			y := a[3].F[first*outputs:][:count*outputs]
			weights.Multiply(count, a[0].F[first*inputs:], inputs, 1, sums, weights.Stride(), false)
			vector.FinishRows(count, outputs, y, outputs, sums, weights.Stride(), f)
			if p.Sigmoid == 1 {
				vector.Sigmoid(y)
			}
		}
	})
}

// packedGroups are the weights of all groups, kept from dispatch to dispatch.
func (p *GroupedLinearParams) packedGroups(w gpu.Array32) *vector.Matrix {
	key := gpu.KeptKey{int32(p.Groups), int32(p.Inputs), int32(p.Outputs)}
	kept, fresh := w.Kept.Get(key)
	m, made := kept.(*vector.Matrix)
	if fresh && m.Holds() {
		return m
	}
	if !made {
		m = new(vector.Matrix)
	}
	inputs, outputs, width := int(p.Inputs), int(p.Outputs), int(p.Groups*p.Outputs)
	all := make([]float32, int(p.Groups)*inputs*width)
	for i := range int(p.Groups) * inputs {
		copy(all[i*width+i/inputs*outputs:][:outputs], w.F[i*outputs:])
	}
	m.Reset(int(p.Groups)*inputs, width)
	for panel := range m.Panels() {
		m.Pack(panel, 0, int(p.Groups)*inputs, all, width)
	}
	w.Kept.Set(key, m)
	return m
}

func groupedLinearBackwardXFast(p *GroupedLinearParams, a []gpu.Array32, split gpu.Split) {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	split(int(p.Pixels), func(from, to int) {
		p.groups(from, to, func(x, w, y int) {
			for i := range inputs {
				a[2].F[x+i] += vector.Dot(a[0].F[y:][:outputs], a[1].F[w+i*outputs:][:outputs])
			}
		})
	})
}

func groupedLinearBackwardWeightFast(p *GroupedLinearParams, a []gpu.Array32, split gpu.Split) {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	weights := int(p.Groups) * inputs * outputs
	split(int(p.Splits), func(from, to int) {
		for part := from; part < to; part++ {
			dw := a[2].F[part*weights:][:weights]
			clear(dw)
			p.groups(part*int(p.Chunk), min((part+1)*int(p.Chunk), int(p.Pixels)), func(x, w, y int) {
				for i, v := range a[1].F[x:][:inputs] {
					vector.AddScaled(dw[w+i*outputs:][:outputs], a[0].F[y:][:outputs], v)
				}
			})
		}
	})
}
