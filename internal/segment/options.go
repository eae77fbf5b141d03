package segment

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/model"
	"mrprism/weights"
)

// DefaultRecurrences is the number of feedbacks that the paper reports: Rec0 to Rec3.
const DefaultRecurrences = 3

// Feedbacks is the number of feedbacks that a model was trained for: DefaultRecurrences, or 0 for
// another method and for a baseline without DivP. Of a model that takes evidence it is the number
// of passes that settle around marks; without marks there are none.
func Feedbacks(about *weights.Metadata) int {
	switch {
	case model.MethodOf(about.Configuration) != nil || !recipeHas(about, model.Recipe.Recurrent):
		return 0
	case SettlesAround(about):
		return model.Settles
	}
	return DefaultRecurrences
}

// HasHeads says whether the model predicts every rater's mask. A panel's mask needs no head.
func HasHeads(about *weights.Metadata) bool {
	return Labels(about) == weights.LabelsPanels || LearnedHeads(about)
}

// LearnedHeads says whether DivP or a method predicts them.
func LearnedHeads(about *weights.Metadata) bool {
	if m := model.MethodOf(about.Configuration); m != nil {
		return m.Raters
	}
	return recipeHas(about, model.Recipe.Heads)
}

// recipeHas looks a property up in the recipe of these weights. If this version does not know the
// recipe, it returns true.
func recipeHas(about *weights.Metadata, property func(model.Recipe) bool) bool {
	r, err := model.NewRecipe(about.Recipe)
	if err == nil && about.Labels == weights.LabelsAgreementLevels {
		r = r.ForLevels()
	}
	return err != nil || property(r)
}

// Trusts says whether the model's rater maps say how far it trusts each rater, as fusion.Trusted
// takes them.
func Trusts(about *weights.Metadata) bool {
	m := model.MethodOf(about.Configuration)
	return m != nil && m.Trusts
}

// Heads are the raters, or levels, whose masks the model predicts. Without heads there is none: the
// model makes the calibrated mask alone, and knows no disagreement.
func Heads(about *weights.Metadata) []string {
	if HasHeads(about) {
		return slices.Clone(about.Raters)
	}
	return []string{}
}

// Headless says what a model without heads leaves out; empty: it has heads.
func Headless(about *weights.Metadata) string {
	if HasHeads(about) {
		return ""
	}
	how := "recipe " + about.Recipe
	if m := model.MethodOf(about.Configuration); m != nil {
		how = "method " + m.Name
	}
	return fmt.Sprintf("no raters and no disagreement: the weights were trained without heads (%s)", how)
}

// CheckRecurrences returns an error if a model was trained for one pass, and more are asked for:
// the further ones would read what was never trained.
func CheckRecurrences(about *weights.Metadata, recurrences int) error {
	if recurrences > 0 && Feedbacks(about) == 0 {
		return fmt.Errorf("model %s was trained for one pass (recipe %s), and Rec%d is asked for: ask for no recurrences", about.Name, about.Recipe, recurrences)
	}
	return nil
}

// MaxRecurrences is the largest number of feedbacks, far above any useful one.
const MaxRecurrences = 32

// Trained, as Options.Recurrences, is the number of feedbacks that the model was trained for.
const Trained = math.MinInt32

// OptionError means that the options are wrong, on any device.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

// ErrOption is the kind of an OptionError.
var ErrOption = errors.New("wrong option")

func (e *OptionError) Is(target error) bool { return target == ErrOption }

// Options of one segmentation.
type Options struct {
	// Recurrences are the feedbacks, 0 to MaxRecurrences, or Trained: Rec0 … RecN are computed. A
	// model that takes evidence computes Rec0 alone if there is none: a further pass would change
	// nothing.
	Recurrences int
	ROI         string // auto, none or x,y,side, see package roi; empty: auto
	// RaterWeights, 0..1, are for models of named raters or of panels (Weighed). A weight is relative
	// to the largest one; nil: all count the same, and panels have their own weights.
	RaterWeights []float32
	Eye          string // which eye it is, as the user says: Right, Left or empty
	Name         string // of the image's file, which may tell the eye
	Keep         bool   // maps of the region, once made, stay with the result: its caller writes them too
	// Evidence are marks that are known, for models that take them.
	Evidence []Evidence
	// Progress is called, on the same goroutine, when a step of a stage begins: "search" (2 steps),
	// "segment" (N + 1 recurrences) and, with Metadata.Mirrored, "mirror" (N + 1). It may be nil.
	Progress func(stage string, done, total int)
}

// request is what is asked of the engine, with nothing left open.
type request struct {
	image  *imageio.Image
	region roi.Request // Options.ROI
	Options
	panels, consensus []float32 // RaterWeights of panels, which act in the passes, or of raters, which act after them
	kept              kept
}

// request fills in what the options leave open. Options that do not fit the model or the image give
// an OptionError.
func (e *Engine) request(img *imageio.Image, o Options) (request, error) {
	o.ROI = cmp.Or(o.ROI, "auto")
	if o.Recurrences == Trained {
		o.Recurrences = Feedbacks(&e.about)
	}
	region, err := e.check(img, o)
	if err != nil {
		return request{}, &OptionError{err}
	}
	if e.settles && len(o.Evidence) == 0 {
		o.Recurrences = 0
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	q := request{image: img, region: region, Options: o}
	if o.Keep {
		q.kept = kept{}
	}
	if len(e.about.Panels) > 0 {
		q.panels = o.RaterWeights
	} else {
		q.consensus = o.RaterWeights
	}
	return q, nil
}

func (e *Engine) check(img *imageio.Image, o Options) (roi.Request, error) {
	if img.W < 1 || img.H < 1 || len(img.Pix) != 3*img.W*img.H {
		return roi.Request{}, fmt.Errorf("an image of %d×%d pixels with %d bytes is not 8-bit RGB", img.W, img.H, len(img.Pix))
	}
	if o.Recurrences < 0 || o.Recurrences > MaxRecurrences {
		return roi.Request{}, fmt.Errorf("%d recurrences: 0 to %d are possible", o.Recurrences, MaxRecurrences)
	}
	if o.RaterWeights != nil && len(e.about.Panels) == 0 && e.about.Labels == weights.LabelsAgreementLevels {
		return roi.Request{}, fmt.Errorf("model %s has agreement levels and no raters to weigh: leave the rater weights out", e.about.Name)
	}
	if known := len(Weighed(&e.about)); o.RaterWeights != nil && len(o.RaterWeights) != known {
		return roi.Request{}, fmt.Errorf("%d rater weights for the %d raters of model %s", len(o.RaterWeights), known, e.about.Name)
	}
	for _, w := range o.RaterWeights {
		if !(w >= 0 && w <= 1) {
			return roi.Request{}, fmt.Errorf("rater weight %v is not in 0..1", w)
		}
	}
	if err := errors.Join(e.checkEvidence(img, o.Evidence), CheckEye(o.Eye)); err != nil {
		return roi.Request{}, err
	}
	request, err := roi.Parse(o.ROI)
	if err == nil && request.Mode == roi.Given {
		err = roi.Check(request.Square, img.W, img.H)
	}
	return request, err
}
