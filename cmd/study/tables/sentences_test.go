//go:build !js

package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/cmd/study/internal/metrics"
)

// page is README.md of the tables, and what the kept scores say.
type page struct {
	t      *testing.T
	text   string
	scores map[string]results // by data set
}

func newPage(t *testing.T) page {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "weights", "shipped", "tables", "README.md"))
	require.NoError(t, err)
	p, r := page{t, strings.Join(strings.Fields(string(text)), " "), map[string]results{}}, &runner{scores: "scores"}
	for _, d := range everyData() {
		p.scores[d.name], _, err = r.read(d)
		require.NoError(t, err)
	}
	return p
}

// says checks that the page has a sentence.
func (p page) says(format string, values ...any) {
	assert.Contains(p.t, p.text, strings.ReplaceAll(fmt.Sprintf(format, values...), "-0.0", "0.0"))
}

// differences are those of a figure between two rows, by seed and image.
func (p page) differences(place, a, b, figure string) [][]float64 {
	data, class, _ := strings.Cut(place, " ")
	k := key{class, a, figure}
	require.NotNil(p.t, p.scores[data][k], "%s on %s", a, place)
	return p.scores[data].differences(k, key{class, b, figure})
}

// less is a row's soft Dice ×100 less another's.
func (p page) less(place, a, b string) difference {
	e := metrics.OverRuns(p.differences(place, a, b, primary.name))
	require.Positive(p.t, e.Runs)
	return difference{e, 100, 1}
}

type difference struct {
	metrics.Estimate
	scale  float64
	digits int
}

// number writes a number as the page does.
func number(v float64, digits int) string {
	text := strings.Replace(fmt.Sprintf("%+.*f", digits, v), "-", "−", 1)
	switch {
	case digits > 1:
		return strings.Replace(text, "0.", ".", 1)
	case strings.Trim(text, "+−0.") == "":
		return strings.Trim(text, "+−")
	}
	return text
}

// String has the interval, mean only the mean.
func (d difference) String() string {
	return fmt.Sprintf("%s [%s, %s]", d.mean(), number(d.scale**d.Low, d.digits), number(d.scale**d.High, d.digits))
}

func (d difference) mean() string { return number(d.scale*d.Mean, d.digits) }

// holdsNone says whether the interval holds 0.
func (d difference) holdsNone() bool { return d.Low != nil && !d.Clear() }

// span is the least and the largest mean.
func span(all []difference) (least, most string) {
	order := func(a, b difference) int { return cmp.Compare(a.Mean, b.Mean) }
	return slices.MinFunc(all, order).mean(), slices.MaxFunc(all, order).mean()
}

var (
	drawnEyes = []string{"one-expert cup", "one-expert disc", "sectoral cup", "sectoral disc", "random-errors cup", "random-errors disc", "changing-panels cup", "changing-panels disc"}
	brains    = "qubiq-brain-growth brain"
	cellSet   = "bubil-cells cell"
	crowd     = "bubil-crowd cell"
	nodules   = "lidc nodule"
)

// What README.md says of the family of tests.
func TestFamilySentences(t *testing.T) {
	p, r := newPage(t), &runner{scores: "scores"}
	family, err := r.family()
	require.NoError(t, err)
	small, later := 0, 0
	for _, x := range family {
		require.GreaterOrEqual(t, x.delta.Runs, metrics.LeastRuns)
		require.NotEqual(t, ours.name, x.name)
		if x.delta.P < .05 {
			small++
		}
		if x.look < x.delta.Runs {
			later++
		}
	}
	n := len(family)
	p.says("Holm's over one family, the %d differences of family.csv", n)
	p.says("In %d of the %d more were added", later, n)
	p.says("**Of the %d differences of the tables none is shown**: %d have p < .05, where chance alone gives %.0f; the least `p_holm` is %.2f.", n, small, .05*float64(n), family[0].holm)
	file, err := records(filepath.Join("..", "..", "..", "weights", "shipped", "tables", "family.csv"))
	require.NoError(t, err)
	require.Len(t, file, n, "make tables writes it anew")
	for i, row := range file {
		assert.Equal(t, fmt.Sprint(math.Round(1e4*family[i].delta.P)/1e4), row["p"])
		assert.Equal(t, fmt.Sprint(family[i].look), row["first_look"])
	}
}

// What README.md says of the five judgements of PLAN.md.
func TestConfirmedSentences(t *testing.T) {
	p, r := newPage(t), &runner{scores: "scores"}
	rows, err := r.confirmed()
	require.NoError(t, err)
	judged, largest := map[string]difference{}, 0.
	for _, x := range rows {
		if !math.IsNaN(x.holm) {
			require.Less(t, x.holm, .05, x.data.name)
			judged[x.data.name], largest = difference{x.delta, 100, 1}, max(largest, x.holm)
		}
	}
	require.Len(t, judged, judgements)
	p.says("by five tests that were planned before their runs")
	p.says("correction over the five the largest p is %.3f.", largest)
	for _, drawn := range []string{"one-expert", "sectoral", "random-errors", "changing-panels"} {
		require.Equal(t, 10, judged[drawn+"-panels"].Runs)
		p.says("%v on `%s`", judged[drawn+"-panels"], drawn)
	}
	p.says("A Dice loss gives the mean vote %v on `bubil-fluo`'s crowd", judged["bubil-fluo-crowd"])
}

