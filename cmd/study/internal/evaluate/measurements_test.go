package evaluate

import (
	"bytes"
	"testing"

	"mrprism/cmd/study/internal/input"
	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

// A figure on the border of an interval is inside. Widths of areas are shares of the figure.
func TestCoverage(t *testing.T) {
	promise := new(.9)
	intervals := []*heldInterval{{10, 20, promise, 10}, {10, 20, promise, 20}, {10, 20, promise, 20.5}, nil, {0, 3, promise, 0}}
	r := coverage(intervals, true)
	require.Equal(t, []int{4, 1, 3}, []int{r.Images, r.Without, r.Inside})
	require.InDelta(t, .75, *r.Share, 1e-12)
	low, high := metrics.Wilson(3, 4)
	require.Equal(t, []float64{low, high, .9}, []float64{*r.Low, *r.High, *r.Promised})
	require.InDelta(t, .5, *r.Width, 1e-12, "of 1, .5 and 10/20.5; a figure of 0 has no such width")
	require.InDelta(t, 10, *coverage(intervals[:4], false).Width, 1e-12)

	without := coverage([]*heldInterval{nil, nil}, true)
	require.Equal(t, &coverageReport{Without: 2}, without)
	require.Nil(t, coverage(nil, true), "nobody has marked it")

	var out bytes.Buffer
	reports := &coveragesReport{Areas: []*coverageReport{r, nil}, Ratio: without, Raters: coverage([]*heldInterval{{Low: .2, High: .4, Reference: .3}}, false)}
	require.NoError(t, (&Report{classes: []structure{{name: "disc"}, {name: "cup"}}, Intervals: reports}).Document().Print(&out))
	require.Regexp(t, `area of the disc +4 +1 +75.0 \[30.1, 95.4\] % +90 % +50.0 % of the area\n`, out.String())
	require.NotContains(t, out.String(), "area of the cup")
	require.Regexp(t, `vertical cup/disc ratio +0 +2 +– +– +–\n`, out.String())
	require.Regexp(t, `  range of the mask and the heads +1 +0 +100.0 \[20.7, 100.0\] % +– +0.200\n`, out.String())
}

// Areas are by class, with widths as shares of the figure; ratios have absolute widths.
func TestCoverages(t *testing.T) {
	data := &dataset.Dataset{Classes: []string{"disc", "cup"}}
	ratio := &ratioScore{Interval: &heldInterval{.2, .5, new(.9), .4}, Raters: &heldInterval{Low: .3, High: .35, Reference: .4}}
	s := &study{data: data, scores: []*caseScore{
		{Classes: []*classScore{{Interval: &heldInterval{90, 130, new(.9), 100}}, nil}, Ratio: ratio},
		{Classes: []*classScore{{}, nil}},
	}}
	r := s.coverages()
	require.Equal(t, []int{1, 1, 1}, []int{r.Areas[0].Images, r.Areas[0].Without, r.Areas[0].Inside})
	require.InDelta(t, .4, *r.Areas[0].Width, 1e-12)
	require.Nil(t, r.Areas[1])
	require.Equal(t, []int{1, 0, 1}, []int{r.Ratio.Images, r.Ratio.Without, r.Ratio.Inside})
	require.InDelta(t, .3, *r.Ratio.Width, 1e-12)
	require.Equal(t, []int{1, 0}, []int{r.Raters.Images, r.Raters.Inside})
	require.InDelta(t, .05, *r.Raters.Width, 1e-12)
	require.Nil(t, r.Raters.Promised)
	require.Nil(t, (&study{data: data}).coverages())
}

// A result's intervals are set beside the majority's figures: area in pixels, and the ratio.
func TestIntervalsOfAnImage(t *testing.T) {
	dir := studytest.LevelData(t)
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	l, err := dataset.Load(data.Cases[0])
	require.NoError(t, err)
	s := &study{data: data, Request: Request{Images: input.Images{Region: "none"}}}
	m, err := computing.Weights(studytest.WeightsFile(t, segmenttest.Fundus(), nil))
	require.NoError(t, err)
	s.session.Model = m
	e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	r, err := e.Segment(t.Context(), l.Image, segment.Options{ROI: "none"})
	require.NoError(t, err)
	r.Measurements = segment.Measurements{
		Structures:    []segment.Structure{{Interval: &segment.Interval{Low: 1, High: 9, Coverage: .8}}, {}},
		VerticalRatio: &segment.Ratio{Low: new(.1), High: new(.6), Interval: &segment.Interval{Low: .2, High: .3, Coverage: .8}},
	}
	disc, cup := metric.Count(l.Given(0)...).Mean(), metric.Count(l.Given(1)...).Mean()
	seen, err := s.watch(t.Context(), e, l, r)
	require.NoError(t, err)
	c := seen.(*caseScore)
	require.Equal(t, &heldInterval{1, 9, new(.8), float64(metric.Area(disc))}, c.Classes[0].Interval)
	require.Nil(t, c.Classes[1].Interval)
	majority := metric.VerticalRatio(disc, cup, 40, 30)
	require.Equal(t, &heldInterval{.2, .3, new(.8), majority}, c.Ratio.Interval)
	require.Equal(t, &heldInterval{.1, .6, nil, majority}, c.Ratio.Raters)
	r.Measurements.VerticalRatio = &segment.Ratio{} // no cup was found
	require.True(t, s.ratio(l, r).Interval == nil && s.ratio(l, r).Raters == nil)
}
