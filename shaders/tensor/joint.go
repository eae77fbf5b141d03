package tensor

import (
	"slices"

	"mrprism/shaders/gpu"
)

// Joint dispatches: one dispatch computes what several small ones would, since a small one takes a
// GPU as long as a large one. Each of them has a part of the joint dispatch.

// Sources is the number of dispatches whose sums one joint dispatch adds: a kernel has at most eight
// storage buffers, and one of them has the results.
const Sources = 7

// Part is what one dispatch adds to its result y from its source x:
//
//	y[To + line (Columns + First) + column] += Σ x[From + row Step + line Stride + column]
//
// The sum is over Rows rows, for each of Lines lines of Columns columns. In a dispatch that moves
// elements, First is the part's first workgroup. It is, for Rows = 0,
//
//	y[To + line Step + column] = x[From + line Stride + column], or 0 if Stride is 0
//
// and for others Rows matrices side by side, of Lines lines and Columns columns, are transposed.
type Part struct {
	Rows, Step, Lines, Stride, Columns, From, To, First uint32
}

// Parts are the parameters of a joint kernel that adds. A part without lines adds nothing.
type Parts [Sources]Part

// Moves are the parameters of a joint kernel that moves elements: the number of its parts and of
// its workgroups.
type Moves struct{ Parts, Groups uint32 }

// Quads says whether the part consists of whole quads.
func (p *Part) Quads() bool { return (p.Step|p.Stride|p.Columns|p.From|p.To|p.First)%4 == 0 }

// beside says that both parts have lines in the rows of one matrix, and that these do not overlap.
func (p Part) beside(q Part) bool {
	row := p.Columns + p.First
	return q.Columns+q.First == row && (p.To+p.Columns <= q.To && q.To+q.Columns <= row || q.To+q.Columns <= p.To && p.To+p.Columns <= row)
}

// Joint is how a plan computes several dispatches of a kernel by one.
type Joint struct {
	// Kernel adds to members of one block: it takes Sources sources and the block, with *Parts. Or it
	// moves elements of members of one block: it takes the block, a table of parts and one tensor for
	// all results, with *Moves.
	Kernel *Kernel
	Parts  func(params any) []Part // one for each source; nil: these parameters do not allow it
	Groups func(p *Part) int       // the workgroups of a part, if Kernel moves elements; otherwise nil
}

// part is the part of a node that adds.
func (n *node) part() Part {
	if n.sum != nil {
		return *n.sum
	}
	return n.kernel.Joint.Parts(n.params)[0]
}

// direct lets nodes that add rows of sums add up the sums themselves. It removes the nodes that made
// these sums.
func (g *Graph) direct(nodes []node) []node {
	if len(g.again) > 0 { // memory counts more
		return nodes
	}
	users, out := usersOf(nodes), make([]node, 0, len(nodes))
	for i := range nodes { // a reader changes before its turn
		n := nodes[i]
		if n.fresh && n.kernel.Joint != nil && n.part().Lines == 1 && readsDirectly(nodes, i, users[n.arguments[1]]) {
			for _, k := range users[n.arguments[1]][1:] {
				p, q := nodes[k].part(), n.part()
				p.Rows, p.Step, p.From = q.Rows, q.Step, p.From+q.From
				nodes[k].sum, nodes[k].arguments = &p, []*storage{n.arguments[0], nodes[k].arguments[1]}
			}
			continue
		}
		out = append(out, n)
	}
	return out
}

// readsDirectly says whether all users of the sums that node i makes can take its source instead.
func readsDirectly(nodes []node, i int, users []int) bool {
	source, sums := nodes[i].arguments[0], nodes[i].arguments[1]
	return !sums.kept && sums.variable == nil && sums.whole == nil && len(users) > 1 && users[0] == i && !slices.ContainsFunc(users[1:], func(k int) bool {
		changed := slices.ContainsFunc(nodes[i+1:k], func(between node) bool { return between.writes(source) })
		return changed || !nodes[k].joins() && !nodes[k].joinsAlone() || nodes[k].arguments[0] != sums || nodes[k].part().Rows != 1
	})
}

// gathered replaces dispatches that have a joint kernel and add to members of one block. They wait
// until there are enough of them, or until another node writes a source or touches a result, unless
// that node adds to other elements. Thus each element has its sums in the same order as before.
func gathered(nodes []node) []node {
	var waiting [][]node // each list becomes one dispatch
	out := make([]node, 0, len(nodes))
	release := func(due func(list []node) bool) {
		waiting = slices.DeleteFunc(waiting, func(list []node) bool {
			if !due(list) {
				return false
			}
			out = append(out, joint(list))
			return true
		})
	}
	for _, n := range nodes {
		release(func(list []node) bool { return slices.ContainsFunc(list, n.disturbs) })
		if !n.joins() {
			if n.sum != nil {
				n = joint([]node{n})
			}
			out = append(out, n)
			continue
		}
		i := slices.IndexFunc(waiting, func(list []node) bool { return n.joinable(&list[0]) })
		if i < 0 {
			i, waiting = len(waiting), append(waiting, nil)
		}
		waiting[i] = append(waiting[i], n)
		release(func(list []node) bool { return len(list) == Sources })
	}
	release(func([]node) bool { return true })
	return out
}

// mostWaiting is the number of elements of a source that may wait. Larger ones take much memory.
const mostWaiting = 1 << 18

// joins says whether the node adds to a member of a block by a kernel that has a joint one.
func (n *node) joins() bool {
	return n.kernel != nil && n.kernel.Joint != nil && n.kernel.Joint.Groups == nil && !n.fresh && !n.soon && n.arguments[0].elements <= mostWaiting &&
		n.arguments[1].whole != nil && len(n.arguments[1].whole.members) == 0 && n.arguments[0].whole != n.arguments[1].whole
}

