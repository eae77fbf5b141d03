package tensor

import (
	"slices"

	"mrprism/internal/gpu"
)

// touched lists the storages whose memory a node reads or writes: of those that lie in a block, the block.
func (n *node) touched() []*storage {
	if n.kernel == nil {
		return []*storage{n.clear.root()}
	}
	if !slices.ContainsFunc(n.arguments, func(a *storage) bool { return a.whole != nil }) {
		return n.arguments
	}
	roots := make([]*storage, len(n.arguments))
	for j, a := range n.arguments {
		roots[j] = a.root()
	}
	return roots
}

// live keeps the nodes whose results reach a variable or a kept tensor.
func live(nodes []node) []node {
	needed := map[*storage]bool{}
	keep := make([]bool, len(nodes))
	count := 0
	for i := len(nodes) - 1; i >= 0; i-- {
		n := &nodes[i]
		if n.kernel == nil {
			keep[i] = needed[n.clear.root()] || n.clear.kept || n.clear.variable != nil
			delete(needed, n.clear) // what was there before is overwritten
		} else {
			for j, a := range n.arguments {
				if n.kernel.Arguments[j] == gpu.ReadWrite && (needed[a.root()] || a.kept || a.variable != nil) {
					keep[i] = true
				}
			}
			if keep[i] {
				for _, a := range n.touched() {
					needed[a] = true
				}
			}
		}
		if keep[i] {
			count++
		}
	}
	out := make([]node, 0, count)
	for i, n := range nodes {
		if keep[i] {
			out = append(out, n)
		}
	}
	return out
}

type slot struct {
	label    string
	kind     gpu.ElementType
	elements int
}

type slots struct {
	slots []slot
	of    map[*storage]int
}

// assign gives storages that are never alive at the same node the same slot: best fit, growing the largest free slot where
// none is large enough. Whole buffers are shared, never ranges of one, because WebGPU forbids reading one range of a buffer
// and writing another in the same dispatch. What is held has a buffer of its own.
func assign(nodes []node, held map[*storage]bool) slots {
	last := map[*storage]int{}
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			last[s] = i
		}
	}
	out := slots{of: map[*storage]int{}}
	var free []int
	for i := range nodes {
		touched := nodes[i].touched()
		for _, s := range touched {
			if s.kept || held[s] || s.variable != nil {
				continue
			}
			if _, ok := out.of[s]; ok {
				continue
			}
			chosen, at := -1, -1
			for k, f := range free {
				c := out.slots[f]
				if c.kind != s.kind {
					continue
				}
				if chosen >= 0 {
					b := out.slots[chosen].elements
					fits, better := c.elements >= s.elements, c.elements < b
					if b < s.elements { // nothing fits yet: prefer larger
						fits, better = true, c.elements > b
					}
					if !fits || !better {
						continue
					}
				}
				chosen, at = f, k
			}
			if chosen >= 0 {
				free = append(free[:at], free[at+1:]...)
				out.slots[chosen].elements = max(out.slots[chosen].elements, s.elements)
			} else {
				chosen = len(out.slots)
				out.slots = append(out.slots, slot{label: s.label, kind: s.kind, elements: s.elements})
			}
			out.of[s] = chosen
		}
		for k, s := range touched {
			if slotIndex, ok := out.of[s]; ok && last[s] == i && !repeated(touched[:k], s) {
				free = append(free, slotIndex)
			}
		}
	}
	return out
}

func repeated(before []*storage, s *storage) bool {
	for _, b := range before {
		if b == s {
			return true
		}
	}
	return false
}
