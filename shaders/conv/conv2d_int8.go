package conv

import (
	_ "embed"
	"fmt"
	"math"
	"math/bits"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

//go:embed conv2d_int8_common.wgsl
var conv2dInt8CommonPart string

//go:embed conv2d_int8.wgsl
var conv2dInt8File string

//go:embed conv2d_int8_tiles.wgsl
var conv2dInt8TilesFile string

//go:embed conv2d_int8_subgroups.wgsl
var conv2dInt8SubgroupsFile string

// Int8Params has the fields of the Params in conv2d_int8_common.wgsl, which explains them.
type Int8Params struct {
	Params
	Int8, Shift, Int8Residual         uint32
	SumFactor, ResidualFactor, Factor float32
}

// Indices of conv2dInt8's arguments: those of conv2dForward, with the scale of the weights between
// weight and bias.
const (
	int8Scale    = 2
	int8Bias     = 1 + BiasAt
	int8Residual = 1 + ResidualAt
	int8Shortcut = 1 + ShortcutAt
	int8Result   = 1 + ResultAt
)

// FixedPoint is how many units a step of an int8 result has: terms are summed in 256ths of a step.
const FixedPoint = 256

// conv2dInt8 takes x and weight in int8, the scale of the weight, bias, residual, shortcut, y.
// Channels are multiples of four: inputs are filled up with zeros.
var conv2dInt8 = &tensor.Kernel{
	Name: "conv2d_int8", Arguments: []gpu.Access{gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.Read, gpu.ReadWrite},
	Body: tensor.Body(conv2dInt8Body), Fast: tensor.Fast(conv2dInt8Fast),
	Variants: []tensor.Variant{
		{
			Name: "subgroups", Enables: "enable subgroups;", Source: kernels.Joined(conv2dInt8CommonPart, conv2dInt8SubgroupsFile),
			Runs:    func(info gpu.Info, _ any) bool { return kernels.EightLanes(info) },
			Prefers: func(_ gpu.Info, params any) bool { return params.(*Int8Params).Outputs >= 32 },
			Header:  conv2dInt8Header,
			Groups: func(params any) [3]int {
				return conv2dForwardGroups.subgroups(&params.(*Int8Params).Params)
			},
		},
		{
			Name: "tiles", Enables: "requires packed_4x8_integer_dot_product;", Source: kernels.Joined(conv2dInt8CommonPart, conv2dInt8TilesFile),
			Runs:    func(info gpu.Info, _ any) bool { return info.HasFeature(gpu.PackedDot) },
			Prefers: kernels.OnGPU,
			Header: func(params any) string {
				return conv2dInt8Header(params) + params.(*Int8Params).tile().constants()
			},
			Groups: func(params any) [3]int {
				p := params.(*Int8Params)
				return p.tile().groups(&p.Params)
			},
		},
		{
			Source: kernels.Joined(conv2dInt8CommonPart, conv2dInt8File), Header: conv2dInt8Header,
			Groups: func(params any) [3]int {
				p := params.(*Int8Params)
				return p.phased(tensor.Linear(kernels.Ceil(p.pixels(), 8)*int(p.Outputs)/4, 32))
			},
		},
	},
}

func conv2dInt8Header(params any) string {
	p := params.(*Int8Params)
	return "alias floats = vec4<f32>;\n" + tensor.Constants(map[string]int{"ACTIVATION": int(p.Activation), "INT8": int(p.Int8)}) +
		epilogueHeader(&p.Params) + conv2dGeometryPart
}

// tile is the tile of conv2d_int8_tiles.wgsl, where a term is a word.
func (p *Int8Params) tile() conv2dTile { return forwardTile(&p.Params, p.taps()*int(p.Inputs)/4) }

// Conv2DInt8Kind takes x in int8, weight, bias, residual and shortcut. The last three may be nil.
// Its attributes are *Int8Params.
var Conv2DInt8Kind = &tensor.Kind{Name: "Conv2DInt8", Compute: func(op *tensor.Op) {
	weight, scale := pointwise.QuantizeOutputs(op.Inputs[1])
	all := append([]*tensor.Tensor{op.Inputs[0], weight, scale}, arguments(op)[BiasAt:]...)
	op.Dispatch(conv2dInt8, op.Attributes, append(all, op.Output())...)
}}

// Conv2DInt8 is Conv2D of x rounded to int8, q. It rounds the weight to int8, with a step for each
// output. The result is in floats, unless Quantize alone reads it. Cout is a multiple of four. No
// gradient passes.
func Conv2DInt8(q pointwise.Quantized, weight, bias *tensor.Tensor, win Window) *tensor.Tensor {
	kernels.RequireShape("Conv2D", "x", q.Q, -1, -1, -1, -1)
	kernels.RequireShape("Conv2D", "weight", weight, -1, -1, q.Channels, -1)
	return convolveInt8(q, conv2dGeometry(q.Q, weight, win).withPhases(1, bias), weight, bias)
}

// ConvTranspose2x2Int8 is ConvTranspose2x2 in int8, as Conv2DInt8 is Conv2D in int8.
func ConvTranspose2x2Int8(q pointwise.Quantized, weight, bias *tensor.Tensor) *tensor.Tensor {
	kernels.RequireShape("ConvTranspose2x2", "x", q.Q, -1, -1, -1, -1)
	kernels.RequireShape("ConvTranspose2x2", "weight", weight, 2, 2, q.Channels, -1)
	return convolveInt8(q, doublingGeometry(q.Q, weight).withPhases(2, bias), weight, bias)
}

// convolveInt8 appends the convolution with a geometry.
func convolveInt8(q pointwise.Quantized, geometry Params, weight, bias *tensor.Tensor) *tensor.Tensor {
	requireBias(weight, bias)
	if geometry.Outputs%4 != 0 {
		panic(fmt.Sprintf("Conv2D of int8: the outputs of weight %v are no multiple of four", weight))
	}
	geometry.Inputs = pointwise.Padded(geometry.Inputs)
	p := &Int8Params{Params: geometry, Factor: 1, ResidualFactor: 1}
	largest := uint(p.taps()) * uint(p.Inputs) * 127 * 127 // the largest that a sum can be
	p.Shift = uint32(max(0, bits.Len(largest)-24))
	p.SumFactor = float32(math.Ldexp(float64(q.Step), int(p.Shift)))
	y := weight.Graph().New("conv2d", p.shape())
	weight.Graph().Append(Conv2DInt8Kind, p, []*tensor.Tensor{y}, q.Q, weight, bias)
	return y
}

func conv2dInt8Body(p *Int8Params, a []gpu.Array) {
	x, w := a[0].B, a[1].B
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	sums := make([]int32, int(p.Batch)*int(p.Rows.YSize)*int(p.Cols.YSize)*outputs)
	p.eachPhase(func(q *Params) {
		conv2dVisit(q, func(_, fromX, fromW, to int) {
			for k := range inputs {
				for n := range outputs {
					sums[to*outputs+n] += int32(x[fromX*inputs+k]) * int32(w[((fromW*inputs+k)/4*outputs+n)*4+k%4])
				}
			}
		})
		for position := range q.pixels() {
			pixel := q.destination(position)
			for n := range outputs {
				finishInt8(p, pixel*outputs+n, n, sums[pixel*outputs+n], a)
			}
		}
	})
}

// int8Factors returns the factors of output n's sum and residual, and the term that is added.
func int8Factors[F gpu.Float](p *Int8Params, n int, a []gpu.ArrayOf[F]) (by, residualBy, start float32) {
	bias := func(i int) float32 { return float32(a[int8Bias].F[i]) }
	by, residualBy = float32(a[int8Scale].F[n])*p.SumFactor, p.ResidualFactor
	switch p.HasBias {
	case 1:
		start = bias(n) * p.Factor
	case ScaleAndShift:
		by *= bias(n)
		start = bias(int(p.Outputs)+n) * p.Factor
		if p.Adds&3 == AddResidualFirst {
			residualBy *= bias(n)
		}
	}
	return by, residualBy, start
}

// finishInt8 computes element i of y, which belongs to output n, from its sum. If y is int8, it
// computes in float32 and gives the same bits as the WGSL kernels.
func finishInt8[F gpu.Float](p *Int8Params, i, n int, total int32, a []gpu.ArrayOf[F]) {
	sum := float32(total >> p.Shift)
	by, residualBy, start := int8Factors(p, n, a)
	residual, shortcut := float32(0), float32(0)
	switch {
	case p.Adds&3 != 0 && p.Int8Residual == 1:
		residual = float32(a[int8Residual].B[i])
	case p.Adds&3 != 0:
		residual = float32(a[int8Residual].F[i])
	}
	if p.Adds&AddShortcut != 0 {
		shortcut = float32(a[int8Shortcut].F[i])
	}
	if p.Int8 == 0 {
		v := float64(sum)*float64(by) + float64(start) + float64(residual)*float64(residualBy)
		a[int8Result].F[i] = F(pointwise.Activated(p.Activation, v) + float64(shortcut))
		return
	}
	t := vector.ToFixed(sum*by) + vector.ToFixed(start) + vector.ToFixed(residual*residualBy)
	if p.Activation == pointwise.Activation(pointwise.ReLUKind) {
		t = max(t, 0)
	}
	t += vector.ToFixed(shortcut * p.Factor)
	a[int8Result].B[i] = int8(max(-127, min(127, (t+FixedPoint/2)>>8)))
}
