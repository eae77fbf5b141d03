package tensor

import "slices"

// stage says how often an operator has to run.
type stage uint8

const (
	constant stage = iota // runs again only after a parameter or a statistic has been written
	early                 // runs again only after an early input has been written
	everyRun              // in every run
)

// Early marks an input that stays while a plan runs many times, such as the image. RunEarly
// computes what depends on early inputs, parameters and constants alone; Run computes the rest.
func (t *Tensor) Early() *Tensor {
	t.storage.early = true
	return t
}

// staged gives operators their stages and sorts them by stage: an operator that runs rarely stands
// before all that run more often.
func staged(ops []*Op) []*Op {
	written := map[*storage]bool{}
	for _, op := range ops {
		for _, y := range op.Outputs {
			if y.storage.variable != nil {
				written[y.storage.root()] = true
			}
		}
	}
	stages := map[*storage]stage{}
	of := func(s *storage) stage {
		if at, made := stages[s]; made {
			return at
		}
		return s.stage(written)
	}
	for _, op := range ops {
		op.stage = constant
		for _, x := range op.Inputs {
			if x != nil {
				op.stage = max(op.stage, of(x.storage))
			}
		}
		for _, y := range op.Outputs {
			if op.node != nil || y.storage.variable != nil {
				op.stage = everyRun
			}
		}
		for _, y := range op.Outputs {
			stages[y.storage] = max(stages[y.storage], op.stage)
		}
	}
	slices.SortStableFunc(ops, func(a, b *Op) int { return int(a.stage) - int(b.stage) })
	return ops
}

// stage says how often a storage changes that no operator makes.
func (s *storage) stage(written map[*storage]bool) stage {
	switch {
	case s.constant != nil:
		return constant
	case s.variable != nil:
		if s.variable.Role.learned() && !written[s.root()] {
			return constant
		}
		return everyRun
	case s.early:
		return early
	case s.input:
		return everyRun
	}
	return constant
}

// fold divides nodes by stage. held are the storages of one stage that a later stage touches. They
// share no memory.
func fold(nodes []node) (parts [everyRun + 1][]node, held map[*storage]bool) {
	stages, written := map[*storage]stage{}, map[*storage]bool{}
	for i := range nodes {
		for _, s := range nodes[i].touched() {
			written[s] = written[s] || nodes[i].writes(s)
		}
	}
	for s := range written {
		stages[s] = s.stage(written)
	}
	of := func(n *node) (at stage) {
		for _, s := range n.touched() {
			at = max(at, stages[s])
		}
		return at
	}
	for again := true; again; { // a node may read a storage before the node that makes it change
		again = false
		for i := range nodes {
			at := of(&nodes[i])
			for _, s := range nodes[i].touched() {
				if nodes[i].writes(s) && stages[s] < at {
					stages[s], again = at, true
				}
			}
		}
	}
	made := map[*storage]stage{}
	held = map[*storage]bool{}
	for _, n := range nodes {
		at := of(&n)
		parts[at] = append(parts[at], n)
		for _, s := range n.touched() {
			if before, ok := made[s]; ok && before < at {
				held[s] = true
			}
			if n.writes(s) {
				made[s] = at
			}
		}
	}
	return parts, held
}

// writeLearned says whether the nodes write a learned variable. Other plans may have computed their
// constant stage from it.
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
