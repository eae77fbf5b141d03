package segment

import (
	"context"
	"fmt"
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
	return err == nil && c.Evidence && HasHeads(about)
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

// made is what ConP and DivP made of an encoded view: the mask, and for a model that also sees the
// mirror image the state from which passes settle.
type made struct {
	mask  []float32
	state *model.Snapshot
}

// settle returns the mask of Rec0 and, if there are marks, of the passes that settle around them.
// These are what the raters would mark on the mean who have not marked. raters are the likely
// labels after the last pass. took gets the ms of each pass.
func (e *Engine) settle(ctx context.Context, o Options, stage string, took map[string]float64) (masks [][]float32, raters []float32, err error) {
	v := e.view
	marks, passes := v.marks, o.Recurrences
	o.Progress(stage, 0, passes+1)
	took["rec0"], err = timed(func() error { return e.make(ctx, v) })
	if err != nil {
		return nil, nil, err
	}
	masks = append(masks, slices.Clone(v.made[v.mirrored].mask))
	if v.mirrored {
		marks = slices.Clone(marks)
		for i := range marks {
			m := &marks[i]
			m.Said, m.Inside = slices.Clone(m.Said), slices.Clone(m.Inside)
			mirror(m.Said, e.about.Side)
			mirror(m.Inside, e.about.Side)
		}
	}
	if err := e.network.SetMarks(ctx, marks); err != nil {
		return nil, nil, err
	}
	for i := range max(1, passes) { // without marks a pass settles the raters alone
		if i < passes {
			o.Progress(stage, i+1, passes+1)
		}
		ms, err := timed(func() error {
			y, err := e.checked(ctx, e.network.Settle)
			if err == nil && i < passes {
				masks = append(masks, y)
			}
			if err == nil && i == max(1, passes)-1 {
				raters, err = e.checked(ctx, e.network.RaterLabels)
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
		if passes == 0 {
			took["rec0"] += ms
		} else {
			took[fmt.Sprintf("rec%d", i+1)] = ms
		}
	}
	return masks, raters, nil
}

// make has ConP and DivP see the encoded view, unless they have.
func (e *Engine) make(ctx context.Context, v *view) error {
	if known, ok := v.made[v.mirrored]; ok {
		if known.state == nil {
			return nil
		}
		return e.network.Put(known.state)
	}
	mask, err := e.checked(ctx, e.network.Recur)
	if err != nil {
		return err
	}
	new := made{mask: mask}
	if e.about.Mirrored {
		if new.state, err = e.network.Snapshot(ctx); err != nil {
			return err
		}
	}
	v.made[v.mirrored] = new
	return nil
}

// agree makes each mask the consensus of marks, raters' weights and what the passes expect of those
// who have not marked.
func (e *Engine) agree(r *Result, o Options) {
	marks := e.view.marks
	if len(marks) > 0 {
		r.others = r.masks[len(r.masks)-1]
	}
	for i, q := range r.masks {
		given := marks
		likely := r.raters
		if i == 0 {
			given = nil // Rec0 has seen no mark
		}
		r.masks[i] = e.network.Consensus(q, likely, given, o.RaterWeights)
		e.network.Nest(r.masks[i], len(r.Classes))
	}
}
