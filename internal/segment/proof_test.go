package segment

import (
	"encoding/hex"
	"math"
	"testing"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/weights"
	_ "mrprism/weights/shipped"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The manifest has the proofs of the shipped weights, and every device passes them. Int8 is tested
// with fundus on the processor.
func TestProofsOfShippedModels(t *testing.T) {
	for _, entry := range weights.Shipped().Models {
		m, err := weights.Load(entry.Name)
		require.NoError(t, err)
		require.NotEmpty(t, m.Proof, "run make weights")
		gputest.Each(t, func(t *testing.T, d gpu.Device) {
			if d.Info().Kind == gpu.KindReference {
				t.Skip("takes minutes")
			}
			for _, precision := range []model.Precision{model.F32, model.Int8} {
				if precision != model.F32 && (entry.Name != "fundus" || d.Info().Kind != gpu.KindProcessor) { // GPUs compile that for minutes
					continue
				}
				e, err := New(t.Context(), d, m, precision)
				require.NoError(t, err)
				got, err := e.Proof(t.Context())
				require.NoError(t, err)
				t.Logf("%s in %s: differs by %.3f", entry.Name, precision, difference(t, got, m.Proof))
				assert.NoError(t, e.Prove(t.Context(), m.Proof), "%s in %s", entry.Name, precision)
				e.Close()
			}
		})
	}
}

func difference(t *testing.T, a, b string) (worst float64) {
	x, err := hex.DecodeString(a)
	require.NoError(t, err)
	y, err := hex.DecodeString(b)
	require.NoError(t, err)
	require.Len(t, y, len(x))
	for i := range x {
		worst = max(worst, math.Abs(float64(x[i])-float64(y[i]))/255)
	}
	return worst
}

// A proof notices a device whose probabilities are wrong in one part of the map.
func TestADeviceThatComputesWronglyIsNoticed(t *testing.T) {
	m, err := weights.Load("fundus")
	require.NoError(t, err)
	d := &counter{Device: gputest.Require(t, "processor")}
	e := engine(t, d, m)
	d.spoil = func(ranges []gpu.Range) error {
		for _, r := range ranges {
			values := gpu.BytesFloat32(r.Dst)
			for i := range len(values) / 8 { // an eighth of a map, its first rows
				values[i] = .5
			}
			copy(r.Dst, gpu.Float32Bytes(values))
		}
		return nil
	}
	require.ErrorIs(t, e.Prove(t.Context(), m.Proof), model.ErrWrong)
	d.spoil = nil
	require.NoError(t, e.Prove(t.Context(), m.Proof))
	require.NoError(t, e.Prove(t.Context(), ""), "weights of one's own")
	require.ErrorContains(t, e.Prove(t.Context(), m.Proof[:8]), "make weights")
}
