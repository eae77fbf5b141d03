package tensor

import (
	"fmt"
	"slices"

	"mrprism/shaders/gpu"
)

// A block is a variable that holds other variables, its members, side by side, so that one dispatch
// serves all of them.

const (
	// Members begin at multiples of blockAlignment elements.
	blockAlignment = gpu.ViewAlignment / 4

	// blockMost is the largest number of elements, unless one member has more. Blocks are not larger
	// because other tensors use a block's memory until its gradients need it.
	blockMost = 4 << 20 / 4
)

// Join lays float variables of one role side by side, in the order given, in blocks of at most 4
// MiB. A larger variable has a block of its own. The padding between variables is zero at first.
// The variables must not have memory yet. A second call with these variables returns the blocks of
// the first. Variables of equal shapes make blocks of equal layout.
func (s *Set) Join(variables []*Variable) []*Variable {
	if len(variables) > 0 && variables[0].block != nil {
		return joined(variables)
	}
	for _, v := range variables {
		if v.block != nil || s.buffers[v] != nil || v.Type != gpu.F32 || v.Role != variables[0].Role {
			panic(fmt.Sprintf("tensor: %s cannot be joined with %s: it has its place already, or another type or role", v.Name, variables[0].Name))
		}
	}
	var blocks []*Variable
	var block *Variable
	for _, v := range variables {
		padded := (v.Elements() + blockAlignment - 1) / blockAlignment * blockAlignment
		if block == nil || block.Elements()+padded > blockMost {
			block = &Variable{Name: v.Name + " …", Shape: []int{0}, Role: v.Role}
			blocks = append(blocks, block)
		}
		v.block, v.first = block, block.Shape[0]
		block.members = append(block.members, v)
		block.Shape[0] += padded
	}
	return blocks
}

// joined gives the blocks of variables that were joined before.
func joined(variables []*Variable) []*Variable {
	var blocks, members []*Variable
	for _, v := range variables {
		if v.block != nil && !slices.Contains(blocks, v.block) {
			blocks = append(blocks, v.block)
			members = append(members, v.block.members...)
		}
	}
	if !slices.Equal(members, variables) {
		panic(fmt.Sprintf("tensor: %s and %d more were joined with others before", variables[0].Name, len(variables)-1))
	}
	return blocks
}

// Gradients are the gradients of a block's members, in the block's layout. They are zero in the
// padding and where no gradient came. Call it once, after Backward: it moves the gradients
// together, and zeroes all of them before the first dispatch adds to one.
func (g *Graph) Gradients(block *Variable) *Tensor {
	whole := g.tensor("d "+block.Name, gpu.F32, block.Shape)
	parts := map[*storage]bool{}
	for _, v := range block.members {
		if t := g.variables[v]; t != nil && t.gradient != nil {
			d := t.gradient.storage
			d.whole, d.first = whole.storage, v.first
			whole.storage.kept = whole.storage.kept || d.kept
			parts[d] = true
		}
	}
	zeroes := func(op *Op) bool { return op.clears() && parts[op.node.target] }
	first := max(0, slices.IndexFunc(g.ops, zeroes))
	rest := slices.DeleteFunc(slices.Clone(g.ops[first:]), zeroes)
	g.ops = g.ops[:first]
	g.Zero(whole)
	g.ops = append(g.ops, rest...)
	return whole
}

// root is the storage in whose memory this one lies: a block's storage for members of a block that
// the graph uses as a whole, otherwise the storage itself.
func (s *storage) root() *storage {
	if s.whole != nil {
		return s.whole
	}
	return s
}
