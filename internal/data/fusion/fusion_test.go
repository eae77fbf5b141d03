package fusion

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mrprism/internal/data/fusion/fusiontest"
)

// A port of ITK's loop, made by others, gives the same maps and rates.
func TestSTAPLEEqualsITK(t *testing.T) {
	dir := os.Getenv("MRPRISM_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "vectors")
	}
	text, err := os.ReadFile(filepath.Join(dir, "label_fusion", "staple_em.json"))
	if err != nil {
		t.Skipf("no third-party vectors: %v (set MRPRISM_VECTORS)", err)
	}
	var file struct {
		Cases []struct {
			Name    string
			Raters  [][]int
			W, P, Q []float64
		}
	}
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.Cases)
	for _, c := range file.Cases {
		var marks [][]uint8
		for _, r := range c.Raters {
			mark := make([]uint8, len(r))
			for i, v := range r {
				mark[i] = uint8(v)
			}
			marks = append(marks, mark)
		}
		fit := STAPLE(marks, nil)
		require.True(t, fit.Converged)
		farthest := 0.0
		near := func(want, got float64) {
			farthest = max(farthest, math.Abs(want-got))
			assert.InDelta(t, want, got, 1e-6, c.Name)
		}
		require.Len(t, fit.Map, len(c.W))
		for i, want := range c.W {
			near(want, fit.Map[i])
		}
		for m, r := range fit.Raters {
			near(c.P[m], r.Sensitivity)
			near(c.Q[m], r.Specificity)
		}
		t.Logf("%s: %d iterations, largest difference %.2g", c.Name, fit.Iterations, farthest)
	}
}

func TestMeanVote(t *testing.T) {
	fit := MeanVote([][]uint8{{1, 1, 0, 0}, nil, {1, 0, 0, 0}})
	assert.Equal(t, []float64{1, .5, 0, 0}, fit.Map)
	assert.InDelta(t, 1, fit.Raters[0].Sensitivity, 1e-12)
	assert.InDelta(t, 2/2.5, fit.Raters[0].Specificity, 1e-12)
	assert.True(t, math.IsNaN(fit.Raters[1].Sensitivity) && math.IsNaN(fit.Raters[1].Specificity))
	assert.InDelta(t, 1/1.5, fit.Raters[2].Sensitivity, 1e-12)
	assert.Zero(t, fit.Iterations)
}

func TestBias(t *testing.T) {
	assert.InDelta(t, math.Log(2), Count([]uint8{1, 1, 1, 0}, []float64{1, .5, 0, 0}).Bias(), 1e-12)
	assert.True(t, math.IsNaN(Count([]uint8{0, 0}, []float64{1, 0}).Bias()))
	assert.True(t, math.IsNaN(Count([]uint8{0, 1}, []float64{0, 0}).Bias()))
}

// Both methods find the rates that the marks were drawn with, and are nearer to the truth than the
// mean vote. A rater without a mark changes nothing.
func TestKnownRates(t *testing.T) {
	known := []Rates{{.95, .99}, {.9, .9}, {.6, .97}, {.99, .7}, {.55, .6}}
	truth, marks := fusiontest.Drawn(rand.New(rand.NewPCG(1, 2)), 100, known)
	brier := func(w []float64) (sum float64) {
		for i, v := range w {
			sum += (v - float64(truth[i])) * (v - float64(truth[i]))
		}
		return sum
	}
	prior := make([]float32, len(truth))
	for i, v := range truth {
		prior[i] = .05 + .9*float32(v)
	}
	with := append([][]uint8{nil}, marks...)
	for name, method := range map[string]func([][]uint8) *Fit{
		"STAPLE":                       func(m [][]uint8) *Fit { return STAPLE(m, nil) },
		"STAPLE with a prior":          func(m [][]uint8) *Fit { return STAPLE(m, prior) },
		"Dawid–Skene":                  func(m [][]uint8) *Fit { return DawidSkene(m, nil) },
		"Dawid–Skene with a network's": func(m [][]uint8) *Fit { return DawidSkene(m, prior) },
	} {
		fit := method(marks)
		require.True(t, fit.Converged, name)
		for m, r := range fit.Raters {
			assert.InDelta(t, known[m].Sensitivity, r.Sensitivity, .05, name)
			assert.InDelta(t, known[m].Specificity, r.Specificity, .05, name)
		}
		assert.Less(t, brier(fit.Map), .5*brier(MeanVote(marks).Map), name)
		again := method(with)
		assert.Equal(t, fit.Map, again.Map, name)
		assert.Equal(t, fit.Raters, again.Raters[1:], name)
		assert.True(t, math.IsNaN(again.Raters[0].Sensitivity), name)
	}
}

