package shaders

import (
	"fmt"
	"slices"

	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
)

// The rewrites that hold before operators are fused: the phases algebra, products and siblings.

func normReLU(r *tensor.Rewriter, op *tensor.Op) bool {
	first := soleFirst(r, norm.BatchNormKind, op, pointwise.ReLUKind)
	if first == nil {
		return false
	}
	p := first.Attributes.(norm.BatchNormParams)
	p.Relu = 1
	return r.Fuse(first, op, norm.BatchNormKind, p, first.Inputs...)
}

// sumWithTable is the operator that makes x, in the shape of x, as the sum of a tensor and a fixed
// table, or nil if there is none.
func sumWithTable(r *tensor.Rewriter, x *tensor.Tensor) *tensor.Op {
	if sum := maker(r, x, pointwise.AddBroadcastKind); sum != nil && sum.Inputs[1].Fixed() && !sum.Inputs[0].Fixed() &&
		slices.Equal(sum.Output().Shape(), x.Shape()) && len(sum.Inputs[1].Shape()) == len(x.Shape()) {
		return sum
	}
	return nil
}

func poolOfSum(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pool.AverageKind {
		return false
	}
	sum := sumWithTable(r, op.Inputs[0])
	if sum == nil {
		return false
	}
	w := op.Attributes.(pool.Pooling)
	return r.Replace(op, func() *tensor.Tensor {
		x, table := pool.Average(sum.Inputs[0], w.Height, w.Width, w.Window), pool.Average(sum.Inputs[1], w.Height, w.Width, w.Window)
		return pointwise.AddBroadcast(x, table)
	})
}

func linearOfSum(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.LinearKind {
		return false
	}
	sum := sumWithTable(r, op.Inputs[0])
	if sum == nil {
		return false
	}
	weight, bias := op.Inputs[1], op.Inputs[2]
	return r.Replace(op, func() *tensor.Tensor {
		return pointwise.AddBroadcast(conv.Linear(sum.Inputs[0], weight, bias), conv.Linear(sum.Inputs[1], weight, nil))
	})
}

// narrow is the number of channels up to which a map does not get a convolution of its own.
const narrow = 8

// convolutionOfConcat makes a convolution for each map. The convolution of a map from another part
// belongs to no part, and is computed once. A narrow map of one part stays joined.
func convolutionOfConcat(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.Conv2DKind && op.Kind != conv.LinearKind {
		return false
	}
	concat := maker(r, op.Inputs[0], pointwise.ConcatKind)
	if concat == nil || op.Inputs[0].Fixed() {
		return false
	}
	weight, layer := op.Inputs[1], op.Layer
	share := func(x *tensor.Tensor, first int, bias *tensor.Tensor) *tensor.Tensor {
		build := func() *tensor.Tensor {
			defer op.Graph().Layered(fmt.Sprintf("%s[%d:]", layer, first))()
			part := pointwise.Slice(weight, first, first+x.Dim(-1))
			if op.Kind == conv.LinearKind {
				return conv.Linear(x, part, bias)
			}
			return conv.Conv2D(x, part, bias, op.Attributes.(conv.Window))
		}
		if from := r.Maker(x); from != nil && from.Part() != op.Part() {
			return r.Outside(build)
		}
		return build()
	}
	a, b := concat.Inputs[0], concat.Inputs[1]
	elsewhere := func(x *tensor.Tensor) bool { from := r.Maker(x); return from != nil && from.Part() != op.Part() }
	if min(a.Dim(-1), b.Dim(-1)) < narrow && !elsewhere(a) && !elsewhere(b) {
		return false
	}
	return r.Replace(op, func() *tensor.Tensor {
		return pointwise.Add(share(a, 0, nil), share(b, a.Dim(-1), op.Inputs[2]))
	})
}

// convolutionToQuads adds outputs of zero, which nothing reads: kernels compute four at a time. It
// changes only convolutions whose results are split; others are fused with what follows.
func convolutionToQuads(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.Conv2DKind || op.Inputs[0].Fixed() {
		return false
	}
	if readers := r.Readers(op.Output()); len(readers) != 1 || readers[0].Kind != pointwise.SplitKind {
		return false
	}
	weight, bias := op.Inputs[1], op.Inputs[2]
	outputs := weight.Dim(-1)
	if outputs%4 == 0 || outputs < 4 {
		return false
	}
	widened := func(x *tensor.Tensor) *tensor.Tensor {
		shape := slices.Clone(x.Shape())
		shape[len(shape)-1] = 4 - outputs%4
		zeros := op.Graph().Constant("zeros", make([]float32, x.Elements()/outputs*shape[len(shape)-1]), shape...)
		return pointwise.Concat(x, zeros)
	}
	return r.Replace(op, func() *tensor.Tensor {
		defer op.Graph().Layered(op.Layer)()
		if bias != nil {
			bias = widened(bias)
		}
		y, _ := pointwise.Split(conv.Conv2D(op.Inputs[0], widened(weight), bias, op.Attributes.(conv.Window)), outputs)
		return y
	})
}

