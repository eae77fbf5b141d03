package model

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// What stands in place of a missing label reaches nothing: no term of any recipe, no gradient, no
// bit of them; and nothing becomes NaN, not even where a class of an image was marked by nobody. A
// class that a rater did mark still counts beside one that he did not.
func TestMissingLabelsReachNothing(t *testing.T) {
	const raters, classes, batch = 3, 2, 2
	agreement := recipe(t, "steered")
	agreement.Rule, agreement.DiceWeight = RuleAgreement, 1
	for name, r := range map[string]Recipe{
		"steered": recipe(t, "steered"), "default": recipe(t, "default"), "paper": recipe(t, "paper"), "baseline": recipe(t, "baseline"),
		"levels": recipe(t, "steered").ForLevels(), "agreement": agreement,
	} {
		t.Run(name, func(t *testing.T) {
			set := tensor.NewSet()
			s := NewStep(set, tiny(t, raters, classes), r, batch, 64)
			var wanted []*tensor.Tensor
			for _, terms := range s.Terms {
				for _, term := range terms.List() {
					wanted = append(wanted, term.Value.Keep())
				}
			}
			loss := s.Loss()
			s.Backward(loss)
			wanted = append(wanted, loss)
			for _, v := range set.Variables(tensor.Parameter) {
				if x := s.Graph.Variable(v); x.HasGradient() {
					wanted = append(wanted, x.Gradient().Keep())
				}
			}
			plan := s.running(t, set)
			run := func(filling func() float32, turned bool) [][]float32 {
				b := discs(s, 1)
				for _, missing := range [][3]int{{0, 1, 0}, {1, 0, 1}, {1, 1, 1}, {1, 2, 1}} { // image, rater, class
					b.Valid[(missing[0]*raters+missing[1])*classes+missing[2]] = 0
				}
				const label, area = raters * classes, 64 * 64
				for i := range b.Z {
					switch at := i/(area*label)*label + i%label; {
					case b.Valid[at] == 0:
						b.Z[i] = filling()
					case turned && at == 1*classes+1: // the other class of image 0, rater 1
						b.Z[i] = 1 - b.Z[i]
					}
				}
				b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
				require.NoError(t, s.Write(plan, b, 0.7))
				require.NoError(t, plan.Run(t.Context()))
				return read(t, plan, wanted...)
			}
			zero := func() float32 { return 0 }
			random := rand.New(rand.NewPCG(5, 5))
			none := run(zero, false)
			for i, values := range none {
				for _, v := range values {
					require.False(t, math.IsNaN(float64(v)) || math.IsInf(float64(v), 0), "output %d", i)
				}
			}
			require.Equal(t, none, run(func() float32 { return float32(random.IntN(2)) }, false))
			require.NotEqual(t, none, run(zero, true))
		})
	}
}
