package tensor

import (
	"slices"

	"mrprism/shaders/gpu"
)

// touched lists the storages that a node reads or writes, with blocks in place of their members.
func (n *node) touched() []*storage {
	if n.kernel == nil {
		return []*storage{n.target.root()}
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

// clears says whether a node zeroes its target.
func (n *node) clears() bool { return n.kernel == nil && n.group == nil }

// writes says whether a node changes a storage.
func (n *node) writes(s *storage) bool {
	if n.kernel == nil {
		return n.target.root() == s.root()
	}
	for j, a := range n.arguments {
		if a.root() == s.root() && n.kernel.Arguments[j] == gpu.ReadWrite {
			return true
		}
	}
	return false
}

// copies says whether a node does nothing but write its first argument to its second.
func (n *node) copies() bool {
	return n.kernel != nil && n.kernel.Copies && (n.kernel.Adds == nil || n.fresh)
}

// redirect lets a node touch one storage, or parts of it, where it touched another.
func (n *node) redirect(from, to *storage) {
	n.arguments = slices.Clone(n.arguments) // the graph's own slice stays unchanged
	for j, a := range n.arguments {
		switch {
		case a == from:
			n.arguments[j] = to
		case a.whole == from:
			part := *a
			part.whole = to
			n.arguments[j] = &part
		}
	}
}

type slot struct {
	label    string
	kind     gpu.ElementType
	elements int
	lives    []life // of the storages that share the slot; no two overlap
}

// life is the nodes from the first that touches a storage to the last.
type life struct{ first, last int }

func (l life) meets(other life) bool { return l.first <= other.last && other.first <= l.last }

type slots struct {
	slots []slot
	of    map[*storage]int
}

// assign gives each storage a slot. Storages that share a slot are never alive at the same node.
// The largest storage chooses first, and each takes the smallest slot that is free for its whole
// life, so that no slot has to grow (Pisarchyk & Lee 2020, "greedy by size"). Storages share whole
// buffers, never ranges of one, because WebGPU forbids a dispatch to read one range of a buffer and
// write another. A held storage has a buffer of its own.
func assign(nodes []node, held map[*storage]bool) slots {
	lives := map[*storage]life{}
	var order []*storage
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			if s.kept || held[s] || s.variable != nil {
				continue
			}
			l, ok := lives[s]
			if !ok {
				l.first = i
				order = append(order, s)
			}
			l.last = i
			lives[s] = l
		}
	}
	slices.SortStableFunc(order, func(a, b *storage) int { return b.elements - a.elements })
	out := slots{of: map[*storage]int{}}
	for _, s := range order {
		chosen := -1
		for k := len(out.slots) - 1; k >= 0 && chosen < 0; k-- { // the smallest slots come last
			free := !slices.ContainsFunc(out.slots[k].lives, lives[s].meets)
			if free && out.slots[k].kind == s.kind {
				chosen = k
			}
		}
		if chosen < 0 {
			chosen = len(out.slots)
			out.slots = append(out.slots, slot{label: s.label, kind: s.kind, elements: s.elements})
		}
		out.slots[chosen].lives = append(out.slots[chosen].lives, lives[s])
		out.of[s] = chosen
	}
	return out
}
