package torch

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The encoder of mobile with the weights from ImageNet has the maps of the network that they come
// from, at the border too: the paddings are TensorFlow's, and its mean is ours.
func TestMobileNetIsThatOfImageNet(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "shared", "encoders")
	if _, err := os.Stat(folder); err != nil {
		t.Skipf("no encoders: %v", err)
	}
	dict, err := Open(filepath.Join(folder, "mobilenet_v2_1.0_224.safetensors"))
	require.NoError(t, err)
	golden, err := Open(filepath.Join(folder, "mobilenet_v2_golden.safetensors"))
	require.NoError(t, err)
	values := func(name string) []float32 { return must(t, golden.Tensor(name)) }
	mobilenet, err := FindMap("mobilenet")
	require.NoError(t, err)
	taken, err := mobilenet.Take(dict, modelSpecs(t, "mobile"))
	require.NoError(t, err)
	assert.Len(t, taken.Tensors, len(dict.Tensors)-2, "all but the last convolution")
	assert.Equal(t, []string{"encoder.bridge.*", "conp.*", "divp.*"}, Missing(taken, modelSpecs(t, "mobile")))

	const side = 64
	image, x := values("x"), make([]float32, 3*side*side)
	for i := range x {
		x[i] = weights.Normalise((image[i%3*side*side+i/3] + 1) / 2)
	}
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		for k, e := range encode(t, d, "mobile", taken, x, side) {
			want := values([]string{"features.1", "features.3", "features.6", "features.13", "features.17"}[k])
			require.Len(t, e, len(want))
			difference, size := 0.0, 0.0
			for i, v := range want {
				difference += math.Pow(float64(e[i]-v), 2)
				size += math.Pow(float64(v), 2)
			}
			t.Logf("e%d: differs by %.2g of its norm", k, math.Sqrt(difference/size))
			assert.Less(t, math.Sqrt(difference/size), 1e-3, "e%d", k)
		}
	})
}

// A map with another mean and deviation moves the difference into weight and bias of the first
// convolution: away from the border its sums are equal.
func TestFirstConvolutionTakesOurImages(t *testing.T) {
	const kernel, shift = "features.0.conv.weight", "features.0.conv.bias"
	dict := dictOf(map[string][]int{kernel: {32, 3, 3, 3}, shift: {32}})
	m := &Map{Names: builtIn["mobilenet"].Names, Mean: &[3]float64{0.4, 0.5, 0.6}, Deviation: &[3]float64{0.2, 0.3, 0.4}}
	taken, err := m.Take(dict, modelSpecs(t, "mobile"))
	require.NoError(t, err)
	theirs, bias := must(t, dict.Tensor(kernel)), must(t, dict.Tensor(shift))
	ours, ourBias := must(t, taken.Tensor("encoder."+kernel)), must(t, taken.Tensor("encoder."+shift))
	colours := []float32{0.1, 0.7, 0.4}
	for out := range 32 {
		want, got := float64(bias[out]), float64(ourBias[out])
		for tap := range 9 {
			for c, v := range colours {
				want += float64(theirs[(out*3+c)*9+tap]) * (float64(v) - m.Mean[c]) / m.Deviation[c]
				got += float64(ours[(tap*3+c)*32+out]) * float64(weights.Normalise(v))
			}
		}
		assert.InEpsilon(t, want, got, 1e-5, out)
	}
	dict.Tensors = slices.DeleteFunc(dict.Tensors, func(v weights.Tensor) bool { return v.Name == shift })
	_, err = m.Take(dict, modelSpecs(t, "mobile"))
	assert.ErrorContains(t, err, "encoder.features.0.conv.bias")
}

func must(t *testing.T, v *weights.Tensor) []float32 {
	t.Helper()
	require.NotNil(t, v)
	values, err := v.Float32()
	require.NoError(t, err)
	return values
}
