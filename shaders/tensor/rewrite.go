package tensor

import (
	"fmt"
	"reflect"
	"slices"

	"mrprism/shaders/gpu"
)

// Rewrite is a rule. If the rule fits, it replaces op, and possibly operators before op, by
// operators that compute equal results up to rounding, and returns true. Otherwise it changes
// nothing and returns false.
type Rewrite func(r *Rewriter, op *Op) bool

// Rewriter is one pass of rules over a list of operators, from the first operator to the last.
// The operators that a rule makes join the list at once; the next pass applies rules to them.
type Rewriter struct {
	Info gpu.Info // of the device that will compute; zero if the graph is not being compiled

	graph   *Graph
	ops     []*Op              // operators so far, including those that are gone
	gone    map[*Op]bool       // replaced operators, and operators that nobody reads any more
	makers  map[*storage]*Op   // the one operator that makes a storage, or `several`
	readers map[*storage][]*Op // an operator is listed once for each input that reads the storage
	fused   map[*Op]*Op        // the operator that Fuse put in an operator's place

	// users read or make a storage or its copy. A copied operator counts as its original.
	users map[*storage][]*Op
}

// Rewrite applies the rules to the graph, pass after pass, until none fits.
func (g *Graph) Rewrite(rules []Rewrite) {
	g.aliases = true
	g.ops = g.rewrite(gpu.Info{}, g.ops, rules)
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
			fits := func(rule Rewrite) bool { return rule(r, op) }
			changed = slices.ContainsFunc(rules, fits) || changed
		}
		ops = slices.DeleteFunc(r.ops, func(op *Op) bool { return r.gone[op] })
	}
	return ops
}