// plain is EM pixel by pixel, as the formulas stand.
func plain(marks [][]uint8, prior []float32, right, wrong float64, iterations int) (w []float64) {
	w = MeanVote(marks).Map
	share, n := 0.0, float64(len(w))
	for _, v := range w {
		share += v / n
	}
	all := make([]Rates, len(marks))
	for range iterations {
		inside := 0.0
		for _, v := range w {
			inside += v
		}
		if right > 0 && prior == nil {
			share = (inside + 1) / (n + 2)
		}
		for m, mark := range marks {
			p, q := right, right
			for i, v := range mark {
				p += w[i] * float64(v)
				q += (1 - w[i]) * float64(1-v)
			}
			all[m] = Rates{p / (inside + right + wrong), q / (n - inside + right + wrong)}
		}
		for i := range w {
			f := share
			if prior != nil {
				f = min(max(float64(prior[i]), 1e-3), 1-1e-3)
			}
			a, b := f, 1-f
			for m, r := range all {
				if marks[m][i] == 1 {
					a, b = a*r.Sensitivity, b*(1-r.Specificity)
				} else {
					a, b = a*(1-r.Sensitivity), b*r.Specificity
				}
			}
			w[i] = a / (a + b)
		}
	}
	return w
}

// Grouping pixels by their marks changes no result.
func TestEqualsPlainFormulas(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for raters := 2; raters < 8; raters++ {
		marks, prior := fusiontest.Random(r, raters, 500)
		for name, prior := range map[string][]float32{"number": nil, "map": prior} {
			for method, fit := range map[string]*Fit{"STAPLE": STAPLE(marks, prior), "Dawid–Skene": DawidSkene(marks, prior)} {
				right, wrong := 0.0, 0.0
				if method == "Dawid–Skene" {
					right, wrong = 9, 1
				}
				what := fmt.Sprintf("%s, %d raters, the prior is a %s", method, raters, name)
				w := plain(marks, prior, right, wrong, fit.Iterations)
				assert.InDeltaSlice(t, w, fit.Map, 1e-9, what)
			}
		}
	}
}

// Maps of marks that mean nothing are probabilities.
func TestMapsAreProbabilities(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for trial := range 60 {
		marks, prior := fusiontest.Random(r, 1+trial%9, 30+10*trial)
		if trial%7 == 3 && len(marks) > 1 {
			marks[0] = nil
		}
		for name, fit := range map[string]*Fit{
			"STAPLE": STAPLE(marks, nil), "STAPLE with a prior": STAPLE(marks, prior),
			"Dawid–Skene": DawidSkene(marks, nil), "Dawid–Skene with a prior": DawidSkene(marks, prior),
		} {
			require.Greater(t, fit.Iterations, 1, name)
			for _, v := range fit.Map {
				require.True(t, v >= 0 && v <= 1, "%s: a probability of %v", name, v)
			}
		}
	}
}

// A prior map that is the same everywhere is the number.
func TestConstantPrior(t *testing.T) {
	marks := [][]uint8{{1, 1, 1, 0, 0, 0, 1, 0}, {1, 1, 0, 0, 0, 0, 0, 0}, {1, 1, 1, 1, 0, 0, 0, 0}}
	prior := make([]float32, 8)
	for i := range prior {
		prior[i] = 10. / 24
	}
	number, constant := STAPLE(marks, nil), STAPLE(marks, prior)
	assert.InDeltaSlice(t, number.Map, constant.Map, 1e-5, "the prior is rounded to float32")
}

// The prior decides where the raters are of no use.
func TestPriorDecides(t *testing.T) {
	_, marks := fusiontest.Drawn(rand.New(rand.NewPCG(7, 8)), 60, []Rates{{.9, .9}, {.9, .9}, {.9, .9}})
	at := 0
	for marks[0][at]+marks[1][at]+marks[2][at] != 1 {
		at++
	}
	prior := make([]float32, len(marks[0]))
	for i := range prior {
		prior[i] = .2
	}
	low := DawidSkene(marks, prior).Map[at]
	prior[at] = .95
	high := DawidSkene(marks, prior).Map[at]
	assert.Less(t, low, .2)
	assert.Greater(t, high, .5)
}

