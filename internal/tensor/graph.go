package tensor

import (
	"fmt"
	"slices"

	"mrprism/internal/gpu"
)

// Graph is a list of dispatches being built, with the gradient rules of those that have one.
type Graph struct {
	floats    gpu.ElementType // of tensors of floats, but where an operator says otherwise
	nodes     []node
	rules     []rule
	variables map[*Variable]*Tensor
	halves    map[*Variable]*Tensor // what Halved made
	constants []*Tensor
	storages  int
	made      int     // nodes so far
	region    *region // being built; nil: none is
	part      int     // being built; 0: none is
	parts     int     // so far
}

// node is one dispatch, or the zeroing of a storage where kernel is nil.
type node struct {
	id        int // of it, and of the one that computes the same again
	part      int // in which it was built
	kernel    *Kernel
	params    any
	arguments []*storage
	clear     *storage
}

// rule appends the gradient of the operator that made output.
type rule struct {
	output *Tensor
	apply  func()
}

// storage is memory that tensors name; several tensors may see one storage in different shapes.
type storage struct {
	id       int
	label    string
	kind     gpu.ElementType
	elements int
	variable *Variable // nil for what a plan owns
	whole    *storage  // the block in which it lies, from element first on; nil: it lies alone
	first    int
	twin     *storage // what was made in its place before it was made again
	constant []byte   // written once when the plan is compiled
	kept     bool     // has a buffer of its own for the plan's whole life: inputs, outputs
}

// Tensor is a value of a graph: a storage seen in a shape.
type Tensor struct {
	graph    *Graph
	shape    []int
	storage  *storage
	needs    bool    // a gradient is wanted
	base     *Tensor // the tensor whose gradient this view shares
	gradient *Tensor
}

// NewGraph returns an empty graph of floats that are F32.
func NewGraph() *Graph { return NewGraphOf(gpu.F32) }

// NewGraphOf returns an empty graph whose floats are stored as F32 or F16, like those of the set with which it will be compiled. Kernels
// compute sums in f32 either way. In a graph of F32 operators may also be given tensors of F16 (Halved), and then make such: mixed
// precision in training.
func NewGraphOf(floats gpu.ElementType) *Graph {
	return &Graph{floats: floats, variables: map[*Variable]*Tensor{}, halves: map[*Variable]*Tensor{}}
}

// Shape is the tensor's extents; do not modify.
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
	g.storages++
	s := &storage{id: g.storages, label: label, kind: kind, elements: elements(shape)}
	return &Tensor{graph: g, shape: slices.Clone(shape), storage: s}
}

// Input is a float tensor written by Plan.Write before a run.
func (g *Graph) Input(label string, shape ...int) *Tensor {
	return g.InputOf(g.floats, label, shape...)
}

// InputOf is an input of the element type, whatever the graph's floats are.
func (g *Graph) InputOf(kind gpu.ElementType, label string, shape ...int) *Tensor {
	if g.region != nil && g.region.again >= 0 {
		panic(fmt.Sprintf("tensor: the input %s would be made again by Recompute", label))
	}
	t := g.tensor(label, kind, shape)
	t.storage.kept = true
	return t
}

// Constant is a float tensor whose values are part of the graph; equal label, shape and values are stored once.
func (g *Graph) Constant(label string, values []float32, shape ...int) *Tensor {
	b, err := encode(label, g.floats, values)
	if err != nil {
		panic(err)
	}
	return g.constant(g.floats, label, b, shape)
}

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

// New is the output of an operator: uninitialised memory that a dispatch fills completely. Its floats are stored as those of the inputs. A
// gradient flows into it if one flows into any of them.
func (g *Graph) New(label string, shape []int, inputs ...*Tensor) *Tensor {
	floats := g.floats
	if i := slices.IndexFunc(inputs, func(t *Tensor) bool { return t.Type().IsFloat() }); i >= 0 {
		floats = inputs[i].Type()
	}
	t := g.tensor(label, floats, shape)
	for _, in := range inputs {
		t.needs = t.needs || in.needs
	}
	return t
}

// NewOf is New of the element type, whatever the inputs are, through which no gradient flows.
func (g *Graph) NewOf(kind gpu.ElementType, label string, shape []int) *Tensor {
	return g.tensor(label, kind, shape)
}

