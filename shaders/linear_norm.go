package shaders

import (
	_ "embed"
	"fmt"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed linear_norm.wgsl
var linearNormSource string

//go:embed linear_norm_subgroups.wgsl
var linearNormSubgroupsSource string

// linearNormParams is word for word the Params of linear_norm.wgsl.
type linearNormParams struct {
	Rows, Inputs, Outputs uint32
	HasBias, HasResidual  uint32
	Eps                   float32
}

// linearNormForward takes x, weight, bias, residual, scale, shift, y. No operator appends it: a linear map becomes it where it takes over the
// layer normalisation that alone reads its result (conv2dAbsorb), with the sum between them.
var linearNormForward = &tensor.Kernel{
	Name: "linear_norm_forward", Arguments: []gpu.Access{read, read, read, read, read, read, write},
	Body: tensor.Body(linearNormForwardBody), Fast: tensor.Fast(linearNormForwardFast),
	Variants: []tensor.Variant{
		linearNorm("subgroups", linearNormSubgroupsSource, 16, func(info gpu.Info, params any) bool {
			return eightLanes(info) && params.(*linearNormParams).Outputs%32 == 0
		}, func(outputs int) map[string]int {
			return map[string]int{"LANES": outputs / 4, "SUBGROUPS": outputs / 32, "MOMENTS": 16 * outputs / 32}
		}),
		linearNorm("", linearNormSource, 8, nil, func(outputs int) map[string]int {
			return map[string]int{"LANES": outputs / 4, "QUADS": 8 * outputs / 4}
		}),
	},
}

// linearNorm is a variant whose workgroups compute so many rows each.
func linearNorm(name, source string, rows int, runs func(gpu.Info, any) bool, constants func(outputs int) map[string]int) tensor.Variant {
	return tensor.Variant{
		Name: name, Source: source, Runs: runs,
		Groups: func(params any) [3]int { return tensor.Linear(int(params.(*linearNormParams).Rows), rows) },
		Consts: func(params any) map[string]string {
			written := map[string]string{}
			for name, value := range constants(int(params.(*linearNormParams).Outputs)) {
				written[name] = fmt.Sprintf("%du", value)
			}
			return written
		},
	}
}

// linearNormLanes are the most invocations of a workgroup, each with four outputs.
const linearNormLanes = 128

// withLayerNorm is the linear map p with the layer normalisation after it, if p is one that the kernel computes.
func withLayerNorm(p *conv2dParams, norm *layerNormParams) (tensor.Absorbed, bool) {
	geometry := linearGeometry(p.pixels(), int(p.Inputs), int(p.Outputs))
	linear := p.Rows == geometry.Rows && p.Cols == geometry.Cols && p.Batch == 1
	plain := p.HasBias <= 1 && (p.Adds == 0 || p.Adds == addResidual) && p.Activation == 0
	if !linear || !plain || p.Inputs%4 != 0 || p.Outputs%4 != 0 || p.Outputs > 4*linearNormLanes {
		return tensor.Absorbed{}, false
	}
	q := &linearNormParams{Rows: norm.Rows, Inputs: p.Inputs, Outputs: p.Outputs, HasBias: p.HasBias, Eps: norm.Eps}
	if p.Adds == addResidual {
		q.HasResidual = 1
	}
	return tensor.Absorbed{Kernel: linearNormForward, Params: q, From: map[int]int{4: 1, 5: 2, 6: 3}}, true
}

// parts are the linear map and the normalisation that follow each other in y.
func (p *linearNormParams) parts() (*conv2dParams, *layerNormParams) {
	linear := linearGeometry(int(p.Rows), int(p.Inputs), int(p.Outputs))
	linear.Parts, linear.HasBias = 1, p.HasBias
	if p.HasResidual == 1 {
		linear.Adds = addResidual
	}
	return &linear, &layerNormParams{Rows: p.Rows, Channels: p.Outputs, Eps: p.Eps}
}

func linearNormForwardBody(p *linearNormParams, a []gpu.Array) {
	linear, norm := p.parts()
	y, saved := a[6], gpu.Array{F: make([]float64, 2*p.Rows)}
	conv2dForwardBody(linear, []gpu.Array{a[0], a[1], a[2], a[3], a[3], y})
	layerNormForward.Body(norm, []gpu.Array{y, a[4], a[5], y, saved})
}

func linearNormForwardFast(p *linearNormParams, a []gpu.Array32, split gpu.Split) {
	linear, norm := p.parts()
	y, saved := a[6], gpu.Array32{F: make([]float32, 2*p.Rows)}
	conv2dForwardFast(linear, []gpu.Array32{a[0], a[1], a[2], a[3], a[3], y}, split)
	layerNormForwardFast(norm, []gpu.Array32{y, a[4], a[5], y, saved}, split)
}
