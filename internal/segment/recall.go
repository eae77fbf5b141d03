package segment

import (
	"bytes"
	"maps"
	"slices"

	"mrprism/internal/trust"
)

// settled is what the passes made of a view and its marks, before raters' weights act. Weights act in
// the consensus alone (model/DECISIONS.md): another choice of weights needs no pass.
type settled struct {
	evidence    []Evidence
	recurrences int
	masks       [][]float32
	raters      []float32
	figures     trust.Figures
	own         *Measurements // before calibrate; nil where the weights know no intervals
}

// settledFor is what the view keeps, if it was made with these options; otherwise nil.
func (v *view) settledFor(o Options) *settled {
	s := v.settled
	if s == nil || s.recurrences != o.Recurrences || !slices.EqualFunc(s.evidence, o.Evidence, sameEvidence) {
		return nil
	}
	return s
}

func sameEvidence(a, b Evidence) bool {
	return a.Rater == b.Rater && a.Class == b.Class && bytes.Equal(a.Mask, b.Mask)
}

// settledAs is what a result is made of by now. The consensus will change its maps: they are copied.
func (r *Result) settledAs(o Options, own *Measurements) *settled {
	return &settled{
		evidence: o.Evidence, recurrences: o.Recurrences,
		masks: cloned(r.masks), raters: slices.Clone(r.raters), figures: maps.Clone(r.Figures), own: own,
	}
}

// into gives a result copies of what was settled.
func (s *settled) into(r *Result) {
	r.masks, r.raters, r.Figures = cloned(s.masks), slices.Clone(s.raters), maps.Clone(s.figures)
}

func cloned(maps [][]float32) [][]float32 {
	out := make([][]float32, len(maps))
	for i, m := range maps {
		out[i] = slices.Clone(m)
	}
	return out
}
