package tensor

import (
	"reflect"
	"slices"

	"mrprism/internal/compute/gpu"
)

// Rewrite is a rule that replaces an operator, with or without those before it, by others that compute
// the same.
type Rewrite struct {
	Name  string                         // pattern → replacement
	Apply func(r *Rewriter, op *Op) bool // replaces op, if the rule fits
}

// Rewriter is a list of operators that rules are applied to, from the first operator to the last.
type Rewriter struct {
	Info   gpu.Info // of the device that will compute
	Trains bool     // the graph has gradients

	graph   *Graph
	ops     []*Op              // so far, replaced ones among them
	gone    map[*Op]bool       // replaced
	makers  map[*storage]*Op   // the operator that makes a storage; what several write has none
	readers map[*storage][]*Op // an operator once for each input
	users   map[*storage][]*Op // of a storage and of what was made again in its place; of originals alone
	fused   map[*Op]*Op        // what Fuse put in the place of an operator
}

// Rewrite applies rules until none fits.
func (g *Graph) Rewrite(info gpu.Info, rules []Rewrite) {
	g.aliases = true
	g.ops = g.rewrite(info, g.ops, rules)
	g.aliases = false
}

func (g *Graph) rewrite(info gpu.Info, ops []*Op, rules []Rewrite) []*Op {
	for changed := true; changed; {
		r := newRewriter(g, info, ops)
		changed = false
		for _, op := range ops {
			if r.gone[op] {
				continue
			}
			r.ops = append(r.ops, op)
			for _, rule := range rules {
				if rule.Apply(r, op) {
					changed = true
					break
				}
			}
		}
		ops = slices.DeleteFunc(r.ops, func(op *Op) bool { return r.gone[op] })
	}
	return ops
}

func newRewriter(g *Graph, info gpu.Info, ops []*Op) *Rewriter {
	r := &Rewriter{
		Info: info, Trains: g.trains, graph: g,
		gone: map[*Op]bool{}, makers: map[*storage]*Op{}, readers: map[*storage][]*Op{}, users: map[*storage][]*Op{}, fused: map[*Op]*Op{},
	}
	for i, op := range ops {
		op.order = i
		r.add(op)
		for _, t := range slices.Concat(op.Inputs, op.Outputs) {
			if t == nil {
				continue
			}
			s, id := t.storage.original(), op
			if op.first != nil {
				id = op.first
			}
			if !slices.Contains(r.users[s], id) {
				r.users[s] = append(r.users[s], id)
			}
		}
	}
	return r
}

// add notes what an operator makes and reads.
func (r *Rewriter) add(op *Op) {
	for _, y := range op.Outputs {
		if s := y.storage; op.node != nil || r.makers[s] != nil {
			r.makers[s] = several
		} else {
			r.makers[s] = op
		}
	}
	for _, x := range op.Inputs {
		if x != nil {
			r.readers[x.storage] = append(r.readers[x.storage], op)
		}
	}
	if op.node != nil {
		for _, y := range op.Outputs {
			r.readers[y.storage] = append(r.readers[y.storage], op)
		}
	}
}

// several stands for the makers of a storage that is not made by one operator of a kind.
var several = &Op{}

// remove takes an operator away, and with it those whose results nobody reads any more.
func (r *Rewriter) remove(op *Op) {
	r.gone[op] = true
	for _, y := range op.Outputs {
		if r.makers[y.storage] == op {
			delete(r.makers, y.storage)
		}
	}
	for _, x := range op.Inputs {
		if x == nil {
			continue
		}
		s := x.storage
		i := slices.Index(r.readers[s], op)
		r.readers[s] = slices.Delete(slices.Clone(r.readers[s]), i, i+1)
		if maker := r.Maker(x); maker != nil && !r.read(maker) && !r.gone[maker] {
			r.remove(maker)
		}
	}
}

// read says whether somebody wants an output of the operator.
func (r *Rewriter) read(op *Op) bool {
	return slices.ContainsFunc(op.Outputs, func(y *Tensor) bool {
		return y.storage.kept || y.storage.variable != nil || len(r.readers[y.storage]) > 0
	})
}

