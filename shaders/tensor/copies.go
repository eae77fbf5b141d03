package tensor

import "slices"

// elide removes copies to variables: the node that makes the original writes the variable instead,
// and readers of the original read the variable. This needs three things: only one node writes the
// original, no node touches the variable between that node and the copy, and no node writes the
// variable afterwards.
func elide(nodes []node) []node {
	for at := 0; at < len(nodes); at++ {
		copied := &nodes[at]
		if !copied.copies() {
			continue
		}
		from, to := copied.arguments[0], copied.arguments[1]
		maker := slices.IndexFunc(nodes, func(n node) bool { return n.writes(from) })
		if from.kept || from.variable != nil || from.whole != nil || to.variable == nil || maker < 0 || maker > at || from.elements != to.elements {
			continue
		}
		possible := nodes[maker].kernel != nil // the maker is no zeroing
		for i := range nodes {
			touches := slices.Contains(nodes[i].touched(), to.root())
			switch {
			case i != maker && nodes[i].writes(from), i >= maker && i < at && touches, i > at && nodes[i].writes(to):
				possible = false
			}
		}
		if !possible {
			continue
		}
		for i := range nodes {
			if slices.Contains(nodes[i].arguments, from) {
				nodes[i].redirect(from, to)
			}
		}
		nodes = slices.Delete(nodes, at, at+1)
		at--
	}
	return nodes
}
