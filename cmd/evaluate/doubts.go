package main

import (
	"cmp"
	"slices"

	"mrprism/internal/metric"
)

// doubtsReport is how many images of -data are doubted, and why.
type doubtsReport struct {
	Doubted part        `json:"doubted"`
	Codes   []codeCount `json:"codes"` // the most frequent first; an image may have several
}

// codeCount is in how many images a doubt of this code is.
type codeCount struct {
	Code   string `json:"code"`
	Images int    `json:"images"`
}

// doubts gathers them; nil without images.
func doubts(cases []*caseScore) *doubtsReport {
	if len(cases) == 0 {
		return nil
	}
	out := &doubtsReport{Doubted: count(cases, func(c *caseScore) bool { return c.Doubted })}
	for _, c := range cases {
		for _, code := range c.codes() {
			i := slices.IndexFunc(out.Codes, func(n codeCount) bool { return n.Code == code })
			if i < 0 {
				i, out.Codes = len(out.Codes), append(out.Codes, codeCount{Code: code})
			}
			out.Codes[i].Images++
		}
	}
	slices.SortFunc(out.Codes, func(a, b codeCount) int { return cmp.Or(b.Images-a.Images, cmp.Compare(a.Code, b.Code)) })
	return out
}

func (t *table) doubts(r *doubtsReport) {
	t.line("doubted\t%v", r.Doubted)
	for _, n := range r.Codes {
		t.line("  %s\t%d", n.Code, n.Images)
	}
	t.flush()
}

// oddReport is whether the score tells results that should be doubted from others.
type oddReport struct {
	Odd     int      `json:"odd"`     // results that -centres finds wrong, and foreign pictures
	Others  int      `json:"others"`  // results that -centres finds right, and images of -data
	Unknown int      `json:"unknown"` // of both, without a score
	AUROC   *float64 `json:"auroc"`   // null where a score is unknown, or there is nothing to compare
}

// odd compares the scores of all pictures that were judged; nil where only -data was.
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
			return
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
	t.title("Does the doubt score tell wrong results and foreign pictures from the others?")
	switch {
	case r.Unknown > 0:
		t.line("The weights cannot tell: %d of %d results have no score.", r.Unknown, r.Odd+r.Others)
	case r.Odd == 0:
		t.line("There is nothing to tell: no result is wrong, and no picture is foreign.")
	case r.Others == 0:
		t.line("There is nothing to tell: every result is wrong, or its picture is foreign.")
	default:
		t.line("AUROC\t%.3f\t%d odd, %d others", *r.AUROC, r.Odd, r.Others)
	}
}

// softDice is the mean over the structures that are marked, of the last recurrence; NaN where none
// is.
func (c *caseScore) softDice() float64 {
	var values []float64
	for _, class := range c.Classes {
		if class != nil {
			values = append(values, class.SoftDice[len(class.SoftDice)-1])
		}
	}
	return metric.Mean(values)
}
