package model

import (
	"math/rand/v2"
	"testing"

	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// What other people have marked teaches the mask, and neither heads nor shuffles.
func TestMarksOfOthersTeachTheMaskAlone(t *testing.T) {
	const raters, classes = 3, 2
	for name, r := range map[string]Recipe{"steered": recipe(t, "steered"), "levels": recipe(t, "steered").ForLevels()} {
		t.Run(name, func(t *testing.T) {
			set := tensor.NewSet()
			s := NewStep(set, tiny(t, raters, classes), r, 2, 64)
			terms := s.Terms[0]
			wanted := []*tensor.Tensor{terms.Heads.Keep(), terms.Fade.Keep()}
			if terms.Shuffle != nil {
				wanted = append(wanted, terms.Shuffle.Keep())
			}
			s.Loss()
			plan := s.running(t, set)
			run := func(own bool, shift int) [][]float32 {
				b := discs(s, 1)
				b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
				half := len(b.Z) / 2 // of the second image
				for m := 0; m < half; m++ {
					b.Z[half+m] = float32((m/(raters*classes) + shift) / 400 % 2) // the same for all raters
				}
				b.Own = append([]float32{}, b.Valid...)
				if !own {
					clear(b.Own[raters*classes:])
				}
				require.NoError(t, s.Write(plan, b, 0.7))
				require.NoError(t, plan.Run(t.Context()))
				return read(t, plan, wanted...)
			}
			a, b := run(false, 0), run(false, 150)
			require.Equal(t, a[0], b[0], "heads")
			require.NotEqual(t, a[1], b[1], "the mask")
			if len(a) > 2 {
				require.InDelta(t, a[2][0], b[2][0], 1e-6, "shuffles: zero times another value, in float sums")
			}
			require.NotEqual(t, run(true, 0)[0], run(true, 150)[0], "or this test says little")
		})
	}
}
