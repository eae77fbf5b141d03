package shaders

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/internal/gpu"
)

//go:embed quantize.wgsl
var quantizeSource string

// Quantized is a tensor in int8: Q is −127 to 127, I8 of the shape of what it stands for, whose value is Q times Step. The last extent is a
// multiple of four. No gradient passes.
type Quantized struct {
	Q    *Tensor
	Step float32
}

// quantizeParams is word for word the Params of quantize.wgsl.
type quantizeParams struct {
	Words, Outputs, Rows uint32
	Factor               float32
}

func quantizedWords(p *quantizeParams) uint32   { return p.Words }
func quantizedOutputs(p *quantizeParams) uint32 { return p.Outputs }

var (
	quantizeForward = perElement("quantize", quantizeSource, []gpu.Access{read, write}, quantizedWords, func(p *quantizeParams, a []gpu.Array) {
		for i := range 4 * p.Words {
			a[1].B[i] = wholeSteps(float32(a[0].F[i]) * p.Factor)
		}
	})
	addInt8Forward = perElement("add_int8", quantizeSource, []gpu.Access{read, read, write}, quantizedWords, func(p *quantizeParams, a []gpu.Array) {
		for i := range 4 * p.Words {
			a[2].F[i] = a[0].F[i] + float64(a[1].B[i])*float64(p.Factor)
		}
	})
	quantizeScale = perElement("quantize_scale", quantizeSource, []gpu.Access{read, write}, quantizedOutputs, func(p *quantizeParams, a []gpu.Array) {
		for o := range p.Outputs {
			largest := 0.0
			for row := range p.Rows {
				largest = max(largest, math.Abs(a[0].F[row*p.Outputs+o]))
			}
			if a[1].F[o] = largest / 127; largest == 0 {
				a[1].F[o] = 1
			}
		}
	})
	quantizeWeight = perElement("quantize_weight", quantizeSource, []gpu.Access{read, read, write}, quantizedWords, func(p *quantizeParams, a []gpu.Array) {
		for row := range p.Rows {
			for o := range p.Outputs {
				a[2].B[(row/4*p.Outputs+o)*4+row%4] = wholeSteps(float32(a[0].F[row*p.Outputs+o] / a[1].F[o]))
			}
		}
	})
)

// wholeSteps is the nearest int8; of two, the even one.
func wholeSteps(v float32) int8 { return int8(max(-127, min(127, math.RoundToEven(float64(v))))) }

// Quantize rounds x (…, C), C a multiple of four, to the nearest step; what is beyond 127 steps becomes 127.
func Quantize(x *Tensor, step float32) Quantized {
	if x.Dim(-1)%4 != 0 || !(step > 0) {
		panic(fmt.Sprintf("Quantize: steps of %g for %v, whose last extent must be a multiple of four", step, x))
	}
	q := x.Graph().NewInt8("quantized", x.Shape())
	x.Graph().Dispatch(quantizeForward, &quantizeParams{Words: uint32(x.Elements() / 4), Factor: 1 / step}, x, q)
	return Quantized{q, step}
}

// AddInt8 is x + q, of one shape.
func AddInt8(x *Tensor, q Quantized) *Tensor {
	sameShape("AddInt8", x, q.Q)
	y := x.Graph().New("add", x.Shape())
	x.Graph().Dispatch(addInt8Forward, &quantizeParams{Words: uint32(x.Elements() / 4), Factor: q.Step}, x, q.Q, y)
	return y
}

// quantizeOutputs is a weight (…, Cin, Cout) in int8, (…, Cin/4, Cout, 4), and the step of each output (Cout): those that weights.Quantize
// finds, where the weight has come from it.
func quantizeOutputs(weight *Tensor) (q, scale *Tensor) {
	g, shape := weight.Graph(), weight.Shape()
	inputs, outputs := weight.Dim(-2), weight.Dim(-1)
	p := &quantizeParams{Words: uint32(weight.Elements() / 4), Outputs: uint32(outputs), Rows: uint32(weight.Elements() / outputs)}
	scale = g.New("scale of "+weight.String(), []int{outputs})
	g.Dispatch(quantizeScale, p, weight, scale)
	q = g.NewInt8("int8 "+weight.String(), append(append([]int{}, shape[:len(shape)-2]...), inputs/4, outputs, 4))
	g.Dispatch(quantizeWeight, p, weight, scale, q)
	return q, scale
}
