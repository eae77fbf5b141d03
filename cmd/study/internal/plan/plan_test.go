package plan

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/readers"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// typed are components of a real size.
const typed = "reader=.0003,reader-modality=.0002,var=.0012,cov1=.0005,cov2=.0004,cov3=.0003,cases=100"

// The variances of a difference are those of Obuchowski and Rockette's model: of its mean over n
// readers and k cases 2/n (reader × modality + (var − cov1 + (n − 1) (cov2 − cov3)) 100/k).
func TestComponents(t *testing.T) {
	s, err := OfComponents(typed + ",within=.0001")
	require.NoError(t, err)
	n, k := 8., 120.
	want := 2 / n * (.0002 + (.0012-.0005+(n-1)*(.0004-.0003))*100/k)
	assert.InDelta(t, want, s.Unit/n+s.Case/k+s.Both/(n*k), 1e-12)
	assert.InDelta(t, 2*100*.0001, s.Within, 1e-12)
	assert.Contains(t, s.Notes[0], "17 % of what readers and cases do not explain")

	m, err := OfComponents("seed=1e-4, image=.003,both=.002")
	require.NoError(t, err)
	assert.Equal(t, "seeds images", m.Units+" "+m.Cases)
	assert.InDeltaSlice(t, []float64{1e-4, .003, .002}, []float64{m.Unit, m.Case, m.Both}, 1e-12)
	assert.Empty(t, m.Notes)
}

// What no variances give becomes what they can give, and the plan says so. The mean square of
// readers × modalities, reader-modality + var − cov1 − (cov2 − cov3), does not become smaller.
func TestImpossibleComponents(t *testing.T) {
	for _, c := range []struct {
		text             string
		said             string
		unit, of, beyond float64
	}{
		{"reader-modality=-1,var=3,cov1=1,cov2=1,cov3=.5,cases=10", "reader × modality is -1,", 0, 10, 30},
		{"reader-modality=1,var=3,cov1=.5,cov2=1.5,cov3=1,cases=10", "cov1 is 0.5,", 3, 10, 30},
		{"reader-modality=1,var=3,cov1=1,cov2=.5,cov3=1,cases=10", "cov2 is 0.5,", 2, 0, 40},
		{"reader-modality=1,var=1,cov1=1,cov2=1,cov3=.5,cases=10", "var is 1,", 2, 10, 0},
		{"reader-modality=1,var=-1,cov1=0,cov2=0,cov3=0,cases=10", "var is -1,", 2, 0, 0},
		{"seed=-1,image=1,both=2", "seed is -0.5,", 0, 1, 2},
		{"seed=1,image=-1,both=2", "cov2 is -0.5,", 1, 0, 1},
	} {
		s, err := OfComponents(c.text)
		require.NoError(t, err, c.text)
		require.NotEmpty(t, s.Notes, c.text)
		assert.Contains(t, s.Notes[0], c.said)
		assert.InDeltaSlice(t, []float64{c.unit, c.of, c.beyond}, []float64{s.Unit, s.Case, s.Both}, 1e-12, c.text)
	}
	for text, said := range map[string]string{
		"var":                   `"var" is no component: write it as var=0.0012`,
		"var=NaN":               `"var=NaN" is no component`,
		"var=1,vra=2":           "there are var, vra: give reader-modality, var, cov1, cov2, cov3 and cases",
		"seed=1,image=1,cov1=2": "there are cov1, image, seed: give",
		"reader-modality=0,var=1,cov1=1,cov2=0,cov3=0,cases=1":  "two cases or more",
		"reader-modality=0,var=1,cov1=1,cov2=0,cov3=0,cases=10": "a difference that does not vary takes no plan",
		"seed=0,image=0,both=0":                                 "does not vary",
		"seed=0,image=0,both=Inf":                               "does not vary",
	} {
		_, err := OfComponents(text)
		assert.ErrorContains(t, err, said, text)
	}
}

// In a row that reaches the goal one step fewer cases would not. More readers need fewer cases, and
// two readings halve no more than the single reading's error.
func TestRows(t *testing.T) {
	for _, r := range []Report{{Difference: .05, Power: .8}, {Width: .03}} {
		s, err := OfComponents(typed + ",within=.0002")
		require.NoError(t, err)
		r.Add(s)
		before := Row{Cases: math.MaxInt}
		for _, one := range s.Rows {
			if one.Repeats != before.Repeats {
				before = Row{Cases: math.MaxInt}
				assert.False(t, one.Reached, "the first row says what is too few")
			} else {
				assert.True(t, one.Reached)
				assert.LessOrEqual(t, s.Best.Readings, one.Readings)
			}
			assert.LessOrEqual(t, one.Cases, before.Cases)
			assert.Equal(t, one, r.size(s, one.Units, one.Cases, one.Repeats))
			if fewer := r.size(s, one.Units, one.Cases*19/20, one.Repeats); one.Cases > leastCases && one.Reached {
				assert.False(t, fewer.Reached, "%v", one)
			}
			before = one
		}
		assert.True(t, s.Best.Reached)
	}
	once, err := OfComponents("reader-modality=.0002,var=.0011,cov1=.0005,cov2=.0004,cov3=.0003,cases=100")
	require.NoError(t, err)
	s, err := OfComponents(typed + ",within=.0002")
	require.NoError(t, err)
	r := Report{Difference: .05}
	two, one := r.size(s, 8, 100, 2), r.size(once, 8, 100, 1)
	assert.Equal(t, 2*one.Readings, two.Readings)
	assert.InDelta(t, one.Power, two.Power, 1e-9, "var less half of within")
	assert.InDelta(t, one.HalfWidth, two.HalfWidth, 1e-9)
}

