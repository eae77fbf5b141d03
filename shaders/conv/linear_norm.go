package conv

import (
	_ "embed"
	"fmt"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/norm"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed linear_norm_common.wgsl
var linearNormCommonPart string

//go:embed linear_norm.wgsl
var linearNormFile string

//go:embed linear_norm_subgroups.wgsl
var linearNormSubgroupsFile string

// LinearNormParams has the fields of the Params in linear_norm_common.wgsl.
type LinearNormParams struct {
	Rows, Inputs, Outputs uint32
	HasBias, HasResidual  uint32
	Eps                   float32
}

// LinearNormForward takes x, weight, bias, residual, scale, shift, y. The residual is added before
// the normalisation.
var LinearNormForward = &tensor.Kernel{
	Name: "linear_norm_forward", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite},
	Body: tensor.Body(linearNormForwardBody), Fast: tensor.Fast(linearNormForwardFast),
	Variants: []tensor.Variant{
		{
			Name: "subgroups", Enables: "enable subgroups;", Source: kernels.Joined(linearNormCommonPart, linearNormSubgroupsFile),
			Runs: func(info gpu.Info, params any) bool {
				return kernels.EightLanes(info) && params.(*LinearNormParams).Outputs%32 == 0
			},
			Groups: func(params any) [3]int { return tensor.Linear(int(params.(*LinearNormParams).Rows), 16) },
			Header: func(params any) string {
				outputs := params.(*LinearNormParams).Outputs
				return tensor.Constants(map[string]int{"LANES": int(outputs / 4), "SUBGROUPS": int(outputs / 32), "MOMENTS": int(outputs / 2)})
			},
		},
		{
			// SwiftShader is faster with the two kernels that this one replaces.
			Source: kernels.Joined(linearNormCommonPart, linearNormFile), Prefers: kernels.OnGPU,
			Groups: func(params any) [3]int {
				p := params.(*LinearNormParams)
				blocks := linearNormSize(p) / int(p.Outputs/4)
				return tensor.Linear(int(p.Rows), 8*blocks)
			},
			Header: func(params any) string {
				size := linearNormSize(params.(*LinearNormParams))
				return tensor.Constants(map[string]int{"SIZE": size, "QUADS": 8 * size})
			},
		},
	},
}

// linearNormSize is the number of invocations of a workgroup. Every size is another program to
// compile, and larger ones are slower on emulated GPUs.
func linearNormSize(p *LinearNormParams) int {
	size := 32
	for size < int(p.Outputs/4) {
		size *= 2
	}
	return size
}

// Rows of leastNormOutputs to mostNormOutputs outputs fit workgroups of these sizes, and their
// memory of 16 KiB.
const leastNormOutputs, mostNormOutputs = 32, 512

// LinearNormKind is a linear map with the layer normalisation after it. Its inputs are x, weight,
// bias or nil, residual or nil, scale and shift. Its attributes are *LinearNormParams.
var LinearNormKind = &tensor.Kind{Name: "LinearNorm", Compute: func(op *tensor.Op) {
	op.Dispatch(LinearNormForward, op.Attributes, append(kernels.Bound(op.Inputs), op.Output())...)
}}

// WithLayerNorm returns the parameters of the linear map p with a layer normalisation after it. It
// returns false if the kernel cannot compute the two together.
func WithLayerNorm(p *Params, following *norm.LayerNormParams) (*LinearNormParams, bool) {
	geometry := linearGeometry(p.pixels(), int(p.Inputs), int(p.Outputs))
	linear := p.Rows == geometry.Rows && p.Cols == geometry.Cols && p.Batch == 1
	plain := p.HasBias <= 1 && (p.Adds == 0 || p.Adds == AddResidual) && p.Activation == 0
	if !linear || !plain || p.Inputs%4 != 0 || p.Outputs%4 != 0 || p.Outputs < leastNormOutputs || p.Outputs > mostNormOutputs {
		return nil, false
	}
	q := &LinearNormParams{Rows: following.Rows, Inputs: p.Inputs, Outputs: p.Outputs, HasBias: p.HasBias, Eps: following.Eps}
	if p.Adds == AddResidual {
		q.HasResidual = 1
	}
	return q, true
}

// parts are the parameters of the linear map and of the normalisation.
func (p *LinearNormParams) parts() (*Params, *norm.LayerNormParams) {
	linear := linearGeometry(int(p.Rows), int(p.Inputs), int(p.Outputs))
	linear.Parts, linear.HasBias = 1, p.HasBias
	if p.HasResidual == 1 {
		linear.Adds = AddResidual
	}
	return &linear, &norm.LayerNormParams{Rows: p.Rows, Channels: p.Outputs, Eps: p.Eps, Span: p.Rows}
}

func linearNormForwardBody(p *LinearNormParams, a []gpu.Array) {
	linear, normalised := p.parts()
	y, saved := a[6], gpu.Array{F: make([]float64, 2*p.Rows)}
	conv2dForwardBody(linear, []gpu.Array{a[0], a[1], a[2], a[3], a[3], y})
	norm.LayerNormForward.Body(normalised, []gpu.Array{y, a[4], a[5], y, saved})
}

func linearNormForwardFast(p *LinearNormParams, a []gpu.Array32, split gpu.Split) {
	linear, normalised := p.parts()
	n, y := int(p.Outputs), a[6].F
	linear.multiply(a, split, true, func(b convBlock, sums []float32, stride int) {
		f := &vector.Finish{}
		if p.HasBias == 1 {
			f.Shift = a[2].F[:n]
		}
		if p.HasResidual == 1 {
			f.Residual, f.Stride = a[3].F[b.first*n:], n
		}
		rows := y[b.first*n:][:b.count*n]
		vector.FinishRows(b.count, n, rows, n, sums, stride, f)
		var mean, deviations [vector.MostRows]float32
		vector.LayerNorm(rows, rows, a[4].F[:n], a[5].F[:n], normalised.Eps, mean[:b.count], deviations[:b.count])
	})
}

// Work describes what a dispatch computes, and counts the operations.
func (p *LinearNormParams) Work(string) (shape string, operations float64) {
	return fmt.Sprintf("%d rows, %d→%d", p.Rows, p.Inputs, p.Outputs), 2 * float64(p.Rows) * float64(p.Inputs*p.Outputs)
}
