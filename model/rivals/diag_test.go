package rivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Of two raters, one draws discs whose size tells the diagnosis, the other discs of any size. The
// first gets nearly all weight.
func TestDiagnosisTrustsTheTellingRater(t *testing.T) {
	c := methodConfig(t, &diagnosisFirst, 2, 1)
	const side, images, steps = 64, 4, 150
	set := tensor.NewSet()
	n := &model.Network{Config: c, Builder: &nn.Builder{Graph: tensor.NewGraph(), Set: set, Training: true}}
	s := model.NewInputs(n.Graph, c, alone(t), images, side)
	last := n.Graph.Constant("last", slices.Repeat([]float32{1}, images*16*16*4), images, 16, 16, 4)
	fused, terms := fuseForDiagnosis(s, n, last)
	fused.Keep()
	s.Terms = []model.Terms{{Method: terms}}
	s.Backward(s.Loss())
	o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	update := s.Update(set, o, 0)
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, s.Graph)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	random := rand.New(rand.NewPCG(3, 7))
	var b model.Batch
	for step := range steps {
		b = model.Batch{X: make([]float32, s.X.Elements()), Z: make([]float32, s.Z.Elements()), Valid: ones(s.Valid.Elements()), Diagnosis: make([]float32, images)}
		for image := range images {
			b.Diagnosis[image] = float32(random.IntN(2))
			radii := [2]float64{8 + 12*float64(b.Diagnosis[image]), 6 + 16*random.Float64()}
			for pixel := range side * side {
				d := math.Hypot(float64(pixel%side-side/2), float64(pixel/side-side/2))
				for m, radius := range radii {
					if d < radius {
						b.Z[(image*side*side+pixel)*2+m] = 1
					}
				}
			}
		}
		b.Draw(s, alone(t), random)
		require.NoError(t, s.Write(plan, b, 1))
		require.NoError(t, update.Write(plan, adam.Schedule(o, step+1, 0.02, 1, 0), nil))
		require.NoError(t, plan.Run(t.Context()))
	}
	// where the raters differ, the fused label is the first one's weight or the rest
	weight, pixels := 0.0, 0.0
	for i, v := range read(t, plan, fused)[0] {
		if first, second := b.Z[2*i], b.Z[2*i+1]; first != second {
			weight, pixels = weight+float64(v*first+(1-v)*second), pixels+1
		}
	}
	assert.Greater(t, weight/pixels, 0.8)
}
