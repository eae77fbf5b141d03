package tensor

import (
	"fmt"
	"slices"

	"mrprism/shaders/gpu"
)

// Graph is a list of operators being built.
type Graph struct {
	floats    gpu.ElementType // how tensors store floats, unless an operator says otherwise
	ops       []*Op
	lowered   *[]node // while operators become dispatches, Dispatch appends here; nil: to ops
	variables map[*Variable]*Tensor
	constants []*Tensor
	part      int             // the part that is being built; 0: none
	parts     int             // so far
	pass      int             // to which operators belong that are being appended; 0: to none
	order     []*Op           // in which Backward goes back; nil: that of ops
	joined    []*storage      // of all passes: see JoinPasses
	again     map[int]bool    // parts that Backward computes again
	layer     string          // that appends operators
	trains    bool            // Backward was called
	aliases   bool            // Rewrite is running
	noted     map[any]*Tensor // see Noted
	group     Group           // batch normalisation takes statistics over it; nil: none
}

// node is one dispatch. If kernel is nil, the node zeroes a storage or, if it has a group, replaces
// the storage by its mean over the group's ranks.
type node struct {
	kernel    *Kernel
	params    any
	arguments []*storage
	target    *storage
	group     Group
	soon      bool  // see hurried
	fresh     bool  // the last argument counts as zero: see fresh
	sum       *Part // what the node adds if that is not its kernel's part: see direct
}

// storage is memory that tensors name; several tensors may see one storage in different shapes.
type storage struct {
	label    string
	kind     gpu.ElementType
	elements int
	variable *Variable // nil for what a plan owns
	whole    *storage  // the block in which it lies, from element first on; nil: in none
	first    int
	members  []*storage // the parts of a tensor of all passes: see JoinPasses
	twin     *storage   // of a copy that Recompute made: the storage of which it is a copy
	constant []byte     // written once when the plan is compiled
	fixed    bool       // an operator makes it of parameters and constants alone
	kept     bool       // has a buffer of its own for the plan's whole life: inputs, outputs
	input    bool       // the caller writes it
	repeated *storage   // of an input: it has what the caller writes for every pass, or is nil
	early    bool       // an input that stays while a plan runs many times (Early)
}

// Tensor is a value of a graph: a storage seen in a shape.
type Tensor struct {
	graph    *Graph
	shape    []int
	storage  *storage
	needs    bool    // a gradient is wanted
	base     *Tensor // the tensor whose gradient this view shares
	joined   *Tensor // the tensor of all passes of which this one is a part; nil: none
	gradient *Tensor
}

// NewGraph returns an empty graph that stores floats as F32.
func NewGraph() *Graph { return NewGraphOf(gpu.F32) }

// NewGraphOf returns an empty graph that stores floats as F32 or F16, like the set with which it
// will be compiled. Kernels compute long sums in f32 in both. In a graph of F32 an operator may
// also read tensors of F16, and then makes tensors of F16: mixed precision in training.
func NewGraphOf(floats gpu.ElementType) *Graph {
	return &Graph{floats: floats, variables: map[*Variable]*Tensor{}, again: map[int]bool{}, noted: map[any]*Tensor{}}
}

// Noted is what build returned when Noted was first called with the key. If parts are computed
// again, memory counts more, and Noted calls build each time.
func (g *Graph) Noted(key any, build func() *Tensor) *Tensor {
	if g.noted[key] == nil || len(g.again) > 0 {
		g.noted[key] = build()
	}
	return g.noted[key]
}

// Shape is the tensor's extents. Do not modify the slice.
func (t *Tensor) Shape() []int { return t.shape }

// Dim is extent i; negative i counts from the end.
func (t *Tensor) Dim(i int) int {
	if i < 0 {
		i += len(t.shape)
	}
	return t.shape[i]
}

// Elements is the number of elements.
func (t *Tensor) Elements() int { return elements(t.shape) }

// Type is the element type.
func (t *Tensor) Type() gpu.ElementType { return t.storage.kind }

// Graph is the graph the tensor belongs to.
func (t *Tensor) Graph() *Graph { return t.graph }

// NeedsGradient reports whether a gradient flows into the tensor.
func (t *Tensor) NeedsGradient() bool { return t.needs }

