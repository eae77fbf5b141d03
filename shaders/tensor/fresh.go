package tensor

import "slices"

// fresh removes the zeroing of a storage to which a kernel with a Fresh form adds first: the Fresh
// form writes the storage. If the Fresh form merely copies a storage that no later node touches,
// fresh removes the copy too, and its users read the original.
func fresh(nodes []node) []node {
	users := map[*storage][]int{} // nodes that touch a storage, in order
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			if list := users[s]; len(list) == 0 || list[len(list)-1] != i {
				users[s] = append(list, i)
			}
		}
	}
	gone := make([]bool, len(nodes))
	for i := range nodes {
		n := &nodes[i]
		if n.kernel == nil || n.kernel.Fresh == nil {
			continue
		}
		from, to := n.arguments[0], n.arguments[len(n.arguments)-1]
		at := slices.Index(users[to], i)
		if at < 1 || !nodes[users[to][at-1]].clears() || to.variable != nil { // the block uses its members
			continue
		}
		gone[users[to][at-1]] = true
		n.kernel = n.kernel.Fresh
		later, own := users[to][at+1:], users[from]
		cleared := slices.ContainsFunc(later, func(k int) bool { return nodes[k].kernel == nil }) // zeroed or averaged later
		if !n.kernel.Copies || at > 1 || cleared || to.kept || from.kept || from.variable != nil || len(own) == 0 || own[len(own)-1] != i {
			continue
		}
		gone[i] = true
		for _, k := range later {
			nodes[k].redirect(to, from)
		}
		users[from] = append(own[:len(own)-1:len(own)-1], later...)
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
