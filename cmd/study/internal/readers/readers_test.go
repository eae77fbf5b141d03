package readers

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"

	"github.com/stretchr/testify/require"
)

// known has variances of errors that are given, as the jackknife would find them. Its values
// without a patient are sums of contrasts that are orthogonal and centred: one for all, one for
// each modality, each reader, and each figure.
func known(figures [][]float64, c Components) (g grid) {
	modalities, readers := len(figures), len(figures[0])
	n := 2 + modalities + readers + modalities*readers
	contrast := func(k int) []float64 { // of Helmert
		k++
		return statistics.Tabulate(n, func(i int) float64 {
			return map[bool]float64{true: 1}[i < k]/math.Sqrt(float64(k*(k+1))) - map[bool]float64{true: float64(k)}[i == k]/math.Sqrt(float64(k*(k+1)))
		})
	}
	for m, row := range figures {
		g = append(g, statistics.Tabulate(readers, func(j int) figure {
			f := figure{row[j], make([]float64, n)}
			for at, variance := range map[int]float64{
				0: c.Cov3, 1 + m: c.Cov2 - c.Cov3, 1 + modalities + j: c.Cov1 - c.Cov3,
				1 + modalities + readers + m*readers + j: c.Var - c.Cov1 - c.Cov2 + c.Cov3,
			} {
				for i, v := range contrast(at) {
					f.without[i] += v * math.Sqrt(variance*float64(n)/float64(n-1))
				}
			}
			return f
		}))
	}
	return g
}

// The readers' areas in the study of Van Dyke et al. (1993) in halves of one of 45·69 pairs: the
// first and the second treatment.
var vanDyke = [][]float64{{5711, 5333, 5613, 6043, 5153}, {5886, 5622, 5724, 6206, 5775}}

// Areas and covariances that were published give the published tests, as far as the digits go.
// Sources: Smith and Hillis, MRMCaov: Multi-Reader Multi-Case Analysis of Variance (manuscript in
// its repository, sections on covariance estimation and fixed factors), and the output of OR-DBM
// MRMC 2.51 of the University of Iowa for the trapezoidal area and the jackknife. They have the
// first treatment less the second.
func TestPublishedExample(t *testing.T) {
	areas := statistics.Tabulate(2, func(m int) []float64 {
		return statistics.Tabulate(5, func(j int) float64 { return vanDyke[m][j] / (45 * 69 * 2) })
	})
	for i, v := range []float64{.91964573, .85877617, .90386473, .97310789, .82979066} {
		require.InDelta(t, v, areas[0][i], 5e-9)
	}
	type published struct{ mean, low, high, error, degrees, f, p float64 }
	check := func(want published, e Estimate) {
		t.Helper()
		near := func(want, got float64, digits string) {
			t.Helper()
			require.InDelta(t, want, got, max(1e-6, 1e-6*want), digits)
		}
		near(want.mean, e.Mean, "mean")
		near(want.low, *e.Low, "low")
		near(want.high, *e.High, "high")
		near(want.error, e.Error, "standard error")
		if want.degrees > 0 {
			require.InEpsilon(t, want.degrees, *e.Degrees, 1e-6, "degrees of freedom")
		} else {
			require.Nil(t, e.Degrees)
		}
		if want.f > 0 {
			near(want.f, *e.F, "F")
			near(want.p, *e.P, "p")
		}
	}
	// Covariances by DeLong, and single modalities.
	g := known(areas, Components{Var: .0007921325, Cov1: .0003420090, Cov2: .0003395265, Cov3: .0002358497})
	c, square := g.components()
	require.InDelta(t, .0005510306, square, 5e-11)
	require.InDelta(t, .0015364254, c.Reader, 2e-10)
	require.InDelta(t, .0002045840, c.ReaderModality, 2e-10)
	require.InDelta(t, .0003420090, c.Cov1, 1e-15)
	require.Equal(t, []int{5, 2}, []int{c.Readers, c.Modalities})
	check(published{.04380032, -.0002665519, .0878671960, .0206825, 15.06611, 4.484854, .05123303}, g.estimates(1)[0])
	single := func(m int, variance, cov2 float64) []Estimate {
		return known(areas[m:m+1], Components{Var: variance, Cov2: cov2, Cov1: 0, Cov3: 0}).estimates(1)
	}
	check(published{.8970370, .8253461, .9687280, .03307642, 12.59597, 0, 0}, single(0, .001, .0004775239)[0])
	check(published{.9408374, .8942155, .9874592, .02150464, 12.56530, 0, 0}, single(1, .001, .0002015292)[0])
	// Covariances by the jackknife.
	g = known(areas, Components{Var: .0008022883, Cov1: .0003466137, Cov2: .0003440748, Cov3: .0002390284})
	c, _ = g.components()
	require.InDelta(t, .0015349993, c.Reader, 2e-10)
	require.InDelta(t, .0002004025, c.ReaderModality, 2e-10)
	all := g.estimates(1)
	require.InDelta(t, 15.26, *all[0].Degrees, .005)
	require.InDelta(t, .0517, *all[0].P, .00005)
	require.InDelta(t, .08796, *all[0].High, .000005)
	check(published{.04380032, .00711473, .08048591, .01871748, 0, 5.475953, .01927984}, all[1])
	check(published{.04380032, .00258042, .08502022, .01484629, 4, 8.704, .04195875}, all[2])
	check(published{.8970370, .8494301, .9446440, .02428971, 0, 0, 0}, single(0, .0010141028, .0004839618)[1])
	check(published{.8970370, .8280981, .9659760, .02482994, 4, 0, 0}, single(0, .0010141028, .0004839618)[2])
	check(published{.9408374, .9079564, .9737183, .01677632, 0, 0, 0}, single(1, .0005904738, .0002041879)[1])
	check(published{.89703704, .82522360, .96885048, .03317360, 12.744648, 0, 0}, single(0, .0010141028, .0004839618)[0])
}