// Variable is the graph's tensor of a variable; a parameter needs a gradient.
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
			member.storage.whole = t.storage
		}
	}
	if whole := g.variables[v.block]; whole != nil {
		t.storage.whole = whole.storage
	}
	return t
}

// Reshape sees the same elements, and the same gradient, in another shape.
func (t *Tensor) Reshape(shape ...int) *Tensor {
	if elements(shape) != t.Elements() {
		panic(fmt.Sprintf("tensor: reshape %v to %v changes the number of elements", t, shape))
	}
	return &Tensor{graph: t.graph, shape: slices.Clone(shape), storage: t.storage, needs: t.needs, base: t}
}

// Detach sees the same elements, and no gradient passes.
func (t *Tensor) Detach() *Tensor {
	return &Tensor{graph: t.graph, shape: t.shape, storage: t.storage}
}

// Keep gives the tensor a buffer of its own, so that Plan.Read can see it after a run.
func (t *Tensor) Keep() *Tensor {
	t.storage.kept = true
	t.storage.root().kept = true
	return t
}

// Halved sees x, of F32, with every element rounded to a half, by the dispatch that round appends. The gradient is that of x, in F32: what
// adds to gradients of weights and biases, adds there. Of a variable there is one, wherever in the graph it is asked for.
func (x *Tensor) Halved(round func(x, half *Tensor)) *Tensor {
	g := x.graph
	build := func() *Tensor {
		y := g.NewOf(gpu.F16, "half of "+x.storage.label, x.shape)
		round(x, y)
		return y
	}
	v := x.storage.variable
	y := g.halves[v]
	switch {
	case v == nil:
		y = g.Once(build)
	case y == nil:
		region := g.region
		g.region = nil
		y = build()
		g.region = region
		g.halves[v] = y
	}
	return &Tensor{graph: g, shape: x.shape, storage: y.storage, needs: x.needs, base: x}
}

// Track asks for the gradient of an input, as tests do.
func (t *Tensor) Track() *Tensor {
	t.needs = true
	return t
}

// Gradient is the derivative of the loss by the tensor, zeroed where it is first asked for; backward kernels add to it.
func (t *Tensor) Gradient() *Tensor {
	if t.base != nil {
		return t.base.Gradient().Reshape(t.shape...)
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
	return t.gradient != nil
}

// Zero appends the zeroing of a tensor.
func (g *Graph) Zero(t *Tensor) { g.append(node{clear: t.storage}) }

func (g *Graph) append(n node) {
	g.made++
	n.id, n.part = g.made, g.part
	if g.region != nil {
		g.region.twin(&n)
	}
	g.nodes = append(g.nodes, n)
}

// Dispatch appends one run of a kernel. params is a pointer to its parameter struct and must not change afterwards.
func (g *Graph) Dispatch(k *Kernel, params any, arguments ...*Tensor) {
	if len(arguments) != len(k.Arguments) {
		panic(fmt.Sprintf("tensor: kernel %s takes %d arguments, got %d", k.Name, len(k.Arguments), len(arguments)))
	}
	n := node{kernel: k, params: params, arguments: make([]*storage, len(arguments))}
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
	}
	n.floats() // or panic
	g.append(n)
}

// OnBackward states the gradient rule of the operator that made y. It runs, during Backward, if a gradient reached y; it
// appends dispatches that add to the gradients of those inputs that need one.
func (g *Graph) OnBackward(y *Tensor, apply func()) {
	if y.needs {
		g.rules = append(g.rules, rule{y, apply})
	}
}

// Backward appends the gradients of everything that loss, a tensor of one element, depends on. seed holds the derivative by
// the loss itself, usually 1; it is written by the caller like any input.
func (g *Graph) Backward(loss, seed *Tensor) {
	if loss.Elements() != seed.Elements() {
		panic(fmt.Sprintf("tensor: the seed %v of the gradient does not fit %v", seed, loss))
	}
	loss.viewed().gradient = seed
	g.reverse(g.rules)
	g.rules = nil
}

// reverse applies the rules whose outputs have a gradient, the last first.
func (g *Graph) reverse(rules []rule) {
	for i := len(rules) - 1; i >= 0; i-- {
		if r := rules[i]; r.output.HasGradient() {
			r.apply()
		}
	}
}
