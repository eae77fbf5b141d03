package tensor

import (
	"fmt"
	"slices"

	"mrprism/shaders/gpu"
)

// Kind is what all operators of one name have in common.
type Kind struct {
	Name string

	// Compute dispatches the kernels that fill the outputs of op (Op.Dispatch).
	Compute func(op *Op)

	// Gradient appends dispatches that add to the gradients of the inputs that need one. It runs if a
	// gradient reached an output. nil: no gradient passes.
	Gradient func(op *Op)

	// Passes is how many of the first inputs the gradient passes to; 0: all.
	Passes int

	// Images is how many of the first inputs consist of images: their first extent counts what the
	// operator computes apart from each other, and so does that of all outputs. Of the other inputs
	// all images take the same. 0 (the default) means: do not merge the images of several passes into
	// one batch.
	Images int

	// Repeat returns the attributes for n times as many images; nil: they do not depend on the number.
	Repeat func(attributes any, n int) any

	// Broadcast is the kind that computes the operator, of two inputs whose order does not matter, if
	// all images take the same second one; nil: there is none.
	Broadcast *Kind

	// Halves says what the operator does if training stores maps in halves.
	Halves Halves

	// Scalar is the function of one number that the operator computes; nil: it is none.
	Scalar *Scalar

	// ONNX is ONNX's operator for this one. export writes operators on single elements that have no
	// attributes as this node, on the same inputs; empty: ONNX has none.
	ONNX string

	// Once says that Recompute keeps the outputs instead of computing them again: they are small,
	// or computing them changes variables.
	Once bool
}

// Halves says what shaders.StoreHalves does with an operator.
type Halves int

// The parts.
const (
	HalvesNever  Halves = iota // takes and makes F32
	HalvesFollow               // stores halves if its first input does
	HalvesBegin                // rounds inputs and stores halves, if one depends on a graph's input
)

// Scalar is a function of one number. pointwise.scalarKind makes its operator.
type Scalar struct {
	Value     func(x float64) float64 // the definition, and the reference
	Slope     func(v float64) float64 // the derivative where x is v
	WGSL      string                  // statements that return the value for v of floats, also in convolutions
	SlopeWGSL string                  // statements that return the slope for v of floats
	OfResult  bool                    // the slope takes the function's result as v, so that training need not keep x

	// Both serve the processor if Value or Slope would take it too long; nil: it calls these.
	Fast        func(values []float32)    // replaces each value
	AddGradient func(dx, dy, v []float32) // adds dy · slope to dx
}

// Op is an operator of a graph: its kind, the tensors that it reads and the tensors that it makes.
// It belongs to no device.
type Op struct {
	Kind       *Kind
	Attributes any       // of the kind's own type: a value, or a pointer that nobody writes
	Inputs     []*Tensor // nil: an optional input is missing
	Outputs    []*Tensor // first the result
	Layer      string    // the layer that appended it, such as "encoder.layer1.0.conv1"

	graph *Graph
	part  int   // the part of the graph that has it (Part); 0: none
	pass  int   // see Graph.Pass
	stage stage // set by staged
	order int   // set by rewrite
	first *Op   // the operator of which Recompute made this copy; otherwise nil
	node  *node // set for a bare dispatch or a zeroing, which has no kind
}

// Graph is the graph that the operator belongs to.
func (op *Op) Graph() *Graph { return op.graph }

// Output is the operator's first output, its result.
func (op *Op) Output() *Tensor { return op.Outputs[0] }

// Dispatch appends one run of a kernel, see Graph.Dispatch.
func (op *Op) Dispatch(k *Kernel, params any, arguments ...*Tensor) {
	op.graph.Dispatch(k, params, arguments...)
}

// String names the operator, its inputs and its outputs.
func (op *Op) String() string {
	if op.node != nil && op.node.kernel != nil {
		return fmt.Sprintf("%s%v", op.node.kernel.Name, op.Inputs)
	}
	if op.clears() {
		return fmt.Sprintf("zero %v", op.Outputs)
	}
	if op.Kind == nil {
		return fmt.Sprintf("mean over ranks %v", op.Outputs)
	}
	return fmt.Sprintf("%s%v → %v", op.Kind.Name, op.Inputs, op.Outputs)
}

// Apply appends an operator with one output of a shape and returns the output. The output stores
// its floats in the type of the first input of floats. It needs a gradient if the kind passes
// gradients to an input that needs one.
func (g *Graph) Apply(k *Kind, attributes any, shape []int, inputs ...*Tensor) *Tensor {
	y := g.New(k.Name, shape, inputs...)
	y.needs = k.passes(inputs)
	g.Append(k, attributes, []*Tensor{y}, inputs...)
	return y
}

