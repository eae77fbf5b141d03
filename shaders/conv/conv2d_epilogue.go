package conv

import (
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"
)

// Params say what a convolution does with a sum before it writes the result. HasBias is 0, 1 for a
// bias, or ScaleAndShift: then the bias has two rows. Adds is 0 or one of the next three, plus
// AddShortcut. Activation is 0 or the number of an activation (pointwise.Activation).
const (
	ScaleAndShift uint32 = 2

	addToY           uint32 = 1 // adds what y holds
	AddResidual      uint32 = 2 // after scale and shift
	AddResidualFirst uint32 = 3 // before them
	AddShortcut      uint32 = 4 // after the activation
	timesSlope       uint32 = 8 // multiplies by the activation's slope at the shortcut, instead of both
)

// epilogueHeader has what a kernel says about them.
func epilogueHeader(p *Params) string {
	return pointwise.ActivatedWGSL(p.Activation) + tensor.Constants(map[string]int{
		"SCALE_AND_SHIFT": int(ScaleAndShift), "ADD_TO_Y": int(addToY), "ADD_RESIDUAL": int(AddResidual),
		"ADD_RESIDUAL_FIRST": int(AddResidualFirst), "ADD_SHORTCUT": int(AddShortcut), "TIMES_SLOPE": int(timesSlope),
	})
}

// withSlope is tensor.Kernel.Sloped of conv2dForward.
func withSlope(params any, zero bool, of *tensor.Kind) any {
	p := *params.(*Params)
	if !addsToAll(&p) {
		return nil
	}
	p.Adds, p.Activation = timesSlope, pointwise.Activation(of)
	if !zero {
		p.Adds |= AddResidual
	}
	return &p
}

// Indices of the arguments of conv2dForward and conv2dSplit.
const (
	BiasAt     = 2
	ResidualAt = 3
	ShortcutAt = 4
	ResultAt   = 5
	restAt     = 6 // of conv2dSplit
)

// FusedKind is a convolution with the operators after it. The rewrites make it. Its inputs are x,
// weight, bias, residual and shortcut. The last three may be nil. It has one output or two. Its
// attributes are *Params.
var FusedKind = &tensor.Kind{Name: "Convolution", Compute: func(op *tensor.Op) {
	convolve(op.Attributes.(*Params), op)
}}

// Geometry is the geometry of an operator that is a convolution, and nil of other operators.
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

// phased adds a layer of workgroups (group.z) for every phase.
func (p *Params) phased(groups [3]int) [3]int {
	groups[2] = int(p.Parts * p.Parts)
	return groups
}

// eachPhase calls f with the parameters of each phase.
func (p *Params) eachPhase(f func(q *Params)) {
	for row := range int32(p.Parts) {
		for col := range int32(p.Parts) {
			q := *p
			q.Rows, q.Cols = p.Rows.phase(row), p.Cols.phase(col)
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
	for position := range p.pixels() {
		row := y[p.destination(position)*outputs:][:outputs]
		switch p.Adds {
		case addToY:
		case timesSlope | AddResidual: // in the order of addToY
			copy(row, a[ResidualAt].F[p.destination(position)*outputs:])
		default:
			clear(row)
		}
		if p.HasBias == 1 {
			vector.Add(row, bias)
		}
	}
	conv2dVisit(p, func(_, fromX, fromW, to int) {
		for k := range inputs {
			for n := range outputs {
				y[to*outputs+n] += x[fromX*inputs+k] * w[(fromW*inputs+k)*outputs+n]
			}
		}
	})
	for position := range p.pixels() {
		pixel := p.destination(position)
		for n := range outputs {
			i := pixel*outputs + n
			adds := p.Adds &^ AddShortcut
			at, ok := p.inResidual(pixel, n)
			if adds == AddResidualFirst {
				y[i] += a[ResidualAt].F[at]
			}
			if p.HasBias == ScaleAndShift {
				y[i] = y[i]*bias[n] + bias[outputs+n]
			}
			if adds == AddResidual && ok {
				y[i] += a[ResidualAt].F[at]
			}
			if p.Adds&timesSlope != 0 {
				y[i] *= pointwise.Scalars[p.Activation-1].Scalar.Slope(a[ShortcutAt].F[i])
				continue
			}
			y[i] = pointwise.Activated(p.Activation, y[i])
			if p.Adds&AddShortcut != 0 {
				y[i] += a[ShortcutAt].F[i]
			}
		}
	}
}

// inResidual is the element of the residual that is added to output n of a pixel of y, and whether
// there is one.
func (p *Params) inResidual(pixel, n int) (at int, ok bool) {
	if p.Table > 0 {
		pixel %= int(p.Table)
	}
	return pixel*p.residualOutputs() + n, n < p.residualOutputs()
}

// residualOutputs are the outputs that the residual has.
func (p *Params) residualOutputs() int {
	if p.TableOutputs > 0 {
		return int(p.TableOutputs)
	}
	return int(p.Outputs)
}

func conv2dSplitBody(p *Params, a []gpu.Array) {
	rows, outputs := p.Batch*uint32(p.Rows.YSize*p.Cols.YSize), p.Outputs
	if p.Chunk == 0 {
		before := *p
		before.Activation = 0
		conv2dForwardBody(&before, append(slices.Clone(a[:ResultAt]), a[restAt]))
		for i, v := range a[restAt].F[:rows*outputs] {
			a[ResultAt].F[i] = pointwise.Activated(p.Activation, v)
		}
		return
	}
	both := gpu.Array{F: make([]float64, rows*outputs)}
	conv2dForwardBody(p, append(slices.Clone(a[:ResultAt]), both))
	pointwise.SplitForward.Body(&pointwise.ConcatParams{Rows: rows, Columns: outputs, Part: p.Chunk}, []gpu.Array{both, a[ResultAt], a[restAt]})
}