// With three readers, more cases leave fewer degrees of freedom and can make the interval wider.
func TestMoreCasesCanBeWorse(t *testing.T) {
	s, err := OfComponents("reader-modality=.001,var=.0006,cov1=.0003,cov2=.0004,cov3=.0002,cases=100")
	require.NoError(t, err)
	var r Report
	best := r.size(s, 3, 100, 1)
	require.Greater(t, r.size(s, 3, 2000, 1).HalfWidth, 1.02*best.HalfWidth)
	r.Width = 1.01 * best.HalfWidth
	r.Add(s)
	assert.Equal(t, 3, s.Rows[0].Units)
	assert.True(t, s.Rows[0].Reached)
	assert.LessOrEqual(t, s.Rows[0].Cases, 100)
}

// A goal out of reach: the plan says what comes nearest, and still has a table and a plot.
func TestOutOfReach(t *testing.T) {
	s, err := OfComponents(typed)
	require.NoError(t, err)
	r := Report{Difference: 1e-4, Power: .8}
	r.Add(s)
	assert.Equal(t, Row{Units: 50, Cases: mostCases, Repeats: 1, Readings: 200000, HalfWidth: s.Best.HalfWidth, Power: s.Best.Power, Published: s.Best.Published}, s.Best)
	d := r.Document()
	assert.Contains(t, d.Lead[0], "no study of up to 50 readers and 2000 cases reaches power 0.8 at a difference of 0.0001. Nearest are 50 readers with 2000 cases each: power 0.05.")
	var page bytes.Buffer
	require.NoError(t, d.HTML(&page))
	assert.NotContains(t, page.String(), "NaN")
	assert.Contains(t, page.String(), "2000, too few")

	s, err = OfComponents(typed)
	require.NoError(t, err)
	r = Report{Width: 1e-4}
	r.Add(s)
	assert.Regexp(t, `reaches a 95 % interval of ± 0.0001. Nearest are 50 readers with 2000 cases each: ± 0.0086\d*\.$`, r.Document().Lead[0])

	// Cases alone differ: every reader has the same difference.
	s, err = OfComponents("reader-modality=0,var=.001,cov1=.0005,cov2=.001,cov3=.0005,cases=100")
	require.NoError(t, err)
	r = Report{Difference: .05, Power: .8}
	r.Add(s)
	assert.True(t, s.Best.Reached)
	assert.Equal(t, 3, s.Best.Units)
	assert.InDelta(t, .8, s.Best.Power, .02)
	assert.InDelta(t, s.Best.Published, s.Best.Power, .02)
}

