package model

import (
	"math"
	"testing"

	"mrprism/internal/data/synthetic"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	_ "mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// passesIn runs Rec0 … Rec3 on an image in a precision and gives every mask, then the raters'
// labels of the last.
func passesIn(t *testing.T, d gpu.Device, c Config, p Precision, side int, x []float32, fill func(set *tensor.Set)) (maps [][]float32, bytes int64) {
	t.Helper()
	c.Precision = p
	set := tensor.NewSet()
	defer set.Release()
	in, err := NewInference(t.Context(), d, set, c, side)
	require.NoError(t, err)
	defer in.Release()
	fill(set)
	require.NoError(t, in.Encode(t.Context(), x))
	for range 4 {
		y, err := in.Recur(t.Context())
		require.NoError(t, err)
		maps = append(maps, y)
	}
	raters, err := in.RaterLabels(t.Context())
	require.NoError(t, err)
	return append(maps, raters), in.Bytes()
}

// discrete is a device in the guise of a GPU of its own, whose kernels multiply halves.
type discrete struct{ gpu.Device }

func (d discrete) Info() gpu.Info {
	info := d.Device.Info()
	info.Kind = gpu.KindDiscrete
	return info
}

// photographed is a synthetic fundus photograph, (side, side, 3), normalised.
func photographed(side int) []float32 {
	picture := synthetic.Photograph(3, side, side)
	x := make([]float32, 0, 3*side*side)
	for i, v := range picture.Pix {
		if i%4 < 3 {
			x = append(x, weights.Normalise(float32(v)/255))
		}
	}
	return x
}

// With storage of halves inference takes half the memory, and its masks are those of f32 but for
// what rounding every map between to 2^-11 leaves after a hundred layers, which a sigmoid passes on
// a quarter of.
func TestHalfMasks(t *testing.T) {
	model, err := weights.Load("fundus")
	require.NoError(t, err)
	about := model.Metadata
	fundus, err := NewConfig(about.Configuration, len(about.Raters), len(about.Classes))
	require.NoError(t, err)
	fundus.Levels = true
	plain, err := weights.Dequantize(model.File)
	require.NoError(t, err)
	networks := map[string]struct {
		Config
		side int
		x    []float32
		fill func(set *tensor.Set)
	}{
		"random": {tiny(t, 3, 2), 64, noise(), func(set *tensor.Set) { require.NoError(t, set.Initialise(7)) }},
		"fundus": {fundus, about.Side, photographed(about.Side), func(set *tensor.Set) {
			for _, v := range set.Variables(tensor.Parameter, tensor.Statistic) {
				values, err := plain.Tensor(v.Name).Float32()
				require.NoError(t, err)
				require.NoError(t, set.Write(v, values))
			}
		}},
	}
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		if !d.Info().HasFeature("shader-f16") {
			c := tiny(t, 2, 1)
			c.Precision = F16
			_, err := NewInference(t.Context(), d, tensor.NewSet(), c, 64)
			require.ErrorContains(t, err, "it lacks shader-f16); use f32")
			return
		}
		for name, n := range networks {
			want, whole := passesIn(t, d, n.Config, F32, n.side, n.x, n.fill)
			kinds := map[string]gpu.Device{"as it is": d}
			if name == "random" { // compiling fundus a second time takes half a minute, and kernels of GPUs are tested one by one
				kinds["as a GPU"] = discrete{d}
			}
			for kind, d := range kinds {
				got, half := passesIn(t, d, n.Config, F16, n.side, n.x, n.fill)
				assert.InEpsilon(t, 0.5, float64(half)/float64(whole), 0.01, name)
				for i := range want {
					worst, crossed, inside := 0.0, 0, 0
					for j, p := range want[i] {
						worst = max(worst, math.Abs(float64(p)-float64(got[i][j])))
						if p > 0.5 {
							inside++
						}
						if (p > 0.5) != (got[i][j] > 0.5) {
							crossed++
						}
					}
					t.Logf("%s %s, map %d: %.4f off at most, %d of %d values on the other side of one half", name, kind, i, worst, crossed, len(want[i]))
					assert.Less(t, worst, 0.02, "%s %s, map %d", name, kind, i)
					assert.LessOrEqual(t, crossed, len(want[i])/1000, "%s %s, map %d", name, kind, i)
					assert.Positive(t, inside, "%s: an empty mask tells nothing", name)
				}
			}
		}
	})
}
