package conv

import (
	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/pointwise"
)

// A convolution does more with a sum before it writes it. HasBias is 0, 1 for a bias, or
// ScaleAndShift: the two rows of the bias argument. Adds is 0 or one of addToY (what y holds),
// AddResidual and AddResidualFirst (after or before scale and shift), plus AddShortcut for a sum
// after the activation. Activation is 0 or the number of one (pointwise.Activation).
const (
	ScaleAndShift uint32 = 2

	addToY           uint32 = 1
	AddResidual      uint32 = 2
	AddResidualFirst uint32 = 3
	AddShortcut      uint32 = 4
)

// Positions of conv2dForward's arguments.
const (
	BiasAt     = 2
	ResidualAt = 3
	ShortcutAt = 4
	ResultAt   = 5
)

// FusedKind is a convolution with the operators after it. The rewrites make it. Its inputs are x,
// weight, bias, residual and shortcut, of which the last three may be nil, to one output or two.
// Its attributes are *Params.
var FusedKind = &tensor.Kind{Name: "Convolution", Compute: func(op *tensor.Op) {
	convolve(op.Attributes.(*Params), op)
}}

// Geometry is the geometry of an operator that is a convolution; nil of others.
func Geometry(op *tensor.Op) *Params {
	var p Params
	switch op.Kind {
	case Conv2DKind:
		p = conv2dForwardGeometry(op)
	case LinearKind:
		p = linearForwardGeometry(op)
	case ConvTranspose2x2Kind:
		p = convTransposeGeometry(op)
	default:
		return nil
	}
	return &p
}

// phased gives every phase a layer of workgroups.
func (p *Params) phased(groups [3]int) [3]int {
	groups[2] = int(p.Parts * p.Parts)
	return groups
}

// eachPhase calls f with the parameters of each phase.
func (p *Params) eachPhase(f func(q *Params)) {
	for row := range int32(p.Parts) {
		for col := range int32(p.Parts) {
			q := *p
			q.Rows.WStart, q.Rows.YStart = p.Rows.WStart+row, p.Rows.YStart+row
			q.Cols.WStart, q.Cols.YStart = p.Cols.WStart+col, p.Cols.YStart+col
			f(&q)
		}
	}
}

func conv2dForwardBody(p *Params, a []gpu.Array) {
	p.eachPhase(func(q *Params) { conv2dPhase(q, a) })
}

func conv2dPhase(p *Params, a []gpu.Array) {
	x, w, bias, y := a[0].F, a[1].F, a[BiasAt].F, a[ResultAt].F
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	conv2dStart(p, bias, y)
	conv2dVisit(p, func(_, fromX, fromW, to int) {
		for k := range inputs {
			for n := range outputs {
				y[to*outputs+n] += x[fromX*inputs+k] * w[(fromW*inputs+k)*outputs+n]
			}
		}
	})
	conv2dPixels(p, func(pixel int) {
		for n := range outputs {
			i := pixel*outputs + n
			adds := p.Adds &^ AddShortcut
			if adds == AddResidualFirst {
				y[i] += a[ResidualAt].F[i]
			}
			if p.HasBias == ScaleAndShift {
				y[i] = y[i]*bias[n] + bias[outputs+n]
			}
			if adds == AddResidual {
				y[i] += a[ResidualAt].F[i]
			}
			y[i] = pointwise.Activated(p.Activation, y[i])
			if p.Adds&AddShortcut != 0 {
				y[i] += a[ShortcutAt].F[i]
			}
		}
	})
}

// conv2dStart gives y the value that products are added to: its own, zero, or the bias.
func conv2dStart(p *Params, bias, y []float64) {
	outputs := int(p.Outputs)
	conv2dPixels(p, func(pixel int) {
		for n := range outputs {
			i := pixel*outputs + n
			if p.Adds != addToY {
				y[i] = 0
			}
			if p.HasBias == 1 {
				y[i] += bias[n]
			}
		}
	})
}

// conv2dPixels calls f for every pixel of y that is written.
func conv2dPixels(p *Params, f func(pixel int)) {
	for b := range int32(p.Batch) {
		for u := range p.Rows.Count {
			for v := range p.Cols.Count {
				f(int((b*p.Rows.YSize+u*p.Rows.YStep+p.Rows.YStart)*p.Cols.YSize + v*p.Cols.YStep + p.Cols.YStart))
			}
		}
	}
}
