package tensor

import (
	"slices"

	"mrprism/internal/gpu"
)

// Absorbed is a dispatch that also does the work of the one after it.
type Absorbed struct {
	Kernel *Kernel // what computes both, if the device prefers one of its variants; nil: the first's kernel
	Params any
	From   map[int]int // the arguments that are those of the dispatch after it, by position here and there; the others are the first's, where they were
}

// fuse lets kernels take over the dispatch that reads their result, where nothing else does: activations, sums, scales. The one dispatch
// that remains stands where the second stood.
func fuse(nodes []node, info gpu.Info) []node {
	users := map[*storage][]int{} // nodes that touch a storage, in order
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			users[s] = append(users[s], i)
		}
	}
	sharers := sharing(nodes)
	gone := make([]bool, len(nodes))
	for i := range nodes {
		for at := i; ; {
			second, ok := absorb(nodes, users, sharers, at, info)
			if !ok {
				break
			}
			gone[at] = true
			for _, s := range nodes[second].touched() { // those of the first are used here now
				users[s] = append(without(users[s], at, second), second)
				slices.Sort(users[s])
			}
			at = second
		}
	}
	out := make([]node, 0, len(nodes))
	for i, n := range nodes {
		if !gone[i] {
			out = append(out, n)
		}
	}
	return out
}

// absorb makes one node of nodes[first] and the one that alone reads its result, in the place of the latter.
// What is made again counts once: kernels, and so every bit, are those of a graph in which nothing is.
func absorb(nodes []node, users map[*storage][]int, sharers map[*storage]int, first int, info gpu.Info) (second int, ok bool) {
	a := &nodes[first]
	if a.kernel == nil || a.kernel.Absorb == nil {
		return 0, false
	}
	result := a.arguments[len(a.arguments)-1]
	if u := users[result]; result.kept || result.variable != nil || len(u) != 2 || u[0] != first || sharers[result.original()] != 2 {
		return 0, false
	}
	second = users[result][1]
	b := &nodes[second]
	if b.kernel == nil || b.part != a.part {
		return 0, false
	}
	at := -1
	for j, s := range b.arguments {
		if s == result {
			if at >= 0 || b.kernel.Arguments[j] != gpu.Read {
				return 0, false
			}
			at = j
		}
	}
	// what the first reads must still be there when the second runs
	for j := range a.arguments[:len(a.arguments)-1] {
		for _, user := range users[a.arguments[j].root()] {
			if user > first && user < second && nodes[user].writes(a.arguments[j]) {
				return 0, false
			}
		}
	}
	absorbed, ok := a.kernel.Absorb(a.params, b.kernel, b.params, at)
	if !ok {
		return 0, false
	}
	kernel := a.kernel
	if absorbed.Kernel != nil {
		if kernel = absorbed.Kernel; !kernel.preferred(info, absorbed.Params) {
			return 0, false
		}
	}
	n := node{part: a.part, kernel: kernel, params: absorbed.Params, arguments: make([]*storage, len(kernel.Arguments))}
	copy(n.arguments, a.arguments)
	for own, theirs := range absorbed.From {
		n.arguments[own] = b.arguments[theirs]
	}
	if n.clashes() {
		return 0, false
	}
	nodes[second] = n
	return second, true
}

// writes says whether a node changes a storage.
func (n *node) writes(s *storage) bool {
	if n.kernel == nil {
		return n.clear.root() == s.root()
	}
	for j, a := range n.arguments {
		if a.root() == s.root() && n.kernel.Arguments[j] == gpu.ReadWrite {
			return true
		}
	}
	return false
}

// clashes says whether one storage would be written through one argument and used through another.
func (n *node) clashes() bool {
	for j, a := range n.arguments {
		for k := range j {
			if n.arguments[k].root() == a.root() && (n.kernel.Arguments[j] == gpu.ReadWrite || n.kernel.Arguments[k] == gpu.ReadWrite) {
				return true
			}
		}
	}
	return false
}

func without(list []int, a, b int) []int {
	return slices.DeleteFunc(slices.Clone(list), func(i int) bool { return i == a || i == b })
}
