package tensor

// fold parts the nodes that depend on parameters, statistics and constants alone, which no node of the graph writes, from the others: they
// need to run once, and again when such a variable has been written. What the others read of their results is held.
func fold(nodes []node) (once, each []node, held map[*storage]bool) {
	changing := map[*storage]bool{} // what an input, or a variable that is written here, has a part in
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			if s.constant == nil && (s.kept && s.variable == nil || s.variable != nil && !s.variable.Role.learned()) {
				changing[s] = true
			}
			if s.variable != nil && nodes[i].writes(s) {
				changing[s] = true
			}
		}
	}
	for again := true; again; { // a storage may be read before the node that makes it changing
		again = false
		for i := range nodes {
			if !nodes[i].any(changing) {
				continue
			}
			for _, s := range nodes[i].touched() {
				if nodes[i].writes(s) && !changing[s] {
					changing[s], again = true, true
				}
			}
		}
	}
	made := map[*storage]bool{}
	held = map[*storage]bool{}
	for _, n := range nodes {
		if n.any(changing) {
			each = append(each, n)
			for _, s := range n.touched() {
				if made[s] {
					held[s] = true
				}
			}
			continue
		}
		once = append(once, n)
		for _, s := range n.touched() {
			made[s] = made[s] || n.writes(s)
		}
	}
	return once, each, held
}

// any says whether a node touches one of the storages.
func (n *node) any(of map[*storage]bool) bool {
	for _, s := range n.touched() {
		if of[s] {
			return true
		}
	}
	return false
}

// writeLearned says whether the nodes write a learned variable, from which other plans' constants may have been made.
func writeLearned(nodes []node) bool {
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			if s.variable != nil && s.variable.Role.learned() && nodes[i].writes(s) {
				return true
			}
		}
	}
	return false
}
