package masks

import (
	"fmt"

	"mrprism/internal/segment"
	"mrprism/weights"
)

// Reader is the author of a map: the consensus, a rater or a level.
type Reader struct {
	Suffix  string // suffix of files' names
	By      string // in files
	Outline bool   // has maps only of classes that have outlines

	Of func(r *segment.Maps, class int) []float32
}

// Has says whether there is a map of a class.
func (b Reader) Has(r *segment.Maps, class int) bool { return !b.Outline || r.HasOutlines(class) }

// Structure is the map of a class. Only the part in the region is made: a large photograph is nearly
// all outside of it.
func (b Reader) Structure(r *segment.Maps, class int) (Structure, error) {
	within, x, y := r.Within()
	part, err := Structures(within.Width, within.Height, r.Classes[class:][:1], [][]float32{b.Of(within, class)})
	if err != nil {
		return Structure{}, err
	}
	levels, row := make([]uint8, r.Width*r.Height), part[0].Levels
	for ; len(row) > 0; y++ {
		copy(levels[y*r.Width+x:], row[:within.Width])
		row = row[within.Width:]
	}
	return Structure{Name: part[0].Name, Levels: levels, Map: func() []float32 { return b.Of(r, class) }}, nil
}

// Readers lists the authors of maps: the consensus, the raters or levels of agreement that the
// model predicts, and, with marks, those who have not marked. With outlines, the areas inside the
// inner and the outer outline follow.
func Readers(raters []string, labels string, marks, outlines bool) []Reader {
	all := []Reader{{By: Consensus, Of: (*segment.Maps).Probability}}
	for m, name := range raters {
		by := "guess of " + name
		switch labels {
		case weights.LabelsAgreementLevels:
			by = fmt.Sprintf("at least %d of %d experts", m+1, len(raters))
		case weights.LabelsPanels:
			by = "as the experts of " + name
		}
		all = append(all, Reader{Suffix: fmt.Sprintf("_rater%d", m+1), By: by, Of: func(r *segment.Maps, class int) []float32 { return r.Rater(m, class) }})
	}
	if marks {
		all = append(all, Reader{Suffix: "_others", By: "guess of those who have not marked", Of: (*segment.Maps).Others})
	}
	if outlines {
		all = append(all, Reader{"_inner", "inner outline", true, (*segment.Maps).Inner}, Reader{"_outer", "outer outline", true, (*segment.Maps).Outer})
	}
	return all
}