// What README.md says of methods.
func TestMethodSentences(t *testing.T) {
	p := newPage(t)
	each := func(places []string, a, b string) (all []difference) {
		for _, place := range places {
			all = append(all, p.less(place, a, b))
		}
		return all
	}
	open := func(all []difference) int {
		return len(slices.DeleteFunc(slices.Clone(all), func(d difference) bool { return !d.holdsNone() }))
	}
	real := each([]string{brains, cellSet, crowd}, "recurrent-dice", "dice")
	least, most := span(real)
	p.says("With equal steps `recurrent` has %s to %s on three real sets, and every interval holds 0", least, most)
	assert.Equal(t, len(real), open(real))

	p.says("it has %v and %v on cups and discs of `random-errors`, %v on brains", p.less("random-errors cup", "recurrent-dice", "dice-long"), p.less("random-errors disc", "recurrent-dice", "dice-long"), p.less(brains, "recurrent-dice", "dice-long"))
	rest := each([]string{"one-expert cup", "one-expert disc", cellSet, crowd}, "recurrent-dice", "dice-long")
	least, most = span(rest)
	p.says("elsewhere %s to %s with intervals that hold 0", least, most)
	assert.Equal(t, len(rest), open(rest))

	p.says("gives the mean vote %v on brains, %v on `bubil-cells`, %v on `bubil-crowd`", p.less(brains, "dice", "mean-vote"), p.less(cellSet, "dice", "mean-vote"), p.less(crowd, "dice", "mean-vote"))
	rivals := slices.Concat(each([]string{brains, cellSet}, "cl-dice", "dice"), each([]string{brains, cellSet, crowd, nodules}, "padl-dice", "dice"), each([]string{brains, cellSet, crowd, nodules}, "tab-dice", "dice"))
	least, most = span(rivals)
	p.says("Crowd layer, PADL and TAB with it have %s to %s less than the mean vote with it; every interval holds 0", strings.TrimPrefix(most, "−"), strings.TrimPrefix(least, "−"))
	assert.Equal(t, len(rivals), open(rivals))

	var fused []difference
	for _, e := range tables()[2].rows {
		if e.fused != "" {
			fused = append(fused, each([]string{"sectoral cup", "sectoral disc", "random-errors cup", "random-errors disc"}, e.name, "mean-vote")...)
		}
	}
	for _, d := range fused {
		assert.Equal(t, 2, d.Runs)
	}
	least, most = span(fused)
	p.says("have %s to %s over the mean vote on `sectoral` and `random-errors`, two seeds", least, most)
	bySeed := func(place, a, b string) (means []float64) {
		for _, run := range p.differences(place, a, b, primary.name) {
			means = append(means, 100*metrics.OverRuns([][]float64{run}).Mean)
		}
		return means
	}
	pixels := bySeed("one-expert cup", "cm-pixel", "mean-vote")
	p.says("unstable: %s, %s and %s by seed", number(pixels[0], 1), number(pixels[1], 1), number(pixels[2], 1))
}

// What README.md says of sets of possible marks: GED of 16 levels and draws.
func TestSetSentences(t *testing.T) {
	p := newPage(t)
	less := func(place, a string) difference {
		return difference{metrics.OverRuns(p.differences(place, a, "dice", samples[0].name)), 1, 3}
	}
	mean := func(place string) string {
		data, class, _ := strings.Cut(place, " ")
		return number(metrics.OverRuns(p.scores[data].values(key{class, "dice", samples[0].name})).Mean, 2)[1:]
	}
	p.says("have a GED of %s on LIDC and %s on the crowd", mean(nodules), mean(crowd))
	p.says("Levels of the default recipe differ by %v and %v.", less(nodules, "default-dice-levels"), less(crowd, "default-dice-levels"))
	var drawn []difference
	for _, place := range []string{nodules, crowd} {
		for _, e := range []string{"padl-dice", "tab-dice"} {
			d := less(place, e)
			assert.Positive(t, *d.Low)
			d.digits = 2
			drawn = append(drawn, d)
		}
	}
	least, most := span(drawn)
	people := less(nodules, "default-dice")
	assert.Positive(t, *people.Low)
	people.digits = 2
	p.says("lie %s to %s farther from the readers; so do the default recipe's people on LIDC, by %s.", least[1:], most[1:], people.mean()[1:])
}
