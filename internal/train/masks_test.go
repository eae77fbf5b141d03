package train

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Methods with a mask alone learn it in a few seconds: the losses of the mask fall, which are those
// without a second player, and images that the network has not seen get masks near the mean vote.
func TestMethodsLearnTheMask(t *testing.T) {
	data := writeData(t, 30)
	for _, name := range chosen(t, 1, "agnet", "beal", "posal") {
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

// Weights of every recipe and method segment. Those without heads have masks and areas, and neither
// raters nor ranges nor disagreement.
func TestEveryNetworkSegments(t *testing.T) {
	data, _ := finished(t)
	names := []string{"default", "evidence", "steered", "unsteered", "paper", "recurrent", "baseline", "one-pass", model.MaskAlone}
	for _, m := range model.Methods {
		names = append(names, m.Name)
	}
	for i, name := range names {
		o, method := options(t, data), model.MethodOf("-"+name)
		o.Phases, o.Batch = []Phase{{64, 1}}, 4
		var err error
		if method != nil {
			o.Config += "-" + name
			name = model.MaskAlone
		}
		o.Recipe, err = model.NewRecipe(name)
		require.NoError(t, err)
		train(t, processor(t), o, 1)
		engine := opened(t, o)
		r, err := engine.Segment(t.Context(), &imageio.Image{W: 3, H: 2, Pix: make([]uint8, 3*3*2)}, segment.Options{Recurrences: segment.Trained})
		require.NoError(t, err, names[i])
		require.Len(t, r.Probability(0), 3*2)
		once := name == "baseline" || name == "one-pass" || name == model.MaskAlone
		heads := !once && name != "recurrent" || method != nil && method.Raters
		about, s := engine.Metadata(), r.Measurements.Structures[0]
		assert.Equal(t, heads, segment.Headless(&about) == "", names[i])
		assert.Equal(t, heads, len(r.Raters) == 2 && s.Low != nil && s.High != nil && s.Disagreement != nil, names[i])
		assert.Equal(t, !heads, len(r.Raters) == 0 && s.Low == nil && s.High == nil && s.Disagreement == nil, names[i])
		if v := r.Measurements.VerticalRatio; v != nil && v.Value != nil {
			assert.Equal(t, heads, v.Low != nil, names[i])
		}
		assert.Equal(t, once, segment.CheckRecurrences(&about, 1) != nil, names[i])
		engine.Close()
	}
}

// opened is the engine of the weights that a run left.
func opened(t *testing.T, o Options) *segment.Engine {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(o.Out, o.Name+".f32.safetensors"))
	require.NoError(t, err)
	m, err := weights.Shipped().Open(o.Name, content)
	require.NoError(t, err)
	engine, err := segment.New(t.Context(), processor(t), m, model.F32)
	require.NoError(t, err)
	return engine
}

// heldOutDice is the mean soft Dice of the disc on the images held out, by the weights of a run.
func heldOutDice(t *testing.T, o Options) (dice float64) {
	t.Helper()
	engine := opened(t, o)
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