// linearMap is x times weight, plus bias and a fixed table, which may be nil.
type linearMap struct {
	x, weight, bias, table *tensor.Tensor
	layer                  string
}

// linearMapOf finds the linear map whose result is y.
func linearMapOf(r *tensor.Rewriter, y *tensor.Tensor) (m linearMap, ok bool) {
	if sum := sumWithTable(r, y); sum != nil {
		m.table, y = sum.Inputs[1], sum.Inputs[0]
	}
	op := maker(r, y, conv.LinearKind)
	if op == nil || y.Fixed() {
		return m, false
	}
	m.x, m.weight, m.bias, m.layer = op.Inputs[0], op.Inputs[1], op.Inputs[2], op.Layer
	return m, true
}

// apply appends the map.
func (m linearMap) apply() *tensor.Tensor {
	defer m.x.Graph().Layered(m.layer)()
	y := conv.Linear(m.x, m.weight, m.bias)
	if m.table != nil {
		y = pointwise.AddBroadcast(y, m.table)
	}
	return y
}

// joinedWith is one map that gives the results of two maps of one x side by side.
func (m linearMap) joinedWith(n linearMap) linearMap {
	join := func(ofM, ofN *tensor.Tensor) *tensor.Tensor {
		zeros := func(like *tensor.Tensor, width int) *tensor.Tensor {
			shape := slices.Clone(like.Shape())
			shape[len(shape)-1] = width
			return m.x.Graph().Constant("zeros", make([]float32, like.Elements()/like.Dim(-1)*width), shape...)
		}
		switch {
		case ofM == nil && ofN == nil:
			return nil
		case ofM == nil:
			ofM = zeros(ofN, m.weight.Dim(1))
		case ofN == nil:
			ofN = zeros(ofM, n.weight.Dim(1))
		}
		return pointwise.Concat(ofM, ofN)
	}
	return linearMap{m.x, pointwise.Concat(m.weight, n.weight), join(m.bias, n.bias), join(m.table, n.table), m.layer}
}

func concatOfLinears(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.ConcatKind {
		return false
	}
	m, ok := linearMapOf(r, op.Inputs[0])
	n, both := linearMapOf(r, op.Inputs[1])
	if !ok || !both || !m.x.Same(n.x) {
		return false
	}
	return r.Replace(op, func() *tensor.Tensor { return m.joinedWith(n).apply() })
}

// linearOfLinear leaves a pair whose first map has few outputs: one map would be more work.
func linearOfLinear(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.LinearKind || op.Inputs[0].Fixed() {
		return false
	}
	first := maker(r, op.Inputs[0], conv.LinearKind)
	if first == nil || first.Inputs[1].Dim(0) > first.Inputs[1].Dim(1) {
		return false
	}
	weight, bias := op.Inputs[1], op.Inputs[2]
	return r.Replace(op, func() *tensor.Tensor {
		if b := first.Inputs[2]; b != nil {
			bias = conv.Linear(b.Reshape(1, weight.Dim(0)), weight, bias).Reshape(weight.Dim(1))
		}
		return conv.Linear(first.Inputs[0], conv.Linear(first.Inputs[1], weight, nil), bias)
	})
}

func scaleOfLinear(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.ScaleKind {
		return false
	}
	first := maker(r, op.Inputs[0], conv.LinearKind)
	p := op.Attributes.(*pointwise.ElementwiseParams)
	if first == nil || op.Inputs[0].Fixed() || first.Inputs[2] == nil && p.Offset != 0 {
		return false
	}
	return r.Replace(op, func() *tensor.Tensor {
		defer op.Graph().Layered(first.Layer)()
		bias := first.Inputs[2]
		if bias != nil {
			bias = pointwise.Affine(bias, p.Factor, p.Offset)
		}
		return conv.Linear(first.Inputs[0], pointwise.Scale(first.Inputs[1], p.Factor), bias)
	})
}

// linearsOfOne joins two linear maps of the same x, if a table is added to the result of the later
// one. The later one makes the queries of an attention.
func linearsOfOne(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.LinearKind || op.Inputs[0].Fixed() {
		return false
	}
	m := linearMap{op.Inputs[0], op.Inputs[1], op.Inputs[2], nil, op.Layer}
	for _, reader := range r.Readers(op.Output()) {
		if reader.Kind == pointwise.AddBroadcastKind || pointwise.Activation(reader.Kind) > 0 {
			return false
		}
	}
	for _, other := range r.Readers(op.Inputs[0]) {
		if !op.Precedes(other) || other.Kind != conv.LinearKind || !other.Beside(op) || other.Output().Kept() || len(r.Readers(other.Output())) != 1 {
			continue
		}
		sum := r.Readers(other.Output())[0]
		if sum.Kind != pointwise.AddBroadcastKind || !sum.Inputs[1].Fixed() || !sum.Beside(op) || readBy(r, sum.Output(), pointwise.QuantizeKind) {
			continue
		}
		n, ok := linearMapOf(r, sum.Output())
		if !ok || !n.x.Same(m.x) {
			continue
		}
		return r.ReplaceAll([]*tensor.Op{op, sum}, []*tensor.Tensor{op.Output(), sum.Output()}, func() []*tensor.Tensor {
			queries, besides := pointwise.Split(n.joinedWith(m).apply(), n.weight.Dim(1))
			return []*tensor.Tensor{besides, queries}
		})
	}
	return false
}

