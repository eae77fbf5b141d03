package shaders

import (
	"context"
	"fmt"
	"slices"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
)

// The rewrites of the network, in the order of their application. A rewrite replaces operators by
// others with equal results up to rounding. Before the arrow stand the operators that the model
// names, behind it those that a device computes.

// algebra holds with gradients and without them.
var algebra = []tensor.Rewrite{
	{Name: "an operator again → the one before", Apply: sameAgain},
	{Name: "BatchNorm + ReLU → BatchNorm with ReLU", Apply: normReLU},
	{Name: "AveragePool(x + table) → AveragePool(x) + AveragePool(table)", Apply: poolOfSum},
	{Name: "Linear(x + table) → Linear(x) + Linear(table)", Apply: linearOfSum},
	{Name: "Conv2D(Concat(a, b)) → Conv2D(a) + Conv2D(b)", Apply: convolutionOfConcat},
	{Name: "Concat(Linear(x), Linear(x)) → Linear(x), wider", Apply: concatOfLinears},
}

// products holds without gradients: what depends on parameters alone is computed once.
var products = []tensor.Rewrite{
	{Name: "Linear(Linear(x)) → Linear(x) by the product of the weights", Apply: linearOfLinear},
}

// sideBySide holds without gradients.
var sideBySide = []tensor.Rewrite{
	{Name: "Linear(x), Linear(x) + table → Split(Linear(x) + table)", Apply: linearsOfOne},
}

// fusions let one dispatch compute several operators.
var fusions = []tensor.Rewrite{
	{Name: "Conv2D | Linear | ConvTranspose2x2 → Convolution", Apply: convolutionAlone},
	{Name: "BatchNorm → ScaleShift, at inference", Apply: normAtInference},
	{Name: "ClampLog + (Add | AddBroadcast) → ClampLogAdd", Apply: clampLogSum},
	{Name: "GroupedLinear + Sigmoid → GroupedLinear", Apply: groupedSigmoid},
	{Name: "Conv2DInt8 + Add(what is int8 too) → Conv2DInt8", Apply: int8Sum},
	{Name: "Conv2DInt8 + Quantize → Conv2DInt8 to int8", Apply: int8ToInt8},
	{Name: "Convolution + LayerNorm → LinearNorm", Apply: convolutionNorm},
	{Name: "Convolution + Split → Convolution to two", Apply: convolutionSplit},
	{Name: "Convolution + (Add | AddBroadcast | ScaleShift | activation) → Convolution", Apply: convolutionEpilogue},
}

// Portable rewrites a graph without gradients for a runtime that computes operator by operator,
// such as ONNX Runtime. Batch norm goes into the parameters of convolutions, and an operator that
// several passes share is there once. If scaled, the factor of the attention's scores goes into the
// parameters of the queries.
func Portable(g *tensor.Graph, scaled bool) {
	for _, rules := range portable(scaled) {
		g.Rewrite(gpu.Info{}, rules)
	}
}

func portable(scaled bool) [][]tensor.Rewrite {
	factors := []tensor.Rewrite{{Name: "BatchNorm(Conv2D(x)) → Conv2D(x) by scaled parameters", Apply: normOfConvolution}}
	if scaled {
		factors = append(factors, tensor.Rewrite{Name: "Attention(q) → Attention(Scale(q)) by the factor 1", Apply: attentionOfScale})
	}
	return [][]tensor.Rewrite{factors, {
		{Name: "an operator again → the one before", Apply: sameAgain},
		{Name: "Scale(Linear(x)) → Linear(x) by scaled parameters", Apply: scaleOfLinear},
		{Name: "AveragePool(x + table) → AveragePool(x) + AveragePool(table)", Apply: poolOfSum},
		{Name: "Conv2D(Concat(a, b)) → Conv2D(a) + Conv2D(b)", Apply: convolutionOfConcat},
	}}
}

// Int8 says which layers compute in int8 at inference.
type Int8 struct {
	// Ranges has the largest |x| that a layer takes, by the layer's name. Other layers compute in
	// floats.
	Ranges map[string]float32
	// Watch, unless nil, receives the inputs of the layers that could compute in int8.
	Watch func(layer string, x *tensor.Tensor)
}

