package attention_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/attention"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// attentionShape says the shapes of attention's arguments.
type attentionShape struct{ batch, queries, keys, heads, width int }

// runAttentionInt8 computes attention from whole numbers, in int8 or in floats. Some numbers of the
// queries are beyond the range of int8.
func runAttentionInt8(t *testing.T, d gpu.Device, s attentionShape, queryStep float32, floats bool) []float32 {
	t.Helper()
	const keyStep, valueStep = 1. / 64, 1. / 32
	g, channels := tensor.NewGraph(), s.heads*s.width
	q, kv := g.Input("q", s.batch, s.queries, channels), g.Input("kv", s.batch, s.keys, 2*channels)
	r := rand.New(rand.NewPCG(5, uint64(s.keys)))
	queries, pairs := make([]float32, q.Elements()), make([]float32, kv.Elements())
	for i := range queries {
		n := float32(r.IntN(301) - 150)
		if floats {
			n = max(-127, min(127, n)) * queryStep
		}
		queries[i] = n
	}
	for i := range pairs {
		pairs[i] = float32(r.IntN(255) - 127)
		switch key := i/channels%2 == 0; {
		case floats && key:
			pairs[i] *= keyStep
		case floats:
			pairs[i] *= valueStep
		}
	}
	var y *tensor.Tensor
	if floats {
		y = attention.Attention(q, kv, s.heads)
	} else {
		rounded := pointwise.Quantize(q, 1)
		rounded.Step = queryStep
		y = attention.OfInt8(rounded, pointwise.Quantize(kv, 1), keyStep, valueStep, s.heads)
	}
	y.Keep()
	plan, err := shaders.Compile(t.Context(), d, tensor.NewSet(), g)
	require.NoError(t, err)
	defer plan.Release()
	require.NoError(t, plan.Write(q, queries))
	require.NoError(t, plan.Write(kv, pairs))
	require.NoError(t, plan.Run(t.Context()))
	out, err := plan.Read(t.Context(), y)
	require.NoError(t, err)
	return out[0]
}

// Attention of int8 is attention of the rounded floats, with flat and with sharp weights.
func TestAttentionInt8(t *testing.T) {
	ref := reference.Open()
	defer ref.Close()
	for _, s := range []attentionShape{{2, 37, 11, 2, 4}, {1, 9, 30, 3, 8}, {1, 70, 33, 2, 16}, {2, 19, 13, 1, 32}, {1, 21, 18, 2, 64}, {1, 3, 5, 1, 20}} {
		for _, queryStep := range []float32{0.002, 0.1} {
			want := runAttentionInt8(t, ref, s, queryStep, true)
			shadertest.EachVariant(t, func(device string, d gpu.Device) {
				got := runAttentionInt8(t, d, s, queryStep, false)
				// Values are up to 4. exp2 errs by 3 + 2|x| units of its last place, and the
				// largest weights have x near 0.
				require.InDeltaSlice(t, want, got, 2e-5, fmt.Sprintf("%s: %+v, steps of %g", device, s, queryStep))
			})
		}
	}
}

func TestAttentionInt8Refuses(t *testing.T) {
	g := tensor.NewGraph()
	q, kv := pointwise.Quantize(g.Input("q", 1, 3, 12), 1), pointwise.Quantize(g.Input("kv", 1, 3, 24), 1)
	require.Panics(t, func() { attention.OfInt8(q, kv, 1, 1, 2) }) // heads of six
	require.Panics(t, func() { attention.OfInt8(q, q, 1, 1, 1) })
}
