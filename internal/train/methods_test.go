package train

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A network of each of these methods learns in a few seconds how two raters differ, of whom one
// draws wide: the loss falls, and on images that it has not seen the consensus fits the mean vote,
// and each rater's mask fits the rater's own label better than the other's.
func TestMethodsLearnHowRatersDiffer(t *testing.T) {
	data := writeData(t, 30)
	epochs := map[string]int{"pionono": 25, "padl": 40, "tab": 60, "mrnet": 25}
	for _, name := range chosen(t, 1, slices.Sorted(maps.Keys(epochs))...) {
		t.Run(name, func(t *testing.T) {
			o := options(t, data)
			recipe, err := model.NewRecipe(model.MaskAlone)
			require.NoError(t, err)
			recipe.Rate = 5e-3
			o.Config, o.Recipe, o.Phases, o.Batch = "tiny-"+name, recipe, []Phase{{64, epochs[name]}}, 4
			reports := curve(t, processor(t), o, func(*Trainer) {})
			first, last := 0.0, 0.0
			for i := range 10 {
				first, last = first+reports[i].Loss, last+reports[len(reports)-1-i].Loss
			}
			t.Logf("loss %.3f to %.3f", first/10, last/10)
			assert.Less(t, last, 0.6*first)
			requireRatersApart(t, o)
		})
	}
}

// processor is the device of these tests, which share it.
func processor(t *testing.T) gpu.Device {
	t.Helper()
	d, err := openedProcessor()
	require.NoError(t, err)
	return d
}

var openedProcessor = sync.OnceValues(func() (gpu.Device, error) {
	return device.Open(context.Background(), device.Processor, device.Options{})
})

// requireRatersApart segments the images held out by the weights that a run left.
func requireRatersApart(t *testing.T, o Options) {
	t.Helper()
	engine := opened(t, o)
	defer engine.Close()
	set, err := dataset.Open(o.Data[0])
	require.NoError(t, err)
	cases, _, err := dataset.LoadSound(t.Context(), set.HeldOut(), nil)
	require.NoError(t, err)
	require.Len(t, cases, 6)
	const disc = 0
	consensus, own, others := 0.0, 0.0, 0.0
	for _, c := range cases {
		result, err := engine.Segment(t.Context(), c.Image, segment.Options{ROI: "none"})
		require.NoError(t, err)
		votes, _ := c.Votes(disc)
		consensus += metric.SoftDice(result.Probability(disc), votes) / float64(len(cases))
		for rater := range 2 {
			own += metric.Dice(result.Rater(rater, disc), c.Masks[rater][disc]) / float64(2*len(cases))
			others += metric.Dice(result.Rater(rater, disc), c.Masks[1-rater][disc]) / float64(2*len(cases))
		}
	}
	t.Logf("soft Dice of the consensus %.3f; Dice of raters with their own labels %.3f, with the other's %.3f", consensus, own, others)
	assert.Greater(t, consensus, 0.85)
	assert.Greater(t, own, others+0.08)
}

// A method that learns from what the data does not say is refused.
func TestMethodsThatTheDataCannotTeach(t *testing.T) {
	data := writeData(t, 5)
	require.NoError(t, os.Remove(filepath.Join(data, dataset.DiagnosisFile)))
	refused := func(config, want string) {
		o := options(t, data)
		recipe, err := model.NewRecipe(model.MaskAlone)
		require.NoError(t, err)
		o.Config, o.Recipe = config, recipe
		_, err = New(t.Context(), processor(t), o, nil)
		require.ErrorContains(t, err, want)
	}
	refused("tiny-diag", "add a line such as")
	description, err := os.ReadFile(filepath.Join(data, "dataset.json"))
	require.NoError(t, err)
	levels := strings.Replace(string(description), `"labels": "raters"`, `"labels": "agreement-levels"`, 1)
	require.NoError(t, os.WriteFile(filepath.Join(data, "dataset.json"), []byte(levels), 0o644))
	refused("tiny-cl", "use data of named raters")
}
