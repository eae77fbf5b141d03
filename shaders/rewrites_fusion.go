package shaders

import (
	"slices"

	"mrprism/shaders/conv"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// The rewrites that let one dispatch compute several operators.

func convolutionAlone(r *tensor.Rewriter, op *tensor.Op) bool {
	p := conv.Geometry(op)
	return p != nil && r.Fuse(op, op, conv.FusedKind, p, op.Inputs[0], op.Inputs[1], op.Inputs[2], nil, nil)
}

// summands lists the inputs of a sum that may be fused with the operators that make them. If there
// are two, the one that is made earlier comes first. In the sum of a tensor and a table for each
// image, only the tensor is listed. Other operators have no summands.
func summands(r *tensor.Rewriter, op *tensor.Op) []int {
	switch {
	case op.Kind == pointwise.AddKind:
		first, second := r.Maker(op.Inputs[0]), r.Maker(op.Inputs[1])
		if first != nil && second != nil && second.Precedes(first) {
			return []int{1, 0}
		}
		return []int{0, 1}
	case op.Kind == pointwise.AddBroadcastKind:
		return []int{0}
	}
	return nil
}

// table is the number of elements that a sum adds to each of several images; 0: it adds one to each.
func table(op *tensor.Op) uint32 {
	if p, ok := op.Attributes.(*pointwise.ElementwiseParams); ok && op.Kind == pointwise.AddBroadcastKind && !p.Once() {
		return p.Period
	}
	return 0
}

// tableOfSome is the table that training adds to the first outputs of a convolution p by adding
// Concat(table, zeros) to all of them; otherwise nil.
func tableOfSome(r *tensor.Rewriter, op *tensor.Op, p *conv.Params) *tensor.Tensor {
	if op.Kind != pointwise.AddBroadcastKind || !op.Graph().Trains() {
		return nil
	}
	concat := maker(r, op.Inputs[1], pointwise.ConcatKind)
	if concat == nil || concat.Output().Dim(-1) != int(p.Outputs) || concat.Inputs[0].Dim(-1)%4 > 0 || !concat.Inputs[1].Constant() ||
		slices.ContainsFunc(concat.Inputs[1].Values(), func(v float32) bool { return v != 0 }) {
		return nil
	}
	return concat.Inputs[0]
}

func clampLogSum(r *tensor.Rewriter, op *tensor.Op) bool {
	for _, at := range summands(r, op) {
		if first := sole(r, op, at, pointwise.ClampLogKind); first != nil && table(op) == 0 && r.Fuse(first, op, pointwise.ClampLogAddKind, first.Attributes, first.Inputs[0], op.Inputs[1-at]) {
			return true
		}
	}
	return false
}

// sumOfPasses sums maps of several passes where they lie.
func sumOfPasses(r *tensor.Rewriter, op *tensor.Op) bool {
	first := soleFirst(r, pointwise.AddKind, op, pointwise.SumKind)
	if first == nil {
		return false
	}
	whole := tensor.Together(first.Inputs)
	return whole != nil && r.Fuse(first, op, pointwise.SumKind, nil, whole)
}

// normSum joins the batch norm of training with a sum, and then with a ReLU.
func normSum(r *tensor.Rewriter, op *tensor.Op) bool {
	if first := soleFirst(r, norm.BatchNormSumKind, op, pointwise.ReLUKind); first != nil {
		p := first.Attributes.(norm.BatchNormParams)
		p.Relu = 1
		return r.Fuse(first, op, norm.BatchNormSumKind, p, first.Inputs...)
	}
	if op.Kind != pointwise.AddKind {
		return false
	}
	for _, at := range summands(r, op) {
		first := sole(r, op, at, norm.BatchNormKind)
		if first == nil {
			continue
		}
		if p := first.Attributes.(norm.BatchNormParams); p.Training == 1 && p.Relu == 0 {
			return r.Fuse(first, op, norm.BatchNormSumKind, p, append(slices.Clone(first.Inputs), op.Inputs[1-at])...)
		}
	}
	return false
}

// wholeNorm joins the statistics of a batch with the batch norm, which has been joined with what
// follows it.
func wholeNorm(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != norm.BatchNormKind && op.Kind != norm.BatchNormSumKind {
		return false
	}
	p, first := op.Attributes.(norm.BatchNormParams), maker(r, op.Inputs[1], norm.BatchStatisticsKind)
	if first == nil || !p.Whole() {
		return false
	}
	for _, reader := range r.Readers(op.Output()) {
		if reader.Kind == pointwise.AddKind || reader.Kind == pointwise.ReLUKind {
			return false
		}
	}
	return r.Merge(first, op, norm.WholeBatchNormKind, p, append(op.Inputs[:1:1], op.Inputs[2:]...)...)
}

func groupedSigmoid(r *tensor.Rewriter, op *tensor.Op) bool {
	first := soleFirst(r, conv.GroupedLinearKind, op, pointwise.SigmoidKind)
	if first == nil {
		return false
	}
	p := *first.Attributes.(*conv.GroupedLinearParams)
	p.Sigmoid = 1
	return r.Fuse(first, op, conv.GroupedLinearKind, &p, first.Inputs...)
}

func depthwiseActivation(r *tensor.Rewriter, op *tensor.Op) bool {
	if pointwise.Activation(op.Kind) == 0 {
		return false
	}
	first := sole(r, op, 0, conv.DepthwiseKind)
	if first == nil {
		return false
	}
	p := conv.DepthwiseGeometry(first)
	p.Activation = pointwise.Activation(op.Kind)
	return r.Fuse(first, op, conv.FusedDepthwiseKind, &p, first.Inputs...)
}

// convolutionNorm joins a linear map and its layer norm, on devices where this is faster.
func convolutionNorm(r *tensor.Rewriter, op *tensor.Op) bool {
	first := soleFirst(r, conv.FusedKind, op, norm.LayerNormKind)
	if first == nil {
		return false
	}
	p, norm := first.Attributes.(*conv.Params), op.Attributes.(*norm.LayerNormParams)
	q, ok := conv.WithLayerNorm(p, norm)
	if !ok || norm.Channels != p.Outputs || !conv.LinearNormForward.Preferred(r.Info, q) {
		return false
	}
	return r.Fuse(first, op, conv.LinearNormKind, q, slices.Concat(first.Inputs[:conv.ShortcutAt], op.Inputs[1:])...)
}

func convolutionSplit(r *tensor.Rewriter, op *tensor.Op) bool {
	first := soleFirst(r, conv.FusedKind, op, pointwise.SplitKind)
	if first == nil || op.Attributes.(*pointwise.ConcatParams).Columns != first.Attributes.(*conv.Params).Outputs {
		return false
	}
	p := *first.Attributes.(*conv.Params)
	p.Chunk = op.Attributes.(*pointwise.ConcatParams).Part
	if p.Outputs%4 == 0 && p.Chunk%4 != 0 {
		return false // kernels that compute four outputs at a time cannot cut a quad in two
	}
	return r.Fuse(first, op, conv.FusedKind, &p, first.Inputs...)
}

// convolutionEpilogue lets a convolution, in floats or in int8, compute the operators that follow
// it. Their order is sum, scale and shift, sum, activation, sum, and only one of the first two sums
// occurs. With batch norm and residuals, inference needs few other dispatches.
func convolutionEpilogue(r *tensor.Rewriter, op *tensor.Op) bool {
	candidates := summands(r, op)
	if pointwise.Activation(op.Kind) > 0 || op.Kind == norm.ScaleShiftKind {
		candidates = []int{0}
	}
	for _, at := range candidates {
		first := sole(r, op, at, conv.FusedKind, conv.Conv2DInt8Kind)
		if first == nil {
			continue
		}
		var attributes any
		var p *conv.Params
		if of, ok := first.Attributes.(*conv.Int8Params); ok {
			q := *of
			attributes, p = &q, &q.Params
			if q.Int8 == 1 {
				continue
			}
		} else {
			q := *first.Attributes.(*conv.Params)
			attributes, p = &q, &q
		}
		if t := table(op); t%p.Outputs > 0 || t > 0 && first.Kind == conv.Conv2DInt8Kind || p.TableOutputs > 0 {
			continue
		}
		input, argument, ok := follow(p, op, at)
		if some := tableOfSome(r, op, p); some != nil && p.Adds == conv.AddResidual && p.Activation == 0 {
			argument, p.Table, p.TableOutputs = some, op.Attributes.(*pointwise.ElementwiseParams).Period/p.Outputs, uint32(some.Dim(-1))
		}
		if !ok {
			continue
		}
		if r.Fuse(first, op, first.Kind, attributes, withInput(first, input, argument)...) {
			return true
		}
	}
	return false
}

// convolutionBoth lets a convolution make the activation of its result beside the result, which the
// gradient reads.
func convolutionBoth(r *tensor.Rewriter, op *tensor.Op) bool {
	if pointwise.Activation(op.Kind) == 0 {
		return false
	}
	first := maker(r, op.Inputs[0], conv.FusedKind)
	if first == nil || len(first.Outputs) != 1 || first.Output().Kept() {
		return false
	}
	p := *first.Attributes.(*conv.Params)
	if p.Activation != 0 || p.Adds&conv.AddShortcut != 0 {
		return false
	}
	p.Activation = pointwise.Activation(op.Kind)
	return r.Merge(first, op, conv.FusedKind, &p, withInput(first, 0, nil)...)
}

// withInput lists all inputs of a convolution, with x as input i unless x is nil.
func withInput(op *tensor.Op, i int, x *tensor.Tensor) []*tensor.Tensor {
	inputs := append(slices.Clone(op.Inputs), make([]*tensor.Tensor, conv.ResultAt-len(op.Inputs))...)
	if x != nil {
		inputs[i] = x
	}
	return inputs
}

// follow makes the convolution p also compute op, which reads its result as input `at`. If argument
// is not nil, the convolution then takes argument as its input number `input`.
func follow(p *conv.Params, op *tensor.Op, at int) (input int, argument *tensor.Tensor, ok bool) {
	sum := op.Kind == pointwise.AddKind || op.Kind == pointwise.AddBroadcastKind
	switch {
	case p.Adds&conv.AddShortcut != 0:
	case p.Activation != 0 || sum && p.Adds != 0:
		if op.Kind == pointwise.AddKind {
			p.Adds |= conv.AddShortcut
			return conv.ShortcutAt, op.Inputs[1-at], true
		}
	case pointwise.Activation(op.Kind) != 0:
		p.Activation = pointwise.Activation(op.Kind)
		return 0, nil, true
	case sum && p.Adds == 0:
		p.Adds, p.Table = conv.AddResidual, table(op)/p.Outputs
		return conv.ResidualAt, op.Inputs[1-at], true
	case op.Kind == norm.ScaleShiftKind && p.HasBias == 0 && op.Attributes.(norm.BatchNormParams).Channels == p.Outputs:
		p.HasBias = conv.ScaleAndShift
		if p.Adds == conv.AddResidual {
			p.Adds = conv.AddResidualFirst
		}
		if op.Attributes.(norm.BatchNormParams).Relu == 1 {
			p.Activation = pointwise.Activation(pointwise.ReLUKind)
		}
		return conv.BiasAt, op.Inputs[1], true
	}
	return 0, nil, false
}
