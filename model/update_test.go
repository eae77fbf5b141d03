package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// parameters is what steps on one batch make of every parameter, its moments and its average, by
// name, and the last update's norm of the gradient.
func parameters(t *testing.T, d gpu.Device, steps, accumulate int, clip float64) (values map[string][]float32, norm float64) {
	t.Helper()
	set := tensor.NewSet()
	defer set.Release()
	r := recipe(t, "steered")
	s := NewStep(set, tiny(t, 3, 2), r, 2, 64)
	s.Backward(s.Loss())
	o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: 0.01}
	var u *Update
	if accumulate > 1 {
		u = s.Accumulate(set, o, clip, nil)
	} else {
		u = s.Update(set, o, clip)
	}
	plan, err := shaders.Compile(t.Context(), d, set, s.Graph)
	require.NoError(t, err)
	defer plan.Release()
	updating := plan
	if accumulate > 1 {
		updating, err = shaders.Compile(t.Context(), d, set, u.Graph)
		require.NoError(t, err)
		defer updating.Release()
	}
	require.NoError(t, set.Initialise(1))
	b := discs(s, 1)
	b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
	for i := range steps {
		require.NoError(t, u.Write(updating, adam.Schedule(o, i+1, 1e-3, 1/float64(accumulate), 0.9), nil))
		for range accumulate {
			require.NoError(t, s.Write(plan, b, r.FadeWeight))
			require.NoError(t, plan.Run(t.Context()))
		}
		if updating != plan {
			require.NoError(t, updating.Run(t.Context()))
		}
	}
	variables := set.Variables(tensor.Parameter, tensor.Moment)
	read, err := set.Read(t.Context(), variables...)
	require.NoError(t, err)
	values = map[string][]float32{}
	for i, v := range variables {
		values[v.Name] = read[i]
	}
	if u.Squares != nil {
		squares, err := updating.Read(t.Context(), u.Squares)
		require.NoError(t, err)
		norm = math.Sqrt(float64(squares[0][0])) / float64(accumulate)
	}
	return values, norm
}

// Two batches that are the same make, together, the step of one, to the bit: their sum, halved, is
// the gradient of one. And the sum is zero again for the next step.
func TestAccumulatedGradientsAreAMean(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		want, _ := parameters(t, d, 2, 1, 0)
		got, _ := parameters(t, d, 2, 2, 0)
		for name, values := range want {
			require.Equal(t, values, got[name], name)
		}
	})
}

// The gradient that Adam gets has the norm that is the limit, in its own direction; one that is
// shorter stays as it is to the bit.
func TestGradientsAreClipped(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		free, _ := parameters(t, d, 1, 1, 0)
		wide, norm := parameters(t, d, 1, 1, 1e6)
		for name, values := range free {
			require.Equal(t, values, wide[name], name)
		}
		squares := 0.0
		for name, m := range free { // after one step the first moment is a tenth of the gradient
			if len(name) > 7 && name[:7] == "adam.m." {
				for _, v := range m {
					squares += 100 * float64(v) * float64(v)
				}
			}
		}
		require.InEpsilon(t, math.Sqrt(squares), norm, 1e-4)
		for _, accumulate := range []int{1, 2} {
			clipped, again := parameters(t, d, 1, accumulate, norm/4)
			require.InEpsilon(t, norm, again, 1e-6, "the norm that is told is that before clipping")
			for name, m := range free {
				if len(name) > 7 && name[:7] == "adam.m." {
					for i, v := range m {
						require.InDelta(t, v/4, clipped[name][i], 1e-5*math.Abs(float64(v))+1e-12, name)
					}
				}
			}
		}
	})
}

// Decay draws weights towards 0, and neither biases nor the scales and shifts of norms, also where
// they are matrices, as the heads' biases.
func TestBiasesDoNotDecay(t *testing.T) {
	after := func(decay float32) (*tensor.Set, map[string][]float32) {
		set := tensor.NewSet()
		t.Cleanup(set.Release)
		r := recipe(t, "steered")
		s := NewStep(set, tiny(t, 2, 2), r, 2, 64)
		s.Backward(s.Loss())
		o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: decay}
		u := s.Update(set, o, 0)
		plan, err := shaders.Compile(t.Context(), reference.Open(), set, s.Graph)
		require.NoError(t, err)
		t.Cleanup(plan.Release)
		require.NoError(t, set.Initialise(1))
		b := discs(s, 1)
		b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, s.Write(plan, b, r.FadeWeight))
		require.NoError(t, u.Write(plan, adam.Schedule(o, 1, 1e-3, 1, 0.9), nil))
		require.NoError(t, plan.Run(t.Context()))
		values := map[string][]float32{}
		for _, v := range set.Variables(tensor.Parameter) {
			read, err := set.Read(t.Context(), v)
			require.NoError(t, err)
			values[v.Name] = read[0]
		}
		return set, values
	}
	set, without := after(0)
	_, with := after(100)
	for name, values := range without {
		decays := strings.HasSuffix(name, ".weight") && len(set.Lookup(name).Shape) > 1
		require.Equal(t, !decays, slices.Equal(values, with[name]), name)
	}
}
