package norm_test

import (
	"math/rand/v2"
	"sync"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/ranks/rankstest"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// normalised is what a training step of batch norm makes of images (b, 5, 7, C) and the gradient
// of its result: y, the gradients of x, scale and bias, and the running statistics.
func normalised(t *testing.T, d gpu.Device, group tensor.Group, x, dy []float32, channels int) (results [][]float32) {
	g, set := tensor.NewGraph(), tensor.NewSet()
	defer set.Release()
	if group != nil {
		g.Normalise(group)
	}
	images := len(x) / (5 * 7 * channels)
	in, seed := g.Input("x", images, 5, 7, channels).Track(), g.Input("dy", images, 5, 7, channels)
	scale, bias := g.Input("scale", channels).Track(), g.Input("bias", channels).Track()
	mean, variance := set.Variable(tensor.Statistic, "mean", channels), set.Variable(tensor.Statistic, "variance", channels)
	y := shadertest.BatchNormReLU(in, scale, bias, g.Variable(mean), g.Variable(variance), true, 1e-5, 0.1).Keep()
	g.Backward(y, seed)
	gradients := []*tensor.Tensor{y, in.Gradient().Keep(), scale.Gradient().Keep(), bias.Gradient().Keep()}
	plan, err := shaders.Compile(t.Context(), d, set, g)
	if !assert.NoError(t, err) {
		return nil
	}
	defer plan.Release()
	ramp := make([]float32, channels)
	for i := range ramp {
		ramp[i] = 1 + float32(i)/8
	}
	for range 2 { // the second time the running mean is no longer 0
		for to, values := range map[*tensor.Tensor][]float32{in: x, seed: dy, scale: ramp, bias: ramp} {
			assert.NoError(t, plan.Write(to, values))
		}
		assert.NoError(t, plan.Run(t.Context()))
	}
	results, err = plan.Read(t.Context(), gradients...)
	assert.NoError(t, err)
	moved, err := set.Read(t.Context(), mean, variance)
	assert.NoError(t, err)
	return append(results, moved...)
}

// Two ranks with one batch each normalise as one does with both, and so do the gradients. The
// other rank computes on the reference.
func TestBatchNormOverRanks(t *testing.T) {
	for _, channels := range []int{3, 8} {
		const images = 2 // of a rank
		values, random := images*5*7*channels, rand.New(rand.NewPCG(1, uint64(channels)))
		x, dy := make([]float32, 2*values), make([]float32, 2*values)
		for i := range x {
			x[i], dy[i] = float32(float64(i%channels)+float64(i/values)+random.NormFloat64()), float32(random.NormFloat64())
		}
		whole := normalised(t, reference.Open(), nil, x, dy, channels)
		gputest.Each(t, func(t *testing.T, d gpu.Device) {
			ranks := rankstest.New(2)
			var other [][]float32
			var wait sync.WaitGroup
			wait.Go(func() { other = normalised(t, reference.Open(), ranks[1], x[values:], dy[values:], channels) })
			own := normalised(t, d, ranks[0], x[:values], dy[:values], channels)
			wait.Wait()
			require.Len(t, own, 6)
			for i, want := range whole {
				switch i {
				case 0, 1:
					assert.InDeltaSlice(t, want[:values], own[i], 2e-5)
					assert.InDeltaSlice(t, want[values:], other[i], 2e-5)
				case 2, 3: // gradients of parameters are each rank's own
					for c := range want {
						require.InDelta(t, want[c], own[i][c]+other[i][c], 1e-4)
					}
				default:
					assert.InDeltaSlice(t, want, own[i], 2e-5)
				}
			}
		})
	}
}
