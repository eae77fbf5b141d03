package training

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/app/segment"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/model"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Methods with a mask alone learn it in a few seconds: the losses of the mask fall, which are those
// without a second player, and images that the network has not seen get masks near the mean vote.
func TestMethodsLearnTheMask(t *testing.T) {
	data := writeData(t, 30)
	for _, name := range []string{"agnet", "beal", "posal"} {
		t.Run(name, func(t *testing.T) {
			o := options(t, data)
			recipe, err := model.NewRecipe(model.MaskAlone)
			require.NoError(t, err)
			recipe.Rate = 5e-3
			o.Config, o.Recipe, o.Phases, o.Batch = "tiny-"+name, recipe, []Phase{{64, 25}}, 4
			reports := curve(t, processor(t), o, func(*Trainer) {})
			early, late := 0.0, 0.0
			own := func(r Report) float64 { return (r.Loss - r.Terms["discriminator"] - r.Terms["adversary"]) / 10 }
			for i := range 10 {
				early, late = early+own(reports[i]), late+own(reports[len(reports)-1-i])
			}
			dice := heldOutDice(t, o)
			t.Logf("discriminator %.3f", reports[len(reports)-1].Terms["discriminator"])
			t.Logf("loss %.3f to %.3f, soft Dice of the disc %.3f", early, late, dice)
			assert.Less(t, late, 0.6*early)
			assert.Greater(t, dice, 0.8)
		})
	}
}

// heldOutDice is the mean soft Dice of the disc on the images held out, by the weights of a run.
func heldOutDice(t *testing.T, o Options) (dice float64) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(o.Out, o.Name+".f32.safetensors"))
	require.NoError(t, err)
	m, err := weights.Shipped().Open(o.Name, content)
	require.NoError(t, err)
	engine, err := segment.New(t.Context(), processor(t), m, model.F32)
	require.NoError(t, err)
	defer engine.Close()
	set, err := dataset.Open(o.Data...)
	require.NoError(t, err)
	cases, _, err := dataset.LoadSound(t.Context(), set.HeldOut(), nil)
	require.NoError(t, err)
	for _, c := range cases {
		r, err := engine.Segment(t.Context(), c.Image, segment.Options{ROI: "none"})
		require.NoError(t, err)
		votes, _ := c.Votes(0)
		dice += metric.SoftDice(r.Probability(0), votes) / float64(len(cases))
	}
	return dice
}
