package model

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trained is what two steps make of every variable, Adam's moments among them, which tell the
// gradients; and the step's memory in bytes.
func trained(t *testing.T, d gpu.Device, r Recipe, precision Precision, recompute bool) (values [][]float32, names []string, bytes int64) {
	t.Helper()
	set := tensor.NewSet()
	defer set.Release()
	c := tiny(t, 3, 2)
	c.Recompute, c.Precision = recompute, precision
	s := NewStep(set, c, r, 2, 64)
	loss := s.Loss()
	s.backward(loss, false) // recurrences that share dispatches round differently
	o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: 0.01}
	u := s.Update(set, o, 0)
	plan, err := shaders.Compile(t.Context(), d, set, s.Graph)
	require.NoError(t, err)
	defer plan.Release()
	require.NoError(t, set.Initialise(1))
	b := discs(s, 1)
	b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
	for i := range 2 {
		require.NoError(t, s.Write(plan, b, r.FadeWeight))
		require.NoError(t, u.Write(plan, adam.Schedule(o, i+1, 1e-3, s.scaled(t, plan, 1<<10), 0.9), nil))
		require.NoError(t, plan.Run(t.Context()))
	}
	variables := set.Variables()
	values, err = set.Read(t.Context(), variables...)
	require.NoError(t, err)
	for _, v := range variables {
		names = append(names, v.Name)
	}
	return append(values, read(t, plan, loss)...), append(names, "loss"), plan.Bytes()
}

// What is computed again is the same to the bit, statistics move once a step, and memory is saved.
func TestRecomputationChangesNoBit(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		for _, name := range []string{"steered", "default", "paper", "baseline"} {
			if name != "steered" && d.Info().InGo() {
				continue // seconds each
			}
			for _, precision := range []Precision{F32, F16} {
				if precision.Runs(d.Info()) != nil {
					continue
				}
				want, names, kept := trained(t, d, recipe(t, name), precision, false)
				got, _, recomputed := trained(t, d, recipe(t, name), precision, true)
				for i := range want {
					require.Equal(t, want[i], got[i], "%s: %s", name, names[i])
				}
				most := 0.9 // the baseline has one recurrence and one loss to save on
				if precision == F16 {
					most = 0.95 // the parameters in halves are kept either way
				}
				require.Less(t, float64(recomputed), most*float64(kept), "%s: bytes", name)
			}
		}
	})
}

// The commands and the memory of a step are budgets, as those of inference are: what grows them
// must be worth it.
func TestStepBudget(t *testing.T) {
	for _, budget := range []struct {
		precision            Precision
		recompute            bool
		dispatches, zeroings int
		megabytes            float64 // beside the parameters, their moments and averages
	}{{F32, false, 784, 11, 57}, {F32, true, 1520, 11, 43.6}, {F16, false, 1227, 11, 55}, {F16, true, 1863, 11, 50.5}} {
		c, err := NewConfig("compact", 4, 2)
		require.NoError(t, err)
		c.Recompute, c.Precision = budget.recompute, budget.precision
		c.Extend(true, false, false)
		set := tensor.NewSet()
		s := NewStep(set, c, recipe(t, "steered"), 1, 128)
		s.Backward(s.Loss())
		s.Update(set, adam.Options{}, 0)
		plan, err := shaders.Compile(t.Context(), reference.Open(), set, s.Graph)
		require.NoError(t, err)
		commands := plan.Commands().Commands
		assert.LessOrEqual(t, plan.Dispatches(), budget.dispatches)
		assert.LessOrEqual(t, len(commands)-plan.Dispatches(), budget.zeroings)
		assert.LessOrEqual(t, float64(plan.Bytes())/(1<<20), budget.megabytes)
		plan.Release()
		set.Release()
	}
}
