package segment

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/contour"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/trust"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// expert draws an ellipse in a picture of 64 × 64 pixels.
func expert(x, y, a, b float64) []uint8 {
	mask := make([]uint8, 64*64)
	for i, v := range drawn(64, x, y, a, b, 1) {
		mask[i] = uint8(v)
	}
	return mask
}

// Of a further expert's outline 95 % lies between both outlines in nine of ten eyes, by a margin
// that was learned from the experts of twenty eyes.
func TestOutlinesHoldFurtherExperts(t *testing.T) {
	r := &Maps{Width: 64, Height: 64, ROI: imageio.Square{Side: 64}, Classes: []string{"disc"}, side: 32, margins: map[int]float64{}}
	r.plain = drawn(32, 16, 16, 8, 8, .9)
	r.masks = [][]float32{r.plain}
	random := rand.New(rand.NewPCG(3, 4))
	var eyes []trust.Residual
	for i := range 300 {
		size := 16 * math.Exp(.15*random.NormFloat64())
		mask := expert(32+random.NormFloat64(), 32+random.NormFloat64(), size, 1.1*size)
		apart := r.Apart(0, mask)
		eyes = append(eyes, trust.Residual{Unit: i, Part: i % 5, Beyond: apart})
		for _, c := range []struct {
			margin float64
			held   bool
		}{{apart - .02, false}, {apart + .02, true}} {
			r.margins[0] = c.margin
			between, inside, all := r.Between(0), 0, 0
			values := make([]float32, len(mask))
			for i, v := range mask {
				values[i] = float32(v)
			}
			line := contour.Trace(values, 64, 64, .5, 0).Points
			for at := 0; at < len(line); at, all = at+2, all+1 {
				if between[int(line[at+1])*64+int(line[at])] >= .5 {
					inside++
				}
			}
			require.Equal(t, c.held, float64(inside) >= trust.Between*float64(all), "%d of %d points by %.3f", inside, all, c.margin)
		}
	}
	held := 0
	for range 1500 {
		random.Shuffle(len(eyes), func(i, j int) { eyes[i], eyes[j] = eyes[j], eyes[i] })
		s, ok := trust.NewSpread(eyes[:20], .9)
		require.True(t, ok)
		if eyes[20].Beyond <= s.High {
			held++
		}
	}
	assert.InDelta(t, 19./21, float64(held)/1500, .02)
	assert.True(t, math.IsInf(r.Apart(0, make([]uint8, 64*64)), 1), "an expert who marks nothing")
}

// The mask that is shown lies between its outlines. They are withheld where it is not trusted.
func TestOutlinesOfAResult(t *testing.T) {
	k := known()
	k.Maps = map[string]weights.Map{"disc": {From: []float32{0, .5, 1}, To: []float32{0, .8, 1}}}
	k.Outlines = map[string]weights.Spread{"disc": {Low: -.1, High: .1, Coverage: .9}}
	segment := func(o Options) *Result {
		o.ROI = "none"
		r, err := trusting(t, segmenttest.Fundus(), k).Segment(t.Context(), photograph(120, 90), o)
		require.NoError(t, err)
		return r
	}
	r := segment(Options{})
	require.True(t, r.HasOutlines(0), "%+v", r.Measurements.Structures[0].Outlines)
	assert.Nil(t, r.Measurements.Structures[1].Outlines, "of the cup nothing is known")
	assert.Greater(t, r.Measurements.Structures[0].Outlines.Margin, 1.)
	inner, outer := r.Inner(0), r.Outer(0)
	for i, p := range r.Probability(0) {
		require.True(t, outer[i] > .5 || p <= .5)
		require.True(t, inner[i] <= .5 || p > .5)
	}
	k.Evidence[trust.Shape] = weights.Evidence{Middle: -9, Far: .01, Weight: 1}
	doubted := segment(Options{}).Measurements.Structures[0]
	assert.Equal(t, &Outlines{Withheld: doubted.Trust.Reason}, doubted.Outlines)
	assert.NotEmpty(t, doubted.Trust.Reason)
}
