package rivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders/adam"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One step trains both players, and each by its own loss: the discriminators learn from theirs
// alone, and the network from all the others. Inference has no discriminator.
func TestPlayersLearnApart(t *testing.T) {
	for _, m := range []*model.Method{&beal, &pOSAL} {
		c := methodConfig(t, m, 3, 2)
		judges := func(v *tensor.Variable) bool { return strings.Contains(v.Name, ".of_") }
		for i, term := range step(t, m, tensor.NewSet()).Terms[0].Method {
			set := tensor.NewSet()
			s := model.NewStep(set, c, alone(t), 2, 64)
			s.Backward(s.Terms[0].Method[i].Value)
			found := 0
			for _, v := range set.Variables(tensor.Parameter) {
				if s.Graph.Variable(v).HasGradient() {
					found++
					assert.Equal(t, term.Name == "discriminator", judges(v), "%s: %s learns from %s", m.Name, v.Name, term.Name)
				}
			}
			require.Positive(t, found)
		}
		for _, v := range model.Variables(c).Variables(tensor.Parameter) {
			assert.False(t, judges(v), v.Name)
		}
	}
}

// A discriminator that sees the same maps as real and as made ones cannot tell them apart: its loss
// is at least 2 log 2. Structures that nobody labelled are zeros in both.
func TestNothingToTell(t *testing.T) {
	c, set := methodConfig(t, &pOSAL, 3, 2), tensor.NewSet()
	s := model.NewStep(set, c, alone(t), 2, 64)
	n := &model.Network{Config: c, Builder: &nn.Builder{Graph: s.Graph, Set: set, Training: true}}
	maps := labelled(s, halfSize(meanVote(s)))
	own := play(s, n, contest{"same", maps, maps})[0].Value.Keep()
	maps.Keep()
	plan := planOf(t, s, set)
	b := discs(s, 3)
	for i := range b.Valid {
		b.Valid[i] = float32(1 - i%2) // nobody labelled structure 1
	}
	b.Draw(s, alone(t), rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, s.Write(plan, b, 1))
	require.NoError(t, plan.Run(t.Context()))
	assert.GreaterOrEqual(t, read(t, plan, own)[0][0], float32(1.3862))
	for i, v := range read(t, plan, maps)[0] {
		if i%2 == 1 {
			require.Zero(t, v)
		}
	}
	assert.InDelta(t, 1, slices.Max(read(t, plan, maps)[0]), 1e-6)
}

// The verdict and its gradient are the cross-entropy of logits, also where a discriminator is sure
// and wrong.
func TestVerdict(t *testing.T) {
	logits := []float32{-30, -7, -0.5, 0.5, 7, 30}
	for _, label := range []float32{0, 1} {
		set, g := tensor.NewSet(), tensor.NewGraph()
		s := &model.Step{Graph: g}
		x := g.Input("x", 1, 1, len(logits), 1).Track()
		verdict := verdict(s, x, label).Keep()
		g.Backward(verdict, g.Constant("one", []float32{1}, 1))
		slope := x.Gradient().Keep()
		plan := planOf(t, s, set)
		require.NoError(t, plan.Write(x, logits))
		require.NoError(t, plan.Run(t.Context()))
		want, slopes := 0.0, read(t, plan, slope)[0]
		for i, v := range logits {
			p := pointwise.Logistic(float64(v))
			want += math.Log1p(math.Exp(float64((1-2*label)*v))) / float64(len(logits))
			assert.InDelta(t, (p-float64(label))/float64(len(logits)), slopes[i], 1e-6, "logit %v, label %v", v, label)
		}
		assert.InDelta(t, want, read(t, plan, verdict)[0][0], 1e-5)
	}
}

// A discriminator's weights start small, and a step of Adam moves them by a fortieth of what it
// moves the network's.
func TestJudgesLearnSlowly(t *testing.T) {
	for _, m := range []*model.Method{&beal, &pOSAL} {
		set := tensor.NewSet()
		s := step(t, m, set)
		s.Backward(s.Loss())
		o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-12}
		update := s.Update(set, o, 0)
		plan := planOf(t, s, set)
		judges := set.Variables(tensor.Parameter)
		judges = slices.DeleteFunc(judges, func(v *tensor.Variable) bool { return !strings.Contains(v.Name, ".of_") })
		before, err := set.Read(t.Context(), judges...)
		require.NoError(t, err)
		require.NotEmpty(t, before)
		b := discs(s, 3)
		b.Draw(s, alone(t), rand.New(rand.NewPCG(1, 2)))
		require.NoError(t, s.Write(plan, b, 1))
		require.NoError(t, update.Write(plan, adam.Schedule(o, 1, 0.002, 1, 0), nil))
		require.NoError(t, plan.Run(t.Context()))
		after, err := set.Read(t.Context(), judges...)
		require.NoError(t, err)
		start, moved, n := 0., 0., 0.
		for i := range before {
			for j, v := range before[i] {
				start, n = start+float64(v)*float64(v), n+1
				moved = max(moved, math.Abs(float64(after[i][j]-v)))
			}
		}
		assert.InDelta(t, 0.02, math.Sqrt(start/n), 0.001, m.Name)
		assert.InDelta(t, 0.002/40, moved, 1e-6, m.Name)
	}
}

// BEAL's mask begins to read the boundary as one of many maps, and not as the only one: by He's
// rule over all of them.
func TestMaskReadsTheBoundary(t *testing.T) {
	c := methodConfig(t, &beal, 3, 1)
	v, random, square := model.Variables(c).Lookup("beal.mask.weight"), rand.New(rand.NewPCG(1, 2)), 0.
	for range 1000 {
		drawn := v.Initial(0, random)
		square += drawn * drawn / 1000
	}
	assert.InDelta(t, math.Sqrt(2/float64(c.ConP[3]+1)), math.Sqrt(square), 0.03)
}

// pOSAL's Dice has squares below: it is least where the prediction equals a soft label.
func TestSquaredDice(t *testing.T) {
	const side = 16
	set, g := tensor.NewSet(), tensor.NewGraph()
	p, y, present := g.Input("p", 1, side, side, 2).Track(), g.Input("y", 1, side, side, 2), g.Input("present", 1, 1, 2)
	s := &model.Step{Graph: g, Present: present}
	dice := squaredDice(s, p, y).Keep()
	g.Backward(dice, g.Constant("one", []float32{1}, 1))
	slope := p.Gradient().Keep()
	plan := planOf(t, s, set)
	made, label := make([]float32, p.Elements()), make([]float32, p.Elements())
	for i := range label {
		made[i], label[i] = 0.2, 0.6
	}
	require.NoError(t, plan.Write(y, label))
	labelled := []float32{1. / (side * side), 0} // structure 0
	require.NoError(t, plan.Write(present, labelled))
	for _, want := range []float64{1 - 2*0.2*0.6/(0.2*0.2+0.6*0.6), 0} {
		require.NoError(t, plan.Write(p, made))
		require.NoError(t, plan.Run(t.Context()))
		assert.InDelta(t, want, read(t, plan, dice)[0][0], 0.01) // a pixel more below
		made = label
	}
	for _, v := range read(t, plan, slope)[0] {
		require.Zero(t, v)
	}
}
