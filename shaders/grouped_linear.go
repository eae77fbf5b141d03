package shaders

import (
	_ "embed"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed grouped_linear.wgsl
var groupedLinearSource string

type groupedLinearParams struct {
	Pixels, Groups, Inputs, Outputs, HasBias, Splits, Chunk, Sigmoid uint32
}

func groupedLinearKernel(name string, arguments []gpu.Access, results func(p *groupedLinearParams) uint32,
	body func(p *groupedLinearParams, a []gpu.Array)) *tensor.Kernel {
	return &tensor.Kernel{
		Name: name, Arguments: arguments, Body: tensor.Body(body),
		Variants: []tensor.Variant{{
			Source: groupedLinearSource,
			Groups: func(params any) [3]int {
				return tensor.Linear(int(results(params.(*groupedLinearParams))), elementwise)
			},
		}},
	}
}

// visit calls f for every product with the indices of its elements of x, weight and y.
func (p *groupedLinearParams) visit(f func(pixel, x, w, y uint32)) {
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
	groupedLinearForward = absorbing(groupedLinearAbsorb, faster(groupedLinearKernel("grouped_linear_forward", []gpu.Access{read, read, read, write},
		func(p *groupedLinearParams) uint32 { return p.Pixels * p.Groups * p.Outputs },
		func(p *groupedLinearParams, a []gpu.Array) {
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
				y[i] = sigmoid(y[i])
			}
		}), groupedLinearForwardFast))
	groupedLinearBackwardX = faster(groupedLinearKernel("grouped_linear_backward_x", []gpu.Access{read, read, write}, // dy, weight, dx
		func(p *groupedLinearParams) uint32 { return p.Pixels * p.Groups * p.Inputs },
		func(p *groupedLinearParams, a []gpu.Array) {
			dy, w, dx := a[0].F, a[1].F, a[2].F
			p.visit(func(_, to, j, i uint32) { dx[to] += dy[i] * w[j] })
		}), groupedLinearBackwardXFast)
	groupedLinearBackwardWeight = wide(faster(groupedLinearKernel("grouped_linear_backward_weight", []gpu.Access{read, read, write}, // dy, x, dw
		func(p *groupedLinearParams) uint32 { return p.Splits * p.Groups * p.Inputs * p.Outputs },
		func(p *groupedLinearParams, a []gpu.Array) {
			dy, x, dw := a[0].F, a[1].F, a[2].F
			weights := p.Groups * p.Inputs * p.Outputs
			clear(dw[:p.Splits*weights])
			p.visit(func(pixel, i, to, j uint32) { dw[pixel/p.Chunk*weights+to] += dy[j] * x[i] })
		}), groupedLinearBackwardWeightFast), 2)
)

// groupedLinearAbsorb lets the forward kernel compute the sigmoid of its result.
func groupedLinearAbsorb(params any, next *tensor.Kernel, _ any, _ int) (tensor.Absorbed, bool) {
	p := *params.(*groupedLinearParams)
	if next != sigmoidForward || p.Sigmoid == 1 {
		return tensor.Absorbed{}, false
	}
	p.Sigmoid = 1
	return tensor.Absorbed{Params: &p, From: map[int]int{3: 1}}, true
}

// GroupedLinear applies to each group of x's last extent, x (…, G·I), its own weight[g] of weight (G, I, O), plus bias (G, O)
// unless nil: (…, G·O).
func GroupedLinear(x, weight, bias *Tensor) *Tensor {
	requireShape("GroupedLinear", "weight", weight, -1, -1, -1)
	groups, inputs, outputs := weight.Dim(0), weight.Dim(1), weight.Dim(2)
	g := x.Graph()
	pixels := x.Elements() / x.Dim(-1)
	requireShape("GroupedLinear", "x", x.Reshape(pixels, x.Dim(-1)), pixels, groups*inputs)
	p := groupedLinearParams{Pixels: uint32(pixels), Groups: uint32(groups), Inputs: uint32(inputs), Outputs: uint32(outputs)}
	start := weight // bound, not read
	of := []*Tensor{x, weight}
	if bias != nil {
		requireShape("GroupedLinear", "bias", bias, groups, outputs)
		p.HasBias, start = 1, bias
		of = append(of, bias)
	}
	shape := append(append([]int(nil), x.Shape()[:len(x.Shape())-1]...), groups*outputs)
	y := g.New("grouped_linear", shape, of...)
	g.Dispatch(groupedLinearForward, &p, x, weight, start, y)
	g.OnBackward(y, func() {
		dy := y.Gradient()
		if x.NeedsGradient() {
			g.Dispatch(groupedLinearBackwardX, &p, dy, weight, x.Gradient())
		}
		if weight.NeedsGradient() {
			q := p
			splits := split(pixels, weight.Elements(), 64, 4096)
			q.Splits, q.Chunk = uint32(splits), uint32(ceil(pixels, splits))
			parts := g.NewOf(gpu.F32, "parts of "+weight.String(), append([]int{splits}, weight.Shape()...))
			g.Dispatch(groupedLinearBackwardWeight, &q, dy, x, parts)
			sumRows(parts, weight.Gradient())
		}
		biasGradient(bias, dy)
	})
	return y
}