// String names the tensor and its shape.
func (t *Tensor) String() string { return fmt.Sprintf("%s%v", t.storage.label, t.shape) }

func elements(shape []int) int {
	n := 1
	for _, d := range shape {
		if d <= 0 {
			panic(fmt.Sprintf("tensor: shape %v has an extent that is not positive", shape))
		}
		n *= d
	}
	return n
}

func (g *Graph) tensor(label string, kind gpu.ElementType, shape []int) *Tensor {
	s := &storage{label: label, kind: kind, elements: elements(shape)}
	return &Tensor{graph: g, shape: slices.Clone(shape), storage: s}
}

// Input is a float tensor written by Plan.Write before a run.
func (g *Graph) Input(label string, shape ...int) *Tensor {
	return g.InputOf(g.floats, label, shape...)
}

// InputOf is an input of the element type, whatever the graph's floats are.
func (g *Graph) InputOf(kind gpu.ElementType, label string, shape ...int) *Tensor {
	t := g.tensor(label, kind, shape)
	t.storage.kept, t.storage.input = true, true
	return t
}

// Constant is a float tensor whose values are part of the graph. The graph stores constants of
// equal label, shape and values once.
func (g *Graph) Constant(label string, values []float32, shape ...int) *Tensor {
	b, err := encode(label, g.floats, values)
	if err != nil {
		panic(err)
	}
	return g.constant(g.floats, label, b, shape)
}

// Values are the floats of a constant.
func (x *Tensor) Values() []float32 { return x.Type().Decode(x.storage.constant) }

// ConstantUint32 is a constant of u32.
func (g *Graph) ConstantUint32(label string, values []uint32, shape ...int) *Tensor {
	return g.constant(gpu.U32, label, gpu.Uint32Bytes(values), shape)
}

func (g *Graph) constant(kind gpu.ElementType, label string, values []byte, shape []int) *Tensor {
	if n := len(values) / kind.Size(); n != elements(shape) {
		panic(fmt.Sprintf("tensor: constant %s%v does not have %d values", label, shape, n))
	}
	for _, c := range g.constants {
		if c.storage.label == label && slices.Equal(c.shape, shape) && slices.Equal(c.storage.constant, values) {
			return c
		}
	}
	t := g.InputOf(kind, label, shape...)
	t.storage.constant = values
	g.constants = append(g.constants, t)
	return t
}

// New is the output of an operator: uninitialised memory that a dispatch fills completely. It
// stores floats in the type of the first input of floats. A gradient flows into it if one flows
// into an input.
func (g *Graph) New(label string, shape []int, inputs ...*Tensor) *Tensor {
	floats := g.floats
	if i := slices.IndexFunc(inputs, func(t *Tensor) bool { return t != nil && t.Type().IsFloat() }); i >= 0 {
		floats = inputs[i].Type()
	}
	t := g.tensor(label, floats, shape)
	for _, in := range inputs {
		t.needs = t.needs || in != nil && in.needs
	}
	return t
}

// NewOf is New of a given element type. No gradient flows into it.
func (g *Graph) NewOf(kind gpu.ElementType, label string, shape []int) *Tensor {
	return g.tensor(label, kind, shape)
}

// Variable is the graph's tensor for a variable. It needs a gradient if that is a parameter.
func (g *Graph) Variable(v *Variable) *Tensor {
	if t := g.variables[v]; t != nil {
		return t
	}
	if v.Type.IsFloat() && v.Type != g.floats {
		panic(fmt.Sprintf("tensor: variable %s is stored as %s, the floats of the graph as %s", v.Name, v.Type, g.floats))
	}
	t := g.tensor(v.Name, v.Type, v.Shape)
	t.storage.variable = v
	t.needs = v.Role == Parameter
	g.variables[v] = t
	for _, m := range v.members {
		if member := g.variables[m]; member != nil {
			member.storage.whole, member.storage.first = t.storage, m.first
		}
	}
	if whole := g.variables[v.block]; whole != nil {
		t.storage.whole, t.storage.first = whole.storage, v.first
	}
	return t
}

