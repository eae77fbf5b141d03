//go:build !js

package tune

import (
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/gputest"
	"mrprism/internal/tensor"
	"mrprism/model"

	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		what    string
		times   [][]float64
		medians []float64
		chosen  int
	}{
		{"one", [][]float64{{1, 1, 1}}, []float64{1}, 0},
		{"a gain too small", [][]float64{{1, 1, 1}, {0.96, 0.96, 0.96}}, []float64{1, 0.96}, 0},
		{"enough", [][]float64{{1, 1, 1}, {0.9, 0.9, 0.9}}, []float64{1, 0.9}, 1},
		{"the best of those", [][]float64{{10}, {8}, {7}, {9}}, []float64{10, 8, 7, 9}, 2},
		{"outliers do not count", [][]float64{{1, 1.2, 9, 0.1, 1}, {1.5, 0.01, 1.4, 1.6, 1.5}}, []float64{1, 1.5}, 0},
		{"the hopeless", [][]float64{{3, 1}, nil, {1, 1}}, []float64{2, 0, 1}, 2},
	} {
		medians, chosen := choose(c.times)
		require.Equal(t, c.medians, medians, c.what)
		require.Equal(t, c.chosen, chosen, c.what)
	}
}

// segmentation is a small network on a device, with weights that depend on nothing else.
type segmentation struct {
	*model.Inference
	set *tensor.Set
}

func open(t *testing.T, d gpu.Device) segmentation {
	t.Helper()
	config, err := model.NewConfig("tiny", 3, 2)
	require.NoError(t, err)
	s := segmentation{set: tensor.NewSet()}
	s.Inference, err = model.NewInference(t.Context(), d, s.set, config, model.SideMultiple)
	require.NoError(t, err)
	t.Cleanup(func() { s.Release(); s.set.Release() })
	require.NoError(t, s.set.Initialise(1))
	return s
}

// run returns the mask of the second recurrence.
func (s segmentation) run(t *testing.T) []float32 {
	t.Helper()
	x := make([]float32, 3*s.Side*s.Side)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	require.NoError(t, s.Encode(t.Context(), x))
	_, err := s.Recur(t.Context())
	require.NoError(t, err)
	y, err := s.Recur(t.Context())
	require.NoError(t, err)
	return y
}

// A network computes the same whatever is chosen among what runs there. Measuring changes nothing in the plans.
func TestTunedComputesTheSame(t *testing.T) {
	d := gputest.Require(t, "dawn")
	untuned := open(t, d)
	want := untuned.run(t)
	plans := untuned.Plans()
	all := Alternatives(plans[:]...)
	last := Choices{}
	for _, a := range all {
		last[a.Key] = a.Variants[len(a.Variants)-1].Variant
	}

	kernels := map[string]bool{}
	sample := slices.DeleteFunc(slices.Clone(all), func(a tensor.Alternatives) bool { // all would take a minute: one of each kernel
		kernel, _ := sources(a.Key)
		defer func() { kernels[kernel] = true }()
		return kernels[kernel]
	})
	var told []int
	results, err := Measure(t.Context(), d, sample, func(done int) { told = append(told, done) })
	require.NoError(t, err)
	require.Len(t, told, len(sample))
	require.Equal(t, want, untuned.run(t))
	measured := Chosen(results)
	require.Len(t, measured, len(sample))
	for _, r := range results {
		require.Positive(t, r.MS[0], "%s: what is taken untuned", r.Key)
		require.Positive(t, r.MS[r.Chosen], r.Key)
	}

	for what, choices := range map[string]Choices{"measured": measured, "last": last} {
		tuned := open(t, With(d, choices))
		if what == "last" {
			require.NotEqual(t, programs(untuned), programs(tuned))
		}
		require.InDeltaSlice(t, want, tuned.run(t), 1e-4, what) // probabilities, after some thirty layers of float32
	}
}

// programs are the names of what the plans dispatch.
func programs(s segmentation) (names []string) {
	for _, p := range s.Plans() {
		commands, _ := p.Commands()
		for _, c := range commands {
			if c.Program != nil {
				names = append(names, c.Program.Name)
			}
		}
	}
	return names
}
