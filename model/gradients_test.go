package model

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// reached says which parts of the network a loss sends gradients to.
func reached(s *Step, set *tensor.Set, loss *tensor.Tensor) map[string]bool {
	s.Backward(pointwise.Sum(loss))
	parts := map[string]bool{}
	for _, v := range set.Variables(tensor.Parameter) {
		if s.Graph.Variable(v).HasGradient() {
			part, _, _ := strings.Cut(v.Name, ".")
			parts[part] = true
		}
	}
	return parts
}

// §3.6: where gradients stop. A loss of the mask trains encoder and ConP alone: not DivP through
// w, though w and the target of the second recurrence come from it. A loss of DivP's trains DivP
// alone: not ConP through the mask that DivP reads or that is a target.
func TestGradientsStop(t *testing.T) {
	mask := map[string]bool{"encoder": true, "conp": true}
	estimates := map[string]bool{"divp": true}
	for _, rule := range []Rule{RuleCode, RuleLikelihood, RuleAgreement} {
		for _, test := range []struct {
			name string
			want map[string]bool
			pick func(Terms) *tensor.Tensor
		}{
			{"mask", mask, func(t Terms) *tensor.Tensor { return t.Mask }},
			{"fade", mask, func(t Terms) *tensor.Tensor { return t.Fade }},
			{"dice", mask, func(t Terms) *tensor.Tensor { return t.Dice }},
			{"fusion", estimates, func(t Terms) *tensor.Tensor { return t.Fusion }},
			{"shuffle", estimates, func(t Terms) *tensor.Tensor { return t.Shuffle }},
			{"heads", estimates, func(t Terms) *tensor.Tensor { return t.Heads }},
		} {
			r := recipe(t, "steered")
			r.Rule, r.DiceWeight = rule, 1
			set := tensor.NewSet()
			s := NewStep(set, tiny(t, 3, 2), r, 2, 64)
			assert.Equal(t, test.want, reached(s, set, test.pick(s.Terms[1])), "%s under %s", test.name, rule)
			assert.False(t, s.Recurrence[0].ZHat.HasGradient(), "%s: nothing reaches the estimates of the recurrence before", test.name)
			if test.name == "shuffle" { // the weights of both sides and the target are detached: it comes through z̃ alone
				assert.True(t, s.Recurrence[1].ZHat.HasGradient())
				assert.False(t, s.Recurrence[1].Confidence.HasGradient())
			}
		}
	}
}

// The paper's T₀.₅ passes the gradient straight through: a thresholded estimate still trains
// DivP (§3.8).
func TestThresholdedShuffleTrainsDivP(t *testing.T) {
	set := tensor.NewSet()
	s := NewStep(set, tiny(t, 3, 1), recipe(t, "paper"), 2, 64)
	require.Nil(t, s.Terms[0].Heads)
	s.Backward(pointwise.Sum(s.Terms[0].Shuffle))
	gradient := s.Graph.Variable(set.Lookup("divp.heads.output.weight")).Gradient().Keep()
	plan := s.running(t, set)
	b := discs(s, 1)
	b.Draw(s, recipe(t, "paper"), rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, s.Write(plan, b, 0))
	require.NoError(t, plan.Run(t.Context()))
	require.Positive(t, norm(read(t, plan, gradient)[0]))
}

// §3.6: f₀ is shared, so the encoder's gradient is the sum of those of all recurrences.
func TestEncoderReceivesEveryRecurrence(t *testing.T) {
	r := Recipe{Recurrences: 2, Rule: RuleLikelihood, HeadsWeight: 1}
	var gradients [3][]float32
	for i, pick := range []func(s *Step) *tensor.Tensor{
		func(s *Step) *tensor.Tensor { return s.Terms[0].Mask },
		func(s *Step) *tensor.Tensor { return s.Terms[1].Mask },
		func(s *Step) *tensor.Tensor { return pointwise.Add(s.Terms[0].Mask, s.Terms[1].Mask) },
	} {
		set := tensor.NewSet()
		s := NewStep(set, tiny(t, 2, 1), r, 2, 64)
		s.Backward(pointwise.Sum(pick(s)))
		gradient := s.Graph.Variable(set.Lookup("encoder.conv1.weight")).Gradient().Keep()
		plan := s.running(t, set)
		b := discs(s, 1)
		b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, s.Write(plan, b, 0))
		require.NoError(t, plan.Run(t.Context()))
		gradients[i] = read(t, plan, gradient)[0]
		require.Positive(t, norm(gradients[i]))
	}
	for i := range gradients[2] {
		gradients[0][i] += gradients[1][i]
	}
	assert.Less(t, distance(gradients[0], gradients[2]), 1e-6)
}

