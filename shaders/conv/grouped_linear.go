package conv

import (
	_ "embed"
	"fmt"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
)

//go:embed grouped_linear.wgsl
var groupedLinearSource string

type GroupedLinearParams struct {
	Pixels, Groups, Inputs, Outputs, HasBias, Splits, Chunk, Sigmoid uint32
}

func groupedLinearKernel(name string, arguments []gpu.Access, results func(p *GroupedLinearParams) uint32,
	body func(p *GroupedLinearParams, a []gpu.Array)) *tensor.Kernel {
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body),
		Variants: []tensor.Variant{{
			Source: groupedLinearSource,
			Groups: func(params any) [3]int {
				return tensor.Linear(int(results(params.(*GroupedLinearParams))), kernels.Workgroup)
			},
		}},
	}
}

// visit calls f for every product with the indices of its elements of x, weight and y.
func (p *GroupedLinearParams) visit(f func(pixel, x, w, y uint32)) {
	for pixel := range p.Pixels {
		for g := range p.Groups {
			for i := range p.Inputs {
				for o := range p.Outputs {
					f(pixel, (pixel*p.Groups+g)*p.Inputs+i, (g*p.Inputs+i)*p.Outputs+o, (pixel*p.Groups+g)*p.Outputs+o)
				}
			}
		}
	}
}

var (
	groupedLinearForward = kernels.Faster(groupedLinearKernel("grouped_linear_forward", []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite},
		func(p *GroupedLinearParams) uint32 { return p.Pixels * p.Groups * p.Outputs },
		func(p *GroupedLinearParams, a []gpu.Array) {
			x, w, bias, y := a[0].F, a[1].F, a[2].F, a[3].F
			width := p.Groups * p.Outputs
			for i := range p.Pixels * width {
				y[i] = 0
				if p.HasBias == 1 {
					y[i] = bias[i%width]
				}
			}
			p.visit(func(_, i, j, to uint32) { y[to] += x[i] * w[j] })
			for i := range p.Sigmoid * p.Pixels * width {
				y[i] = pointwise.Logistic(y[i])
			}
		}), groupedLinearForwardFast)
	// groupedLinearBackwardX takes dy, weight, dx.
	groupedLinearBackwardX = kernels.Faster(groupedLinearKernel("grouped_linear_backward_x", []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
		func(p *GroupedLinearParams) uint32 { return p.Pixels * p.Groups * p.Inputs },
		func(p *GroupedLinearParams, a []gpu.Array) {
			dy, w, dx := a[0].F, a[1].F, a[2].F
			p.visit(func(_, to, j, i uint32) { dx[to] += dy[i] * w[j] })
		}), groupedLinearBackwardXFast)
	// groupedLinearBackwardWeight takes dy, x, dw.
	groupedLinearBackwardWeight = kernels.Wide(kernels.Faster(groupedLinearKernel("grouped_linear_backward_weight", []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite},
		func(p *GroupedLinearParams) uint32 { return p.Splits * p.Groups * p.Inputs * p.Outputs },
		func(p *GroupedLinearParams, a []gpu.Array) {
			dy, x, dw := a[0].F, a[1].F, a[2].F
			weights := p.Groups * p.Inputs * p.Outputs
			clear(dw[:p.Splits*weights])
			p.visit(func(pixel, i, to, j uint32) { dw[pixel/p.Chunk*weights+to] += dy[j] * x[i] })
		}), groupedLinearBackwardWeightFast), 2)
)

// GroupedLinearKind takes x, weight and bias, or nil.
var GroupedLinearKind = &tensor.Kind{Name: "GroupedLinear", Compute: func(op *tensor.Op) {
	bias := op.Inputs[2]
	if bias == nil {
		bias = op.Inputs[1] // bound, not read
	}
	op.Dispatch(groupedLinearForward, op.Attributes, op.Inputs[0], op.Inputs[1], bias, op.Output())
}, Gradient: func(op *tensor.Op) {
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
}}

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
	shape := append(append([]int(nil), x.Shape()[:len(x.Shape())-1]...), groups*outputs)
	return x.Graph().Apply(GroupedLinearKind, p, shape, x, weight, bias)
}

// Work says for people what a dispatch computes, and how many operations that takes.
func (p *GroupedLinearParams) Work(string) (shape string, operations float64) {
	shape = fmt.Sprintf("%d pixels, %d of %d→%d", p.Pixels, p.Groups, p.Inputs, p.Outputs)
	return shape, 2 * float64(p.Pixels*p.Groups) * float64(p.Inputs*p.Outputs)
}
