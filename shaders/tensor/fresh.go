package tensor

import "slices"

// fresh removes zeroings and copies. A kernel that adds once to every element of what was just
// zeroed takes zero instead of reading it. If that only copies, and the original and the copy stay
// equal for as long as both are used, the users of the copy read the original.
func fresh(nodes []node) []node {
	users := usersOf(nodes)
	gone := make([]bool, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if !n.adds() {
			continue
		}
		from, to := n.arguments[0], n.arguments[len(n.arguments)-1]
		if whole := to.whole; whole != nil && len(whole.members) > 0 {
			if list := users[whole]; list[0] < i && nodes[list[0]].clears() && filled(nodes, list[1:], whole) {
				for _, k := range list[1 : 1+len(whole.members)] {
					nodes[k].fresh = true
				}
				gone[list[0]] = true
			}
			continue
		}
		at := slices.Index(users[to], i)
		if at < 1 || !nodes[users[to][at-1]].clears() || to.variable != nil { // the block uses its members
			continue
		}
		gone[users[to][at-1]], n.fresh = true, true
		own := users[from]
		mine, later := slices.Index(own, i), users[to][at+1:]
		if !n.copies() || at > 1 || mine < 0 || to.kept || from.kept || from.variable != nil {
			continue
		}
		if zeroed := func(k int) bool { return nodes[k].kernel == nil }; slices.ContainsFunc(later, zeroed) { // or averaged
			continue
		}
		if !separate(nodes, own[mine+1:], later, from) || !separate(nodes, later, own[mine+1:], to) {
			continue
		}
		gone[i] = true
		for _, k := range later {
			nodes[k].redirect(to, from)
		}
		users[from] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(own[:mine], own[mine+1:], later))))
		delete(users, to)
	}
	out := make([]node, 0, len(nodes))
	for i, n := range nodes {
		if !gone[i] {
			out = append(out, n)
		}
	}
	return out
}

// sloped lets nodes that complete a gradient multiply it by the slope of an activation. The nodes
// that took the gradient to do so go.
func sloped(nodes []node) []node {
	users := usersOf(nodes)
	for i := range nodes {
		n := &nodes[i]
		if n.kernel == nil || n.kernel.SlopeOf == nil || !n.fresh {
			continue
		}
		v, dy, dx := n.arguments[0], n.arguments[1], n.arguments[2]
		before := slices.Index(users[dy], i) - 1
		if before < 0 || before+2 < len(users[dy]) || dy.kept || dy.variable != nil || dx.whole != nil || users[dx][0] < i {
			continue
		}
		at := users[dy][before]
		m, last := &nodes[at], len(nodes[at].arguments)-1
		if m.kernel == nil || m.kernel.Sloped == nil || m.arguments[last] != dy || slices.ContainsFunc(nodes[at:i], func(n node) bool { return n.writes(v) }) {
			continue
		}
		if params := m.kernel.Sloped(m.params, m.fresh, n.kernel.SlopeOf); params != nil {
			arguments := append(m.arguments[:last-2:last-2], dy, v, dx)
			if m.fresh {
				arguments[last-2] = m.arguments[last-2]
			}
			*m, *n = node{kernel: m.kernel, params: params, arguments: arguments}, node{}
		}
	}
	return slices.DeleteFunc(nodes, func(n node) bool { return n.kernel == nil && n.target == nil })
}

// usersOf lists, for each storage, the nodes that touch it, in order.
func usersOf(nodes []node) map[*storage][]int {
	users := map[*storage][]int{}
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			if list := users[s]; len(list) == 0 || list[len(list)-1] != i {
				users[s] = append(list, i)
			}
		}
	}
	return users
}

// adds says whether a node adds once to every element of its last argument.
func (n *node) adds() bool {
	return n.kernel != nil && n.kernel.Adds != nil && n.kernel.Adds(n.params)
}

// filled says whether the first users of a tensor of all passes add to its parts, to each once.
func filled(nodes []node, users []int, whole *storage) bool {
	var parts []*storage
	sum := 0
	for _, k := range users[:min(len(users), len(whole.members))] {
		n := &nodes[k]
		if !n.adds() {
			return false
		}
		part := n.arguments[len(n.arguments)-1]
		if part.whole != whole || slices.Contains(parts, part) {
			return false
		}
		parts, sum = append(parts, part), sum+part.elements
	}
	return sum == whole.elements
}

// separate says that no user of a storage changes it before the last user of its copy.
func separate(nodes []node, users, copied []int, s *storage) bool {
	first := slices.IndexFunc(users, func(k int) bool { return nodes[k].writes(s) })
	return first < 0 || len(copied) == 0 || users[first] > copied[len(copied)-1]
}
