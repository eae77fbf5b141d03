package shaders

import (
	"context"
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// rule is a rewrite of the network's operators.
type rule struct {
	in    phase          // one phase or several
	name  string         // "replaced operators → their replacement"
	apply tensor.Rewrite // results are equal up to rounding
}

// phase is when a rule applies. The rules of one phase apply until none fits; then the next phase
// begins.
type phase uint

const (
	norms    phase = 1 << iota // for other runtimes
	scores                     // for other runtimes, if attention's factor goes into parameters
	portable                   // for other runtimes, last
	rounding                   // without gradients
	algebra                    // with gradients and without
	products                   // without gradients: move work to parameters, where it runs once
	siblings                   // without gradients
	layers                     // without gradients
	fusion                     // with gradients and without, last: one dispatch computes several operators
)

// table has every rewrite. Its order is that of the phases, and in a phase the order in which the
// rules are tried.
func (q Int8) table() []rule {
	return []rule{
		{norms, "BatchNorm(Conv2D | ConvTranspose2x2 | Linear) → the latter by scaled parameters", normOfConvolution},
		{scores, "Attention(q) → Attention(Scale(q)) by the factor 1", attentionOfScale},

		{rounding, "Attention → AttentionInt8", q.attention},
		{rounding | portable, "Scale(Linear(x)) → Linear(x) by scaled parameters", scaleOfLinear},

		{algebra | portable, "an operator again → the one before", (*tensor.Rewriter).Reuse},
		{algebra, "BatchNorm + ReLU → BatchNorm with ReLU", normReLU},
		{algebra | portable, "AveragePool(x + table) → AveragePool(x) + AveragePool(table)", poolOfSum},
		{algebra, "Linear(x + table) → Linear(x) + Linear(table)", linearOfSum},
		{algebra | portable, "Conv2D(Concat(a, b)) → Conv2D(a) + Conv2D(b)", convolutionOfConcat},
		{algebra, "Concat(Linear(x), Linear(x)) → Linear(x), wider", concatOfLinears},

		{products, "Linear(Linear(x)) → Linear(x) by the product of the weights", linearOfLinear},
		{products, "Split(Conv2D(x) of 4n + i outputs) → Split(Split(Conv2D(x) of 4n + 4))", convolutionToQuads},
		{siblings, "Linear(x), Linear(x) + table → Split(Linear(x) + table)", linearsOfOne},
		{layers, "Conv2D | Linear | ConvTranspose2x2 → Conv2DInt8", q.convolution},
		{layers, "BatchNorm → ScaleShift", normAtInference},

		{fusion, "Conv2D | Linear | ConvTranspose2x2 → Convolution", convolutionAlone},
		{fusion, "ClampLog + (Add | AddBroadcast) → ClampLogAdd", clampLogSum},
		{fusion, "Sum(a + b) → Sum(a and b, side by side)", sumOfPasses},
		{fusion, "BatchNorm + Add + ReLU → BatchNormSum", normSum},
		{fusion, "BatchStatistics, BatchNorm | BatchNormSum → WholeBatchNorm", wholeNorm},
		{fusion, "GroupedLinear + Sigmoid → GroupedLinear", groupedSigmoid},
		{fusion, "DepthwiseConv2D + activation → Depthwise", depthwiseActivation},
		{fusion, "Conv2DInt8 + Add(what is int8 too) → Conv2DInt8", int8Sum},
		{fusion, "Conv2DInt8 + Quantize → Conv2DInt8 to int8", int8ToInt8},
		{fusion, "Convolution + LayerNorm → LinearNorm", convolutionNorm},
		{fusion, "Convolution + Split → Convolution to two", convolutionSplit},
		{fusion, "Convolution + (Add | AddBroadcast | ScaleShift | activation) → Convolution", convolutionEpilogue},
		{fusion, "Convolution, activation → Convolution to both", convolutionBoth},
	}
}

// rules returns, for each of the phases, its rules.
func (q Int8) rules(phases ...phase) [][]tensor.Rewrite {
	rules := make([][]tensor.Rewrite, len(phases))
	for i, p := range phases {
		for _, rule := range q.table() {
			if rule.in&p != 0 {
				rules[i] = append(rules[i], rule.apply)
			}
		}
	}
	return rules
}

// Portable rewrites a graph without gradients for a runtime that computes operator by operator,
// such as ONNX Runtime. Batch norm goes into the parameters of convolutions. An operator that
// several passes have in common is computed once. The factor of attention's scores goes into the
// parameters of the queries.
func Portable(g *tensor.Graph) {
	for _, rules := range forOthers() {
		g.Rewrite(rules)
	}
}

func forOthers() [][]tensor.Rewrite { return Int8{}.rules(norms, scores, portable) }

// Int8 says which layers compute in int8 at inference.
type Int8 struct {
	// Ranges has, by a layer's name, the largest |x| of the layer's input. Layers without a range
	// compute in floats.
	Ranges map[string]float32
	// Watch, unless nil, receives the inputs of the layers that could compute in int8.
	Watch func(layer string, x *tensor.Tensor)
}

// forDevice are the rules for a graph with gradients (to which Simplify has applied the algebra),
// or without.
func (q Int8) forDevice(trains bool) [][]tensor.Rewrite {
	if trains {
		return q.rules(fusion)
	}
	return q.rules(rounding, algebra, products, siblings, layers, fusion)
}

// Compile makes a plan of a graph with all rewrites (tensor.Compile).
func Compile(ctx context.Context, device gpu.Device, set *tensor.Set, g *tensor.Graph) (*tensor.Plan, error) {
	return Int8{}.Compile(ctx, device, set, g)
}

// Compile is shaders.Compile with some layers in int8.
func (q Int8) Compile(ctx context.Context, device gpu.Device, set *tensor.Set, g *tensor.Graph) (*tensor.Plan, error) {
	return tensor.Compile(ctx, device, set, g, q.forDevice(g.Trains())...)
}

// Rewrite applies the rewrites to a graph without compiling it.
func (q Int8) Rewrite(g *tensor.Graph) {
	for _, rules := range q.forDevice(g.Trains()) {
		g.Rewrite(rules)
	}
}

// Simplify applies the rewrites that hold with gradients to a graph: call it before Backward.
func Simplify(g *tensor.Graph) { g.Rewrite(Int8{}.rules(algebra)[0]) }

// JoinPasses lets passes share dispatches (tensor.Graph.JoinPasses). Call it before
// Backward.
func JoinPasses(loss *tensor.Tensor) { loss.Graph().JoinPasses(loss, pointwise.Stack) }

// soleFirst returns the operator that makes the first input of op, if op has kind k, the operator
// has kind first, and op alone reads its result; otherwise nil.
func soleFirst(r *tensor.Rewriter, first *tensor.Kind, op *tensor.Op, k *tensor.Kind) *tensor.Op {
	if op.Kind != k {
		return nil
	}
	return sole(r, op, 0, first)
}

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
