package tensor

import (
	"context"
	"slices"

	"mrprism/shaders/gpu"
)

// Group is the processes that train one network together, its ranks: each on a device of its own,
// with images of its own.
type Group interface {
	// Size is the number of ranks.
	Size() int
	// Mean begins to replace the values by their means over the ranks, and wait ends it. All ranks
	// call Mean for values of equal length, in the same order. Each gets the same bits.
	Mean(values []float32) (wait func() error)
}

// Normalise lets batch normalisation take its statistics over all images of the group.
func (g *Graph) Normalise(group Group) { g.group = group }

// Group is the group over which batch normalisation takes its statistics; nil: over the images of
// the graph alone.
func (g *Graph) Group() Group { return g.group }

// Meet replaces t, of floats F32, by its mean over the ranks. A plan begins the mean behind the
// last command before Meet that touches t, and runs on until a later command touches t. If none
// does, t has to be a variable or kept, and the mean is there after Plan.Run.
func (g *Graph) Meet(t *Tensor, group Group) {
	n := node{target: t.storage, group: group, soon: true}
	if g.lowered != nil {
		*g.lowered = append(*g.lowered, n)
		return
	}
	g.append(&Op{node: &n, Inputs: []*Tensor{t}, Outputs: []*Tensor{t}})
}

// Soon lets a plan run each dispatch that build appends right behind the last command before it
// that touches what it touches.
func (g *Graph) Soon(build func()) {
	first := len(g.ops)
	build()
	for _, op := range g.ops[first:] {
		op.node.soon = true
	}
}

// hurried moves each node that runs soon to behind the last node before it that touches what it
// touches.
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

// leg is a stretch of a part's nodes without a meeting, and the meetings behind it.
type leg struct {
	nodes     []node
	meets     []node
	awaits    []*storage    // means of earlier legs that the nodes need
	commands  []gpu.Command // until they are recorded
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

// needs are those of the storages, whose means are not there yet, that the leg touches.
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

// meetings are those of a run that have begun and not ended.
type meetings []meeting

// begin reads what the ranks take means of, and begins the means. Reading waits for the commands
// before it.
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

// end waits for the means of storages, where they have begun, and writes them.
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