// phases are all rewrites of a graph without gradients, or of one with gradients.
func (q Int8) phases(trains bool) [][]tensor.Rewrite {
	if trains {
		return [][]tensor.Rewrite{fusions}
	}
	return [][]tensor.Rewrite{
		{{Name: "Attention → AttentionInt8", Apply: q.attention}, {Name: "Scale(Linear(x)) → Linear(x) by scaled parameters", Apply: scaleOfLinear}},
		algebra, products, sideBySide,
		{{Name: "Conv2D | Linear | ConvTranspose2x2 → Conv2DInt8", Apply: q.convolution}},
		fusions,
	}
}

// Compile makes a plan of a graph with all rewrites (tensor.Compile).
func Compile(ctx context.Context, device gpu.Device, set *tensor.Set, g *tensor.Graph) (*tensor.Plan, error) {
	return Int8{}.Compile(ctx, device, set, g)
}

// Compile is shaders.Compile with some layers in int8.
func (q Int8) Compile(ctx context.Context, device gpu.Device, set *tensor.Set, g *tensor.Graph) (*tensor.Plan, error) {
	return tensor.Compile(ctx, device, set, g, q.phases(g.Trains())...)
}

// Rewrite applies the rewrites to a graph without compiling it.
func (q Int8) Rewrite(g *tensor.Graph) {
	for _, rules := range q.phases(g.Trains()) {
		g.Rewrite(gpu.Info{}, rules)
	}
}

// Simplify applies the rewrites that hold with gradients to a graph: call it before Backward.
func Simplify(g *tensor.Graph) { g.Rewrite(gpu.Info{}, algebra) }

// maker is the operator of a kind that makes x, or nil.
func maker(r *tensor.Rewriter, x *tensor.Tensor, k *tensor.Kind) *tensor.Op {
	if op := r.Maker(x); op != nil && op.Kind == k {
		return op
	}
	return nil
}

// sole is the operator of one of the kinds whose result is input i of op, if op alone reads it;
// otherwise nil.
func sole(r *tensor.Rewriter, op *tensor.Op, i int, kinds ...*tensor.Kind) *tensor.Op {
	if first := r.Sole(op, i); first != nil && slices.Contains(kinds, first.Kind) {
		return first
	}
	return nil
}

// fixed says whether x depends on parameters and constants alone.
func fixed(r *tensor.Rewriter, x *tensor.Tensor) bool {
	if x == nil || x.Constant() {
		return true
	}
	if v := x.Variable(); v != nil {
		return v.Role == tensor.Parameter
	}
	op := r.Maker(x)
	return op != nil && op.Kind != nil && !op.Kind.Once && !slices.ContainsFunc(op.Inputs, func(x *tensor.Tensor) bool { return !fixed(r, x) })
}

func sameAgain(r *tensor.Rewriter, op *tensor.Op) bool {
	earlier := r.Earlier(op)
	if earlier == nil {
		return false
	}
	r.Substitute(op, earlier)
	return true
}

func normReLU(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.ReLUKind {
		return false
	}
	first := sole(r, op, 0, norm.BatchNormKind)
	if first == nil {
		return false
	}
	p := first.Attributes.(norm.BatchNormParams)
	p.Relu = 1
	return r.Fuse(first, op, norm.BatchNormKind, p, first.Inputs...)
}