// study makes a set with everything: ties, choices, patients of one or two images, missing values,
// second readings, a reader who misses a modality, and cases without a truth.
func study(t *testing.T, modalities ...string) (folder string) {
	rng := rand.New(rand.NewPCG(61, uint64(len(modalities))))
	var readings, truth strings.Builder
	readings.WriteString("reader,case,group,modality,repeat,decision,seconds,ratio,area_disc,glaucoma\n")
	truth.WriteString("case,ratio,glaucoma,area_disc\n")
	words := []string{"no", "hardly", "perhaps", "likely", "yes, surely"}
	for i := range 60 {
		group := fmt.Sprintf("p%d", i/2)
		if i >= 40 {
			group = ""
		}
		ratio, ill := .3+.5*rng.Float64(), i%3/2
		area := 1000 + 500*rng.Float64()
		if i != 7 {
			fmt.Fprintf(&truth, "i%d,%g,%d,%g\n", i, ratio, ill, area)
		}
		hard := rng.NormFloat64()
		for j := range 6 {
			for _, m := range modalities {
				if j == 5 && m == "with" {
					continue
				}
				for again := range 2 {
					if again == 1 && i%4 != j%4 || j == 4 && m == "with" {
						continue
					}
					figure := func(v float64) string {
						if (i+j)%29 == 0 {
							return ""
						}
						return fmt.Sprintf("%g", v)
					}
					help := map[string]float64{"with": 1}[m]
					read := ratio + (.12-.04*help)*rng.NormFloat64() + .02*float64(j)
					score := int(math.Round(2 + (1.2+.4*help)*float64(ill) - .6 + .5*hard + .8*rng.NormFloat64()))
					score = min(max(score, 0), 4)
					fmt.Fprintf(&readings, "r%d,i%d,%s,%s,%d,accepted,%g,%s,%s,\"%d %s\"\n", j, i, group, m, again, 20+40*rng.Float64(), figure(read), figure(area*(1+.05*rng.NormFloat64())), score, words[score])
				}
			}
		}
	}
	folder = t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "readings.csv"), []byte(readings.String()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "truth.csv"), []byte(truth.String()), 0o644))
	return folder
}

// opened reads the two files of a folder.
func opened(t *testing.T, folder string) (readings, truth *Table) {
	t.Helper()
	file := func(name string) *strings.Reader {
		data, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		return strings.NewReader(string(data))
	}
	readings, err := Read("readings.csv", file("readings.csv"))
	require.NoError(t, err)
	truth, err = ReadTruth("truth.csv", file("truth.csv"))
	require.NoError(t, err)
	return readings, truth
}

