package conv

import (
	_ "embed"
	"fmt"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed grouped_linear.wgsl
var groupedLinearSource string

type GroupedLinearParams struct {
	Pixels, Groups, Inputs, Outputs, HasBias, Splits, Chunk, Sigmoid uint32
}

func groupedLinearPixels(p *GroupedLinearParams) uint32 { return p.Pixels }
func groupedLinearSplits(p *GroupedLinearParams) uint32 { return p.Splits }

var (
	groupedLinearForward = kernels.Faster(
		kernels.PerElement("grouped_linear_forward", groupedLinearSource, []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite},
			func(p *GroupedLinearParams) uint32 { return p.Pixels * p.Groups * p.Outputs }, groupedLinearForwardBody), groupedLinearForwardFast)

	// groupedLinearBackwardX takes dy, weight, dx.
	groupedLinearBackwardX = kernels.Adding(kernels.InRows(groupedLinearPixels, groupedLinearXPart[float64], groupedLinearXPart[float32],
		kernels.PerElement("grouped_linear_backward_x", groupedLinearSource, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
			func(p *GroupedLinearParams) uint32 { return p.Pixels * p.Groups * p.Inputs }, nil)))

	// groupedLinearBackwardWeight takes dy, x, dw.
	groupedLinearBackwardWeight = kernels.Wide(kernels.InRows(groupedLinearSplits, groupedLinearWeightPart[float64], groupedLinearWeightPart[float32],
		kernels.PerElement("grouped_linear_backward_weight", groupedLinearSource, []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
			func(p *GroupedLinearParams) uint32 { return p.Splits * p.Groups * p.Inputs * p.Outputs }, nil)), 2)
)

// eachGroup calls f for each group of pixels [from, to), with the first elements of its x, weight
// and y.
func (p *GroupedLinearParams) eachGroup(from, to int, f func(x, w, y int)) {
	for i := from * int(p.Groups); i < to*int(p.Groups); i++ {
		f(i*int(p.Inputs), i%int(p.Groups)*int(p.Inputs*p.Outputs), i*int(p.Outputs))
	}
}

func groupedLinearForwardBody(p *GroupedLinearParams, a []gpu.Array) {
	y, inputs, outputs := a[3].F, int(p.Inputs), int(p.Outputs)
	width := int(p.Groups) * outputs
	for i := range int(p.Pixels) * width {
		y[i] = 0
		if p.HasBias == 1 {
			y[i] = a[2].F[i%width]
		}
	}
	p.eachGroup(0, int(p.Pixels), func(x, w, to int) {
		for i, v := range a[0].F[x:][:inputs] {
			vector.AddScaled(y[to:][:outputs], a[1].F[w+i*outputs:], v)
		}
	})
	for i := range int(p.Sigmoid*p.Pixels) * width {
		y[i] = pointwise.Logistic(y[i])
	}
}