// sumWithTable is the operator that adds a fixed table to what x is, or nil.
func sumWithTable(r *tensor.Rewriter, x *tensor.Tensor) *tensor.Op {
	if sum := maker(r, x, pointwise.AddBroadcastKind); sum != nil && fixed(r, sum.Inputs[1]) && !fixed(r, sum.Inputs[0]) {
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
	r.Replace(op, func() []*tensor.Tensor {
		x, table := pool.Average(sum.Inputs[0], w.Height, w.Width, w.Window), pool.Average(sum.Inputs[1], w.Height, w.Width, w.Window)
		return []*tensor.Tensor{pointwise.AddBroadcast(x, table)}
	})
	return true
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
	r.Replace(op, func() []*tensor.Tensor {
		return []*tensor.Tensor{pointwise.AddBroadcast(conv.Linear(sum.Inputs[0], weight, bias), conv.Linear(sum.Inputs[1], weight, nil))}
	})
	return true
}

// convolutionOfConcat cuts the weight. What comes from outside the part of op is computed there,
// once.
func convolutionOfConcat(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.Conv2DKind && op.Kind != conv.LinearKind {
		return false
	}
	concat := maker(r, op.Inputs[0], pointwise.ConcatKind)
	if concat == nil || fixed(r, op.Inputs[0]) {
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
	r.Replace(op, func() []*tensor.Tensor {
		return []*tensor.Tensor{pointwise.Add(share(a, 0, nil), share(b, a.Dim(-1), op.Inputs[2]))}
	})
	return true
}

// linearMap is x times weight, plus bias and a fixed table, which may be nil.
type linearMap struct {
	x, weight, bias, table *tensor.Tensor
	layer                  string
}

// linearMapOf reads y as a linear map.
func linearMapOf(r *tensor.Rewriter, y *tensor.Tensor) (m linearMap, ok bool) {
	if sum := sumWithTable(r, y); sum != nil {
		m.table, y = sum.Inputs[1], sum.Inputs[0]
	}
	op := maker(r, y, conv.LinearKind)
	if op == nil || fixed(r, y) {
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

// beside is one map that gives the results of two maps of one x side by side.
func (m linearMap) beside(n linearMap) linearMap {
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
	r.Replace(op, func() []*tensor.Tensor { return []*tensor.Tensor{m.beside(n).apply()} })
	return true
}

// linearOfLinear leaves maps that widen what they are given: their product would be more work.
func linearOfLinear(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.LinearKind || fixed(r, op.Inputs[0]) {
		return false
	}
	first := maker(r, op.Inputs[0], conv.LinearKind)
	if first == nil || first.Inputs[1].Dim(0) > first.Inputs[1].Dim(1) {
		return false
	}
	weight, bias := op.Inputs[1], op.Inputs[2]
	r.Replace(op, func() []*tensor.Tensor {
		if b := first.Inputs[2]; b != nil {
			bias = conv.Linear(b.Reshape(1, weight.Dim(0)), weight, bias).Reshape(weight.Dim(1))
		}
		return []*tensor.Tensor{conv.Linear(first.Inputs[0], conv.Linear(first.Inputs[1], weight, nil), bias)}
	})
	return true
}

func scaleOfLinear(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.ScaleKind {
		return false
	}
	first := maker(r, op.Inputs[0], conv.LinearKind)
	if first == nil || fixed(r, op.Inputs[0]) {
		return false
	}
	factor := op.Attributes.(*pointwise.ElementwiseParams).Factor
	r.Replace(op, func() []*tensor.Tensor {
		defer op.Graph().Layered(first.Layer)()
		bias := first.Inputs[2]
		if bias != nil {
			bias = pointwise.Scale(bias, factor)
		}
		return []*tensor.Tensor{conv.Linear(first.Inputs[0], pointwise.Scale(first.Inputs[1], factor), bias)}
	})
	return true
}

// linearsOfOne joins a linear map with a later one of the same x to whose result a table is added,
// which are the queries of an attention.
func linearsOfOne(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != conv.LinearKind || fixed(r, op.Inputs[0]) {
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
		if sum.Kind != pointwise.AddBroadcastKind || !fixed(r, sum.Inputs[1]) || !sum.Beside(op) || readBy(r, sum.Output(), pointwise.QuantizeKind) {
			continue
		}
		n, ok := linearMapOf(r, sum.Output())
		if !ok || !n.x.Same(m.x) {
			continue
		}
		r.ReplaceBoth(op, sum, func() []*tensor.Tensor {
			queries, besides := pointwise.Split(n.beside(m).apply(), n.weight.Dim(1))
			return []*tensor.Tensor{besides, queries}
		})
		return true
	}
	return false
}

// readBy says whether an operator of a kind reads x.
func readBy(r *tensor.Rewriter, x *tensor.Tensor, k *tensor.Kind) bool {
	return slices.ContainsFunc(r.Readers(x), func(op *tensor.Op) bool { return op.Kind == k })
}

// told tells Watch what a layer is given.
func (q Int8) told(layer string, x *tensor.Tensor) {
	if q.Watch != nil {
		q.Watch(layer, x)
	}
}

// attention makes queries, keys and values int8 where their ranges are known. A step of the keys
// and one of the values goes into the parameters of the maps that make them.
func (q Int8) attention(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != attention.Kind || op.Attributes.(*attention.Params).Width%4 != 0 {
		return false
	}
	concat := maker(r, op.Inputs[1], pointwise.ConcatKind)
	if concat == nil {
		return false
	}
	queries, keys, values := op.Inputs[0], concat.Inputs[0], concat.Inputs[1]
	q.told(op.Layer+".queries", queries)
	q.told(op.Layer+".keys", keys)
	q.told(op.Layer+".values", values)
	ofQ, ofK, ofV := q.Ranges[op.Layer+".queries"]/127, q.Ranges[op.Layer+".keys"]/127, q.Ranges[op.Layer+".values"]/127
	if !(ofQ > 0 && ofK > 0 && ofV > 0) {
		return false
	}
	r.Replace(op, func() []*tensor.Tensor {
		kv := pointwise.Concat(pointwise.Scale(keys, 1/ofK), pointwise.Scale(values, 1/ofV)).Reshape(op.Inputs[1].Shape()...)
		return []*tensor.Tensor{attention.OfInt8(pointwise.Quantize(queries, ofQ), pointwise.Quantize(kv, 1), ofK, ofV, int(op.Attributes.(*attention.Params).Heads))}
	})
	return true
}

// convolution makes the layers int8 whose ranges are known. A linear map becomes int8 only if
// attention takes its result in int8, or if a convolution rounds its input anyway. On lavapipe
// other linear maps of up to 256 channels lose in rounding what they gain. Convolutions of one or
// two channels stay in floats: they would leave half of every word empty.
func (q Int8) convolution(r *tensor.Rewriter, op *tensor.Op) bool {
	linear := op.Kind == conv.LinearKind && (projects(r, op) || readBy(r, op.Inputs[0], conv.Conv2DKind) || readBy(r, op.Inputs[0], pointwise.QuantizeKind))
	if op.Kind != conv.Conv2DKind && op.Kind != conv.ConvTranspose2x2Kind && !linear || fixed(r, op.Inputs[0]) {
		return false
	}
	x, weight, bias := op.Inputs[0], op.Inputs[1], op.Inputs[2]
	if len(x.Shape()) != 4 || x.Dim(-1) < 3 || weight.Dim(-1)%4 != 0 {
		return false
	}
	q.told(op.Layer, x)
	largest, known := q.Ranges[op.Layer]
	if !known {
		return false
	}
	r.Replace(op, func() []*tensor.Tensor {
		x := inSteps(r, x, largest/127)
		switch op.Kind {
		case conv.ConvTranspose2x2Kind:
			return []*tensor.Tensor{conv.ConvTranspose2x2Int8(x, weight, bias)}
		case conv.LinearKind:
			return []*tensor.Tensor{conv.Conv2DInt8(x, weight.Reshape(1, 1, weight.Dim(0), weight.Dim(1)), bias, conv.Square(1, 0))}
		}
		return []*tensor.Tensor{conv.Conv2DInt8(x, weight, bias, op.Attributes.(conv.Window))}
	})
	return true
}

// inSteps is x in int8: what is there already, whatever its step, or in steps of its own.
func inSteps(r *tensor.Rewriter, x *tensor.Tensor, step float32) pointwise.Quantized {
	for _, op := range r.Readers(x) {
		if op.Kind == pointwise.QuantizeKind {
			return pointwise.Quantized{Q: op.Output(), Step: op.Attributes.(pointwise.Quantization).Step, Channels: x.Dim(-1)}
		}
	}
	return pointwise.Quantize(x, step)
}

// projects says whether a linear map makes queries, or keys and values, of an attention: a table of
// positions is added to its result.
func projects(r *tensor.Rewriter, op *tensor.Op) bool {
	readers := r.Readers(op.Output())
	return len(readers) == 1 && readers[0].Kind == pointwise.AddBroadcastKind && fixed(r, readers[0].Inputs[1])
}

// normOfConvolution multiplies the weight of a convolution, output channel by output channel, and
// adds the shift to its bias.
func normOfConvolution(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != norm.BatchNormKind {
		return false
	}
	p, first := op.Attributes.(norm.BatchNormParams), sole(r, op, 0, conv.Conv2DKind)
	if p.Training == 1 || p.Relu == 1 || first == nil {
		return false
	}
	g, weight, bias := op.Graph(), first.Inputs[1], first.Inputs[2]
	channels := weight.Dim(-1)
	zeros := g.Constant("zeros", make([]float32, channels), 1, channels)
	r.Replace(op, func() []*tensor.Tensor {
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
		return []*tensor.Tensor{conv.Conv2D(first.Inputs[0], scaled(weight, scale), shift, first.Attributes.(conv.Window))}
	})
	return true
}

// attentionOfScale takes the factor of the scores out of an attention.
func attentionOfScale(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != attention.Kind || op.Attributes.(*attention.Params).Scale == 1 {
		return false
	}
	p := *op.Attributes.(*attention.Params)
	r.Replace(op, func() []*tensor.Tensor {
		queries, g := pointwise.Scale(op.Inputs[0], p.Scale), op.Graph()
		y, lse := g.New("attention", op.Output().Shape(), queries), g.NewOf(gpu.F32, "attention log-sum-exp", op.Outputs[1].Shape())
		p.Scale = 1
		g.Append(attention.Kind, &p, []*tensor.Tensor{y, lse}, queries, op.Inputs[1])
		return []*tensor.Tensor{y, lse}
	})
	return true
}

func convolutionAlone(r *tensor.Rewriter, op *tensor.Op) bool {
	p := conv.Geometry(op)
	return p != nil && r.Change(op, conv.FusedKind, p, op.Inputs[0], op.Inputs[1], op.Inputs[2], nil, nil)
}

// normAtInference makes of batch normalisation by running statistics what depends on parameters
// alone, and the rest.
func normAtInference(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != norm.BatchNormKind || op.Attributes.(norm.BatchNormParams).Training == 1 || r.Trains {
		return false
	}
	p, g, scale := op.Attributes.(norm.BatchNormParams), op.Graph(), op.Inputs[2]
	r.Replace(op, func() []*tensor.Tensor {
		by := g.NewOf(scale.Type(), "batch norm scale and shift", []int{2, int(p.Channels)})
		g.Append(norm.ScaleAndShiftKind, p, []*tensor.Tensor{by}, op.Inputs[1:]...)
		return []*tensor.Tensor{g.Apply(norm.ScaleShiftKind, p, op.Output().Shape(), op.Inputs[0], by)}
	})
	return true
}

// summands lists the inputs of a sum of two tensors, or of a tensor and a table for one image: of
// the makers of both the earlier first. Of other operators there are none.
func summands(r *tensor.Rewriter, op *tensor.Op) []int {
	switch {
	case op.Kind == pointwise.AddKind:
		first, second := r.Maker(op.Inputs[0]), r.Maker(op.Inputs[1])
		if first != nil && second != nil && second.Precedes(first) {
			return []int{1, 0}
		}
		return []int{0, 1}
	case op.Kind == pointwise.AddBroadcastKind && op.Attributes.(*pointwise.ElementwiseParams).Once():
		return []int{0}
	}
	return nil
}

func clampLogSum(r *tensor.Rewriter, op *tensor.Op) bool {
	for _, at := range summands(r, op) {
		if first := sole(r, op, at, pointwise.ClampLogKind); first != nil && r.Fuse(first, op, pointwise.ClampLogAddKind, first.Attributes, first.Inputs[0], op.Inputs[1-at]) {
			return true
		}
	}
	return false
}

func groupedSigmoid(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.SigmoidKind {
		return false
	}
	first := sole(r, op, 0, conv.GroupedLinearKind)
	if first == nil {
		return false
	}
	p := *first.Attributes.(*conv.GroupedLinearParams)
	p.Sigmoid = 1
	return r.Fuse(first, op, conv.GroupedLinearKind, &p, first.Inputs...)
}

// int8Sum adds to a convolution what other convolutions are given in int8 as that, so that nobody
// needs it in floats.
func int8Sum(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.AddKind {
		return false
	}
	for _, at := range summands(r, op) {
		first := sole(r, op, at, conv.Conv2DInt8Kind)
		if first == nil {
			continue
		}
		p := *first.Attributes.(*conv.Int8Params)
		for _, rounding := range r.Readers(op.Inputs[1-at]) {
			if rounding.Kind != pointwise.QuantizeKind || p.Adds != 0 || p.Activation != 0 || p.Int8 == 1 || !rounding.Precedes(op) || !rounding.Beside(op) {
				continue
			}
			p.Adds, p.Int8Residual, p.ResidualFactor = conv.AddResidual, 1, rounding.Attributes.(pointwise.Quantization).Step
			inputs := slices.Clone(first.Inputs)
			inputs = append(inputs, make([]*tensor.Tensor, conv.ResultAt-len(inputs))...)
			inputs[conv.ResidualAt] = rounding.Output()
			return r.Fuse(first, op, conv.Conv2DInt8Kind, &p, inputs...)
		}
	}
	return false
}

func int8ToInt8(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.QuantizeKind {
		return false
	}
	first := sole(r, op, 0, conv.Conv2DInt8Kind)
	if first == nil {
		return false
	}
	p, rounding := *first.Attributes.(*conv.Int8Params), op.Attributes.(pointwise.Quantization).Params
	if p.Int8 == 1 || p.Activation > pointwise.Activation(pointwise.ReLUKind) || rounding.Inputs != p.Outputs {
		return false
	}
	factor := conv.FixedPoint * rounding.Factor
	p.Int8, p.Factor = 1, factor
	p.SumFactor *= factor
	p.ResidualFactor *= factor
	return r.Fuse(first, op, conv.Conv2DInt8Kind, &p, first.Inputs...)
}

// convolutionNorm is for devices that compute both faster in one dispatch.
func convolutionNorm(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != norm.LayerNormKind {
		return false
	}
	first := sole(r, op, 0, conv.FusedKind)
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
	if op.Kind != pointwise.SplitKind {
		return false
	}
	first := sole(r, op, 0, conv.FusedKind)
	if first == nil || op.Attributes.(*pointwise.ConcatParams).Columns != first.Attributes.(*conv.Params).Outputs {
		return false
	}
	p := *first.Attributes.(*conv.Params)
	p.Chunk = op.Attributes.(*pointwise.ConcatParams).Part
	return r.Fuse(first, op, conv.FusedKind, &p, first.Inputs...)
}

// convolutionEpilogue lets a convolution, in floats or in int8, do what follows it, in the order
// sum, scale and shift, sum, activation, sum. The first two sums are of one residual. The inference
// of a network with batch norm and residuals needs few other dispatches.
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
		input, argument, ok := follow(p, op, at)
		if !ok {
			continue
		}
		inputs := append(slices.Clone(first.Inputs), make([]*tensor.Tensor, conv.ResultAt-len(first.Inputs))...)
		if argument != nil {
			inputs[input] = argument
		}
		if r.Fuse(first, op, first.Kind, attributes, inputs...) {
			return true
		}
	}
	return false
}

// follow makes of the convolution p one that also does what op does with its result, op's input at.
// The convolution then takes argument as input, unless argument is nil.
func follow(p *conv.Params, op *tensor.Op, at int) (input int, argument *tensor.Tensor, ok bool) {
	sum := op.Kind == pointwise.AddKind || op.Kind == pointwise.AddBroadcastKind
	switch {
	case p.Adds&conv.AddShortcut != 0:
	case p.Activation != 0:
		if op.Kind == pointwise.AddKind {
			p.Adds |= conv.AddShortcut
			return conv.ShortcutAt, op.Inputs[1-at], true
		}
	case pointwise.Activation(op.Kind) != 0:
		p.Activation = pointwise.Activation(op.Kind)
		return 0, nil, true
	case sum && p.Adds == 0:
		p.Adds = conv.AddResidual
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
