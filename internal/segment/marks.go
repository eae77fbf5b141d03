package segment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/model"
	"mrprism/weights"
)

// Somebody is the rater of a mark by a person who is not one of the model's raters, such as the
// user.
const Somebody = "you"

// Evidence is what one rater says about one structure of the image. Mask has a byte for each pixel
// of the image as displayed: 255 inside, 0 outside, and 128 where the rater has said nothing.
type Evidence struct {
	Rater string // of the model, or Somebody; of a model of agreement levels always Somebody
	Class string // empty if the model has one class alone
	Mask  []byte
}

// Unsaid is the value of pixels about which a mark says nothing.
const Unsaid = 128

// SettlesAround says whether a model takes marks as evidence. Weights that a run
// of the recipe default exports early, while the mask learns alone, take none: they lack heads.
func SettlesAround(about *weights.Metadata) bool {
	c, err := Configuration(about)
	return err == nil && c.Evidence && LearnedHeads(about)
}

// Markers are those whose marks a model takes: Somebody, and its raters if they have names.
func Markers(about *weights.Metadata) []string {
	if about.Labels == weights.LabelsAgreementLevels {
		return []string{Somebody}
	}
	return append([]string{Somebody}, about.Raters...)
}

// checkEvidence returns an error if a mark does not fit the model or the image.
func (e *Engine) checkEvidence(img *imageio.Image, all []Evidence) error {
	if len(all) > 0 && !e.settles {
		return fmt.Errorf("model %s does not take marks as evidence: it was trained without", e.about.Name)
	}
	known := Markers(&e.about)
	seen := map[[2]string]bool{}
	for _, mark := range all {
		switch {
		case !slices.Contains(known, mark.Rater):
			return fmt.Errorf("evidence of %q: model %s takes marks of %s", mark.Rater, e.about.Name, strings.Join(known, ", "))
		case !slices.Contains(e.about.Classes, e.classOf(mark)):
			return fmt.Errorf("evidence of %s about %q: the structures of model %s are %s", mark.Rater, mark.Class, e.about.Name, strings.Join(e.about.Classes, ", "))
		case len(mark.Mask) != img.W*img.H:
			return fmt.Errorf("evidence of %s: a mask of %d pixels for an image of %d×%d", mark.Rater, len(mark.Mask), img.W, img.H)
		}
		if key := [2]string{mark.Rater, e.classOf(mark)}; mark.Rater != Somebody && seen[key] {
			return fmt.Errorf("evidence of %s about %s is given twice", key[0], key[1])
		} else {
			seen[key] = true
		}
		for i, v := range mark.Mask {
			if v != 0 && v != Unsaid && v != 255 {
				return fmt.Errorf("evidence of %s: the pixel at %d, %d has the value %d; a mark has 255 inside, 0 outside and %d where nothing is said", mark.Rater, i%img.W, i/img.W, v, Unsaid)
			}
		}
	}
	return nil
}

// classOf is the structure that a mark is about.
func (e *Engine) classOf(mark Evidence) string {
	if mark.Class == "" && len(e.about.Classes) == 1 {
		return e.about.Classes[0]
	}
	return mark.Class
}

// marks brings evidence to the network's view of a square of the image. The marks of one rater about
// several structures become one; each mark of Somebody stays one.
func (e *Engine) marks(img *imageio.Image, square imageio.Square, all []Evidence) (out []model.Mark) {
	side, k := e.about.Side, len(e.about.Classes)
	of := map[string]int{}
	for _, given := range all {
		at, ok := of[given.Rater]
		if !ok || given.Rater == Somebody {
			at = len(out)
			of[given.Rater] = at
			out = append(out, model.Mark{Rater: slices.Index(e.about.Raters, given.Rater), Said: make([]float32, side*side*k), Inside: make([]float32, side*side*k)})
			if given.Rater == Somebody {
				out[at].Rater = model.Somebody
			}
		}
		class := slices.Index(e.about.Classes, e.classOf(given))
		said := &imageio.Image{W: img.W, H: img.H, Pix: make([]byte, 3*len(given.Mask))}
		for i, v := range given.Mask {
			if v != Unsaid {
				said.Pix[3*i], said.Pix[3*i+1] = 255, v
			}
		}
		seen := make([]float32, 3*side*side)
		said.Crop(seen, square, side)
		for i := range side * side {
			x := min(max(seen[3*i], 0), 1)
			out[at].Said[i*k+class], out[at].Inside[i*k+class] = x, min(max(seen[3*i+1], 0), x)
		}
	}
	return out
}

