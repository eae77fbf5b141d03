package main

import (
	"cmp"
	"math"
	"slices"

	"mrprism/internal/app/segment"
	"mrprism/internal/data/metric"
)

// trust is what a result says about itself.
type trust struct {
	Found   bool `json:"found"` // false: nothing was found, and every map is 0
	Doubted bool `json:"doubted"`
	// Doubt: the score: above 1 the result is doubted; null if the weights cannot tell
	Doubt  *float64        `json:"doubt"`
	Doubts []segment.Doubt `json:"doubts,omitempty"`
}

// trustOf is the result's trust. JSON has no infinity and no NaN: the largest number replaces such
// a score.
func trustOf(r *segment.Result) trust {
	t := trust{r.Found, len(r.Doubts) > 0, r.Doubt, r.Doubts}
	if t.Doubt != nil && !(*t.Doubt <= math.MaxFloat64) {
		t.Doubt = new(math.MaxFloat64)
	}
	return t
}

// oddness is the score by which results are ranked: infinite if nothing was found. It is not known
// if the weights cannot tell.
func (t *trust) oddness() (score float64, known bool) {
	if !t.Found {
		return math.Inf(1), true
	}
	return number(t.Doubt), t.Doubt != nil
}

// codes are the codes of the doubts, each once, in the result's order.
func (t *trust) codes() (codes []string) {
	for _, d := range t.Doubts {
		if !slices.Contains(codes, d.Code) {
			codes = append(codes, d.Code)
		}
	}
	return codes
}

// doubtsReport counts the images of -data that are doubted.
type doubtsReport struct {
	Doubted part        `json:"doubted"`
	Codes   []codeCount `json:"codes"` // the most frequent first; an image may have several
}

type codeCount struct {
	Code   string `json:"code"`
	Images int    `json:"images"`
}

// doubts gathers the doubts; nil without images.
func doubts(cases []*caseScore) *doubtsReport {
	if len(cases) == 0 {
		return nil
	}
	images := map[string]int{}
	for _, c := range cases {
		for _, code := range c.codes() {
			images[code]++
		}
	}
	out := &doubtsReport{Doubted: count(cases, func(c *caseScore) bool { return c.Doubted })}
	for code, n := range images {
		out.Codes = append(out.Codes, codeCount{code, n})
	}
	slices.SortFunc(out.Codes, func(a, b codeCount) int { return cmp.Or(b.Images-a.Images, cmp.Compare(a.Code, b.Code)) })
	return out
}

func (t *table) doubts(r *doubtsReport) {
	t.Line("doubted\t%v", r.Doubted)
	for _, n := range r.Codes {
		t.Line("  %s\t%d", n.Code, n.Images)
	}
	t.Break()
}

// oddReport says whether the doubt score separates results that should be doubted from others.
type oddReport struct {
	Odd     int      `json:"odd"`     // wrong results of -centres, and foreign pictures
	Others  int      `json:"others"`  // right results of -centres, and images of -data
	Unknown int      `json:"unknown"` // results without a score
	AUROC   *float64 `json:"auroc"`   // null if a score is unknown, or one group is empty
}

// odd compares the scores of all pictures; nil with -data alone.
func (s *scorer) odd() *oddReport {
	if len(s.centred)+len(s.foreign) == 0 {
		return nil
	}
	var out oddReport
	var positives, negatives []float64
	add := func(t *trust, positive bool) {
		n, scores := &out.Others, &negatives
		if positive {
			n, scores = &out.Odd, &positives
		}
		*n++
		score, known := t.oddness()
		if !known {
			out.Unknown++
		}
		*scores = append(*scores, score)
	}
	for _, c := range s.cases {
		add(&c.trust, false)
	}
	for _, c := range s.centred {
		add(&c.trust, !c.Right)
	}
	for _, f := range s.foreign {
		add(&f.trust, true)
	}
	if out.Unknown == 0 {
		out.AUROC = defined(metric.AUROC(positives, negatives))
	}
	return &out
}

func (t *table) odd(r *oddReport) {
	t.Title("Does the doubt score separate wrong results and foreign pictures from the others?")
	switch {
	case r.Unknown > 0:
		t.Line("The weights cannot tell: %d of %d results have no score.", r.Unknown, r.Odd+r.Others)
	case r.Odd == 0:
		t.Line("There is nothing to separate: no result is wrong, and no picture is foreign.")
	case r.Others == 0:
		t.Line("There is nothing to separate: every result is wrong, or its picture is foreign.")
	default:
		t.Line("AUROC\t%.3f\t%d odd, %d others", *r.AUROC, r.Odd, r.Others)
	}
}
