package rivals

import (
	"math/rand/v2"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Where the decoder's map is the same everywhere, so are the confusion matrices of pixels, away from
// the border that convolutions see. And they start near the identity.
func TestPixelConfusionIsSmooth(t *testing.T) {
	c, set, g := methodConfig(t, &pixelConfusion, 2, 1), tensor.NewSet(), tensor.NewGraph()
	n := &model.Network{Config: c, Builder: &nn.Builder{Graph: g, Set: set, Training: true}}
	const side, channels, border = 8, 16, 6
	last := g.Input("last", 1, side, side, channels)
	_, _, traces := confusePixels(n, model.Maps{Decoder: [4]*tensor.Tensor{3: last}})
	require.Equal(t, []int{1, 2 * side, 2 * side, 2}, traces.Keep().Shape())
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, g)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	random, values := rand.New(rand.NewPCG(1, 2)), make([]float32, last.Elements())
	for i := range values {
		if values[i] = float32(random.NormFloat64()); i >= channels {
			values[i] = values[i-channels]
		}
	}
	require.NoError(t, plan.Write(last, values))
	require.NoError(t, plan.Run(t.Context()))
	got := read(t, plan, traces)[0]
	for y := border; y < 2*side-border; y++ {
		for x := border; x < 2*side-border; x++ {
			for m := range 2 {
				trace := got[(y*2*side+x)*2+m]
				assert.InDelta(t, got[(border*2*side+border)*2+m], trace, 1e-5)
				assert.Greater(t, trace, float32(0.5))
			}
		}
	}
}