// Maker is the operator that makes x; nil: x is an input or a variable, or several dispatches make it.
func (r *Rewriter) Maker(x *Tensor) *Op {
	if x == nil {
		return nil
	}
	if op := r.makers[x.storage]; op != several {
		return op
	}
	return nil
}

// Readers are the operators that read x, once for each time they do.
func (r *Rewriter) Readers(x *Tensor) []*Op { return r.readers[x.storage] }

// Kept says that the caller reads x after a run, or that x is a variable.
func (x *Tensor) Kept() bool { return x.storage.kept || x.storage.variable != nil }

// Sole is the operator whose result is input i of op, if op alone reads it, once, and both belong
// together; otherwise nil. What Recompute made again counts as one with its original.
func (r *Rewriter) Sole(op *Op, i int) *Op {
	x := op.Inputs[i]
	maker := r.Maker(x)
	if maker == nil || maker.Kind == nil || maker.Output().storage != x.storage || x.Kept() || len(r.Readers(x)) != 1 ||
		!maker.beside(op) || len(r.users[x.storage.original()]) > 2 {
		return nil
	}
	return maker
}

// beside says that two operators belong to one part and to one stage.
func (op *Op) beside(other *Op) bool { return op.part == other.part && op.stage == other.stage }

// Beside is exported for rules that join operators which do not read each other.
func (op *Op) Beside(other *Op) bool { return op.beside(other) }

// Precedes says whether op came before other when the rules began.
func (op *Op) Precedes(other *Op) bool { return op.order < other.order }

// Replace puts what build appends in the place of op. What build returns takes the place of op's outputs,
// in their order.
func (r *Rewriter) Replace(op *Op, build func() []*Tensor) {
	r.replace(op, []*Op{op}, build, op.Outputs)
}

// ReplaceBoth puts what build appends in the place of op and removes later as well. What build returns
// takes the place of the results of both.
func (r *Rewriter) ReplaceBoth(op, later *Op, build func() []*Tensor) {
	r.replace(op, []*Op{op, later}, build, []*Tensor{op.Output(), later.Output()})
}

func (r *Rewriter) replace(op *Op, replaced []*Op, build func() []*Tensor, outputs []*Tensor) {
	g := r.graph
	ops, part, layer := g.ops, g.part, g.layer
	g.ops, g.part, g.layer = nil, op.part, op.Layer
	results := build()
	made := g.ops
	g.ops, g.part, g.layer = ops, part, layer
	for _, n := range made {
		n.stage, n.order = op.stage, op.order
		for k, y := range n.Outputs {
			for i, result := range results {
				if result.storage == y.storage {
					n.Outputs[k] = outputs[i].as(y.shape)
				}
			}
		}
		for k, x := range n.Inputs {
			for i, result := range results {
				if x != nil && result.storage == x.storage {
					n.Inputs[k] = outputs[i].as(x.shape)
				}
			}
		}
	}
	for _, n := range replaced {
		for _, y := range n.Outputs {
			delete(r.makers, y.storage)
		}
	}
	for _, n := range made {
		r.add(n)
		r.ops = append(r.ops, n)
	}
	for _, n := range replaced {
		r.remove(n)
	}
}

// as sees a tensor in a shape.
func (t *Tensor) as(shape []int) *Tensor {
	if slices.Equal(t.shape, shape) {
		return t
	}
	return t.Reshape(shape...)
}

