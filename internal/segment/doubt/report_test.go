package doubt

import (
	"math"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/trust"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The report has a figure's interval or the reason why there is none, and claims no share that the
// other folds cannot tell.
func TestReport(t *testing.T) {
	learned := func(groups, right, ratios int) (*Learner, *weights.Trust) {
		l := &Learner{Folds: make([]*weights.Model, 5), areas: make([][]trust.Residual, 2), outlines: make([][]trust.Residual, 2)}
		for i := range groups {
			one := trust.Residual{Unit: i, Part: i % 5, Camera: "eyes"}
			l.units, l.references = append(l.units, i), append(l.references, trust.Reference{Unit: i, Figures: trust.Figures{}, Wrong: i >= right})
			l.Cases = append(l.Cases, dataset.Case{})
			l.areas[0], l.outlines[0] = append(l.areas[0], one.Of(2, 2, 2, 2.1)), append(l.outlines[0], one)
			if i < ratios {
				l.ratios = append(l.ratios, one.Of(.4, .5, .6, .7))
			}
		}
		known := &weights.Trust{}
		l.pixels = make([][]*trust.Pixels, 2)
		l.spread(known, []string{"disc", "cup"})
		return l, known
	}
	m := &weights.Model{Metadata: weights.Metadata{Classes: []string{"disc", "cup"}}}

	l, known := learned(15, 15, 9)
	r := l.Report(m, known)
	assert.Equal(t, []any{15, 15, 8, true}, []any{r.Groups, r.Right, r.Enough, r.Doubts})
	text := r.Text()
	for _, said := range []string{
		"right ones on images of 15 groups, such as patients. Each was made by the run that had set",
		"Not calibrated:",
		"\n- vertical ratio: nobody knows; without one fold there are too few of the 9 groups",
		"\n- area of the disc, eyes: 100 % of 15 patients, from 1 to 1.22 times",
		"\n- outlines of the disc, eyes: 100 % of 15 patients, 0.00 radii to each side",
		"\n- area of the cup: none; it takes 9 groups with marks and a result, and there are 0",
	} {
		assert.Contains(t, text, said)
	}
	for i := range 3 { // two of 15 may be lost, with the one to come
		l.outlines[0][i].Beyond = math.Inf(1)
	}
	known.Outlines = map[string]weights.Spread{}
	l.spread(known, []string{"disc", "cup"})
	assert.Contains(t, l.Report(m, known).Text(), "- outlines of the disc: none; in too many groups marks lie farther away")

	l.Folds = l.Folds[:2]
	assert.Contains(t, l.Report(m, known).Text(), "It has learned from these")
	l, _ = learned(10, 7, 8)
	assert.Contains(t, l.Report(m, nil).Text(), "no intervals. These take right results on images of 8 groups, such as patients. Of 10 it was right in 7.")
	l, _ = learned(6, 0, 0)
	r = l.Report(m, nil)
	require.False(t, r.Doubts)
	assert.Contains(t, r.Text(), "such as patients. There are 6.")
}