// Writes says whether an operator so far changes the variable.
func (g *Graph) Writes(v *Variable) bool {
	t := g.variables[v]
	return t != nil && slices.ContainsFunc(g.ops, func(op *Op) bool { return op.writes(t.storage) })
}

// Reshape is a view of the same elements, and of the same gradient, in another shape.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	if elements(shape) != t.Elements() {
		panic(fmt.Sprintf("tensor: reshape %v to %v changes the number of elements", t, shape))
	}
	return &Tensor{graph: t.graph, shape: slices.Clone(shape), storage: t.storage, needs: t.needs, base: t}
}

// Detach is a view of the same elements through which no gradient passes.
func (t *Tensor) Detach() *Tensor {
	return &Tensor{graph: t.graph, shape: t.shape, storage: t.storage}
}

// Keep gives the tensor a buffer of its own, so that Plan.Read can see it after a run.
func (t *Tensor) Keep() *Tensor {
	t.storage.kept = true
	t.storage.root().kept = true
	return t
}

// Shadow is a tensor like x that is stored as another type. It shares the gradient of x, in x's
// type.
func (x *Tensor) Shadow(kind gpu.ElementType) *Tensor {
	y := x.graph.tensor(fmt.Sprintf("%s of %s", kind, x.storage.label), kind, x.shape)
	y.needs, y.base = x.needs, x
	return y
}

// Store changes the type in which the floats of a tensor will be stored. Call it before the graph
// is compiled.
func (x *Tensor) Store(floats gpu.ElementType) { x.storage.kind = floats }

// Variable is the variable for which x stands, or nil.
func (x *Tensor) Variable() *Variable { return x.storage.variable }

// Storage identifies the memory of x: views of one tensor have the same storage.
func (x *Tensor) Storage() any { return x.storage }

// Input says that the caller writes x.
func (x *Tensor) Input() bool {
	return x.storage.input || x.storage.variable != nil && !x.storage.variable.Role.learned()
}

// Constant says that the graph knows the values of x.
func (x *Tensor) Constant() bool { return x.storage.constant != nil }

// Track asks for the gradient of an input, as tests do.
func (t *Tensor) Track() *Tensor {
	t.needs = true
	return t
}

// Gradient is the derivative of the loss by the tensor. The first call appends its zeroing;
// backward kernels add to it.
func (t *Tensor) Gradient() *Tensor {
	if t.base != nil {
		return t.base.Gradient().Reshape(t.shape...)
	}
	if t.gradient == nil && t.joined != nil {
		d := t.joined.Gradient().storage
		s := &storage{label: "d " + t.storage.label, kind: t.Type(), elements: t.Elements(), whole: d, first: t.storage.first}
		d.members = append(d.members, s)
		t.gradient = &Tensor{graph: t.graph, shape: t.shape, storage: s}
	}
	if t.gradient == nil {
		t.gradient = t.graph.tensor("d "+t.storage.label, t.Type(), t.shape)
		t.graph.Zero(t.gradient)
	}
	return t.gradient
}

// HasGradient reports whether Gradient has been asked for.
func (t *Tensor) HasGradient() bool {
	if t.base != nil {
		return t.base.HasGradient()
	}
	return t.gradient != nil || t.joined != nil && t.joined.HasGradient()
}

// Layered names the layer the layer that appends operators until restore is called, see Op.Layer.
func (g *Graph) Layered(name string) (restore func()) {
	before := g.layer
	g.layer = name
	return func() { g.layer = before }
}

// Trains says whether the graph has gradients.
func (g *Graph) Trains() bool { return g.trains }

// Fixed says that x is missing or depends on parameters and constants alone.
func (x *Tensor) Fixed() bool {
	if x == nil || x.Constant() || x.storage.fixed {
		return true
	}
	return x.storage.variable != nil && x.storage.variable.Role == Parameter
}

// Map calls f for every operator so far, in order. Operators that f appends come before that
// operator. f may change the operator's inputs.
func (g *Graph) Map(f func(op *Op)) {
	ops := g.ops
	g.ops = nil
	for _, op := range ops {
		g.pass = op.pass
		f(op)
		g.ops = append(g.ops, op)
	}
	g.pass = 0
}

// Ops are the operators so far, in the order in which they were appended.
func (g *Graph) Ops() []*Op { return slices.Clone(g.ops) }
