package segment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"slices"
	"strings"

	"mrprism/model"
	"mrprism/weights"
)

// Ensemble is several models as one: each of its maps is the mean of theirs. The first one searches
// photographs. Doubts, intervals and maps of probabilities are those of one model, so an ensemble
// has none. The error names two models that do not make the same maps.
func Ensemble(members []*weights.Model) (*weights.Model, error) {
	whole := *members[0]
	if len(members) == 1 {
		return &whole, nil
	}
	var names, sums []string
	for _, m := range members {
		if different := apartIn(&whole.Metadata, &m.Metadata); different != "" {
			return nil, fmt.Errorf("%s and %s have different %s: an ensemble is of models that make the same maps",
				whole.Metadata.Name, m.Metadata.Name, different)
		}
		names, sums = append(names, m.Metadata.Name), append(sums, m.SHA256)
	}
	sum := sha256.Sum256([]byte(strings.Join(sums, "")))
	whole.Sums, whole.Others, whole.Shipped, whole.SHA256 = sums, members[1:], false, hex.EncodeToString(sum[:])
	whole.Metadata.Name, whole.Metadata.Trust, whole.Metadata.Certificate = strings.Join(names, "+"), nil, nil
	whole.Metadata.Title = fmt.Sprintf("mean of %d models: %s", len(names), strings.Join(names, ", "))
	return &whole, nil
}

// LoadEnsemble opens one model, or several with plus signs between them as one. A file whose own
// name has a plus sign is one model.
func LoadEnsemble(namesOrFiles string) (*weights.Model, error) {
	if _, err := os.Stat(namesOrFiles); err == nil {
		return weights.Load(namesOrFiles)
	}
	var members []*weights.Model
	for name := range strings.SplitSeq(namesOrFiles, "+") {
		m, err := weights.Load(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	return Ensemble(members)
}

// apartIn names what keeps the maps of two models from having a mean; empty: nothing.
func apartIn(a, b *weights.Metadata) string {
	for _, d := range []struct {
		what  string
		equal bool
	}{
		{"classes", slices.Equal(a.Classes, b.Classes)},
		{"raters", slices.Equal(a.Raters, b.Raters) && a.Labels == b.Labels},
		{"panels", slices.Equal(Weighed(a), Weighed(b))},
		{"sides", a.Side == b.Side},
		{"nesting", a.Independent == b.Independent},
		{"numbers of passes", Feedbacks(a) == Feedbacks(b) && SettlesAround(a) == SettlesAround(b)},
		{"heads", HasHeads(a) == HasHeads(b)},
	} {
		if !d.equal {
			return d.what
		}
	}
	return ""
}

// member is another engine of an ensemble, and the proof of its model.
type member struct {
	*Engine
	proof string
}

// withOthers replaces each map by its mean with the maps of the ensemble's other members, which see
// the same region.
func (e *Engine) withOthers(ctx context.Context, p *place, marks []model.Mark, q request, out output) error {
	var all []output
	for _, m := range e.others {
		other, _, err := m.run(ctx, p, marks, q)
		if err != nil {
			return fmt.Errorf("%s: %w", m.about.Name, err)
		}
		all = append(all, other)
	}
	average(out, all...)
	return nil
}