// readings are a table of readings of means, and again of a part of the cases.
func readings(e effects, rng *rand.Rand, units, cases, again int) string {
	var text strings.Builder
	text.WriteString("reader,case,modality,repeat,x\n")
	single := e.single
	e.single = 0
	for m, row := range e.values(rng, units, cases, .1) {
		for j, values := range row {
			for i, v := range values {
				for repeat := range 2 {
					if repeat == 0 || i < again {
						fmt.Fprintf(&text, "r%d,%d,%s,%d,%g\n", j, i, []string{"without", "with"}[m], repeat, v+math.Sqrt(single)*rng.NormFloat64())
					}
				}
			}
		}
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// A pilot's study has its components by readers.Analyse, and the variance of single readings.
func TestPilot(t *testing.T) {
	e := effects{.1, .05, 1, .5, .3, .8}
	text := readings(e, rand.New(rand.NewPCG(1, 2)), 6, 500, 300)
	studies, err := OfPilot("p.csv", []byte(text), nil, "x")
	require.NoError(t, err)
	s := studies[0]
	table, err := readers.Read("", strings.NewReader(text))
	require.NoError(t, err)
	a, err := readers.Analyse(table, nil, "x")
	require.NoError(t, err)
	c := a.Components
	assert.InDelta(t, 1000*(c.Cov2-c.Cov3), s.Case, 1e-9)
	assert.InDelta(t, 2*c.ReaderModality, s.Unit, 1e-9)
	assert.InDelta(t, 2*.5, s.Case, .2)
	assert.InDelta(t, 2*.8, s.Both, .1, "readers × cases are in both modalities")
	assert.InDelta(t, 2*.8, s.Within, .1)
	assert.Contains(t, strings.Join(s.Notes, "\n"), "the pilot has 6 readers and 500 cases")

	studies, err = OfPilot("p.csv", []byte(readings(e, rand.New(rand.NewPCG(1, 2)), 6, 100, 0)), nil, "x")
	require.NoError(t, err)
	assert.Zero(t, studies[0].Within)
	assert.Contains(t, studies[0].Notes[0], "Without second readings of four cases or more by all readers of the pilot, nothing is known")

	for _, c := range []struct{ from, to, figure, said string }{
		{"", "", "y", `no figure of p.csv is named "y": there are reader, case, modality, repeat, x`},
		{",without,", ",with,", "x", "two readers (or seeds) or more, each without and with"},
		{"r1,", "r0,", "x", "here are 1, and 2 modality"},
		{"reader,case", "reader,image", "x", "lacks the column case"},
		{"reader", "person", "x", "columns reader, case, modality and a figure of readings, or model, seed, image and score"},
	} {
		bad := strings.ReplaceAll(readings(e, rand.New(rand.NewPCG(1, 2)), 2, 20, 0), c.from, c.to)
		if c.from == "" {
			bad = text
		}
		_, err := OfPilot("p.csv", []byte(bad), nil, c.figure)
		assert.ErrorContains(t, err, c.said)
	}
	_, err = OfPilot("p.csv", nil, nil, "x")
	assert.ErrorContains(t, err, "p.csv: it is empty; save it as CSV with commas")
}

// scores are those of two models, as cases.csv of evaluate compare has them: of the last pass, the
// second class and the second model with what a difference is made of.
func scores(d [][]float64) string {
	var text strings.Builder
	text.WriteString("folder,image,group,class,method,run,pass,soft_dice\n")
	for seed, row := range d {
		for image, v := range row {
			for pass := range 2 {
				at := fmt.Sprintf("f,i%d,,%%s,%%s,%d,%d,%%g\n", image, seed+1, pass)
				base := math.Sin(float64(17*image + 5*seed))
				fmt.Fprintf(&text, at+at, "disc", "old", base+float64(1-pass), "disc", "new", base+v+float64(1-pass)*float64(image))
				fmt.Fprintf(&text, at+at, "cup", "old", base, "cup", "new", base+2*v)
			}
		}
	}
	return text.String()
}

func TestScores(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	d := effects{reader: .1, of: .7, both: .3}.values(rng, 4, 30, 0)[0]
	studies, err := OfPilot("cases.csv", []byte(scores(d)), nil, "")
	require.NoError(t, err)
	require.Len(t, studies, 2)
	assert.Equal(t, []string{"disc new against old", "cup new against old"}, []string{studies[0].About, studies[1].About})
	n, k := 4., 30.
	mean, rows, columns := 0., make([]float64, 4), make([]float64, 30)
	for i, row := range d {
		for j, v := range row {
			mean, rows[i], columns[j] = mean+v/n/k, rows[i]+v/k, columns[j]+v/n
		}
	}
	var ofRows, ofColumns, rest float64 // mean squares of the analysis of variance
	for i, row := range d {
		ofRows += k * square(rows[i]-mean) / (n - 1)
		for j, v := range row {
			rest += square(v-rows[i]-columns[j]+mean) / ((n - 1) * (k - 1))
		}
	}
	for _, c := range columns {
		ofColumns += n * square(c-mean) / (k - 1)
	}
	s := studies[0]
	want := []float64{(ofRows - rest) / k, (ofColumns - rest) / n, rest}
	assert.InDeltaSlice(t, want, []float64{s.Unit, s.Case, s.Both}, 1e-6)
	assert.InDelta(t, 4*s.Both, studies[1].Both, 1e-6)

	// the plain form, and a group whose images count together
	plain := "model,seed,image,group,score\n"
	for i, row := range d {
		for j, v := range row {
			plain += fmt.Sprintf("old,%d,i%d,g%d,0\nnew,%d,i%d,g%d,%g\n", i, j, j/2, 10+i, j, j/2, v)
		}
	}
	studies, err = OfPilot("s.csv", []byte(plain), nil, "score")
	require.NoError(t, err)
	assert.Contains(t, studies[0].Notes[0], "4 seeds and 15 images")

	for _, c := range []struct{ from, to, said string }{
		{"score", "dice", "-figure names the score"},
		{"new,", "old,", "of two models"},
		{"seed", "sead", "s.csv"},
	} {
		_, err = OfPilot("s.csv", []byte(strings.ReplaceAll(plain, c.from, c.to)), nil, "score")
		assert.ErrorContains(t, err, c.said)
	}
	_, err = OfPilot("cases.csv", []byte(scores(d[:1])), nil, "")
	assert.ErrorContains(t, err, "a plan takes two readers (or seeds) or more")
}
