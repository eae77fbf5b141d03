package evaluate

import (
	"context"
	"fmt"

	"mrprism/cmd/study/internal/score"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
)

// change is a change to images under -changed.
type change struct {
	Name     string
	exposure bool // the difference is one of exposure, white balance or contrast, as between cameras
	to       func(*dataset.Loaded) *dataset.Loaded
	circle   func(circle, *imageio.Image) circle // where a circle of the image goes; nil: it stays
}

// Changes stand in the order of the report.
var Changes = []change{
	exposure("gamma 0.6", func(l *dataset.Look) { l.Gamma = .6 }),
	exposure("gamma 0.8", func(l *dataset.Look) { l.Gamma = .8 }),
	exposure("gamma 1.25", func(l *dataset.Look) { l.Gamma = 1.25 }),
	exposure("gamma 1.6", func(l *dataset.Look) { l.Gamma = 1.6 }),
	exposure("warmer (red × 1.15, blue × 0.85)", func(l *dataset.Look) { l.Channels = [3]float64{1.15, 1, .85} }),
	exposure("colder (red × 0.85, blue × 1.15)", func(l *dataset.Look) { l.Channels = [3]float64{.85, 1, 1.15} }),
	exposure("contrast × 0.7", func(l *dataset.Look) { l.Contrast = .7 }),
	exposure("contrast × 1.3", func(l *dataset.Look) { l.Contrast = 1.3 }),
	exposure("exposure × 0.7", func(l *dataset.Look) { l.Channels = [3]float64{.7, .7, .7} }),
	exposure("exposure × 1.3", func(l *dataset.Look) { l.Channels = [3]float64{1.3, 1.3, 1.3} }),
	look("blurred (Gaussian, 4 of 512 pixels)", func(l *dataset.Look) { l.Blur = 4. / 512 }),
	look("colours at 30 %", func(l *dataset.Look) { l.Saturation = .3 }),
	look("darker (exponent 1.8)", func(l *dataset.Look) { l.Gamma = 1.8 }),
	look("brighter (exponent 0.5)", func(l *dataset.Look) { l.Gamma = .5 }),
	look("bluish (red × 0.75, green × 0.95, blue × 1.3)", func(l *dataset.Look) { l.Channels = [3]float64{.75, .95, 1.3} }),
	{
		Name: "from farther, off the middle (on black, 1.6 times as wide)",
		to:   func(l *dataset.Loaded) *dataset.Loaded { return l.Farther(1.6) },
		circle: func(c circle, img *imageio.Image) circle {
			return circle{c.x + .6/4*float64(img.W), c.y + .6*3/4*float64(img.H), c.r}
		},
	},
	{
		Name:   "mirrored left-right",
		to:     (*dataset.Loaded).Mirrored,
		circle: func(c circle, img *imageio.Image) circle { return circle{float64(img.W) - c.x, c.y, c.r} },
	},
}

// exposure is a change of the look in which cameras differ.
func exposure(name string, set func(*dataset.Look)) change {
	c := look(name, set)
	c.exposure = true
	return c
}

// look is a change that differs from an unchanged picture in what set sets.
func look(name string, set func(*dataset.Look)) change {
	l := dataset.AsTaken
	set(&l)
	return change{Name: name, to: func(from *dataset.Loaded) *dataset.Loaded { return from.With(l) }}
}

// view applies the change to a photograph of -centres.
func (c change) view(v shownPhotograph) shownPhotograph {
	if v.circle != nil && c.circle != nil {
		v.circle = new(c.circle(*v.circle, v.image))
	}
	v.image, v.Change = c.to(&dataset.Loaded{Image: v.image}).Image, c.Name
	return v
}

// changedScore is one image under one change.
type changedScore struct {
	Change string `json:"change"`
	Found  bool   `json:"found"` // false: nothing was found, and an empty mask is scored
	// SoftDice: by class, of RecN against the mean vote; null for a class without marks
	SoftDice []*float64 `json:"softDice"`
	Ratio    *float64   `json:"verticalRatio"` // of the cup to the disc; null without a disc
}

