package tensor

import (
	"context"
	"slices"

	"mrprism/shaders/gpu"
)

// Group is the processes, called ranks, that train one network together. Each rank has its own
// device and its own images.
type Group interface {
	// Size is the number of ranks.
	Size() int
	// Mean starts to replace the values by their means over the ranks, and wait finishes it. All
	// ranks call Mean with slices of equal length, in the same order. All get the same bits.
	Mean(values []float32) (wait func() error)
}

// Normalise lets batch normalisation take its statistics over the images of all ranks.
func (g *Graph) Normalise(group Group) { g.group = group }

// Group is the group over which batch normalisation takes its statistics; nil: over the images of
// the graph alone.
func (g *Graph) Group() Group { return g.group }

// Meet replaces t, of F32, by its mean over the ranks. A plan starts the mean after the last
// command before Meet that touches t, and goes on until a later command touches t. If no command
// does, t has to be a variable or kept, and holds the mean after Plan.Run.
func (g *Graph) Meet(t *Tensor, group Group) {
	n := node{target: t.storage, group: group, soon: true}
	if g.lowered != nil {
		*g.lowered = append(*g.lowered, n)
		return
	}
	g.append(&Op{node: &n, Inputs: []*Tensor{t}, Outputs: []*Tensor{t}})
}

// Soon lets a plan run each dispatch that build appends as early as possible: right after the last
// command that touches one of the dispatch's tensors.
func (g *Graph) Soon(build func()) {
	first := len(g.ops)
	build()
	for _, op := range g.ops[first:] {
		op.node.soon = true
	}
}

// hurried moves each node that runs soon forward, to right after the last node that touches one of
// its storages.
func hurried(nodes []node) []node {
	out := make([]node, 0, len(nodes))
	for _, n := range nodes {
		at := len(out)
		if n.soon {
			for at > 0 && !n.meetsAny(out[at-1].touched()) {
				at--
			}
		}
		out = slices.Insert(out, at, n)
	}
	return out
}

// meetsAny says whether the node touches one of the storages.
func (n *node) meetsAny(others []*storage) bool {
	return slices.ContainsFunc(n.touched(), func(s *storage) bool { return slices.Contains(others, s) })
}

// leg is a run of a part's nodes without a meeting, and the meetings right after it.
type leg struct {
	nodes     []node
	meets     []node
	awaits    []*storage    // storages whose means, begun by earlier legs, the nodes need
	commands  []gpu.Command // nil once they are recorded
	recording gpu.Recording // nil: there are no commands
}

// cut cuts nodes into legs.
func cut(nodes []node) []*leg {
	last := &leg{}
	legs := []*leg{last}
	for _, n := range nodes {
		if n.group != nil {
			last.meets = append(last.meets, n)
			continue
		}
		if len(last.meets) > 0 {
			last = &leg{}
			legs = append(legs, last)
		}
		last.nodes = append(last.nodes, n)
	}
	return legs
}

// needs lists the storages that the leg touches, among those whose means are pending.
func (l *leg) needs(pending []*storage) (list []*storage) {
	for _, s := range pending {
		if slices.ContainsFunc(l.nodes, func(n node) bool { return slices.Contains(n.touched(), s) }) {
			list = append(list, s)
		}
	}
	return list
}

// meeting is a mean that has begun.
type meeting struct {
	of     *storage
	to     gpu.Buffer
	values []float32
	wait   func() error
}

// meetings are the means of a run that have begun and not ended.
type meetings []meeting

// begin reads the storages of the nodes and starts their means over the ranks. Reading waits for
// the commands before it.
func (m *meetings) begin(ctx context.Context, p *Plan, nodes []node) error {
	buffers := make([]gpu.Buffer, len(nodes))
	lengths := make([]int, len(nodes))
	for i, n := range nodes {
		buffers[i], lengths[i] = p.buffer(n.target), n.target.elements
	}
	values, err := readFloats(ctx, p.device, buffers, lengths)
	if err != nil {
		return err
	}
	for i, n := range nodes {
		*m = append(*m, meeting{n.target.root(), buffers[i], values[i], n.group.Mean(values[i])})
	}
	return nil
}

// end waits for those means of the storages that have begun, and writes them.
func (m *meetings) end(p *Plan, of []*storage) error {
	rest := (*m)[:0:0]
	for _, now := range *m {
		if !slices.Contains(of, now.of) {
			rest = append(rest, now)
			continue
		}
		if err := now.wait(); err != nil {
			return err
		}
		b, err := encode(now.of.label, gpu.F32, now.values)
		if err != nil {
			return err
		}
		if err := p.device.Write(now.to, 0, b); err != nil {
			return err
		}
	}
	*m = rest
	return nil
}