// Marks that are all empty or all full have no two classes.
func TestOneClass(t *testing.T) {
	for _, v := range []uint8{0, 1} {
		marks := [][]uint8{{v, v, v, v}, {v, v, v, v}}
		for _, prior := range [][]float32{nil, {.1, .2, .8, 1}} {
			fit := STAPLE(marks, prior)
			assert.Equal(t, []float64{float64(v), float64(v), float64(v), float64(v)}, fit.Map)
			assert.Equal(t, v == 0, math.IsNaN(fit.Raters[0].Sensitivity))
			assert.Equal(t, v == 1, math.IsNaN(fit.Raters[0].Specificity))
			for _, w := range DawidSkene(marks, prior).Map {
				assert.False(t, math.IsNaN(w))
			}
		}
	}
}

// Products of many raters' rates do not underflow.
func TestManyRaters(t *testing.T) {
	raters := make([]Rates, 1500)
	for m := range raters { // every fourth rater is good
		if raters[m] = (Rates{.55, .55}); m%4 == 0 {
			raters[m] = Rates{.95, .95}
		}
	}
	truth, marks := fusiontest.Drawn(rand.New(rand.NewPCG(9, 10)), 20, raters)
	for _, fit := range []*Fit{STAPLE(marks, nil), DawidSkene(marks, nil)} {
		for i, v := range truth {
			require.InDelta(t, float64(v), fit.Map[i], 1e-6)
		}
	}
}

func TestMisuse(t *testing.T) {
	assert.PanicsWithValue(t, "fusion: nobody has marked a pixel", func() { MeanVote([][]uint8{nil, nil}) })
	assert.PanicsWithValue(t, "fusion: a mask of 2 pixels beside one of 3", func() { STAPLE([][]uint8{{0, 1, 0}, {0, 1}}, nil) })
	assert.PanicsWithValue(t, "fusion: a prior of 1 pixels beside marks of 2", func() { DawidSkene([][]uint8{{0, 1}}, []float32{.5}) })
}

func BenchmarkFusion(b *testing.B) {
	_, marks := fusiontest.Drawn(rand.New(rand.NewPCG(11, 12)), 512, []Rates{{.95, .99}, {.9, .97}, {.8, .99}, {.97, .95}, {.93, .98}, {.85, .99}, {.99, .9}})
	prior := MeanVote(marks[:2]).Map
	network := make([]float32, len(prior))
	for i, v := range prior {
		network[i] = float32(v)
	}
	for name, method := range map[string]func() *Fit{
		"STAPLE":          func() *Fit { return STAPLE(marks, nil) },
		"STAPLE-map":      func() *Fit { return STAPLE(marks, network) },
		"Dawid-Skene-map": func() *Fit { return DawidSkene(marks, network) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(float64(method().Iterations), "iterations")
			}
		})
	}
}

// Counts beside the STAPLE map of patterns are those beside the map of the masks.
func TestBesideSTAPLE(t *testing.T) {
	for _, marks := range [][][]uint8{
		{{1, 1, 0, 0, 1, 0, 0, 0, 0, 1}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 0}, {1, 0, 1, 0, 1, 0, 0, 0, 0, 0}},
		{{0, 0}, {0, 0}, {0, 0}}, {{1, 1}, {1, 1}, {1, 1}},
	} {
		fit := STAPLE(marks, nil)
		for m, c := range BesideSTAPLE(metric.PatternsOf(marks...)) {
			want := Count(marks[m], fit.Map)
			assert.InDeltaSlice(t, []float64{want.Inside, want.Outside, want.Marked, want.Both}, []float64{c.Inside, c.Outside, c.Marked, c.Both}, 1e-9)
		}
	}
}

func TestMajority(t *testing.T) {
	assert.Equal(t, []float64{1, 0, 0, 0}, Majority([][]uint8{{1, 1, 0, 0}, {1, 0, 1, 0}, nil}).Map, "a tie is outside")
}