// A rater who labelled nothing drops out of everything: loss and gradients are those of a network
// that never knew him (§3.3), as long as ConP does not look at his confidence.
func TestMissingRatersDropOut(t *testing.T) {
	const kept, classes = 2, 2
	for _, rule := range []Rule{RuleCode, RuleLikelihood} {
		r := recipe(t, "steered")
		r.Rule = rule
		run := func(raters int, set func(*tensor.Set), fill func(s *Step, b *Batch)) (loss float32, gradients map[string][]float32, variables *tensor.Set) {
			variables = tensor.NewSet()
			s := NewStep(variables, tiny(t, raters, classes), r, 2, 64)
			total := s.Loss()
			s.Backward(total)
			wanted := []*tensor.Tensor{total}
			for _, v := range variables.Variables(tensor.Parameter) {
				wanted = append(wanted, s.Graph.Variable(v).Gradient().Keep())
			}
			plan := s.running(t, variables)
			set(variables)
			b := discs(s, 1)
			b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
			fill(s, &b)
			require.NoError(t, s.Write(plan, b, 0.7))
			require.NoError(t, plan.Run(t.Context()))
			values := read(t, plan, wanted...)
			gradients = map[string][]float32{}
			for i, v := range variables.Variables(tensor.Parameter) {
				gradients[v.Name] = values[i+1]
			}
			return values[0][0], gradients, variables
		}
		parameters := map[string][]float32{}
		loss3, gradients3, three := run(kept+1,
			func(set *tensor.Set) {
				for _, v := range set.Variables(tensor.Parameter) {
					values, err := set.Read(t.Context(), v)
					require.NoError(t, err)
					switch v.Name {
					case "conp.confidence.stage1.1.weight", "conp.confidence.stage2.0.weight", "conp.confidence.stage3.0.weight",
						"conp.confidence.stage4.0.weight": // (1, 1, M·K, C): ConP is blind to the third rater
						clear(values[0][kept*classes*v.Shape[3]:])
						require.NoError(t, set.Write(v, values[0]))
					}
					parameters[v.Name] = values[0]
				}
			},
			func(s *Step, b *Batch) {
				for i := range b.Z {
					if i/classes%(kept+1) == kept { // what stands in place of a missing label does not matter
						b.Z[i] = float32(i % 2)
					}
				}
				for i := range b.Valid {
					if i/classes%(kept+1) == kept {
						b.Valid[i] = 0
					}
				}
				for i := range b.W0 {
					b.W0[i] = float32(-0.1 * float64(1+i/classes%(kept+1)))
					b.Prior[i] = 5 * b.W0[i]
				}
				reweight(b, kept+1)
			})
		loss2, gradients2, two := run(kept,
			func(set *tensor.Set) {
				for _, v := range set.Variables(tensor.Parameter) {
					require.NoError(t, set.Write(v, leading(parameters[v.Name], three.Lookup(v.Name).Shape, v.Shape)))
				}
			},
			func(s *Step, b *Batch) {
				for i := range b.W0 {
					b.W0[i] = float32(-0.1 * float64(1+i/classes%kept))
					b.Prior[i] = 5 * b.W0[i]
				}
				reweight(b, kept)
			})
		assert.InEpsilon(t, loss2, loss3, 1e-6, rule)
		for name, want := range gradients2 {
			got := leading(gradients3[name], three.Lookup(name).Shape, two.Lookup(name).Shape)
			assert.Less(t, distance(got, want), 1e-5, "%s under %s", name, rule) // sums in another order, rounded to f32 once
		}
		head := gradients3["divp.heads.output.weight"]
		assert.Zero(t, norm(head[len(head)*kept/(kept+1):]), "nothing trains the missing rater's head")
	}
}

// reweight makes every reweighting exchange the first two raters, or draws that the number of
// raters does not change.
func reweight(b *Batch, raters int) {
	for _, row := range b.Shuffles {
		for j := range row {
			for m := range raters {
				row[j].Order[m] = uint32(m)
				if row[j].Scale[m] == 0 {
					row[j].Offset[m] = -0.3 * float32(1+m)
				} else if m < 2 {
					row[j].Order[m] = uint32(1 - m)
				}
			}
		}
	}
}

// leading is the block at the start of every axis of x (from) that has shape to.
func leading(x []float32, from, to []int) []float32 {
	var out []float32
	for i, v := range x {
		inside, rest := true, i
		for d := len(from) - 1; d >= 0; d-- {
			inside = inside && rest%from[d] < to[d]
			rest /= from[d]
		}
		if inside {
			out = append(out, v)
		}
	}
	return out
}

func norm(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum)
}

// distance is ‖a − b‖ / ‖b‖.
func distance(a, b []float32) float64 {
	return norm(subtracted(a, b)) / max(norm(b), 1e-12)
}

func subtracted(a, b []float32) []float32 {
	difference := make([]float32, len(a))
	for i := range a {
		difference[i] = a[i] - b[i]
	}
	return difference
}
