package masks

import (
	"fmt"
	"image"
	"strings"

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

// Structure is the map of a class.
func (b Reader) Structure(r *segment.Maps, class int) (Structure, error) {
	s, err := b.Part(r, class)
	s.spread(r.Width, r.Height)
	return s, err
}

// Part is Structure with the levels in the region alone: a large photograph is nearly all outside of
// it.
func (b Reader) Part(r *segment.Maps, class int) (Structure, error) {
	within, x, y := r.Within()
	part, err := Structures(within.Width, within.Height, r.Classes[class:][:1], [][]float32{b.Of(within, class)})
	if err != nil {
		return Structure{}, err
	}
	at := image.Rect(x, y, x+within.Width, y+within.Height)
	return Structure{Name: part[0].Name, Levels: part[0].Levels, At: at, Map: func() []float32 { return b.Of(r, class) }}, nil
}

// mostSuffix is the largest number of bytes that a class and a suffix have together: the rest of
// the 255 of a file's name are the stem's and the format's.
const mostSuffix = 74

// Suffixes are those of raters or levels in files' names: "_" and the name, with hyphens for its
// underscores, cut if it is long. They differ also where case does not count, and from what else
// may follow a class; a name that would not gets a number.
func Suffixes(raters, classes []string) (all []string) {
	taken := map[string]bool{"_others": true, "_inner": true, "_outer": true, "_mask": true, "_float": true, "_corrected": true}
	most := mostSuffix
	for _, a := range classes {
		most = min(most, mostSuffix-len(a))
		for _, b := range classes {
			taken[strings.ToLower(strings.TrimPrefix(b, a))] = true
		}
	}
	for _, name := range raters {
		name = ("_" + strings.ReplaceAll(name, "_", "-"))[:min(len(name)+1, most)]
		one := name
		for n := 2; taken[strings.ToLower(one)]; n++ {
			one = fmt.Sprintf("%s-%d", name, n)
		}
		taken[strings.ToLower(one)] = true
		all = append(all, one)
	}
	return all
}

// Readers lists the authors of maps: the consensus, the raters or levels of agreement that the
// model predicts, and, with marks, those who have not marked. With outlines, the areas inside the
// inner and the outer outline follow.
func Readers(raters, classes []string, labels string, marks, outlines bool) []Reader {
	all, suffixes := []Reader{{By: Consensus, Of: (*segment.Maps).Probability}}, Suffixes(raters, classes)
	for m, name := range raters {
		by := "guess of " + name
		switch labels {
		case weights.LabelsAgreementLevels:
			by = fmt.Sprintf("at least %d of %d experts", m+1, len(raters))
		case weights.LabelsPanels:
			by = "as the experts of " + name
		}
		all = append(all, Reader{Suffix: suffixes[m], By: by, Of: func(r *segment.Maps, class int) []float32 { return r.Rater(m, class) }})
	}
	if marks {
		all = append(all, Reader{Suffix: "_others", By: "guess of those who have not marked", Of: (*segment.Maps).Others})
	}
	if outlines {
		all = append(all, Reader{"_inner", "inner outline", true, (*segment.Maps).Inner}, Reader{"_outer", "outer outline", true, (*segment.Maps).Outer})
	}
	return all
}
