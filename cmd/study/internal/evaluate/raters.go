package evaluate

import (
	"math"

	"mrprism/cmd/study/internal/display"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/report"
	"mrprism/weights"
)

// Response is the change of the mask when one rater has all the weight.
type Response struct {
	Area float64 `json:"area"` // change of the mask's area, as a share
	// RaterArea: of the rater's mark over the majority's: the change of a mask that follows
	RaterArea float64 `json:"raterArea"`
	Before    float64 `json:"before"` // Dice with the rater, equal weights
	After     float64 `json:"after"`  // Dice with the rater, all weight on this rater
}

// respond compares the mask with that under one rater's weight; nil if the mark is missing, or the
// mask or the majority is empty.
func respond(mask, alone []float32, mark []uint8, votes metric.Votes) *Response {
	area, majority := float64(metric.Area(mask)), float64(metric.Area(votes.Mean()))
	if mark == nil || area == 0 || majority == 0 {
		return nil
	}
	return &Response{
		Area: float64(metric.Area(alone))/area - 1, RaterArea: float64(metric.Area(mark))/majority - 1,
		Before: metric.Dice(mask, mark), After: metric.Dice(alone, mark),
	}
}

// responseFigures are the columns of a rater.
var responseFigures = []display.Figure[*Response]{
	{Path: "area", Title: "area moves, %", Scale: 100, Digits: 1, Signed: true, Of: func(r *Response) float64 { return r.Area }},
	{Path: "moved", Of: func(r *Response) float64 { return math.Abs(r.Area) }},
	{Path: "raterArea", Title: "the rater's own area, %", Scale: 100, Digits: 1, Signed: true, Of: func(r *Response) float64 { return r.RaterArea }},
	{Path: "before", Title: "Dice ×100 with the rater, equal weights", Scale: 100, Digits: 1, Of: func(r *Response) float64 { return r.Before }},
	{Path: "after", Title: "alone", Scale: 100, Digits: 1, Of: func(r *Response) float64 { return r.After }},
	{Path: "gain", Title: "gain", Scale: 100, Digits: 2, Signed: true, Of: func(r *Response) float64 { return r.After - r.Before }},
}

// responses adds the means by rater, and how far the mask follows the raters: the slope
// Σ area·raterArea / Σ raterArea² over all images and raters. 1 follows, 0 does not move.
func (out *structure) responses(class string, scores []*classScore, names []string, panels []weights.Panel) {
	t := report.Table{Title: class + ": one rater has all the weight", Columns: report.Columns("")}
	if len(panels) > 0 {
		t.Title = class + ": one panel has all the weight. The rater is the vote of the data's experts, and Dice is soft"
		names = statistics.Tabulate(len(panels), func(i int) string { return "as the experts of " + panels[i].Name })
	}
	for _, f := range responseFigures {
		if f.Title != "" {
			t.Columns = append(t.Columns, report.Column{Name: f.Title})
		}
	}
	product, square := 0.0, 0.0
	for m, name := range names {
		all := statistics.NonNil(statistics.Filter(scores, func(c *classScore) bool { return c.Response != nil }), func(c *classScore) *Response { return c.Response[m] })
		if len(all) == 0 {
			continue
		}
		for _, r := range all {
			product += r.Area * r.RaterArea
			square += r.RaterArea * r.RaterArea
		}
		row, cells := display.Tree{"rater": name, "images": len(all)}, []any{name}
		for _, f := range responseFigures {
			least, most := f.Range()
			if f.Signed { // an area can grow by more than itself
				least, most = math.Inf(-1), math.Inf(1)
			}
			mean := statistics.MeanWithin(least, most, all, f.Of)
			if row.Put(f.Path, mean); f.Title != "" {
				cells = append(cells, f.Text(mean))
			}
		}
		out.Put("response.-", row)
		t.Add(cells...)
	}
	if follows := product / square; !math.IsNaN(follows) {
		out.Put("follows", follows)
		t.Add("the move of the mask's area, % of the move to the rater's own", report.Scaled("%.0f", &follows, 100))
	}
	if len(t.Rows) > 0 {
		out.tables = append(out.tables, t)
	}
}
