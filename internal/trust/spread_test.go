package trust

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// single are residuals, each of its own patient, in parts of their own.
func single(beyond ...float64) (all []Residual) {
	for i, b := range beyond {
		all = append(all, Residual{Unit: i, Part: i % 4, Beyond: b})
	}
	return all
}

func TestSpreadIsExact(t *testing.T) {
	_, ok := NewSpread(single(make([]float64, 8)...), .9)
	assert.False(t, ok, "eight say nothing of nine in ten")
	for coverage, fewest := range map[float64]int{.5: 1, .8: 4, .9: 9, .95: 19} {
		_, few := NewSpread(single(make([]float64, fewest-1)...), coverage)
		_, ok := NewSpread(single(make([]float64, fewest)...), coverage)
		assert.Equal(t, []any{false, true, fewest}, []any{few, ok, Fewest(coverage)}, coverage)
	}
	s, ok := NewSpread(single(1, 9, 3, 4, 5, 6, 7, 8, 2), .9)
	require.True(t, ok)
	assert.Equal(t, weights.Spread{Low: -9, High: 9, Coverage: .9}, s)
	s, ok = NewSpread(single(-1, -1, -1, -1, -1, -1, -1, -1, -1), .9)
	require.True(t, ok)
	assert.Zero(t, s.High, "a range is never narrowed")
	_, ok = NewSpread(single(1, 2, 3, 4, 5, 6, 7, 8, math.Inf(1)), .9)
	assert.False(t, ok, "no reach is enough")
}

// Spreads hold what they say on new patients, and little more: where each has one figure, where
// they have several that err together, and where some images are harder.
func TestSpreadHoldsWhatItSays(t *testing.T) {
	r := rand.New(rand.NewPCG(10, 1))
	for name, c := range map[string]struct {
		units, figures, trials int
		hard                   bool
		held                   float64 // of new patients' figures: the rank of the reach among the units and one more
	}{
		"patients of one figure":      {30, 1, 2500, false, 28. / 31},
		"patients of several figures": {12, 8, 2500, false, 12. / 13},
		"images harder than others":   {40, 1, 800, true, 37. / 41},
	} {
		t.Run(name, func(t *testing.T) {
			draw := func(unit int) (all []Residual) {
				sign, beyond := r.Float64(), r.ExpFloat64()-.1
				marked := 0. // difficulty is not learned
				if c.hard {
					beyond *= .2 + 2*sign*sign
					marked = beyond
				}
				for range c.figures {
					all = append(all, Residual{Unit: unit, Part: unit % 4, Beyond: beyond, Error: math.Abs(marked), Signs: Figures{Mirror: sign, Blurred: r.Float64()}})
				}
				return all
			}
			inside, easy, hardly := 0., 0., 0.
			for range c.trials {
				var known []Residual
				for unit := range c.units {
					known = append(known, draw(unit)...)
				}
				s, ok := NewSpread(known, .9)
				require.True(t, ok)
				if unknown := draw(-1)[0]; unknown.Beyond <= s.High*Difficulty(s, unknown.Signs) {
					inside++
				}
				easy, hardly = easy+s.High*Difficulty(s, Figures{Mirror: .1}), hardly+s.High*Difficulty(s, Figures{Mirror: .9})
			}
			assert.InDelta(t, c.held, inside/float64(c.trials), .016)
			assert.Equal(t, c.hard, hardly > 1.5*easy, "%.3g for hard images and %.3g for easy ones", hardly, easy)
		})
	}
}

// The table has each camera, by what the other parts taught.
func TestCoverageByCamera(t *testing.T) {
	var all []Residual
	for unit := range 60 {
		one := Residual{Unit: unit, Part: unit % 5, Camera: "a"}
		all = append(all, one.Of(2, 3, 4, 4+float64(unit%10)/10), one.Of(2, 3, 4, 4+float64(unit%10)/10))
		if unit%3 == 0 {
			one.Camera, one.Unit = "b", 100+unit
			all = append(all, one.Of(2, 3, 4, 1.5))
		}
	}
	held := Coverage(all, .9)
	require.Len(t, held, 2)
	assert.Equal(t, []any{"a", 60, "b", 20}, []any{held[0].Camera, held[0].Units, held[1].Camera, held[1].Units})
	assert.InDelta(t, 1, held[1].Share, 1e-9)
	assert.InDelta(t, .9, held[0].Share, .05)
	assert.InDelta(t, 2+2*.8, held[0].Width, .25)
	assert.Nil(t, Coverage(all[:9], .9), "the other parts are too few")
}
