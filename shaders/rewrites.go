package shaders

import (
	"context"
	"slices"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
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