// Fuse puts one operator in the place of op and of first, whose result op alone reads. The operator has op's
// outputs. Fuse refuses, and returns false, where an input of first changes before op runs or is
// written by the new operator.
func (r *Rewriter) Fuse(first, op *Op, k *Kind, attributes any, inputs ...*Tensor) bool {
	for i := len(r.ops) - 1; r.ops[i] != first; i-- {
		between := r.ops[i]
		if r.gone[between] || between == op {
			continue
		}
		if slices.ContainsFunc(first.Inputs, func(x *Tensor) bool { return x != nil && between.writes(x.storage) }) {
			return false
		}
	}
	fused := &Op{
		Kind: k, Attributes: attributes, Inputs: inputs, Outputs: op.Outputs, Layer: first.Layer,
		graph: r.graph, part: op.part, stage: op.stage, order: first.order, first: op.first,
	}
	if original := r.fused[op.first]; original != nil {
		fused.first = original
	}
	if slices.ContainsFunc(inputs, func(x *Tensor) bool { return x != nil && fused.writes(x.storage) }) {
		return false
	}
	r.put(fused, op)
	return true
}

// Change puts an operator of another kind, with op's outputs, in the place of op.
func (r *Rewriter) Change(op *Op, k *Kind, attributes any, inputs ...*Tensor) bool {
	changed := &Op{
		Kind: k, Attributes: attributes, Inputs: inputs, Outputs: op.Outputs, Layer: op.Layer,
		graph: r.graph, part: op.part, stage: op.stage, order: op.order, first: op.first,
	}
	if original := r.fused[op.first]; original != nil {
		changed.first = original
	}
	r.put(changed, op)
	return true
}

// put puts one operator in the place of another with the same outputs.
func (r *Rewriter) put(made, op *Op) {
	for _, y := range op.Outputs {
		delete(r.makers, y.storage)
	}
	r.add(made)
	r.ops = append(r.ops, made)
	r.fused[op] = made
	r.remove(op)
}

// Earlier is an operator before op that computes the same from the same inputs; nil: there is none.
func (r *Rewriter) Earlier(op *Op) *Op {
	if op.Kind == nil || op.Kind.Once || len(op.Inputs) == 0 || slices.ContainsFunc(op.Outputs, (*Tensor).Kept) {
		return nil
	}
	for _, other := range r.Readers(op.Inputs[0]) {
		if other == op {
			return nil
		}
		if other.Kind == op.Kind && (other.part == op.part || other.part == 0) && slices.EqualFunc(other.Inputs, op.Inputs, equalTensors) &&
			slices.EqualFunc(other.Outputs, op.Outputs, (*Tensor).alike) && reflect.DeepEqual(other.Attributes, op.Attributes) && !r.gone[other] {
			return other
		}
	}
	return nil
}

// alike says whether two tensors have one shape and one type.
func (x *Tensor) alike(other *Tensor) bool {
	return slices.Equal(x.shape, other.shape) && x.Type() == other.Type()
}

// Same says whether two tensors are the same elements in the same shape.
func (x *Tensor) Same(other *Tensor) bool {
	return x.storage == other.storage && slices.Equal(x.shape, other.shape)
}

func equalTensors(a, b *Tensor) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.storage == b.storage && slices.Equal(a.shape, b.shape) && a.viewed() == b.viewed() && a.needs == b.needs
}

// Substitute lets all readers of op's outputs read those of other, and removes op. Where the graph itself is
// rewritten, and not a copy that is compiled, op's outputs become names of other's.
func (r *Rewriter) Substitute(op, other *Op) {
	for k, y := range op.Outputs {
		for _, reader := range slices.Clone(r.readers[y.storage]) {
			for i, x := range reader.Inputs {
				if x != nil && x.storage == y.storage {
					reader.Inputs[i] = other.Outputs[k].as(x.shape)
					r.readers[other.Outputs[k].storage] = append(r.readers[other.Outputs[k].storage], reader)
				}
			}
		}
		delete(r.readers, y.storage)
		if r.graph.aliases {
			alias := *other.Outputs[k].as(y.shape)
			alias.base = other.Outputs[k]
			defer func() { *y = alias }()
		}
	}
	r.remove(op)
}

// Outside moves what build appends out of the part that op belongs to, so that it is not computed again.
func (r *Rewriter) Outside(build func() *Tensor) *Tensor {
	part := r.graph.part
	r.graph.part = 0
	defer func() { r.graph.part = part }()
	return build()
}

// Part is the part of the graph in which the operator was built; 0: in none.
func (op *Op) Part() int { return op.part }
