package evaluate

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"testing"

	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"

	"github.com/stretchr/testify/require"
)

// judged is an image of two structures, the second without marks if it has no soft Dice, with its
// score and the codes of its doubts.
func judged(dice []float64, score *float64, codes ...string) *caseScore {
	c := &caseScore{Name: "i", Folder: "f", judgement: judgement{Found: true, Doubt: score, Doubted: len(codes) > 0}}
	for _, code := range codes {
		c.Doubts = append(c.Doubts, segment.Doubt{Code: code, Text: "It is " + code + "."})
	}
	for _, d := range dice {
		c.Classes = append(c.Classes, &classScore{SoftDice: []float64{0, d}})
	}
	if len(dice) == 1 {
		c.Classes = append(c.Classes, nil)
	}
	return c
}

func lost(dice float64) *caseScore {
	c := judged([]float64{dice}, nil, "not-found")
	c.Found = false
	return c
}

func TestDoubts(t *testing.T) {
	cases := []*caseScore{judged([]float64{1}, nil, "odd", "edge"), judged([]float64{1}, nil), judged([]float64{1}, nil, "odd", "odd"), lost(0), lost(0)}
	cases = append(cases, judged([]float64{1}, nil, "odd"))
	r := doubts(cases)
	require.Equal(t, &doubtsReport{statistics.Share{Images: 5, Share: 5. / 6}, []CodeCount{{"odd", 3}, {"not-found", 2}, {"edge", 1}}}, r)
	var out bytes.Buffer
	require.NoError(t, (&Report{Doubts: r}).Document().Print(&out))
	require.Regexp(t, `doubted +5 \(83.3 %\)\n  odd +3\n  not-found +2\n  edge +1\n`, out.String())
	require.Nil(t, doubts(nil))
}

// Wrong results and foreign pictures are odd, the others are not. A result that found nothing is
// the oddest. With one unknown score there is no AUROC.
func TestOdd(t *testing.T) {
	s := &study{scores: []*caseScore{judged([]float64{1}, new(.2)), judged([]float64{1}, new(.9))}}
	require.Nil(t, s.odd(), "nothing should be doubted where there is only -data")
	s.centred = []*centreScore{
		{Right: true, judgement: judgement{Found: true, Doubt: new(.5)}}, {Right: false, judgement: judgement{Found: true, Doubt: new(.5)}}, {Right: false, judgement: judgement{Found: false}},
	}
	s.strange = []*foreignScore{{judgement: judgement{Found: true, Doubt: new(3.)}}}
	// .5 is above .2, beside .5 and below .9; the two others are above all three.
	r := s.odd()
	require.Equal(t, []int{3, 3, 0}, []int{r.Odd, r.Others, r.Unknown})
	require.InDelta(t, (1.5+3+3)/9, *r.AUROC, 1e-12)
	var out bytes.Buffer
	require.NoError(t, (&Report{Odd: r}).Document().Print(&out))
	require.Regexp(t, `doubt score +0.833 \[0.249, 0.987\] +3 +3`, out.String())

	s.scores = append(s.scores, judged([]float64{1}, nil))
	r = s.odd()
	require.Nil(t, r.AUROC)
	out.Reset()
	require.NoError(t, (&Report{Odd: r}).Document().Print(&out))
	require.Contains(t, out.String(), "the weights cannot tell: 1 of 7 results have no score")
	require.NotContains(t, out.String(), "0.833")

	for want, s := range map[string]*study{
		"no result is wrong":    {centred: s.centred[:1]},
		"every result is wrong": {centred: s.centred[1:]},
	} {
		out.Reset()
		require.NoError(t, (&Report{Odd: s.odd()}).Document().Print(&out))
		require.Contains(t, out.String(), want)
	}
}

// Means are over the marked structures; images without a doubt are kept; the area is that under the
// curve.
func TestRisks(t *testing.T) {
	cases := []*caseScore{judged([]float64{.9, .7}, new(.1)), judged([]float64{.5}, new(1.5), "odd"), lost(0), judged([]float64{.6}, new(.3))}
	// of levels, one of which is missing
	cases = append(cases, &caseScore{Classes: []*classScore{nil, nil}})
	r := risks(cases)
	require.InDelta(t, (.8+.5+0+.6)/4, r.All.Mean, 1e-12)
	require.InDelta(t, .7, r.NotDoubted.Mean, 1e-12)
	require.Equal(t, statistics.Share{Images: 2, Share: .5}, r.Kept)
	require.InDelta(t, (.8+.7+1.9/3+1.9/4)/4, *r.Area, 1e-12)
	var out bytes.Buffer
	require.NoError(t, (&Report{Doubts: &doubtsReport{}, Risk: r}).Document().Print(&out))
	require.Regexp(t, `those not doubted, 2 \(50.0 %\) +70.00 \[`, out.String())
	require.Contains(t, out.String(), "area under the risk–coverage curve  65.21")

	doubted := risks([]*caseScore{lost(0), lost(.1)})
	require.Nil(t, doubted.NotDoubted)
	require.InDelta(t, .05, *doubted.Area, 1e-12)
	out.Reset()
	require.NoError(t, (&Report{Doubts: &doubtsReport{}, Risk: doubted}).Document().Print(&out))
	require.Regexp(t, `those not doubted +–\n`, out.String())
	require.NotEmpty(t, doubted.part().Plots)

	r = risks(append(cases, judged([]float64{1}, nil)))
	require.Equal(t, 1, r.Unknown)
	require.True(t, r.Area == nil && r.Curve == nil)
	require.Empty(t, r.part().Plots)
	out.Reset()
	require.NoError(t, (&Report{Doubts: &doubtsReport{}, Risk: r}).Document().Print(&out))
	require.Contains(t, out.String(), "curve  – (the weights cannot tell")
	require.Nil(t, risks(cases[4:]))
}

// The last cells of a line are the doubts. The JSON has all figures too.
func TestDoubtsAreWritten(t *testing.T) {
	cases := []*caseScore{judged([]float64{.5}, new(1.25), "odd", "edge"), judged([]float64{.5}, nil)}
	for _, c := range cases {
		c.Classes[0].SoftDice = []float64{.5}
	}
	r := &Report{Cases: cases, classes: []structure{{name: "disc"}, {name: "cup"}}}
	var out bytes.Buffer
	require.NoError(t, r.csv(&out))
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 3)
	last := func(row []string) []string { return row[len(row)-3:] }
	require.Equal(t, []string{"doubted", "doubt", "doubts"}, last(rows[0]))
	require.Equal(t, []string{"true", "1.25", "odd;edge"}, last(rows[1]))
	require.Equal(t, []string{"false", "", ""}, last(rows[2]))
	require.Equal(t, []string{"found", "true"}, []string{rows[0][2], rows[1][2]})

	text, err := json.Marshal(cases[0])
	require.NoError(t, err)
	require.Contains(t, string(text), `"found":true,"doubted":true,"doubt":1.25,"doubts":[{"code":"odd","text":"It is odd."},{"code":"edge"`)
	text, err = json.Marshal(cases[1])
	require.NoError(t, err)
	require.Contains(t, string(text), `"doubted":false,"doubt":null`)
}
