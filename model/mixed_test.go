package model

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// scaled writes the loss's scale, where the step has one, and gives the factor of gradients that
// undoes it.
func (s *Step) scaled(t *testing.T, plan *tensor.Plan, scale float32) (factor float64) {
	t.Helper()
	if s.Scale == nil {
		return 1
	}
	require.NoError(t, plan.Write(s.Scale, []float32{scale}))
	return 1 / float64(scale)
}

// eachWithHalves calls f with every device that has shader-f16.
func eachWithHalves(t *testing.T, f func(t *testing.T, d gpu.Device)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		if err := F16.Runs(d.Info()); err != nil {
			assert.ErrorContains(t, err, "use f32")
			t.Skip(err)
		}
		f(t, d)
	})
}

// gradients is the loss of a step and the gradients of all parameters by name, as the update will
// have them.
func gradients(t *testing.T, d gpu.Device, precision Precision, scale float32, join bool) (loss float32, by map[string][]float32) {
	t.Helper()
	set := tensor.NewSet()
	defer set.Release()
	c, r := tiny(t, 3, 2), recipe(t, "steered")
	c.Precision = precision
	s := NewStep(set, c, r, 4, 128)
	total := s.Loss()
	s.backward(total, join)
	wanted := []*tensor.Tensor{total}
	parameters := set.Variables(tensor.Parameter)
	for _, v := range parameters {
		wanted = append(wanted, s.Graph.Variable(v).Gradient().Keep())
	}
	plan, err := shaders.Compile(t.Context(), d, set, s.Graph)
	require.NoError(t, err)
	defer plan.Release()
	require.NoError(t, set.Initialise(1))
	b := discs(s, 1)
	b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
	factor := s.scaled(t, plan, scale)
	require.NoError(t, s.Write(plan, b, r.FadeWeight))
	require.NoError(t, plan.Run(t.Context()))
	values := read(t, plan, wanted...)
	by = map[string][]float32{}
	for i, v := range parameters {
		by[v.Name] = values[i+1]
		for k := range by[v.Name] {
			by[v.Name][k] *= float32(factor)
		}
	}
	return values[0][0], by
}

// Recurrences that share dispatches have the gradients of those that do not, but for rounding.
func TestRecurrencesShareGradients(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		wantLoss, want := gradients(t, d, F32, 1, false)
		loss, got := gradients(t, d, F32, 1, true)
		assert.InEpsilon(t, wantLoss, loss, 1e-5)
		for name, values := range want {
			assert.Less(t, norm(subtracted(got[name], values)), 1e-5*norm(want["encoder.conv1.weight"])+1e-4*norm(values), name)
		}
	})
}

// With maps in halves a step has the loss and the gradients of f32 but for rounding. In DivP's
// blocks, which are smooth, that is a few roundings of 2^-11. Before a ReLU it decides for about
// one element in 2,000 whether its gradient passes, which is two hundredths of the gradient's norm
// in each of the encoder's ten, and ConP's softmax is given what comes of that. The gradient of one
// query bias in DivP nearly cancels: roundings are 3 % of it, and at most 1.5 % of every other.
func TestMixedGradients(t *testing.T) {
	eachWithHalves(t, func(t *testing.T, d gpu.Device) {
		wantLoss, want := gradients(t, d, F32, 1, true)
		loss, got := gradients(t, d, F16, LossScale, true)
		assert.InEpsilon(t, wantLoss, loss, 1e-3)
		for name, values := range want {
			limit := 0.25
			if strings.HasPrefix(name, "divp.blocks") {
				limit = 0.04
			}
			assert.Less(t, distance(got[name], values), limit, name)
		}
	})
}

// Where the scaled gradients are too large for f16 nothing is updated; with a smaller scale the
// step is what it would have been.
func TestMixedOverflow(t *testing.T) {
	eachWithHalves(t, func(t *testing.T, d gpu.Device) {
		set := tensor.NewSet()
		defer set.Release()
		c, r := tiny(t, 3, 2), recipe(t, "steered")
		c.Precision = F16
		s := NewStep(set, c, r, 2, 64)
		s.Backward(s.Loss())
		o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: 0.01}
		u := s.Update(set, o, 0)
		plan, err := shaders.Compile(t.Context(), d, set, s.Graph)
		require.NoError(t, err)
		defer plan.Release()
		require.NoError(t, set.Initialise(1))
		b := discs(s, 1)
		b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
		state := func(roles ...tensor.Role) [][]float32 {
			values, err := set.Read(t.Context(), set.Variables(roles...)...)
			require.NoError(t, err)
			return values
		}
		before, statistics := state(tensor.Parameter, tensor.Moment), state(tensor.Statistic)
		for _, scale := range []float32{1 << 40, LossScale} {
			require.NoError(t, u.Write(plan, adam.Schedule(o, 1, 1e-3, s.scaled(t, plan, scale), 0.9), nil))
			require.NoError(t, s.Write(plan, b, r.FadeWeight))
			require.NoError(t, plan.Run(t.Context()))
			squares := float64(read(t, plan, u.Squares)[0][0])
			if scale > LossScale {
				assert.True(t, math.IsInf(squares, 0) || math.IsNaN(squares))
				assert.Equal(t, before, state(tensor.Parameter, tensor.Moment))
				assert.NotEqual(t, statistics, state(tensor.Statistic), "batch norm has seen the images, as in PyTorch")
				continue
			}
			assert.False(t, math.IsInf(squares, 0) || math.IsNaN(squares))
			assert.NotEqual(t, before, state(tensor.Parameter, tensor.Moment))
		}
	})
}
