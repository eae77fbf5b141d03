package tensor

import "fmt"

// region is a part of a graph that is built twice: for its result, and again for its gradient. Both times it has the same nodes.
type region struct {
	nodes []node    // as they were first built
	again int       // how many of them have been built a second time; -1: it is being built for the first
	once  []*Tensor // what Once gave
	given int       // how many of these the second time has taken
}

// Part gives what build makes, by Recompute or without. What is inside takes nothing over from outside, nor the reverse (fuse): which kernels
// there are, and with storage of halves every bit, does not depend on recompute.
func (g *Graph) Part(recompute bool, build func() *Tensor) *Tensor {
	g.parts++
	part := g.parts
	inside := func() *Tensor {
		outer := g.part
		g.part = part
		y := build()
		g.part = outer
		return y
	}
	if recompute {
		return g.Recompute(inside)
	}
	return inside()
}

// Recompute gives what build makes, one tensor, without keeping what lies between build's inputs and its result until the gradient is taken:
// just before, build is called again and makes it anew, from the same inputs with the same kernels, so that every bit is the same
// (torch.utils.checkpoint does the same). What variables are told, such as statistics of batch norm, belongs into Once. build makes the same
// each time, has no inputs of the graph's inside, and no Recompute.
func (g *Graph) Recompute(build func() *Tensor) *Tensor {
	if g.region != nil {
		panic("tensor: Recompute within Recompute")
	}
	outer, r := g.rules, &region{again: -1}
	g.region, g.rules = r, nil
	y := build()
	g.region, g.rules = nil, outer
	g.OnBackward(y, func() {
		r.again = 0
		outer := g.rules
		g.region, g.rules = r, nil
		same := build()
		g.region = nil
		if r.again != len(r.nodes) || r.given != len(r.once) {
			panic(fmt.Sprintf("tensor: %v has %d dispatches, and %d when it is made again", y, len(r.nodes), r.again))
		}
		same.viewed().gradient = y.viewed().gradient
		g.reverse(g.rules)
		g.rules = outer
	})
	return y
}

// Once is for a part of what Recompute builds that is to be done only once: it writes variables, or gives what is small and takes long. Its
// result, through which no gradient passes, is kept until the gradient is taken.
func (g *Graph) Once(build func() *Tensor) *Tensor {
	r := g.region
	switch {
	case r == nil:
		return build()
	case r.again >= 0:
		r.given++
		return r.once[r.given-1]
	}
	g.region = nil
	y := build()
	g.region = r
	r.once = append(r.once, y)
	return y
}

// twin makes n and its storages known as those that were made in its place the first time.
func (r *region) twin(n *node) {
	if r.again < 0 {
		r.nodes = append(r.nodes, *n)
		return
	}
	if r.again == len(r.nodes) || r.nodes[r.again].kernel != n.kernel {
		panic("tensor: what Recompute builds is not the same when it is made again")
	}
	first := r.nodes[r.again]
	r.again++
	n.id = first.id
	for j, s := range n.arguments {
		if s != first.arguments[j] {
			s.twin = first.arguments[j]
		}
	}
}

// viewed is the tensor whose gradient this one shares.
func (t *Tensor) viewed() *Tensor {
	for t.base != nil {
		t = t.base
	}
	return t
}

// sharing counts for each storage the different nodes that touch it, a node and the one that makes the same again being one, as are their
// storages: as many as there would be if nothing were made twice.
func sharing(nodes []node) map[*storage]int {
	type pair struct {
		s  *storage
		id int
	}
	seen := map[pair]bool{}
	count := map[*storage]int{}
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			if p := (pair{s.original(), nodes[i].id}); !seen[p] {
				seen[p] = true
				count[p.s]++
			}
		}
	}
	return count
}

// original is the storage in whose place this one was made again.
func (s *storage) original() *storage {
	if s.twin != nil {
		return s.twin
	}
	return s
}
