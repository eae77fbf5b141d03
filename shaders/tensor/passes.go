package tensor

import (
	"reflect"
	"slices"

	"mrprism/shaders/gpu"
)

// Pass says to which pass the operators that follow belong, from 1 on; 0: to none. Passes do the
// same with the same parameters, such as the recurrences of the network: see JoinPasses.
func (g *Graph) Pass(pass int) { g.pass = pass }

// unit is operators that do the same, one of each pass, or one operator alone.
type unit struct {
	ops     []*Op
	joint   *Op   // makes the gradients of all, and their results if merged; nil: each makes its own
	merged  bool  // no pass needs the results of another
	visited visit // by joiner.visit
}

type visit uint8

const (
	visiting visit = iota + 1
	visited
)

func (u *unit) last() *Op { return u.ops[len(u.ops)-1] }

// each lists one tensor of each operator.
func (u *unit) each(of func(op *Op) *Tensor) (list []*Tensor) {
	for _, op := range u.ops {
		list = append(list, of(op))
	}
	return list
}

func (u *unit) inputs(i int) []*Tensor { return u.each(func(op *Op) *Tensor { return op.Inputs[i] }) }

func (u *unit) outputs(i int) []*Tensor {
	return u.each(func(op *Op) *Tensor { return op.Outputs[i] })
}

// joiner does the work of JoinPasses.
type joiner struct {
	graph  *Graph
	stack  func(parts []*Tensor) *Tensor
	units  map[*Op]*unit
	makers map[*storage]*Op
	wholes []whole
	after  map[*Op][]*Op // what stack appended after an operator; nil: at the beginning
	sorted []*unit       // each before those that pass gradients to it
}

// JoinPasses lets one operator compute the gradients of operators that do the same in all passes. It
// takes the images of all passes side by side, as one batch. If no pass needs the results of
// another, it also computes the results. Call JoinPasses before Backward, with its loss. stack puts
// tensors side by side that cannot be made there.
func (g *Graph) JoinPasses(loss *Tensor, stack func(parts []*Tensor) *Tensor) {
	if len(g.again) > 0 { // memory counts more
		return
	}
	j := &joiner{g, stack, map[*Op]*unit{}, map[*storage]*Op{}, nil, map[*Op][]*Op{}, nil}
	var passes [][]*Op
	for i, op := range g.ops {
		op.order = i
		if op.Kind == nil {
			continue
		}
		for len(passes) <= op.pass {
			passes = append(passes, nil)
		}
		passes[op.pass] = append(passes[op.pass], op)
		j.units[op] = &unit{ops: []*Op{op}}
		for _, y := range op.Outputs {
			j.makers[y.storage] = op
		}
	}
	if len(passes) < 3 {
		return
	}
	j.match(passes, g.reached(loss))
	for _, op := range g.ops {
		if u := j.units[op]; u != nil && !j.visit(u) {
			return // the gradient of one pass goes through another
		}
	}
	j.merge()
	for _, u := range j.sorted {
		if u.joint != nil {
			for i := range u.ops[0].Outputs {
				u.joint.Outputs = append(u.joint.Outputs, j.link(u.outputs(i)))
			}
		}
	}
	for _, u := range j.sorted {
		j.finish(u)
	}
	ops := g.ops
	g.ops = j.after[nil]
	for _, op := range ops {
		u := j.units[op]
		if u == nil || !u.merged {
			g.ops = append(g.ops, op)
		} else if op == u.last() {
			g.ops = append(g.ops, u.joint)
		}
		g.ops = append(g.ops, j.after[op]...)
	}
}

// reached are the operators that the gradient of the loss reaches.
func (g *Graph) reached(loss *Tensor) map[*Op]bool {
	ops, by := map[*Op]bool{}, map[*storage]bool{loss.storage: true}
	for _, op := range slices.Backward(g.ops) {
		if op.Kind == nil || op.Kind.Gradient == nil || !slices.ContainsFunc(op.Outputs, func(y *Tensor) bool { return y.needs && by[y.storage] }) {
			continue
		}
		ops[op] = true
		for _, x := range op.Inputs {
			if x != nil && x.needs {
				by[x.storage] = true
			}
		}
	}
	return ops
}