// joinsAlone says that the node does not add to a member of a block, but has such a kernel.
func (n *node) joinsAlone() bool {
	return n.kernel != nil && n.kernel.Joint != nil && n.kernel.Joint.Groups == nil && n.arguments[1].whole == nil && n.arguments[1].variable == nil
}

// joinable says whether one dispatch can compute both nodes.
func (n *node) joinable(other *node) bool {
	p, q := n.part(), other.part()
	return n.kernel.Joint.Kernel == other.kernel.Joint.Kernel && n.arguments[1].whole == other.arguments[1].whole &&
		n.arguments[0].kind == other.arguments[0].kind && p.Quads() == q.Quads()
}

// disturbs says whether a node that waits has to run before n.
func (n *node) disturbs(waits node) bool {
	source, result := waits.arguments[0], waits.arguments[1]
	if n.kernel == nil {
		return n.writes(source) || n.writes(result)
	}
	if n.joins() && n.arguments[1] == result && n.part().beside(waits.part()) {
		return false
	}
	return n.writes(source) || slices.Contains(n.arguments, result) || slices.Contains(n.arguments, result.whole)
}

// joint is the node that computes all nodes of a list.
func joint(list []node) node {
	parts, block := &Parts{}, list[0].arguments[1].root()
	arguments := slices.Repeat([]*storage{list[0].arguments[0]}, Sources)
	for i, n := range list {
		parts[i], arguments[i] = n.part(), n.arguments[0]
		parts[i].To += uint32(n.arguments[1].first)
	}
	return node{kernel: list[0].kernel.Joint.Kernel, params: parts, arguments: append(arguments, block), fresh: list[0].fresh}
}

// moving is a joint dispatch that moves elements, while nodes join it.
type moving struct {
	kernel        *Kernel
	block, result *storage
	parts         []Part
	groups, at    int // workgroups so far, and its place among the nodes
}

// spread replaces dispatches that move elements of a block's members, such as transpositions of
// parameters: the first of them moves the elements of all. Their results lie side by side then.
func (g *Graph) spread(nodes []node) []node {
	if len(g.again) > 0 { // memory counts more
		return nodes
	}
	writers, moved := map[*storage]int{}, map[*storage]*storage{}
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			if nodes[i].writes(s) {
				writers[s]++
			}
		}
	}
	var all, open []*moving
	for i := range nodes {
		n := &nodes[i]
		for k, s := range n.arguments {
			if moved[s] != nil {
				n.arguments = slices.Clone(n.arguments) // the graph's own slice stays unchanged
				n.arguments[k] = moved[s]
			}
		}
		open = slices.DeleteFunc(open, func(m *moving) bool { return n.writes(m.block) })
		if !n.moves(writers) {
			continue
		}
		block, y := n.arguments[len(n.arguments)-2].whole, n.arguments[len(n.arguments)-1]
		k := slices.IndexFunc(open, func(m *moving) bool { return m.block == block && m.kernel == n.kernel.Joint.Kernel })
		if k < 0 {
			k = len(open)
			m := &moving{kernel: n.kernel.Joint.Kernel, block: block, result: &storage{label: "moved " + block.label, kind: y.kind}, at: i}
			open, all = append(open, m), append(all, m)
		}
		moved[y] = open[k].add(n)
		*n = node{}
	}
	for _, m := range all {
		nodes[m.at] = m.node(g)
	}
	return slices.DeleteFunc(nodes, func(n node) bool { return n.kernel == nil && n.target == nil })
}

// moves says whether the node moves elements of members of one block to a tensor that only it
// writes.
func (n *node) moves(writers map[*storage]int) bool {
	if n.kernel == nil || n.kernel.Joint == nil || n.kernel.Joint.Groups == nil || n.kernel.Joint.Parts(n.params) == nil {
		return false
	}
	last := len(n.arguments) - 1
	y, block := n.arguments[last], n.arguments[last-1].whole
	return block != nil && !slices.ContainsFunc(n.arguments[:last], func(x *storage) bool { return x.whole != block && !x.zero() || x.kind != y.kind }) &&
		writers[y] == 1 && !y.kept && y.variable == nil && y.whole == nil
}

// zero says that the storage is a constant of zeros.
func (s *storage) zero() bool {
	return s.constant != nil && !slices.ContainsFunc(s.constant, func(b byte) bool { return b != 0 })
}

// add adds a node, and returns its result as a member of the dispatch's.
func (m *moving) add(n *node) *storage {
	last := len(n.arguments) - 1
	y := *n.arguments[last]
	y.whole, y.first = m.result, m.result.elements
	m.result.elements += (y.elements + blockAlignment - 1) / blockAlignment * blockAlignment
	for i, p := range n.kernel.Joint.Parts(n.params) {
		p.From, p.To, p.First = p.From+uint32(n.arguments[i].first), p.To+uint32(y.first), uint32(m.groups)
		if n.arguments[i].zero() {
			p.Stride = 0
		}
		m.groups += n.kernel.Joint.Groups(&p)
		m.parts = append(m.parts, p)
	}
	return &y
}

// node is the dispatch.
func (m *moving) node(g *Graph) node {
	var table []uint32
	for _, p := range m.parts {
		table = append(table, p.Rows, p.Step, p.Lines, p.Stride, p.Columns, p.From, p.To, p.First)
	}
	parts := g.InputOf(gpu.U32, "table of parts", len(table)).storage
	parts.constant = gpu.Uint32Bytes(table)
	return node{kernel: m.kernel, params: &Moves{uint32(len(m.parts)), uint32(m.groups)}, arguments: []*storage{m.block, parts, m.result}}
}
