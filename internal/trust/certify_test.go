package trust

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// camera draws an eye of a camera whose cups the model draws too large, with errors of a kind.
func camera(r *rand.Rand, patient int, errors func(*rand.Rand) float64) Eye {
	marked := min(max(.45+.15*r.NormFloat64(), .05), .95)
	return Eye{patient, .2 + .8*marked + .06*errors(r), marked}
}

// An interval holds nine in ten of a new patient's eyes on the mean over twelve eyes, whatever the
// errors are like, and takes away the bias.
func TestCertificatesHold(t *testing.T) {
	for name, errors := range map[string]func(*rand.Rand) float64{
		"normal":     (*rand.Rand).NormFloat64,
		"heavy":      func(r *rand.Rand) float64 { return r.NormFloat64() * math.Exp(.6*r.NormFloat64()) },
		"one-sided":  func(r *rand.Rand) float64 { return r.ExpFloat64() },
		"few of all": func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) },
	} {
		for _, patients := range []int{9, 12, 40} {
			r := rand.New(rand.NewPCG(1, uint64(patients)))
			var held, bias []float64
			for range 400 {
				var eyes []Eye
				for i := range patients {
					eyes = append(eyes, camera(r, i, errors))
				}
				c, err := Certify(eyes)
				require.NoError(t, err)
				for range 40 {
					eye, inside := camera(r, -1, errors), 0.
					if low, high := Interval(&c, eye.Predicted); low <= eye.Marked && eye.Marked <= high {
						inside = 1
					}
					held, bias = append(held, inside), append(bias, c.At(eye.Predicted)-eye.Marked)
				}
			}
			assert.InDelta(t, .905, metric.Mean(held), .022, "%s, %d patients", name, patients)
			assert.InDelta(t, 0, metric.Mean(bias), .01, "%s, %d patients", name, patients)
		}
	}
}

func TestCertificatesKeepPatientsWhole(t *testing.T) {
	var eyes []Eye
	for i := range 16 {
		eyes = append(eyes, camera(rand.New(rand.NewPCG(3, uint64(i/2))), i/2, (*rand.Rand).NormFloat64))
	}
	_, err := Certify(eyes)
	assert.Equal(t, TooFew{8, 9}, err, "sixteen eyes of eight patients")
	one := append(eyes, camera(rand.New(rand.NewPCG(3, 9)), 9, (*rand.Rand).NormFloat64))
	twice, err := Certify(one)
	require.NoError(t, err)
	var single []Eye
	for i := 0; i < len(one); i += 2 {
		single = append(single, one[i])
	}
	once, err := Certify(single)
	require.NoError(t, err)
	assert.InDelta(t, once.Slope, twice.Slope, 1e-9, "a patient with two equal eyes counts once")
	assert.InDelta(t, once.Shift, twice.Shift, 1e-9)
	assert.InDelta(t, once.Reach, twice.Reach, 1e-9)
	assert.Equal(t, []int{17, 9, 9}, []int{twice.Eyes, twice.Patients, once.Eyes})
}

// photographs draws figures that belong together, as brightness and colour do.
func photographs(r *rand.Rand, n int, brighter float64) (all [][]float64) {
	for range n {
		light, one := r.NormFloat64(), make([]float64, len(Appearances))
		for j := range one {
			one[j] = math.Exp(.3*(light+r.NormFloat64())) + brighter*float64((j+1)%2)
		}
		one[0] += brighter
		all = append(all, one)
	}
	return all
}

func TestDriftIsNamedAndRarelyFalse(t *testing.T) {
	r, falsely, named := rand.New(rand.NewPCG(5, 6)), 0, 0
	const windows = 300
	for range windows {
		own := photographs(r, 12, 0)
		if Drift(own, photographs(r, Window, 0)) != "" {
			falsely++
		}
		if Drift(own, photographs(r, Window, 1)) == Appearances[0] {
			named++
		}
	}
	assert.LessOrEqual(t, falsely, windows*8/100, "two deviations above one in twenty")
	assert.GreaterOrEqual(t, named, windows*9/10)
}

func TestAPhotographOfAnotherKindIsUnlike(t *testing.T) {
	own := photographs(rand.New(rand.NewPCG(7, 8)), 12, 0)
	assert.Empty(t, Unlike(own, own[3]))
	other := append([]float64{}, own[3]...)
	other[4] = 40
	assert.Equal(t, "sharpness", Unlike(own, other))
	other[4] = math.NaN()
	assert.Equal(t, "sharpness", Unlike(own, other))
	assert.NotEmpty(t, Unlike(nil, other))
}
