package evaluate

import (
	"math"
	"strings"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/require"
)

// changedTo applies the change whose name begins with name.
func changedTo(t *testing.T, name string, l *dataset.Loaded) *dataset.Loaded {
	t.Helper()
	for _, c := range Changes {
		if strings.HasPrefix(c.Name, name) {
			return c.to(l)
		}
	}
	t.Fatalf("no change %q", name)
	return nil
}

// Every change computes what its name says, for 16×9 pixels of many colours, none near white.
func TestChangesOfColour(t *testing.T) {
	l := &dataset.Loaded{Image: &imageio.Image{W: 16, H: 9}}
	for i := range 16 * 9 {
		l.Image.Pix = append(l.Image.Pix, uint8(40+i), uint8(20+i/2), uint8(5+(i*7)%90))
	}
	power := func(exponent float64) func([3]float64) [3]float64 {
		return func(v [3]float64) (out [3]float64) {
			for c := range v {
				out[c] = 255 * math.Pow(v[c]/255, exponent)
			}
			return out
		}
	}
	for name, want := range map[string]func(rgb [3]float64) [3]float64{
		"darker":   power(1.8),
		"brighter": power(.5),
		"bluish":   func(v [3]float64) [3]float64 { return [3]float64{.75 * v[0], .95 * v[1], 1.3 * v[2]} },
		"colours at 30 %": func(v [3]float64) (out [3]float64) {
			grey := (v[0] + v[1] + v[2]) / 3
			for c := range v {
				out[c] = grey + .3*(v[c]-grey)
			}
			return out
		},
	} {
		got := changedTo(t, name, l).Image.Pix
		for i := 0; i < len(got); i += 3 {
			p := l.Image.Pix[i:]
			expected := want([3]float64{float64(p[0]), float64(p[1]), float64(p[2])})
			for c, v := range expected {
				require.InDelta(t, v, got[i+c], .51, "%s at %d: rounding to 8 bits", name, i)
			}
		}
	}
}

// A white column in a picture 512 pixels wide becomes a Gaussian of four pixels' deviation in the
// same place.
func TestChangeBlurs(t *testing.T) {
	const w, h, at = 512, 9, 200
	l := &dataset.Loaded{Image: &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}}
	for y := range h {
		for c := range 3 {
			l.Image.Pix[3*(y*w+at)+c] = 255
		}
	}
	line := changedTo(t, "blurred", l).Image.Pix[3*w*(h/2):][:3*w]
	var sum, first, second float64
	for x := range w {
		v := float64(line[3*x])
		sum, first, second = sum+v, first+v*float64(x-at), second+v*float64((x-at)*(x-at))
	}
	require.InDelta(t, 255, sum, 6, "25 pixels rounded")
	require.Zero(t, first)
	require.InDelta(t, 4, math.Sqrt(second/sum), .15, "cut off at three deviations, and rounded")
}

// Predictions on the line .5·true + .3 have its slope and intercept. The smallest quarter of five
// images has two.
func TestRatios(t *testing.T) {
	var cases []*caseScore
	for _, reference := range []float64{.8, .4, .7, .5, .6} {
		cases = append(cases, &caseScore{Ratio: &ratioScore{Reference: reference, Predicted: .5*reference + .3}})
	}
	cases = append(cases, &caseScore{}) // nobody has marked it
	r := ratios(cases)
	require.Equal(t, []int{5, 2}, []int{r.Images, r.Smallest.Images})
	require.InDelta(t, .5, *r.Slope, 1e-12)
	require.InDelta(t, .3, *r.Intercept, 1e-12)
	require.InDelta(t, .45, r.Smallest.Reference, 1e-12)
	require.InDelta(t, .075, r.Smallest.Bias.Mean, 1e-12) // .1 at .4, .05 at .5
	require.InDelta(t, .06, r.Error.Mean, 1e-12)
	require.InDelta(t, 0, r.Bias.Mean, 1e-12)
	require.InDeltaSlice(t, []float64{-1.96 * math.Sqrt(.025/4), 1.96 * math.Sqrt(.025/4)}, r.Limits, 1e-12, "of -.1, -.05, 0, .05 and .1")

	var out strings.Builder
	require.NoError(t, (&Report{Ratio: r}).Document().Print(&out))
	require.Contains(t, out.String(), "slope 0.50, intercept +0.300")
	require.Regexp(t, `bias of the smallest quarter \(2, true mean 0.45\) +\+0.075 \[`, out.String())

	one := ratios(cases[:1])
	require.Nil(t, one.Slope)
	require.Equal(t, 1, one.Smallest.Images)
	require.Nil(t, ratios(cases[5:]))
}
