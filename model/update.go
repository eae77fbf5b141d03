package model

import (
	"slices"
	"strings"

	"mrprism/shaders/adam"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// AveragePrefix names the exponential moving average of a parameter.
const AveragePrefix = "average."

// Update is Adam's update of all parameters that have a gradient (in baseline, DivP's have none).
// Their moments and averages are variables of the set. Blocks join them: one dispatch updates up to
// 4 MiB.
type Update struct {
	Graph    *tensor.Graph
	schedule *tensor.Tensor // of encoder and ConP; nil: they do not learn
	later    *tensor.Tensor // of the other parameters; nil: they do not learn

	// Squares is the sum of the gradients' squares, before the schedule's factor. If it is not finite,
	// no parameter, moment or average changes. It is nil in F32 without clip.
	Squares *tensor.Tensor
}

// Update appends the update to the step. The schedule's factor must undo a scale of the loss. clip
// is the largest norm that the gradient of all parameters together may have; 0: any. The set must
// have no memory yet, or an earlier Update must have joined its blocks.
func (s *Step) Update(set *tensor.Set, o adam.Options, clip float64) *Update {
	blocks := s.blocks(set)
	for i := range blocks {
		blocks[i].gradient = s.Graph.Gradients(blocks[i].x)
	}
	return update(s.Graph, blocks, o, clip, s.Scale != nil)
}

// Accumulate appends to the step that the gradients are added to variables of the set. It returns,
// in a graph of its own, the update by these sums, which then zeroes them. The schedule's factor
// makes a mean of a sum. Set and clip are as for Update. If there is a group, sums become their
// means over its ranks, each while the gradients of earlier layers are computed, and so do
// statistics; Plan.RunApart leaves both as this rank has them.
func (s *Step) Accumulate(set *tensor.Set, o adam.Options, clip float64, group tensor.Group) *Update {
	blocks, g := s.blocks(set), tensor.NewGraph()
	var sums []*tensor.Tensor
	for i := range blocks {
		sum, gradient := set.Variable(tensor.Shared, "gradient sum of "+blocks[i].x.Name, blocks[i].x.Elements()), s.Graph.Gradients(blocks[i].x)
		s.Graph.Soon(func() { pointwise.Accumulate(s.Graph.Variable(sum), gradient) })
		if group != nil {
			s.Graph.Meet(s.Graph.Variable(sum), group)
		}
		blocks[i].gradient = g.Variable(sum)
		sums = append(sums, blocks[i].gradient)
	}
	if group != nil && s.Graph.Group() == nil { // each rank has statistics of its own
		for _, block := range s.statistics(set) {
			s.Graph.Meet(s.Graph.Variable(block), group)
		}
	}
	u := update(g, blocks, o, clip, s.Scale != nil)
	for _, sum := range sums {
		g.Zero(sum)
	}
	return u
}

// block joins parameters, Adam's moments of them, and their averages.
type block struct {
	x, m, v, average *tensor.Variable
	gradient         *tensor.Tensor
	decays           bool // false for biases and norms
	later            bool // false for encoder and ConP
	rate             float64
}

// blocks joins the parameters.
func (s *Step) blocks(set *tensor.Set) []block {
	groups := []*joined{{decays: true}, {}, {decays: true, later: true}, {later: true}}
	for _, v := range set.Variables(tensor.Parameter) {
		if !s.Graph.Variable(v).HasGradient() {
			continue
		}
		decays := len(v.Shape) > 1 && !strings.HasSuffix(v.Name, ".bias") // a grouped linear map's bias is (M, K)
		later := partOf(v) == 1
		at := slices.IndexFunc(groups, func(j *joined) bool { return j.decays == decays && j.later == later && j.rate == v.Rate })
		if at < 0 {
			at, groups = len(groups), append(groups, &joined{decays: decays, later: later, rate: v.Rate})
		}
		groups[at].add(set, v)
	}
	var all []block
	for _, group := range groups {
		all = append(all, group.blocks(set)...)
	}
	return all
}

// statistics joins the statistics that the step moves: those of encoder and ConP, and the others,
// which may move in a later phase alone.
func (s *Step) statistics(set *tensor.Set) []*tensor.Variable {
	var groups [2][]*tensor.Variable
	for _, v := range set.Variables(tensor.Statistic) {
		if s.Graph.Writes(v) {
			groups[partOf(v)] = append(groups[partOf(v)], v)
		}
	}
	return append(set.Join(groups[0]), set.Join(groups[1])...)
}

// partOf is 0 for variables of encoder and ConP, and 1 for others.
func partOf(v *tensor.Variable) int {
	if strings.HasPrefix(v.Name, "encoder.") || strings.HasPrefix(v.Name, "conp.") {
		return 0
	}
	return 1
}

// joined lists parameters that one update takes together, with Adam's moments and averages of them.
type joined struct {
	x, m, v, average []*tensor.Variable
	decays, later    bool
	rate             float64
}

func (j *joined) add(set *tensor.Set, x *tensor.Variable) {
	state := func(prefix string) *tensor.Variable { return set.Variable(tensor.Moment, prefix+x.Name, x.Shape...) }
	j.x, j.m, j.v, j.average = append(j.x, x), append(j.m, state("adam.m.")), append(j.v, state("adam.v.")), append(j.average, state(AveragePrefix))
}

func (j *joined) blocks(set *tensor.Set) (blocks []block) {
	x, m, v, average := set.Join(j.x), set.Join(j.m), set.Join(j.v), set.Join(j.average)
	for i := range x {
		blocks = append(blocks, block{x: x[i], m: m[i], v: v[i], average: average[i], decays: j.decays, later: j.later, rate: j.rate})
	}
	return blocks
}

// Write hands schedules, made by adam.Schedule, to the update's plan: that of encoder and ConP, and
// that of the other parameters, which may have begun to learn later; nil: the same.
func (u *Update) Write(plan *tensor.Plan, schedule, later []float32) error {
	if later == nil {
		later = schedule
	}
	if u.schedule != nil {
		if err := plan.Write(u.schedule, schedule); err != nil {
			return err
		}
	}
	if u.later == nil {
		return nil
	}
	return plan.Write(u.later, later)
}

// update appends the update of the blocks by their gradients to a graph. A guarded update changes
// nothing if a gradient is not finite.
func update(g *tensor.Graph, blocks []block, o adam.Options, clip float64, guarded bool) *Update {
	u := &Update{Graph: g}
	for _, b := range blocks {
		switch {
		case b.later && u.later == nil:
			u.later = g.Input("later schedule", 5)
		case !b.later && u.schedule == nil:
			u.schedule = g.Input("schedule", 5)
		}
	}
	schedule, later := u.schedule, u.later
	if clip > 0 || guarded {
		for _, b := range blocks {
			squares := adam.SquareSum(b.gradient)
			if u.Squares != nil {
				squares = pointwise.Add(u.Squares, squares)
			}
			u.Squares = squares
		}
		u.Squares.Keep()
		for _, of := range []**tensor.Tensor{&schedule, &later} {
			if *of != nil {
				*of = adam.Clip(*of, u.Squares, float32(clip))
			}
		}
	}
	for _, b := range blocks {
		options := o
		if !b.decays {
			options.Decay = 0
		}
		of := schedule
		if b.later {
			of = later
		}
		if b.rate != 0 {
			of = pointwise.Multiply(of, g.Constant("rate", []float32{float32(b.rate), 1, 1, 1, 1}, 5))
		}
		adam.Step(g.Variable(b.x), b.gradient, g.Variable(b.m), g.Variable(b.v), g.Variable(b.average), of, options)
	}
	return u
}
