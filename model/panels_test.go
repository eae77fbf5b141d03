package model

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// panelStep compiles a step of three panels. Panel 0 has marked image 0, panel 2 image 1, and other
// people image 2. loss is that under shifts, with their gradient.
func panelStep(t *testing.T, d gpu.Device) (loss func(shifts []float32) (float64, []float32)) {
	c, r, set := tiny(t, 3, 2), recipe(t, "baseline"), tensor.NewSet()
	c.Panels, r.DiceWeight = 3, .5
	s := NewStep(set, c, r, 3, 64)
	total := s.Loss()
	s.Backward(total)
	v := set.Lookup(PanelShift)
	gradient := s.Graph.Variable(v).Gradient().Keep()
	plan, err := shaders.Compile(t.Context(), d, set, s.Graph)
	require.NoError(t, err)
	t.Cleanup(func() { plan.Release(); set.Release() })
	require.NoError(t, set.Initialise(1))
	b := discs(s, 1)
	b.Own = make([]float32, len(b.Valid))
	for image, panel := range []int{0, 2} {
		for i := range 6 {
			b.Valid[6*image+i] = 0
		}
		b.Valid[6*image+2*panel], b.Valid[6*image+2*panel+1] = 1, 1
	}
	copy(b.Own, b.Valid[:12])
	b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, s.Write(plan, b, r.FadeWeight))
	return func(shifts []float32) (float64, []float32) {
		require.NoError(t, set.Write(v, shifts))
		require.NoError(t, plan.Run(t.Context()))
		values := read(t, plan, total, gradient)
		return float64(values[0][0]), values[1]
	}
}

// The panels' shifts have the gradient of finite differences, on every device. They count from their
// mean: the gradient moves no mean, and images that no panel marked have no part in it.
func TestPanelShiftsAgainstFiniteDifferences(t *testing.T) {
	shifts := []float32{.3, -.2, .8, .1, -.5, .4}
	loss := panelStep(t, reference.Open())
	_, gradient := loss(shifts)
	const step = 1e-2
	for i := range shifts {
		moved := slices.Clone(shifts)
		moved[i] += step
		above, _ := loss(moved)
		moved[i] -= 2 * step
		below, _ := loss(moved)
		assert.InDelta(t, (above-below)/(2*step), gradient[i], 1e-2*norm(gradient), i)
	}
	for k := range 2 {
		assert.InDelta(t, 0, gradient[k]+gradient[2+k]+gradient[4+k], 1e-5*norm(gradient))
	}
	require.Greater(t, norm(gradient), 1e-3)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		_, got := panelStep(t, d)(shifts)
		assert.Less(t, distance(got, gradient), 1e-4)
	})
}

// What is shown adds to the mask's logits as its bias does. A panel's mask is the one that is shown
// if its number is.
func TestPanelsAtInference(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		c := tiny(t, 3, 2)
		c.Panels = 3
		set := Variables(c)
		defer set.Release()
		in, err := NewInference(t.Context(), d, set, c, 64)
		require.NoError(t, err)
		defer in.Release()
		require.NoError(t, set.Initialise(1))
		require.Nil(t, set.Lookup(PanelShift), "training alone has it")
		run := func(shown, each []float32) (y, panels []float32) {
			require.NoError(t, in.SetPanels(shown, each))
			require.NoError(t, in.Encode(t.Context(), noise()))
			y, err := in.Recur(t.Context())
			require.NoError(t, err)
			panels, err = in.RaterLabels(t.Context())
			require.NoError(t, err)
			return y, panels
		}
		_, panels := run([]float32{0, 0}, []float32{1.5, .5, 0, 0, -1, -2})
		for p, shift := range [][]float32{{1.5, .5}, {0, 0}, {-1, -2}} {
			want, same := run(shift, make([]float32, 6))
			var got, shown []float32
			for i := range 64 * 64 {
				got, shown = append(got, panels[6*i+2*p:][:2]...), append(shown, same[6*i+2*p:][:2]...)
			}
			assert.Less(t, distance(got, want), 1e-5, p)
			assert.Less(t, distance(shown, want), 1e-5, "each counts from what is shown")
		}
		bias := set.Lookup("conp.head.bias")
		values, err := set.Read(t.Context(), bias)
		require.NoError(t, err)
		want, _ := run([]float32{1.5, .5}, make([]float32, 6))
		require.NoError(t, set.Write(bias, []float32{values[0][0] + 1.5, values[0][1] + .5}))
		got, _ := run([]float32{0, 0}, make([]float32, 6))
		assert.Less(t, distance(got, want), 1e-5)
	})
}
