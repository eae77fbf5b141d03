package model

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/raters"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// votes are labels and estimates of an image of side×side pixels: z, estimate (side, side, M, K),
// y (side, side, K), valid (M, K).
type votes struct {
	raters, classes int
	z, estimate, y  []float32
	valid           []float32
}

const votesSide = 16

// someVotes draws labels at random and estimates well inside (0, 1).
func someVotes(raters, classes int) *votes {
	r := rand.New(rand.NewPCG(3, 5))
	v := &votes{raters: raters, classes: classes, valid: ones(raters * classes)}
	for range votesSide * votesSide * classes {
		v.y = append(v.y, float32(0.05+0.9*r.Float64()))
		for range raters {
			v.z = append(v.z, float32(r.IntN(2)))
			v.estimate = append(v.estimate, float32(0.05+0.9*r.Float64()))
		}
	}
	return v
}

// fuse is Fuse(ℓ, z) with ℓ by the rule: (side, side, K).
func (v *votes) fuse(t *testing.T, d gpu.Device, rule Rule) []float32 {
	t.Helper()
	g := tensor.NewGraph()
	shape := []int{1, votesSide, votesSide, v.raters, v.classes}
	s := &Step{Graph: g, Z: g.Constant("z", v.z, shape...), Valid: g.Constant("valid", v.valid, 1, v.raters, v.classes)}
	y := g.Constant("y", v.y, 1, votesSide, votesSide, v.classes)
	fused := raters.Fuse(s.confidence(rule, g.Constant("estimate", v.estimate, shape...), y), s.Z, s.Valid).Keep()
	plan, err := shaders.Compile(t.Context(), d, tensor.NewSet(), g)
	require.NoError(t, err)
	defer plan.Release()
	require.NoError(t, plan.Run(t.Context()))
	values, err := plan.Read(t.Context(), fused)
	require.NoError(t, err)
	return values[0]
}

// each calls f with the labels of all raters at every pixel and structure, in the order of a fused
// map.
func (v *votes) each(f func(labels []float32) float32) []float32 {
	var out []float32
	for p := range votesSide * votesSide {
		for k := range v.classes {
			var labels []float32
			for m := range v.raters {
				labels = append(labels, v.z[(p*v.raters+m)*v.classes+k])
			}
			out = append(out, f(labels))
		}
	}
	return out
}

func meanVote(labels []float32) float32 {
	sum := float32(0)
	for _, z := range labels {
		sum += z
	}
	return sum / float32(len(labels))
}

func union(labels []float32) float32 {
	largest := float32(0)
	for _, z := range labels {
		largest = max(largest, z)
	}
	return largest
}

func swapped(x []float32) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = 1 - v
	}
	return out
}

// Equal weights give the mean vote (PAPER.md §3.3), and so do equal estimates of symmetric rules:
// a constant prior cancels.
func TestEqualWeightsGiveTheMeanVote(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		v := someVotes(5, 2)
		want := v.each(meanVote)
		assert.InDeltaSlice(t, want, v.fuse(t, d, RuleMean), 1e-6) // five fifths in f32
		for i := range v.estimate {
			v.estimate[i] = 0.3
		}
		assert.InDeltaSlice(t, want, v.fuse(t, d, RuleCode), 1e-6)
		assert.InDeltaSlice(t, want, v.fuse(t, d, RuleAgreement), 1e-6)
	})
}

// Calling the foreground background, in labels and in estimates, turns the fused map over under
// every rule but the code's.
func TestSwappingForegroundAndBackground(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		v := someVotes(4, 2)
		other := &votes{raters: 4, classes: 2, z: swapped(v.z), estimate: swapped(v.estimate), y: swapped(v.y), valid: v.valid}
		for _, rule := range []Rule{RuleMean, RuleLikelihood, RuleAgreement} {
			// 1 − x in f32 moves an estimate by 6e-8, its logarithm near 0.05 by 1e-6
			assert.InDeltaSlice(t, swapped(v.fuse(t, d, rule)), other.fuse(t, d, rule), 1e-5, rule)
		}
		largest := 0.0
		one, two := v.fuse(t, d, RuleCode), other.fuse(t, d, RuleCode)
		for i := range one {
			largest = max(largest, float64(one[i]+two[i]-1))
		}
		assert.Greater(t, largest, 0.1, "the code's rule rewards whoever marks")
	})
}

// As DivP becomes perfect the code's rule tends to the union of all labels, the likelihood to the
// mean vote.
func TestPerfectEstimates(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		v := someVotes(5, 1)
		v.estimate = v.z
		assert.InDeltaSlice(t, v.each(union), v.fuse(t, d, RuleCode), 0.005) // four who are sure of nothing at 1e-3 against one
		assert.InDeltaSlice(t, v.each(meanVote), v.fuse(t, d, RuleLikelihood), 1e-5)
	})
}

// A rater without a label does not count, whatever stands in his place.
func TestFusionWithoutAMissingRater(t *testing.T) {
	d := reference.Open()
	for _, rule := range []Rule{RuleMean, RuleCode, RuleLikelihood, RuleAgreement} {
		all := someVotes(3, 2)
		two := &votes{raters: 2, classes: 2, y: all.y, valid: ones(4)}
		for p := range votesSide * votesSide {
			two.z = append(two.z, all.z[6*p:][:4]...)
			two.estimate = append(two.estimate, all.estimate[6*p:][:4]...)
		}
		all.valid = []float32{1, 1, 1, 1, 0, 0}
		assert.InDeltaSlice(t, two.fuse(t, d, rule), all.fuse(t, d, rule), 1e-6, rule)
		all.valid = ones(6)
		assert.NotEqual(t, two.fuse(t, d, rule), all.fuse(t, d, rule), rule)
	}
}

// Nobody labelled the structure: 0, not a number.
func TestFusionOfNobody(t *testing.T) {
	v := someVotes(3, 1)
	v.valid = make([]float32, 3)
	for _, rule := range []Rule{RuleMean, RuleCode, RuleLikelihood, RuleAgreement} {
		assert.Equal(t, make([]float32, votesSide*votesSide), v.fuse(t, reference.Open(), rule), rule)
	}
}
