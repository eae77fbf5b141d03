package pointwise

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

//go:embed quantize.wgsl
var quantizeFile string

// Quantized is a tensor (…, C) in int8. Its values are Q × Step, with Q (…, 4⌈C/4⌉) of I8 from −127
// to 127 and zeros beyond C. No gradient passes.
type Quantized struct {
	Q        *tensor.Tensor
	Step     float32
	Channels int // C
}

type quantizeParams struct {
	Words, Inputs, Outputs, Rows uint32
	Factor                       float32
}

func quantizedWords(p *quantizeParams) uint32   { return p.Words }
func quantizedRows(p *quantizeParams) uint32    { return p.Words / p.Outputs }
func quantizedOutputs(p *quantizeParams) uint32 { return p.Outputs }

var (
	quantizeForward = kernels.Faster(kernels.PerElement("quantize", quantizeFile, unary, quantizedWords, func(p *quantizeParams, a []gpu.Array) {
		for i := range 4 * p.Words {
			a[1].B[i] = 0
			if pixel, channel := i/Padded(p.Inputs), i%Padded(p.Inputs); channel < p.Inputs {
				a[1].B[i] = WholeSteps(float32(a[0].F[pixel*p.Inputs+channel]) * p.Factor)
			}
		}
	}), quantizeFast)
	quantizeScale = kernels.InPieces(quantizedOutputs, quantizeScalePart[float64], quantizeScalePart[float32],
		kernels.PerElement("quantize_scale", quantizeFile, unary, quantizedOutputs, nil))
	quantizeWeight = kernels.InRows(quantizedRows, quantizeWeightPart[float64], quantizeWeightPart[float32],
		kernels.PerElement("quantize_weight", quantizeFile, binary, quantizedWords, nil))
)

func quantizeScalePart[F gpu.Float](p *quantizeParams, a []gpu.ArrayOf[F], from, to int) {
	for o := from; o < to; o++ {
		var largest F
		for row := range int(p.Rows) {
			largest = max(largest, F(math.Abs(float64(a[0].F[row*int(p.Outputs)+o]))))
		}
		if a[1].F[o] = largest / 127; largest == 0 {
			a[1].F[o] = 1
		}
	}
}

// quantizeWeightPart computes rows [from, to) of words. A word has four inputs.
func quantizeWeightPart[F gpu.Float](p *quantizeParams, a []gpu.ArrayOf[F], from, to int) {
	outputs, words := int(p.Outputs), int(Padded(p.Inputs))/4
	for row := from; row < to; row++ {
		tap, first, q := row/words, row%words*4, a[2].B[row*4*outputs:][:4*outputs]
		clear(q)
		for j := range min(4, int(p.Inputs)-first) {
			x := a[0].F[(tap*int(p.Inputs)+first+j)*outputs:][:outputs]
			for o, v := range x {
				q[4*o+j] = WholeSteps(float32(v / a[1].F[o]))
			}
		}
	}
}

// WholeSteps is v rounded to an int8 from −127 to 127, ties to the even neighbour.
func WholeSteps(v float32) int8 { return int8(max(-127, min(127, math.RoundToEven(float64(v))))) }

// Padded is the number of channels rounded up to whole words of four.
func Padded(channels uint32) uint32 { return (channels + 3) / 4 * 4 }

// Quantization are the attributes of a Quantize: its kernel's parameters, and the step.
type Quantization struct {
	Params quantizeParams
	Step   float32
}

var QuantizeKind = &tensor.Kind{Name: "Quantize", Compute: func(op *tensor.Op) {
	p := op.Attributes.(Quantization).Params
	op.Dispatch(quantizeForward, &p, op.Inputs[0], op.Output())
}}

// Quantize rounds x (…, C) to the nearest whole step. Values beyond ±127 steps become ±127.
func Quantize(x *tensor.Tensor, step float32) Quantized {
	if !(step > 0) {
		panic(fmt.Sprintf("Quantize: steps of %g for %v", step, x))
	}
	channels := x.Dim(-1)
	shape := append([]int{}, x.Shape()...)
	shape[len(shape)-1] = int(Padded(uint32(channels)))
	q := x.Graph().NewOf(gpu.I8, "quantized", shape)
	p := &quantizeParams{Words: uint32(q.Elements() / 4), Inputs: uint32(channels), Factor: 1 / step}
	x.Graph().Append(QuantizeKind, Quantization{*p, step}, []*tensor.Tensor{q}, x)
	return Quantized{q, step, channels}
}

// QuantizeOutputs rounds a weight (…, Cin, Cout) to int8, q (…, ⌈Cin/4⌉, Cout, 4), with a step for
// each output, scale (Cout). It recovers what weights.Quantize stored.
func QuantizeOutputs(weight *tensor.Tensor) (q, scale *tensor.Tensor) {
	g, shape := weight.Graph(), weight.Shape()
	inputs, outputs := weight.Dim(-2), weight.Dim(-1)
	rows := weight.Elements() / outputs
	scale = g.New("scale of "+weight.String(), []int{outputs})
	q = g.NewOf(gpu.I8, "int8 "+weight.String(), append(append([]int{}, shape[:len(shape)-2]...), int(Padded(uint32(inputs)))/4, outputs, 4))
	p := &quantizeParams{Words: uint32(q.Elements() / 4), Inputs: uint32(inputs), Outputs: uint32(outputs), Rows: uint32(rows)}
	g.Dispatch(quantizeScale, p, weight, scale)
	g.Dispatch(quantizeWeight, p, weight, scale, q)
	return q, scale
}
