package fuse

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/fusion"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mrprism/internal/data/fusion/fusiontest"
)

// guess is a network that knows the truth of a pixel with some certainty, independently of the
// raters, and is calibrated.
func guess(rng *rand.Rand, truth []uint8, share float64) []float32 {
	h := make([]float32, len(truth))
	for i, v := range truth {
		x := rng.NormFloat64() - .75 // log-likelihood ratio 1.5 x of N(±0.75, 1)
		if v == 1 {
			x += 1.5
		}
		h[i] = float32(sigmoid(math.Log(share/(1-share)) + 1.5*x))
	}
	return h
}

func brier(p []float64, truth []uint8) (sum float64) {
	for i, v := range p {
		sum += (v - float64(truth[i])) * (v - float64(truth[i])) / float64(len(p))
	}
	return sum
}

// Where marks are independent given the truth, as Max-MIG supposes, the evidence of a mark is the
// logarithm of its likelihood ratio, whatever the majority does: one expert stands among four who
// mark at random or too much. The fusion is better than fusion.STAPLE, which follows them.
func TestMaxMIGFindsTheExpert(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	raters := []fusion.Rates{{Sensitivity: .97, Specificity: .99}, {Sensitivity: .6, Specificity: .6}, {Sensitivity: .55, Specificity: .5}, {Sensitivity: .7, Specificity: .6}, {Sensitivity: .5, Specificity: .55}}
	g := NewMaxMIG(len(raters))
	var truths [][]uint8
	var all [][][]uint8
	var networks [][]float32
	share, pixels := 0., 0.
	for range 6 {
		truth, marks := fusiontest.Drawn(rng, 512, raters)
		truths, all = append(truths, truth), append(all, marks)
		for _, v := range truth {
			share, pixels = share+float64(v), pixels+1
		}
	}
	for i, truth := range truths {
		networks = append(networks, guess(rng, truth, share/pixels))
		g.Add(all[i], networks[i])
	}
	bounds := g.Learn()
	require.Less(t, len(bounds), 1000, "it rests")
	for i := range bounds[1:] {
		require.GreaterOrEqual(t, bounds[i+1], bounds[i]-1e-9)
	}
	for m, r := range raters {
		ratio := math.Log(r.Sensitivity/(1-r.Specificity)) - math.Log((1-r.Sensitivity)/r.Specificity)
		assert.InDelta(t, ratio, g.evidence[2*m+1]-g.evidence[2*m], .25, "rater %d", m)
	}
	ours, staple, network := 0., 0., 0.
	for i, truth := range truths {
		ours += brier(g.Fuse(all[i], networks[i]).Map, truth)
		staple += brier(fusion.STAPLE(all[i], nil).Map, truth)
		alone := make([]float64, len(truth))
		for j, v := range networks[i] {
			alone[j] = float64(v)
		}
		network += brier(alone, truth)
	}
	t.Logf("Brier: ours %.4f, STAPLE %.4f, network alone %.4f", ours/6, staple/6, network/6)
	assert.Less(t, ours, .5*staple)
	assert.Less(t, ours, .5*network)
}

// A rater may be missing, in learning and in fusion; without a map of the network g decides.
func TestMaxMIGWithMissingMarks(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	raters := []fusion.Rates{{Sensitivity: .9, Specificity: .95}, {Sensitivity: .85, Specificity: .97}, {Sensitivity: .95, Specificity: .9}}
	g := NewMaxMIG(3)
	for i := range 6 {
		truth, marks := fusiontest.Drawn(rng, 64, raters)
		marks[i%3] = nil
		g.Add(marks, guess(rng, truth, .2))
	}
	g.Learn()
	truth, marks := fusiontest.Drawn(rng, 64, raters)
	marks[1] = nil
	fit := g.Fuse(marks, nil)
	assert.Less(t, brier(fit.Map, truth), brier(fusion.MeanVote(marks).Map, truth)+1e-9)
	assert.True(t, math.IsNaN(fit.Raters[1].Sensitivity))
	assert.Empty(t, NewMaxMIG(3).Learn(), "nothing to learn from")
	assert.PanicsWithValue(t, "fuse: MaxMIG: marks of 1 raters, made for 3", func() { g.Fuse(marks[:1], nil) })
}

// A mark counts as much as the network expects it of its rater.
func TestLikely(t *testing.T) {
	marks := [][]uint8{{1, 0, 1}, {0, 0, 0}, nil}
	fit := Likely(marks, [][]float32{{.9, .9, .5}, {.7, .2, 1}, {.5, .5, .5}})
	for i, want := range []float64{.9 / (.9 + .3), 0, .5 / (.5 + .001)} {
		assert.InDelta(t, want, fit.Map[i], 1e-6)
	}
}

// A mark counts as much as its rater is trusted: 0.9 is nine times as much as 0.5.
func TestTrusted(t *testing.T) {
	marks := [][]uint8{{1, 0, 1}, {0, 1, 1}, nil}
	fit := Trusted(marks, [][]float32{{.9, .9, .9}, {.5, .5, 0}, {1, 1, 1}})
	for i, want := range []float64{.9, .1, 1} {
		assert.InDelta(t, want, fit.Map[i], 1e-6)
	}
	assert.PanicsWithValue(t, "fuse: marks of 3 raters, maps of 1", func() { Trusted(marks, [][]float32{{1, 1, 1}}) })
}