// All figures are those of a program that was written apart, with SciPy.
func TestAgainstSciPy(t *testing.T) {
	python := "/usr/bin/python3"
	if exec.Command(python, "-c", "import scipy").Run() != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "the set-up installs SciPy: apt-get install python3-scipy")
		t.Skip("python3 with scipy is missing: apt-get install python3-scipy")
	}
	for _, modalities := range [][]string{{"without", "with"}, {""}} {
		folder := study(t, modalities...)
		out, err := exec.Command(python, "testdata/readers.py", filepath.Join(folder, "readings.csv"), filepath.Join(folder, "truth.csv")).Output()
		require.NoError(t, err)
		var want struct {
			Figures map[string]struct {
				Images, Of, Patients int
				Estimates            map[string][]*float64
				Components           Components
			}
			Agreement map[string]map[string]struct {
				Images      int
				ICC, Limits []float64
			}
			Times map[string][]*float64
		}
		require.NoError(t, json.Unmarshal(out, &want))
		equal := func(want, got *float64, about ...any) {
			t.Helper()
			require.Equal(t, want == nil, got == nil, about...)
			if want != nil {
				require.InDelta(t, *want, *got, 1e-9*max(1, math.Abs(*want)), about...)
			}
		}
		readings, truth := opened(t, folder)
		r := New(readings, truth, nil)
		require.Empty(t, r.Failed)
		require.NotContains(t, printed(t, r), "NaN")
		var file strings.Builder
		require.NoError(t, r.IMRMC(&file))
		require.Contains(t, file.String(), "\nr0,i1,"+map[bool]string{true: "without", false: "only"}[len(modalities) == 2]+",")
		require.Len(t, r.Figures, len(want.Figures))
		require.Len(t, want.Figures, 4)
		for _, a := range r.Figures {
			w := want.Figures[a.Figure]
			require.Equal(t, []int{w.Images, w.Of, w.Patients}, []int{a.Images, a.Of, a.Patients}, a.Figure)
			require.Len(t, a.Estimates, len(w.Estimates))
			for _, e := range a.Estimates {
				key := strings.Join([]string{e.Reader, e.View, e.Modality}, "|")
				require.Contains(t, w.Estimates, key)
				for i, got := range []*float64{&e.Mean, e.Low, e.High, &e.Error, e.Degrees, e.F, e.P} {
					equal(w.Estimates[key][i], got, a.Figure, key, i)
				}
			}
			c := a.Components
			for i, of := range []func(Components) float64{func(c Components) float64 { return c.Var }, func(c Components) float64 { return c.Cov1 }, func(c Components) float64 { return c.Cov2 }, func(c Components) float64 { return c.Cov3 }, func(c Components) float64 { return c.Reader }, func(c Components) float64 { return c.ReaderModality }} {
				require.InDelta(t, of(w.Components), of(c), 1e-9*max(1, math.Abs(of(c))), "%s %d", a.Figure, i)
			}
		}
		rows := 0
		for _, a := range r.Agreement {
			w, is := want.Agreement[a.Figure][a.Of+"|"+a.By]
			require.True(t, is, "%+v", a)
			require.Equal(t, w.Images, a.Images)
			for i, got := range []*float64{&a.ICC.Mean, a.ICC.Low, a.ICC.High} {
				equal(&w.ICC[i], got, a)
			}
			if a.Bias != nil {
				for i, got := range []*float64{&a.Bias.Mean, a.Bias.Low, a.Bias.High, &a.Limits[0], &a.Limits[1]} {
					require.InDelta(t, w.Limits[i], *got, 1e-9*max(1, math.Abs(w.Limits[3]), w.Limits[4]), "%+v", a)
				}
			}
			rows++
		}
		for _, of := range want.Agreement {
			rows -= len(of)
		}
		require.Zero(t, rows)
		require.Len(t, r.Counts, len(want.Times))
		for _, c := range r.Counts {
			w := want.Times[c.Modality]
			equal(w[0], new(float64(c.Timed)))
			equal(w[1], c.Mean)
			equal(w[2], c.Median)
		}
	}
}

// An area is that of package metrics, with all patients and without each.
func TestAreaIsThatOfMetrics(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	a := &Analysis{Kind: AUC, Patients: 20}
	var x, y []float64
	var units []statistics.Unit
	for i := range 40 {
		x, y, units = append(x, math.Round(3*rng.NormFloat64())), append(y, float64(rng.IntN(2))), append(units, statistics.Unit(1+i%20))
	}
	area := func(without statistics.Unit) float64 {
		var of [2][]float64
		for i, v := range x {
			if units[i] != without {
				of[int(y[i])] = append(of[int(y[i])], v)
			}
		}
		return metrics.AUROC(of[1], of[0]).Mean
	}
	f := a.jackknife(x, y, units)
	require.InDelta(t, area(0), f.whole, 1e-12)
	for u, v := range f.without {
		require.InDelta(t, area(statistics.Unit(u+1)), v, 1e-12)
	}
	require.NotEqual(t, metric.Mean(f.without), f.whole)
}