// readBy says whether an operator of a kind reads x.
func readBy(r *tensor.Rewriter, x *tensor.Tensor, k *tensor.Kind) bool {
	return slices.ContainsFunc(r.Readers(x), func(op *tensor.Op) bool { return op.Kind == k })
}

// normOfConvolution multiplies the weight of the convolution or linear map before a norm, output
// channel by output channel, and adds the shift to its bias.
func normOfConvolution(r *tensor.Rewriter, op *tensor.Op) bool {
	first := soleFirst(r, conv.Conv2DKind, op, norm.BatchNormKind)
	for _, k := range []*tensor.Kind{conv.ConvTranspose2x2Kind, conv.LinearKind} {
		if first == nil {
			first = soleFirst(r, k, op, norm.BatchNormKind)
		}
	}
	if first == nil {
		return false
	}
	p := op.Attributes.(norm.BatchNormParams)
	if p.Training == 1 || p.Relu == 1 {
		return false
	}
	g, weight, bias := op.Graph(), first.Inputs[1], first.Inputs[2]
	channels := weight.Dim(-1)
	zeros := g.Constant("zeros", make([]float32, channels), 1, channels)
	return r.Replace(op, func() *tensor.Tensor {
		defer g.Layered(first.Layer)()
		by := g.NewOf(gpu.F32, "batch norm scale and shift", []int{2, channels})
		g.Append(norm.ScaleAndShiftKind, p, []*tensor.Tensor{by}, op.Inputs[1:]...)
		scaled := func(x, by *tensor.Tensor) *tensor.Tensor {
			q := norm.BatchNormParams{Rows: uint32(x.Elements() / channels), Channels: p.Channels}
			return g.Apply(norm.ScaleShiftKind, q, x.Shape(), x, by)
		}
		if bias == nil {
			bias = zeros
		}
		shift := scaled(bias.Reshape(1, channels), by).Reshape(channels)
		scale := pointwise.Concat(pointwise.Slice(by, 0, 1), zeros).Reshape(2, channels)
		switch first.Kind {
		case conv.ConvTranspose2x2Kind:
			return conv.ConvTranspose2x2(first.Inputs[0], scaled(weight, scale), shift)
		case conv.LinearKind:
			return conv.Linear(first.Inputs[0], scaled(weight, scale), shift).Reshape(op.Output().Shape()...)
		}
		return conv.Conv2D(first.Inputs[0], scaled(weight, scale), shift, first.Attributes.(conv.Window))
	})
}

// normAtInference divides batch normalisation by running statistics into two operators. One
// computes a scale and a shift, which depend on parameters alone, and the other applies them.
func normAtInference(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != norm.BatchNormKind || op.Attributes.(norm.BatchNormParams).Training == 1 {
		return false
	}
	p, g, scale := op.Attributes.(norm.BatchNormParams), op.Graph(), op.Inputs[2]
	return r.Replace(op, func() *tensor.Tensor {
		by := g.NewOf(scale.Type(), "batch norm scale and shift", []int{2, int(p.Channels)})
		g.Append(norm.ScaleAndShiftKind, p, []*tensor.Tensor{by}, op.Inputs[1:]...)
		return g.Apply(norm.ScaleShiftKind, p, op.Output().Shape(), op.Inputs[0], by)
	})
}

// attentionOfScale moves the factor of the scores from an attention to its queries.
func attentionOfScale(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != attention.Kind || op.Attributes.(*attention.Params).Scale == 1 {
		return false
	}
	p := *op.Attributes.(*attention.Params)
	return r.ReplaceAll([]*tensor.Op{op}, op.Outputs, func() []*tensor.Tensor {
		queries, g := pointwise.Scale(op.Inputs[0], p.Scale), op.Graph()
		y, lse := g.New("attention", op.Output().Shape(), queries), g.NewOf(gpu.F32, "attention log-sum-exp", op.Outputs[1].Shape())
		p.Scale = 1
		g.Append(attention.Kind, &p, []*tensor.Tensor{y, lse}, queries, op.Inputs[1])
		return []*tensor.Tensor{y, lse}
	})
}