func newRewriter(g *Graph, info gpu.Info, ops []*Op) *Rewriter {
	r := &Rewriter{
		Info: info, graph: g,
		gone: map[*Op]bool{}, makers: make(map[*storage]*Op, len(ops)), readers: make(map[*storage][]*Op, len(ops)),
		users: map[*storage][]*Op{}, fused: map[*Op]*Op{},
	}
	for i, op := range ops {
		op.order = i
		r.add(op)
		if len(g.again) == 0 { // there are no copies: makers and readers know all users
			continue
		}
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

// add records which storages an operator makes and reads.
func (r *Rewriter) add(op *Op) {
	for _, y := range op.Outputs {
		if s := y.storage; op.node != nil || r.makers[s] != nil || s.variable != nil {
			r.makers[s] = several
		} else {
			r.makers[s] = op
		}
	}
	read := op.Inputs
	if op.node != nil {
		read = slices.Concat(op.Inputs, op.Outputs)
	}
	for _, x := range read {
		if x == nil {
			continue
		}
		for _, s := range x.storage.kin() {
			r.readers[s] = append(r.readers[s], op)
		}
	}
}

// several is listed as the maker of a variable, of a storage that a bare dispatch writes, and of a
// storage that more than one operator writes.
var several = &Op{}

// exchange replaces operators by others, which it appends to the list.
func (r *Rewriter) exchange(replaced, made []*Op) {
	for _, op := range replaced {
		r.unmake(op)
	}
	for _, op := range made {
		r.add(op)
		r.ops = append(r.ops, op)
	}
	for _, op := range replaced {
		r.remove(op)
	}
}

// unmake forgets the operator as the one maker of its outputs.
func (r *Rewriter) unmake(op *Op) {
	for _, y := range op.Outputs {
		if r.makers[y.storage] == op {
			delete(r.makers, y.storage)
		}
	}
}

// remove takes an operator away, and then every operator before it whose results nobody reads.
func (r *Rewriter) remove(op *Op) {
	r.gone[op] = true
	r.unmake(op)
	for _, x := range op.Inputs {
		if x == nil {
			continue
		}
		for _, s := range x.storage.kin() {
			i := slices.Index(r.readers[s], op)
			r.readers[s] = slices.Delete(slices.Clone(r.readers[s]), i, i+1)
		}
		if maker := r.Maker(x); maker != nil && !r.isRead(maker) && !r.gone[maker] {
			r.remove(maker)
		}
	}
}

// isRead says whether another operator or the caller reads an output of op.
func (r *Rewriter) isRead(op *Op) bool {
	return slices.ContainsFunc(op.Outputs, func(y *Tensor) bool {
		return y.storage.kept || y.storage.variable != nil || len(r.readers[y.storage]) > 0
	})
}

// Maker is the operator that makes x. It is nil if x is an input or a variable, or if a bare
// dispatch or more than one operator writes x.
func (r *Rewriter) Maker(x *Tensor) *Op {
	if x == nil {
		return nil
	}
	if op := r.makers[x.storage]; op != several {
		return op
	}
	return nil
}

// Readers are the operators that read x. An operator is listed once for each input that is x.
func (r *Rewriter) Readers(x *Tensor) []*Op { return r.readers[x.storage] }

// Kept says that the caller reads x after a run, or that x is a variable.
func (x *Tensor) Kept() bool { return x.storage.kept || x.storage.variable != nil }

// Sole is the operator whose only result is input i of op. It is nil if the operator has other
// results, if anything else reads the result, if op reads it twice, or if the two operators are not
// beside each other. A copy that Recompute made counts as its original.
func (r *Rewriter) Sole(op *Op, i int) *Op {
	x := op.Inputs[i]
	maker := r.Maker(x)
	if maker == nil || maker.Kind == nil || len(maker.Outputs) != 1 || x.Kept() || len(r.Readers(x)) != 1 ||
		!maker.Beside(op) || len(r.users[x.storage.original()]) > 2 {
		return nil
	}
	return maker
}

// Beside says that two operators belong to one part and to one stage.
func (op *Op) Beside(other *Op) bool { return op.part == other.part && op.stage == other.stage }

// Precedes says whether op comes before other. A fused operator counts as its first operator.
func (op *Op) Precedes(other *Op) bool { return op.order < other.order }

// Replace puts what build appends in the place of op, which has one output, and returns true. The
// tensor that build returns takes the place of that output; an operator that build appends must
// make it.
func (r *Rewriter) Replace(op *Op, build func() *Tensor) bool {
	return r.ReplaceAll([]*Op{op}, op.Outputs, func() []*Tensor { return []*Tensor{build()} })
}

// ReplaceAll puts what build appends in the place of the first of the operators, removes all of
// them, and returns true. The tensors that build returns take the place of the outputs, in their
// order; operators that build appends must make them.
func (r *Rewriter) ReplaceAll(replaced []*Op, outputs []*Tensor, build func() []*Tensor) bool {
	g, op := r.graph, replaced[0]
	ops, part, pass, layer := g.ops, g.part, g.pass, g.layer
	g.ops, g.part, g.pass, g.layer = nil, op.part, op.pass, op.Layer
	results := build()
	made := g.ops
	g.ops, g.part, g.pass, g.layer = ops, part, pass, layer
	for i, result := range results {
		found := false
		for _, n := range made {
			n.stage, n.order = op.stage, op.order
			for k, x := range n.Inputs {
				if x != nil && x.storage == result.storage {
					n.Inputs[k] = outputs[i].inPlaceOf(x)
				}
			}
			for k, y := range n.Outputs {
				if y.storage == result.storage {
					n.Outputs[k], found = outputs[i].inShape(y.shape), true
				}
			}
		}
		if !found {
			panic(fmt.Sprintf("tensor: the replacement of %v does not make its result %d, %v", op, i, result))
		}
	}
	r.exchange(replaced, made)
	return true
}

// inShape is t, or a view of it if t has another shape.
func (t *Tensor) inShape(shape []int) *Tensor {
	if slices.Equal(t.shape, shape) {
		return t
	}
	return t.Reshape(shape...)
}

// inPlaceOf is the view of t that can replace x: in x's shape, and detached if x was.
func (t *Tensor) inPlaceOf(x *Tensor) *Tensor {
	if t.needs && !x.needs {
		t = t.Detach()
	}
	return t.inShape(x.shape)
}

// Fuse puts one operator of kind k, with op's outputs, in the place of op and of first, whose
// result op alone reads; first may be op itself. Fuse returns false and changes nothing if an input
// of first changes before op runs, or if the new operator would write one of its inputs.
func (r *Rewriter) Fuse(first, op *Op, k *Kind, attributes any, inputs ...*Tensor) bool {
	fused := &Op{
		Kind: k, Attributes: attributes, Inputs: inputs, Outputs: op.Outputs, Layer: first.Layer,
		graph: r.graph, part: op.part, pass: op.pass, stage: op.stage, order: first.order, first: op.first,
	}
	if fused.writesAny(inputs) || r.writtenSince(first, op) {
		return false
	}
	if original := r.fused[op.first]; original != nil { // op is a copy, and its original was fused too
		fused.first = original
	}
	r.exchange([]*Op{op}, []*Op{fused})
	r.fused[op] = fused
	return true
}

// Merge puts one operator of kind k in the place of op and of first, a result of which op reads. It
// makes the results of op and then those of first. Merge returns false and changes nothing if the
// two are not beside each other, or if an operator between them touches a result of first or writes
// an input.
func (r *Rewriter) Merge(first, op *Op, k *Kind, attributes any, inputs ...*Tensor) bool {
	merged := &Op{
		Kind: k, Attributes: attributes, Inputs: inputs, Outputs: slices.Concat(op.Outputs, first.Outputs), Layer: first.Layer,
		graph: r.graph, part: op.part, pass: op.pass, stage: op.stage, order: first.order, first: op.first,
	}
	if !first.Beside(op) || r.gone[first] || merged.writesAny(inputs) || r.writtenSince(first, op) {
		return false
	}
	for i := len(r.ops) - 1; r.ops[i] != first; i-- {
		between := r.ops[i]
		reads := func(y *Tensor) bool { return slices.Contains(r.Readers(y), between) }
		if between != op && !r.gone[between] && (between.writesAny(first.Outputs) || slices.ContainsFunc(first.Outputs, reads)) {
			return false
		}
	}
	r.exchange([]*Op{op, first}, []*Op{merged})
	r.fused[op] = merged
	return true
}

// writtenSince says whether an operator between first and op, which is the last so far, writes an
// input of first.
func (r *Rewriter) writtenSince(first, op *Op) bool {
	for i := len(r.ops) - 1; r.ops[i] != first; i-- {
		if between := r.ops[i]; between != op && !r.gone[between] && between.writesAny(first.Inputs) {
			return true
		}
	}
	return false
}

// writesAny says whether the operator changes one of the tensors.
func (op *Op) writesAny(tensors []*Tensor) bool {
	return slices.ContainsFunc(tensors, func(x *Tensor) bool { return x != nil && op.writes(x.storage) })
}

// Reuse looks for an operator before op that computes op's results from op's inputs. If there is
// one, the readers of op's outputs read its outputs, op goes, and Reuse returns true. Graph.Rewrite
// also turns the tensors that op made into views of those outputs, for callers who hold them.
func (r *Rewriter) Reuse(op *Op) bool {
	earlier := r.earlier(op)
	if earlier == nil {
		return false
	}
	for k, y := range op.Outputs {
		output := earlier.Outputs[k]
		for _, reader := range slices.Clone(r.readers[y.storage]) {
			for i, x := range reader.Inputs {
				if x != nil && x.storage == y.storage {
					reader.Inputs[i] = output.inPlaceOf(x)
					r.readers[output.storage] = append(r.readers[output.storage], reader)
				}
			}
		}
		delete(r.readers, y.storage)
		if r.graph.aliases {
			alias := *output.inShape(y.shape)
			alias.base = output
			defer func() { *y = alias }()
		}
	}
	r.remove(op)
	return true
}

// earlier is an operator before op that computes op's results from op's inputs, or nil.
func (r *Rewriter) earlier(op *Op) *Op {
	if op.Kind == nil || op.Kind.Once || len(op.Inputs) == 0 || !r.replaceable(op) {
		return nil
	}
	for _, other := range r.Readers(op.Inputs[0]) {
		if other.Kind == op.Kind && other.Precedes(op) && (other.part == op.part || other.part == 0) && !r.gone[other] &&
			slices.EqualFunc(other.Inputs, op.Inputs, (*Tensor).Same) && slices.EqualFunc(other.Outputs, op.Outputs, (*Tensor).sameShapeAndType) &&
			reflect.DeepEqual(other.Attributes, op.Attributes) && r.makes(other) && !r.writtenSince(other, op) {
			return other
		}
	}
	return nil
}

// makes says whether the operator alone makes its outputs.
func (r *Rewriter) makes(op *Op) bool {
	return !slices.ContainsFunc(op.Outputs, func(y *Tensor) bool { return r.makers[y.storage] != op })
}

// replaceable says whether readers of op's outputs may read another tensor. A bare dispatch cannot:
// its arguments are fixed.
func (r *Rewriter) replaceable(op *Op) bool {
	return r.makes(op) && !slices.ContainsFunc(op.Outputs, func(y *Tensor) bool {
		return y.Kept() || slices.ContainsFunc(r.Readers(y), func(reader *Op) bool { return reader.node != nil })
	})
}

// sameShapeAndType says whether two tensors have one shape and one type.
func (x *Tensor) sameShapeAndType(other *Tensor) bool {
	return slices.Equal(x.shape, other.shape) && x.Type() == other.Type()
}

// Same says whether two tensors have the same elements, shape and gradient. Both may be nil.
func (x *Tensor) Same(other *Tensor) bool {
	if x == nil || other == nil {
		return x == other
	}
	return x.storage == other.storage && slices.Equal(x.shape, other.shape) && x.viewed() == other.viewed() && x.needs == other.needs
}

// Outside lets build append operators that belong to no part and no pass, so that Recompute does
// not compute them again. Call it while replacing operators.
func (r *Rewriter) Outside(build func() *Tensor) *Tensor {
	g := r.graph
	part, pass := g.part, g.pass
	g.part, g.pass = 0, 0
	defer func() { g.part, g.pass = part, pass }()
	return build()
}

// Part is the part of the graph in which the operator was built; 0: in none.
func (op *Op) Part() int { return op.part }
