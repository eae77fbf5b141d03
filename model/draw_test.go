package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// §3.4: w₀ = log clip(ψ + ε, 1e-3, 1), ψ ~ U(.1, .9) a rater, ε ~ N(0, .2²) an element.
func TestInitialConfidenceIsDrawn(t *testing.T) {
	s := NewStep(tensor.NewSet(), tiny(t, 3, 2), Recipe{Recurrences: 1, Rule: RuleMean}, 4, 64)
	random := rand.New(rand.NewPCG(1, 2))
	var psi, spread []float64
	lowestSeen, highestSeen := math.Inf(1), math.Inf(-1)
	for range 400 {
		var b Batch
		b.Draw(s, Recipe{}, random)
		for m := range 3 {
			var values []float64
			for i, w := range b.W0 {
				if i/2%3 == m {
					values = append(values, math.Exp(float64(w)))
				}
				lowestSeen, highestSeen = min(lowestSeen, float64(w)), max(highestSeen, float64(w))
			}
			slices.Sort(values)
			median := values[len(values)/2] // which the clipping leaves alone
			psi = append(psi, median)
			if median > 0.45 && median < 0.55 {
				_, sigma := deviation(values)
				spread = append(spread, sigma)
			}
		}
	}
	mean, sigma := deviation(psi)
	assert.InDelta(t, 0.5, mean, 0.03)                 // 4 standard errors of 1,200 uniform draws
	assert.InDelta(t, 0.8/math.Sqrt(12), sigma, 0.015) // of U(.1, .9)
	assert.Greater(t, slices.Min(psi), 0.05)           // a median of 512 normal draws is .011 off
	assert.Less(t, slices.Max(psi), 0.95)
	require.NotEmpty(t, spread)
	for _, s := range spread {
		assert.InDelta(t, 0.2, s, 0.03) // the clipping takes a little
	}
	assert.Equal(t, float64(float32(math.Log(1e-3))), lowestSeen)
	assert.Equal(t, 0.0, highestSeen)
}

// Weights of raters are drawn an image, alike over its pixels and structures: all equal, one rater
// alone, or anything between.
func TestPriorsAreDrawn(t *testing.T) {
	steered := Recipe{Recurrences: 1, Rule: RuleMean, Steered: true}
	s := NewStep(tensor.NewSet(), tiny(t, 3, 2), steered, 4, 64)
	random := rand.New(rand.NewPCG(1, 2))
	equal, between := 0.0, 0.0
	var alone [3]float64
	const draws = 500
	for range draws {
		b := Batch{Valid: slices.Repeat([]float32{1}, 4*3*2)}
		b.Draw(s, steered, random)
		for image := range 4 {
			prior := b.Prior[image*len(b.Prior)/4:][:len(b.Prior)/4]
			for i, v := range prior {
				require.Equal(t, prior[i/2%3*2], v)
				require.True(t, v <= 0 && v >= float32(math.Log(1e-3)), v)
			}
			most, least := slices.Max(prior[:6]), slices.Min(prior[:6])
			switch {
			case most == 0 && least == 0:
				equal++
			case most == 0 && least == float32(math.Log(1e-3)):
				alone[slices.Index(prior, 0)/2]++
			default:
				between++
			}
		}
		mean, _ := deviation(confidences(b.W0))
		require.InDelta(t, 0.5, mean, 0.02, "no rater begins with more but by his weight")
	}
	assert.InDelta(t, 0.4, equal/(4*draws), 0.04) // 3.6 standard errors
	assert.InDelta(t, 0.3, between/(4*draws), 0.04)
	for _, n := range alone {
		assert.InDelta(t, 0.1, n/(4*draws), 0.025)
	}
}

// Nobody is alone in what he has not marked, and who has marked nothing is never alone.
func TestPriorsOfMissingLabels(t *testing.T) {
	steered := Recipe{Recurrences: 1, Rule: RuleMean, Steered: true}
	s := NewStep(tensor.NewSet(), tiny(t, 3, 2), steered, 2, 64)
	random := rand.New(rand.NewPCG(1, 2))
	one := []float32{1, 1, 1, 0, 0, 0} // (M, K): both, the first structure, nothing
	seen := map[[6]bool]int{}
	for range 300 {
		b := Batch{Valid: slices.Concat(one, one)}
		b.Draw(s, steered, random)
		for image := range 2 {
			prior, most := b.Prior[image*len(b.Prior)/2:][:6], [6]bool{}
			if !slices.Contains(prior, 0) {
				continue // anything between
			}
			for i, v := range prior {
				most[i] = v == 0
			}
			seen[most]++
		}
	}
	all, first, second := [6]bool{true, true, true, true, true, true}, [6]bool{true, true}, [6]bool{false, true, true, true, false, true}
	assert.Len(t, seen, 3)
	for _, kind := range [][6]bool{all, first, second} {
		assert.Positive(t, seen[kind], kind)
	}
}

func confidences(w []float32) (out []float64) {
	for _, v := range w {
		out = append(out, math.Exp(float64(v)))
	}
	return out
}

// A rater who has all the weight has it in every pass: what is fused is his label, whatever DivP
// says.
func TestPriorStaysThroughThePasses(t *testing.T) {
	for _, steered := range []bool{true, false} {
		r := recipe(t, "steered")
		r.Steered = steered
		set := tensor.NewSet()
		s := NewStep(set, tiny(t, 3, 1), r, 2, 64)
		for i := range s.Recurrence {
			s.Recurrence[i].Fused.Keep()
		}
		plan := s.running(t, set)
		b := discs(s, 1)
		b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
		for i := range b.Prior {
			b.Prior[i] = float32(math.Log(1e-3))
			if i%3 == 1 {
				b.Prior[i] = 0
			}
		}
		require.NoError(t, s.Write(plan, b, 0))
		require.NoError(t, plan.Run(t.Context()))
		for i := range s.Recurrence {
			worst := 0.0
			for j, v := range read(t, plan, s.Recurrence[i].Fused)[0] {
				worst = max(worst, math.Abs(float64(v-b.Z[3*j+1])))
			}
			if steered {
				assert.Less(t, worst, 0.02, "pass %d", i) // two others of a thousandth, a few times likelier at most
			} else {
				assert.Greater(t, worst, 0.2, "pass %d", i)
			}
		}
	}
}

// deviation is the mean of values and their standard deviation.
func deviation(values []float64) (mean, sigma float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sigma += (v - mean) * (v - mean) / float64(len(values))
	}
	return mean, math.Sqrt(sigma)
}