// match makes units of operators that are alike and stand in the same order in all passes.
func (j *joiner) match(passes [][]*Op, reached map[*Op]bool) {
	next := make([]int, len(passes))
	for _, op := range passes[1] {
		if !reached[op] && slices.ContainsFunc(op.Outputs, (*Tensor).NeedsGradient) {
			continue // the loss does not depend on it
		}
		u, to := &unit{ops: []*Op{op}}, slices.Clone(next)
		for k := 2; k < len(passes); k++ {
			i := slices.IndexFunc(passes[k][next[k]:], func(other *Op) bool { return reached[op] == reached[other] && op.alike(other) })
			if i < 0 {
				break
			}
			u.ops, to[k] = append(u.ops, passes[k][next[k]+i]), next[k]+i+1
		}
		if len(u.ops) < len(passes)-1 {
			continue
		}
		next = to
		for _, op := range u.ops {
			j.units[op] = u
		}
		linked := op.Kind.Images > 0
		for i := range op.Outputs {
			linked = linked && j.links(u.outputs(i))
		}
		if linked {
			u.joint = &Op{Kind: op.Kind, Attributes: op.Attributes, Layer: op.Layer, graph: j.graph, part: u.last().part}
		}
	}
}

// alike says whether two operators do the same with the same parameters.
func (op *Op) alike(other *Op) bool {
	if op.Kind != other.Kind || op.Layer != other.Layer || !reflect.DeepEqual(op.Attributes, other.Attributes) ||
		!slices.EqualFunc(op.Outputs, other.Outputs, (*Tensor).sameShapeAndType) || len(op.Inputs) != len(other.Inputs) {
		return false
	}
	for i, x := range op.Inputs {
		y := other.Inputs[i]
		if x == nil || y == nil {
			if x != y {
				return false
			}
		} else if !x.sameShapeAndType(y) || op.Kind.Images > 0 && i >= op.Kind.Images && x.storage != y.storage {
			return false
		}
	}
	return true
}

// links says whether the operators that make the tensors can make them side by side in one buffer.
func (j *joiner) links(parts []*Tensor) bool {
	for i, t := range parts {
		s, maker := t.storage, j.makers[t.storage]
		if maker == nil || s.kept || s.variable != nil || s.whole != nil || s.kind != parts[0].storage.kind || s.elements*s.kind.Size()%gpu.ViewAlignment != 0 {
			return false
		}
		for k, other := range parts {
			if i != k && (other.storage == s || slices.ContainsFunc(maker.Inputs, func(x *Tensor) bool { return x != nil && x.storage == other.storage })) {
				return false // no command may read and write one buffer
			}
		}
	}
	return true
}

// link makes the tensors parts of one.
func (j *joiner) link(parts []*Tensor) *Tensor {
	whole := j.graph.tensor(parts[0].storage.label, parts[0].Type(), repeated(parts))
	for i, y := range parts {
		s := y.storage
		s.whole, s.first = whole.storage, i*s.elements
		whole.storage.members = append(whole.storage.members, s)
		whole.needs, y.joined = whole.needs || y.needs, whole
	}
	j.graph.joined = append(j.graph.joined, whole.storage)
	j.add(parts, whole)
	return whole
}

// repeated is the shape of the images of all tensors.
func repeated(parts []*Tensor) []int {
	shape := slices.Clone(parts[0].shape)
	shape[0] *= len(parts)
	return shape
}

// whole is a tensor and the storages of its parts.
type whole struct {
	parts  []*storage
	tensor *Tensor
}

func (j *joiner) add(parts []*Tensor, tensor *Tensor) {
	w := whole{tensor: tensor}
	for _, t := range parts {
		w.parts = append(w.parts, t.storage)
	}
	j.wholes = append(j.wholes, w)
}

// whole is the tensor of these parts, or nil.
func (j *joiner) whole(parts []*Tensor) *Tensor {
	for _, w := range j.wholes {
		if slices.EqualFunc(w.parts, parts, func(s *storage, t *Tensor) bool { return s == t.storage }) {
			return w.tensor
		}
	}
	return nil
}

// visit sorts a unit after those to which it passes gradients. It returns false if it passes them to
// itself.
func (j *joiner) visit(u *unit) bool {
	if u.visited > 0 {
		return u.visited == visited
	}
	u.visited = visiting
	for _, op := range u.ops {
		for _, x := range op.Inputs {
			if x == nil || !x.needs || op.Kind.Gradient == nil {
				continue
			}
			if maker := j.makers[x.storage]; maker != nil && !j.visit(j.units[maker]) {
				return false
			}
		}
	}
	u.visited = visited
	j.sorted = append(j.sorted, u)
	return true
}