// changeReport is one change over all images.
type changeReport struct {
	Change   string              `json:"change"`
	NotFound int                 `json:"notFound"`
	Classes  []changeClassReport `json:"classes"`
}

// changeClassReport is null in both figures for a class without marks.
type changeClassReport struct {
	Class      string           `json:"class"`
	SoftDice   *metric.Interval `json:"softDice"`   // of RecN
	Difference *metric.Interval `json:"difference"` // less that of the unchanged image
}

// changes segments an image under every change.
func (s *study) changes(ctx context.Context, e *segment.Engine, l *dataset.Loaded) (scores []changedScore, err error) {
	for _, c := range Changes {
		s.progress.Begin()
		s.progress.Show("%s: %s", l.Name, c.Name)
		changed := c.to(l)
		r, err := e.Segment(ctx, changed.Image, segment.Options{Recurrences: s.Recurrences, ROI: s.Region})
		if err != nil {
			return nil, err
		}
		one := changedScore{Change: c.Name, Found: r.Found, SoftDice: make([]*float64, len(s.data.Classes))}
		if disc, cup := metric.DiscAndCup(s.data.Classes); r.Found && disc >= 0 && cup >= 0 {
			one.Ratio = new(metric.VerticalRatio(r.Probability(disc), r.Probability(cup), changed.Image.W, changed.Image.H))
		}
		for k := range one.SoftDice {
			if target := score.TargetOf(changed, k, nil); target != nil {
				one.SoftDice[k] = new(target.SoftDice(r.Probability(k)))
			}
		}
		scores = append(scores, one)
	}
	return scores, nil
}

// changeReports gathers the changes over all cases.
func (s *study) changeReports() (out []changeReport) {
	for i, change := range Changes {
		r := changeReport{Change: change.Name, NotFound: len(statistics.Filter(s.scores, func(c *caseScore) bool { return !c.Changed[i].Found }))}
		for k, class := range s.data.Classes {
			marked := statistics.Filter(s.scores, func(c *caseScore) bool { return c.Changed[i].SoftDice[k] != nil })
			dice := func(c *caseScore) float64 { return *c.Changed[i].SoftDice[k] }
			difference := func(c *caseScore) float64 { return dice(c) - c.Classes[k].SoftDice[s.Recurrences] }
			r.Classes = append(r.Classes, changeClassReport{class, statistics.MeanWithin(0, 1, marked, dice), statistics.MeanWithin(-1, 1, marked, difference)})
		}
		out = append(out, r)
	}
	return out
}

// changesPart has a row for each change: the score of each class and the difference to the first
// row.
func (r *Report) changesPart() report.Part {
	t := report.Table{Title: fmt.Sprintf("Changed images: soft Dice ×100 of Rec%d, and the difference to the same images as they are", r.Recurrences)}
	titles, first := []string{""}, []any{"as they are"}
	for k, c := range r.classes {
		unchanged := statistics.MeanWithin(0, 1, r.Cases, func(one *caseScore) float64 { return one.last(k) })
		titles, first = append(titles, c.name, "difference"), append(first, report.Plain(unchanged, 100, 1), "")
	}
	t.Columns = report.Columns(append(titles, "nothing found in")...)
	t.Add(append(first, r.NotFound)...)
	for _, change := range r.Changes {
		cells := []any{change.Change}
		for _, c := range change.Classes {
			cells = append(cells, report.Plain(c.SoftDice, 100, 1), report.Signed(c.Difference, 100, 1))
		}
		t.Add(append(cells, change.NotFound)...)
	}
	return report.Part{Title: "Changed images", Note: "Where nothing is found, an empty mask is scored.", Tables: append([]report.Table{t}, r.Steady.tables()...)}
}