// groupedLinearForwardFast is one matrix product for all groups. Weights between different groups
// are 0. A product for each group would leave most of a vector empty.
func groupedLinearForwardFast(p *GroupedLinearParams, a []gpu.Array32, split gpu.Split) {
	inputs, outputs := int(p.Groups*p.Inputs), int(p.Groups*p.Outputs)
	weights, rows := p.packedGroups(a[1], split), vector.Rows()
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

// packedGroups are the weights of all groups as one packed matrix.
func (p *GroupedLinearParams) packedGroups(w gpu.Array32, split gpu.Split) *vector.Matrix {
	inputs, outputs, width := int(p.Inputs), int(p.Outputs), int(p.Groups*p.Outputs)
	key := gpu.KeptKey{int32(p.Groups), int32(p.Inputs), int32(p.Outputs)}
	return kernels.Packed(w, key, int(p.Groups)*inputs, width, split, func(m *vector.Matrix, panel int) {
		row := make([]float32, width)
		for i := range int(p.Groups) * inputs {
			clear(row)
			copy(row[i/inputs*outputs:][:outputs], w.F[i*outputs:])
			m.Pack(panel, i, 1, row, width)
		}
	})
}

func groupedLinearXPart[F gpu.Float](p *GroupedLinearParams, a []gpu.ArrayOf[F], from, to int) {
	inputs, outputs, dot := int(p.Inputs), int(p.Outputs), vector.Dot[F]
	p.eachGroup(from, to, func(x, w, y int) {
		dy, weight, dx := a[0].F[y:][:outputs], a[1].F[w:][:inputs*outputs], a[2].F[x:][:inputs]
		for i := range dx {
			dx[i] += dot(dy, weight[i*outputs:][:outputs])
		}
	})
}

func groupedLinearWeightPart[F gpu.Float](p *GroupedLinearParams, a []gpu.ArrayOf[F], from, to int) {
	inputs, outputs, chunk := int(p.Inputs), int(p.Outputs), int(p.Chunk)
	weights, add := int(p.Groups)*inputs*outputs, vector.AddScaled[F]
	for part := from; part < to; part++ {
		dw := a[2].F[part*weights:][:weights]
		clear(dw)
		p.eachGroup(part*chunk, min((part+1)*chunk, int(p.Pixels)), func(x, w, y int) {
			dy, dw := a[0].F[y:][:outputs], dw[w:][:inputs*outputs]
			for i, v := range a[1].F[x:][:inputs] {
				add(dw[i*outputs:][:outputs], dy, v)
			}
		})
	}
}

// GroupedLinearKind takes x, weight and bias (or nil).
var GroupedLinearKind = kernels.Operator(tensor.Kind{
	Name: "GroupedLinear", Halves: tensor.HalvesBegin, Images: 1,
	Repeat: kernels.Repeat(func(p *GroupedLinearParams, n uint32) { p.Pixels *= n }),
}, groupedLinearForward, func(op *tensor.Op) {
	p, x, weight, dy := op.Attributes.(*GroupedLinearParams), op.Inputs[0], op.Inputs[1], op.Output().Gradient()
	if x.NeedsGradient() {
		op.Dispatch(groupedLinearBackwardX, p, dy, weight, x.Gradient())
	}
	if weight.NeedsGradient() {
		q := *p
		splits := split(int(p.Pixels), weight.Elements(), 64, 4096)
		q.Splits, q.Chunk = uint32(splits), uint32(kernels.Ceil(int(p.Pixels), splits))
		parts := op.Graph().NewOf(gpu.F32, "parts of "+weight.String(), append([]int{splits}, weight.Shape()...))
		op.Dispatch(groupedLinearBackwardWeight, &q, dy, x, parts)
		pointwise.SumRows(parts, weight.Gradient())
	}
	biasGradient(op.Inputs[2], dy)
})

// GroupedLinear applies to each group of x's last extent, x (…, G·I), its own weight[g] of weight
// (G, I, O), plus bias (G, O) unless nil: (…, G·O).
func GroupedLinear(x, weight, bias *tensor.Tensor) *tensor.Tensor {
	kernels.RequireShape("GroupedLinear", "weight", weight, -1, -1, -1)
	groups, inputs, outputs := weight.Dim(0), weight.Dim(1), weight.Dim(2)
	pixels := x.Elements() / x.Dim(-1)
	kernels.RequireShape("GroupedLinear", "x", x.Reshape(pixels, x.Dim(-1)), pixels, groups*inputs)
	p := &GroupedLinearParams{Pixels: uint32(pixels), Groups: uint32(groups), Inputs: uint32(inputs), Outputs: uint32(outputs)}
	if bias != nil {
		kernels.RequireShape("GroupedLinear", "bias", bias, groups, outputs)
		p.HasBias = 1
	}
	shape := append(slices.Clone(x.Shape()[:len(x.Shape())-1]), groups*outputs)
	return x.Graph().Apply(GroupedLinearKind, p, shape, x, weight, bias)
}

// Work describes what a dispatch computes, and counts the operations.
func (p *GroupedLinearParams) Work(string) (shape string, operations float64) {
	shape = fmt.Sprintf("%d pixels, %d of %d→%d", p.Pixels, p.Groups, p.Inputs, p.Outputs)
	return shape, 2 * float64(p.Pixels*p.Groups) * float64(p.Inputs*p.Outputs)
}
