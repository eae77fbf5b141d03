package conv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/vector"

	"github.com/stretchr/testify/require"
)

// Winograd's convolution is that of the reference at every level: of one image and
// several, where tiles do not fill the image, in blocks of some outputs, and with all that follows.
func TestWinograd(t *testing.T) {
	defer vector.Use(vector.Current())
	for _, l := range vector.Levels() {
		vector.Use(l)
		for _, c := range []struct{ batch, height, width, inputs, outputs int }{
			{1, 16, 16, 32, 64}, {2, 13, 18, 16, 32}, {3, 5, 9, 48, 96}, {1, 64, 64, 32, 32}, {1, 16, 16, 256, 256},
			{1, 8, 8, 64, 64}, {2, 9, 8, 32, 96}, // tiles along rows alone
			{1, 16, 16, 24, 16}, {1, 8, 8, 40, 48}, // channels that do not fill the widest vectors
		} {
			p := Params{
				Batch: uint32(c.batch), Inputs: uint32(c.inputs), Outputs: uint32(c.outputs), Parts: 1,
				Rows: forwardAxis(c.height, c.height, 3, 1, 1), Cols: forwardAxis(c.width, c.width, 3, 1, 1),
				HasBias: 1, Adds: AddResidual, Activation: pointwise.Activation(pointwise.ReLUKind),
			}
			require.True(t, p.suitsWinograd())
			require.Equal(t, c.width != 8, p.hasTiles(), c)
			require.True(t, p.hasTiles() || p.hasColumns(), c)
			pixels := c.batch * c.height * c.width
			r, exact, fast := rand.New(rand.NewPCG(1, 2)), make([]gpu.Array, 6), make([]gpu.Array32, 6)
			for i, n := range []int{pixels * c.inputs, 9 * c.inputs * c.outputs, c.outputs, pixels * c.outputs, 0, pixels * c.outputs} {
				for range n {
					v := float32(r.NormFloat64())
					exact[i].F, fast[i].F = append(exact[i].F, float64(v)), append(fast[i].F, v)
				}
			}
			fast[1].Kept = new(gpu.Kept)
			conv2dForwardBody(&p, exact)
			for _, pieces := range []int{1, 3} {
				conv2dForwardFast(&p, fast, func(n int, f func(from, to int)) {
					for i := range pieces {
						f(i*n/pieces, (i+1)*n/pieces)
					}
				})
				far, scale := 0., math.Sqrt(float64(9*c.inputs))
				for i, want := range exact[5].F {
					far = max(far, math.Abs(want-float64(fast[5].F[i]))/scale)
				}
				require.Less(t, far, 2e-5, fmt.Sprintf("%v, %s: a share of the deviation of sums", c, l.Name))
			}
		}
	}
}
