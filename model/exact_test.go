package model

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/tensor"
	"mrprism/shaders/vector"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The processor computes the same bits at every exact level, in any number of threads, on every
// machine: the digests stand here.
func TestProcessorIsExact(t *testing.T) {
	before, threads := vector.Current(), runtime.GOMAXPROCS(0)
	defer vector.Use(before)
	defer runtime.GOMAXPROCS(threads)
	for config, digests := range map[string][2]string{
		"compact-anchored-evidence": {"284ed318102ad283", "3c1be608a8c7426e"},
		"compact-steered":           {"16aa4e543afb1656", "8ead6cee21cf8073"},
		"mobile":                    {"a1d511407173a166", "6e8dc1d9ca04dc29"},
		"paper":                     {"36538ec1d2cb33d7", "6de40efc74c2d85a"},
		"small":                     {"a3bbb4c969619bd3", "43770e70833e9337"},
	} {
		for i, precision := range []Precision{F32, Int8} {
			c, err := NewConfig(config, 3, 2)
			require.NoError(t, err)
			if precision == Int8 {
				c.Precision, c.Ranges = Int8, AnyRanges(c)
			}
			for j, l := range vector.Levels() {
				for _, n := range []int{1, 2, 8}[:max(1, 3-2*j)] {
					vector.Use(l)
					runtime.GOMAXPROCS(n)
					d, err := device.Open(t.Context(), device.Processor, device.Options{})
					require.NoError(t, err)
					require.Equal(t, l.Exact && runtime.GOARCH == "amd64", d.Info().Exact)
					if l.Exact {
						assert.Equal(t, digests[i], digestOf(t, d, c), "%s, %s, %s, %d threads", config, precision, l.Name, n)
					}
				}
			}
		}
	}
}

// digestOf is that of masks and labels of two passes, and of settled ones.
func digestOf(t *testing.T, d gpu.Device, c Config) string {
	const side = 64
	set := Variables(c)
	defer set.Release()
	in, err := NewInference(t.Context(), d, set, c, side)
	require.NoError(t, err)
	defer in.Release()
	state := uint32(1)
	draw := func() int { // -128 … 127
		state = state*1664525 + 1013904223
		return int(state>>24) - 128
	}
	for _, v := range set.Variables(tensor.Parameter, tensor.Statistic) {
		x, scale := make([]float32, v.Elements()), float32(0x1p-8)
		if len(v.Shape) > 1 {
			scale = float32(math.Sqrt(float64(v.Shape[len(v.Shape)-1])/float64(v.Elements()))) / 64
		}
		for i := range x {
			if x[i] = float32(draw()) * scale; len(v.Shape) == 1 {
				x[i] += 1 // scales and variances are above 0
			}
		}
		require.NoError(t, set.Write(v, x))
	}
	x, hash := make([]float32, 3*side*side), sha256.New()
	for i := range x {
		x[i] = float32(draw()) / 64
	}
	add := func(y []float32, err error) {
		require.NoError(t, err)
		require.NoError(t, binary.Write(hash, binary.LittleEndian, y))
	}
	require.NoError(t, in.Encode(t.Context(), x))
	for range 2 {
		add(in.Recur(t.Context()))
		add(in.RaterLabels(t.Context()))
	}
	if c.Evidence {
		require.NoError(t, in.SetMarks(t.Context(), []Mark{whole(0, c.Classes)}))
		add(in.Settle(t.Context()))
	}
	return fmt.Sprintf("%x", hash.Sum(nil))[:16]
}
