package tensor

import "fmt"

// Part builds a part of the graph with build. Rewrites fuse no operator inside with one outside.
// With recompute, Backward computes the part again just before its gradient, by the kernels that
// computed it first, and the plan keeps only the part's result until then, like
// torch.utils.checkpoint. Recompute changes no bit of any result. A part has no parts.
func (g *Graph) Part(recompute bool, build func() *Tensor) *Tensor {
	if g.part != 0 {
		panic("tensor: a part within a part")
	}
	g.parts++
	g.part = g.parts
	if recompute {
		g.again[g.part] = true
	}
	defer func() { g.part = 0 }()
	return build()
}

// Backward appends the gradients of all tensors on which loss, a tensor of one element, depends.
// seed holds the derivative with respect to the loss itself, usually 1. If seed is an input, the
// caller writes it.
func (g *Graph) Backward(loss, seed *Tensor) {
	if loss.Elements() != seed.Elements() {
		panic(fmt.Sprintf("tensor: the seed %v of the gradient does not fit %v", seed, loss))
	}
	loss.viewed().gradient = seed
	g.trains = true
	ops := g.ops
	if g.order != nil {
		ops = g.order
	}
	copies := map[*Op]*Op{}
	for i := len(ops) - 1; i >= 0; i-- {
		op := ops[i]
		if op.Kind == nil || op.Kind.Gradient == nil || !op.reached() {
			continue
		}
		if g.again[op.part] && copies[op] == nil {
			g.copyPart(ops, op.part, copies)
		}
		g.layer = op.Layer
		if again := copies[op]; again != nil {
			op = again
		}
		op.Kind.Gradient(op)
	}
	g.layer = ""
	g.separate()
}

// reached says whether a gradient has come to one of the outputs.
func (op *Op) reached() bool {
	for _, y := range op.Outputs {
		if y.needs && y.HasGradient() {
			return true
		}
	}
	return false
}

// copyPart appends copies of a part's operators. A copy has outputs of its own, which share the
// gradients of the original's outputs. Operators of a kind with Once have no copy.
func (g *Graph) copyPart(ops []*Op, part int, copies map[*Op]*Op) {
	made := map[*storage]*storage{}
	again := func(t *Tensor) *Tensor {
		if t == nil || made[t.storage] == nil {
			return t
		}
		return &Tensor{graph: g, shape: t.shape, storage: made[t.storage], needs: t.needs, base: t}
	}
	for _, op := range ops {
		if op.part != part {
			continue
		}
		if op.Kind == nil || op.Kind.Once {
			copies[op] = op
			continue
		}
		twin := &Op{Kind: op.Kind, Attributes: op.Attributes, first: op}
		for _, y := range op.Outputs {
			s := *y.storage
			s.kept, s.twin = false, y.storage
			made[y.storage] = &s
		}
		for _, x := range op.Inputs {
			twin.Inputs = append(twin.Inputs, again(x))
		}
		for _, y := range op.Outputs {
			twin.Outputs = append(twin.Outputs, again(y))
		}
		g.layer = op.Layer
		g.append(twin)
		copies[op] = twin
	}
}

// viewed is the tensor whose gradient this one shares.
func (t *Tensor) viewed() *Tensor {
	for t.base != nil {
		t = t.base
	}
	return t
}

// original is the storage of which this one is a copy (by Recompute), or the storage itself.
func (s *storage) original() *storage {
	if s.twin != nil {
		return s.twin
	}
	return s
}
