package page

import (
	"errors"
	"fmt"

	"mrprism/internal/segment"
)

// Map names one of a result's maps. The kind decides which indices count.
type Map struct {
	Kind  string // probability, disagreement, others, between, rater, recurrence or mark
	Class int
	M, I  int // the rater, the recurrence or mark
}

// Values returns the map, (Height, Width), 0…1.
func (m Map) Values(r *segment.Maps) ([]float32, error) {
	if err := checkIndex("class", m.Class, len(r.Classes)); err != nil {
		return nil, err
	}
	switch m.Kind {
	case "probability":
		return r.Probability(m.Class), nil
	case "disagreement":
		if len(r.Raters) < 2 {
			return nil, errors.New("there is no disagreement without two raters, and these weights guess the masks of fewer")
		}
		return r.Disagreement(m.Class), nil
	case "others":
		return r.Others(m.Class), nil
	case "between":
		if !r.HasOutlines(m.Class) {
			return nil, fmt.Errorf("the %s has no outlines", r.Classes[m.Class])
		}
		return r.Between(m.Class), nil
	case "mark":
		if err := checkIndex("i", m.I, len(r.Marks())); err != nil {
			return nil, err
		}
		return r.Mark(m.I), nil
	case "rater":
		if err := checkIndex("m", m.M, len(r.Raters)); err != nil {
			return nil, err
		}
		return r.Rater(m.M, m.Class), nil
	case "recurrence":
		if err := checkIndex("i", m.I, r.Recurrences+1); err != nil {
			return nil, err
		}
		return r.Recurrence(m.I, m.Class), nil
	}
	return nil, fmt.Errorf("unknown map %q", m.Kind)
}

func checkIndex(name string, i, n int) error {
	if i < 0 || i >= n {
		return fmt.Errorf("%s is not a number from 0 to %d", name, n-1)
	}
	return nil
}