// merge finds the units whose results one operator can make, in the place of the last one.
func (j *joiner) merge() {
	readers := map[*storage][]*Op{}
	for _, op := range j.graph.ops {
		for _, x := range op.Inputs {
			if x != nil {
				readers[x.storage] = append(readers[x.storage], op)
			}
		}
	}
	for _, op := range slices.Backward(j.graph.ops) {
		u := j.units[op]
		if u == nil || u.joint == nil || op != u.last() {
			continue
		}
		early := func(reader *Op) bool { // before op
			of := j.units[reader]
			return reader.order < op.order && (of == nil || !of.merged)
		}
		u.merged = !slices.ContainsFunc(u.ops, func(op *Op) bool {
			return slices.ContainsFunc(op.Outputs, func(y *Tensor) bool { return slices.ContainsFunc(readers[y.storage], early) })
		})
	}
}

// finish gives the joint operator its inputs, and Backward its operators.
func (j *joiner) finish(u *unit) {
	op, joint, g := u.ops[0], u.joint, j.graph
	if joint == nil {
		g.order = append(g.order, u.ops...)
		return
	}
	if !u.merged && !slices.ContainsFunc(joint.Outputs, (*Tensor).NeedsGradient) {
		return
	}
	joint.Inputs = slices.Clone(op.Inputs)
	same := func(i int) bool {
		return !slices.ContainsFunc(u.ops, func(other *Op) bool { return other.Inputs[i].storage != op.Inputs[i].storage })
	}
	switch {
	case op.Kind.Broadcast == nil || same(0) == same(1) || op.Output().Type() != gpu.F32: // sums of gradients are F32
		for i := range op.Kind.Images {
			joint.Inputs[i] = j.together(u.inputs(i))
		}
	case same(0):
		joint.Kind, joint.Inputs = op.Kind.Broadcast, []*Tensor{j.together(u.inputs(1)), op.Inputs[0]}
	default:
		joint.Kind, joint.Inputs = op.Kind.Broadcast, []*Tensor{j.together(u.inputs(0)), op.Inputs[1]}
	}
	if joint.Kind.Repeat != nil {
		joint.Attributes = joint.Kind.Repeat(op.Attributes, len(u.ops))
	}
	g.order = append(g.order, joint)
}

// together is a tensor that has the others side by side.
func (j *joiner) together(parts []*Tensor) *Tensor {
	made := slices.Clone(parts)
	var last *Op
	for i, t := range parts {
		maker := j.makers[t.storage]
		if maker == nil {
			continue
		}
		k := slices.IndexFunc(maker.Outputs, func(y *Tensor) bool { return y.storage == t.storage })
		made[i] = maker.Outputs[k]
		if u := j.units[maker]; u.merged {
			maker = u.last()
		}
		if last == nil || last.order < maker.order {
			last = maker
		}
	}
	whole := j.whole(parts)
	switch {
	case whole != nil:
	case parts[0].Input() && !parts[0].needs && !parts[0].Constant() && parts[0].Variable() == nil && !slices.ContainsFunc(parts, func(t *Tensor) bool { return t.storage != parts[0].storage }):
		s := parts[0].storage
		whole = j.graph.InputOf(s.kind, s.label, repeated(parts)...)
		s.repeated = whole.storage
		j.add(parts, whole)
	case j.links(parts):
		whole = j.link(made)
	default:
		g := j.graph
		ops := g.ops
		g.ops = nil
		whole = j.stack(made)
		j.after[last] = append(j.after[last], g.ops...)
		g.order, g.ops = append(g.order, g.ops...), ops
		j.add(parts, whole)
	}
	whole = whole.Reshape(repeated(parts)...)
	if !slices.ContainsFunc(parts, (*Tensor).NeedsGradient) {
		whole = whole.Detach()
	}
	return whole
}

// separate lets those tensors lie apart that nothing takes as one.
func (g *Graph) separate() {
	used := map[*storage]bool{}
	for _, op := range g.ops {
		for _, t := range slices.Concat(op.Inputs, op.Outputs) {
			if t != nil {
				used[t.storage] = true
			}
		}
	}
	for _, whole := range g.joined {
		if !used[whole] {
			for _, s := range whole.members {
				s.whole = nil
			}
		}
	}
	g.joined = nil
}

// Together is the tensor of which the others are the parts, or nil.
func Together(parts []*Tensor) *Tensor {
	whole := parts[0].storage.whole
	if whole == nil || len(whole.members) != len(parts) || slices.ContainsFunc(whole.members, func(s *storage) bool {
		return !slices.ContainsFunc(parts, func(x *Tensor) bool { return x.storage == s })
	}) {
		return nil
	}
	return &Tensor{graph: parts[0].graph, shape: []int{whole.elements}, storage: whole}
}

// kin are the storages that share memory with this one: the tensor of all passes and its parts.
func (s *storage) kin() []*storage {
	if s.whole != nil && len(s.whole.members) > 0 {
		return []*storage{s, s.whole}
	}
	return append([]*storage{s}, s.members...)
}