// Append appends an operator with outputs that exist already.
func (g *Graph) Append(k *Kind, attributes any, outputs []*Tensor, inputs ...*Tensor) *Op {
	for i, x := range inputs {
		if x != nil && x.graph != g {
			panic(fmt.Sprintf("tensor: input %d of %s, %v, belongs to another graph", i, k.Name, x))
		}
	}
	op := &Op{Kind: k, Attributes: attributes, Inputs: inputs, Outputs: outputs}
	g.append(op)
	return op
}

// append appends an operator to the part that is being built. What depends on parameters and
// constants alone belongs to no part: Reuse then lets every part read it.
func (g *Graph) append(op *Op) {
	op.graph, op.part, op.pass, op.Layer = g, g.part, g.pass, g.layer
	if op.Kind != nil && !op.Kind.Once && !slices.ContainsFunc(op.Inputs, func(x *Tensor) bool { return !x.Fixed() }) {
		op.part = 0
		for _, y := range op.Outputs {
			y.storage.fixed = true
		}
	}
	g.ops = append(g.ops, op)
}

// passes says whether a gradient flows through an operator with these inputs.
func (k *Kind) passes(inputs []*Tensor) bool {
	if k.Gradient == nil {
		return false
	}
	if k.Passes > 0 {
		inputs = inputs[:k.Passes]
	}
	for _, x := range inputs {
		if x != nil && x.needs {
			return true
		}
	}
	return false
}

// Dispatch appends one run of a kernel. params is a pointer to its parameter struct and must not
// change afterwards. In a graph that is being built this is an operator of its own: gradients are
// dispatches.
func (g *Graph) Dispatch(k *Kernel, params any, arguments ...*Tensor) {
	if len(arguments) != len(k.Arguments) {
		panic(fmt.Sprintf("tensor: kernel %s takes %d arguments, got %d", k.Name, len(k.Arguments), len(arguments)))
	}
	n := node{kernel: k, params: params, arguments: make([]*storage, len(arguments))}
	op := &Op{node: &n}
	for i, a := range arguments {
		if a.graph != g {
			panic(fmt.Sprintf("tensor: argument %d of %s, %v, belongs to another graph", i, k.Name, a))
		}
		n.arguments[i] = a.storage
		for j := range i {
			if n.arguments[j] == a.storage && (k.Arguments[i] == gpu.ReadWrite || k.Arguments[j] == gpu.ReadWrite) {
				panic(fmt.Sprintf("tensor: kernel %s would write %v through one argument and use it through another", k.Name, a))
			}
		}
		if k.Arguments[i] == gpu.ReadWrite {
			op.Outputs = append(op.Outputs, a)
		} else {
			op.Inputs = append(op.Inputs, a)
		}
	}
	n.floats() // panics if floats have two types
	if g.lowered != nil {
		*g.lowered = append(*g.lowered, n)
		return
	}
	g.append(op)
}

// Zero appends the zeroing of a tensor.
func (g *Graph) Zero(t *Tensor) {
	g.append(&Op{node: &node{target: t.storage}, Outputs: []*Tensor{t}})
}

// clears says whether the operator zeroes its output.
func (op *Op) clears() bool { return op.node != nil && op.node.clears() }

// writes says whether the operator changes a storage.
func (op *Op) writes(s *storage) bool {
	for _, y := range op.Outputs {
		if y.storage.root() == s.root() {
			return true
		}
	}
	return false
}

// live keeps the operators whose outputs reach a variable or a kept tensor.
func live(ops []*Op) []*Op {
	needed := map[*storage]bool{}
	keep := make([]bool, len(ops))
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		for _, y := range op.Outputs {
			s := y.storage
			keep[i] = keep[i] || needed[s.root()] || s.kept || s.variable != nil
		}
		if !keep[i] {
			continue
		}
		if op.clears() {
			delete(needed, op.node.target) // the zeroing overwrites earlier values
			continue
		}
		for _, x := range op.Inputs {
			if x != nil {
				needed[x.storage.root()] = true
			}
		}
		if op.node != nil { // a dispatch may add to its result, and then reads it
			for _, y := range op.Outputs {
				needed[y.storage.root()] = true
			}
		}
	}
	out := make([]*Op, 0, len(ops))
	for i, op := range ops {
		if keep[i] {
			out = append(out, op)
		}
	}
	return out
}

// lower turns operators into dispatches.
func (g *Graph) lower(ops []*Op) []node {
	nodes := make([]node, 0, len(ops))
	g.lowered = &nodes
	defer func() { g.lowered = nil }()
	for _, op := range ops {
		if op.node != nil {
			nodes = append(nodes, *op.node)
			continue
		}
		op.Kind.Compute(op)
	}
	return nodes
}
