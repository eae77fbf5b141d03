package masks

import (
	"fmt"

	"mrprism/weights"
)

// Reader is who a map is of.
type Reader struct {
	Suffix string // of files' names
	By     string // in files
}

// Readers are those of whom there is a map: first the consensus, then the raters or levels of
// agreement that the model predicts and, with marks, those who have not marked.
func Readers(raters []string, labels string, marks bool) []Reader {
	all := []Reader{{"", Consensus}}
	for m, name := range raters {
		by := "guess of " + name
		if labels == weights.LabelsAgreementLevels {
			by = fmt.Sprintf("at least %d of %d experts", m+1, len(raters))
		}
		all = append(all, Reader{fmt.Sprintf("_rater%d", m+1), by})
	}
	if marks {
		all = append(all, Reader{"_others", "guess of those who have not marked"})
	}
	return all
}