// draft is what ConP and DivP make of a sight: the mask, and for a model that also sees the mirror
// image the state from which passes settle.
type draft struct {
	mask   []float32
	state  *model.Snapshot
	panels []float32 // their weights
}

// settleAround makes the mask of Rec0 and, if there are marks, those of the passes that settle
// around them. These are what the raters would mark on the mean who have not marked. The maps of
// raters are the likely labels after the last pass.
func (e *Engine) settleAround(ctx context.Context, s sight, marks []model.Mark, q request, stage string) (out output, err error) {
	passes := q.Recurrences
	q.Progress(stage, 0, passes+1)
	out.took = map[string]float64{}
	out.took["rec0"], err = timed(func() error {
		mask, err := e.draft(ctx, s, q.panels)
		out.masks = append(out.masks, slices.Clone(mask))
		return err
	})
	if err != nil {
		return output{}, err
	}
	if s.mirrored {
		marks = slices.Clone(marks)
		for i := range marks {
			m := &marks[i]
			m.Said, m.Inside = slices.Clone(m.Said), slices.Clone(m.Inside)
			mirror(m.Said, e.about.Side)
			mirror(m.Inside, e.about.Side)
		}
	}
	if err := e.network.SetMarks(ctx, marks); err != nil {
		return output{}, err
	}
	for i := range max(1, passes) { // without marks a pass settles the raters alone
		if i < passes {
			q.Progress(stage, i+1, passes+1)
		}
		ms, err := timed(func() error {
			y, err := e.checked(ctx, e.network.Settle)
			if err == nil && i < passes {
				out.masks = append(out.masks, y)
			}
			if err == nil && i == max(1, passes)-1 {
				out.raters, err = e.checked(ctx, e.network.RaterLabels)
			}
			return err
		})
		if err != nil {
			return output{}, err
		}
		if passes == 0 {
			out.took["rec0"] += ms
		} else {
			out.took[fmt.Sprintf("rec%d", i+1)] = ms
		}
	}
	return out, nil
}

// draft has ConP and DivP see a sight, or takes the passes back to what they made of it.
func (e *Engine) draft(ctx context.Context, s sight, panels []float32) ([]float32, error) {
	known, ok := e.drafts[s]
	switch ok = ok && slices.Equal(known.panels, panels); {
	case ok && known.state != nil:
		return known.mask, e.network.Put(known.state)
	case ok && e.shown == s: // the network still has it
		return known.mask, nil
	}
	known.panels = panels
	err := errors.Join(e.show(ctx, s), e.weigh(panels))
	if err != nil {
		return nil, err
	}
	if known.mask, err = e.checked(ctx, e.network.Recur); err != nil {
		return nil, err
	}
	if e.about.Mirrored {
		if known.state, err = e.network.Snapshot(ctx); err != nil {
			return nil, err
		}
	}
	maps.DeleteFunc(e.drafts, func(of sight, _ draft) bool { return of.place != s.place })
	e.drafts[s] = known
	return known.mask, nil
}

// agree makes each mask the consensus of marks, raters' weights and what the passes expect of those
// who have not marked.
func (e *Engine) agree(m Maps, marks []model.Mark, weights []float32) *Maps {
	settled := m.masks
	if len(marks) > 0 {
		m.others = settled[len(settled)-1]
	}
	m.masks, m.raters = nil, slices.Clone(m.raters) // the marks change them
	for i, q := range settled {
		given := marks
		if i == 0 {
			given = nil // Rec0 has seen no mark
		}
		mask := e.network.Consensus(q, m.raters, given, weights)
		e.network.Nest(mask, len(m.Classes))
		m.masks = append(m.masks, mask)
	}
	return &m
}
