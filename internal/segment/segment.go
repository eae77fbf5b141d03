package segment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"
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
	case model.MethodOf(about.Configuration) != nil || !HasHeads(about):
		return 0
	case SettlesAround(about):
		return model.Settles
	}
	return DefaultRecurrences
}

// HasHeads says whether the model predicts every rater's mask.
func HasHeads(about *weights.Metadata) bool {
	if m := model.MethodOf(about.Configuration); m != nil {
		return m.Raters
	}
	r, err := model.NewRecipe(about.Recipe)
	return err != nil || r.Recurrent() // an unknown recipe is from a later version
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

// Options of one segmentation.
type Options struct {
	// Recurrences are the feedbacks, 0 to MaxRecurrences, or Trained: Rec0 … RecN are computed. A model
	// that takes evidence computes Rec0 alone if there is none: a further pass would change nothing.
	Recurrences int
	ROI         string // auto, none or x,y,side, see package roi; empty: auto
	// RaterWeights, 0..1, are for models of named raters. A rater's weight is relative to the largest
	// one; nil: all raters count the same.
	RaterWeights []float32
	Eye          string // which eye it is, as the user says: Right, Left or empty
	Name         string // of the image's file, which may tell the eye
	// Evidence are marks that are known, for models that take them.
	Evidence []Evidence
	// Progress is called, on the same goroutine, when a step of a stage begins: "search" (2 steps),
	// "segment" (N + 1 recurrences) and, with Metadata.Mirrored, "mirror" (N + 1). It may be nil.
	Progress func(stage string, done, total int)
}

// Segment segments an image, which must not change while the engine lives. A second call with the
// same image and ROI runs only the recurrences, and with Metadata.Mirrored one encoding.
//
// With ROI "auto" and a model that has an anchor, Segment first searches the lit part of the image
// for the anchor, and segments the region around it. If it finds none, Found is false. Wrong
// options give an OptionError, and the device gives the errors of package gpu. A map with other
// values than probabilities, or of zeros alone, gives model.ErrNotFinite or model.ErrNothing and no
// mask.
func (e *Engine) Segment(ctx context.Context, img *imageio.Image, o Options) (*Result, error) {
	if o.ROI == "" {
		o.ROI = "auto"
	}
	if o.Recurrences == Trained {
		o.Recurrences = Feedbacks(&e.about)
	}
	request, err := e.check(img, o)
	if err != nil {
		return nil, &OptionError{err}
	}
	if e.settles && len(o.Evidence) == 0 {
		o.Recurrences = 0
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	if e.view == nil || e.view.image != img || e.view.roi != o.ROI {
		e.view = nil
		v := &view{image: img, roi: o.ROI, took: map[string]float64{}, made: map[bool]made{}}
		if err := e.region(ctx, v, request, o); err != nil {
			return nil, err
		}
		e.view = v
	}
	if !e.view.found {
		return e.nothing(o), nil
	}
	if !e.view.seen {
		o.Progress("segment", 0, o.Recurrences+1)
		e.view.took["encode"], err = timed(func() error { return e.show(ctx, e.view, false) })
		if err != nil {
			return nil, err
		}
	}
	return e.recur(ctx, o)
}

// Recalculate runs the recurrences again on the region that was encoded last, with other options.
// It ignores o.ROI.
func (e *Engine) Recalculate(ctx context.Context, o Options) (*Result, error) {
	if e.view == nil {
		return nil, errors.New("no region has been encoded: call Segment first")
	}
	o.ROI = e.view.roi
	return e.Segment(ctx, e.view.image, o)
}

func (e *Engine) check(img *imageio.Image, o Options) (roi.Request, error) {
	if img.W < 1 || img.H < 1 || len(img.Pix) != 3*img.W*img.H {
		return roi.Request{}, fmt.Errorf("an image of %d×%d pixels with %d bytes is not 8-bit RGB", img.W, img.H, len(img.Pix))
	}
	if o.Recurrences < 0 || o.Recurrences > MaxRecurrences {
		return roi.Request{}, fmt.Errorf("%d recurrences: 0 to %d are possible", o.Recurrences, MaxRecurrences)
	}
	if o.RaterWeights != nil && e.about.Labels == weights.LabelsAgreementLevels {
		return roi.Request{}, fmt.Errorf("model %s has agreement levels and no raters to weigh: leave the rater weights out", e.about.Name)
	}
	if o.RaterWeights != nil && len(o.RaterWeights) != len(e.about.Raters) {
		return roi.Request{}, fmt.Errorf("%d rater weights for the %d raters of model %s", len(o.RaterWeights), len(e.about.Raters), e.about.Name)
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

// show encodes the view, or its mirror image. It keeps the features of the view that is not
// mirrored.
func (e *Engine) show(ctx context.Context, v *view, mirrored bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if known := v.made[mirrored]; known.state != nil {
		v.mirrored = mirrored
		return nil
	}
	v.seen = false // until encode returns
	err := e.encode(ctx, e.near(v, v.square), mirrored)
	if err == nil && !mirrored && v.looks["close"] == nil {
		err = e.look(ctx, v, "close")
	}
	v.seen, v.mirrored = err == nil, mirrored
	return err
}

// encode encodes pixels (S, S, 3), or their mirror image. It changes them.
func (e *Engine) encode(ctx context.Context, x []float32, mirrored bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if mirrored {
		mirror(x, e.about.Side)
	}
	return e.feed(ctx, x)
}

// crop is a square of the image (S, S, 3), values 0..1.
func (e *Engine) crop(img *imageio.Image, square imageio.Square) []float32 {
	x := make([]float32, e.about.Side*e.about.Side*3)
	img.Crop(x, square, e.about.Side)
	return x
}

// near is a square around a place. Where the search has found the place in even light, the square
// has the tones of other photographs.
func (e *Engine) near(v *view, square imageio.Square) []float32 {
	x := e.crop(v.image, square)
	if v.even {
		roi.Tone(x)
	}
	return x
}

// feed normalises pixels (S, S, 3) and encodes them.
func (e *Engine) feed(ctx context.Context, x []float32) error {
	if e.about.Standardise {
		weights.Standardise(x)
	} else {
		for i := range x {
			x[i] = (x[i] - e.about.Mean[i%3]) / e.about.Deviation[i%3]
		}
	}
	if err := e.network.Encode(ctx, x); err != nil {
		return err
	}
	return e.Wait(ctx)
}

// recur makes a result of the view: Rec0 … RecN, or what the view keeps of them, under the raters'
// weights.
func (e *Engine) recur(ctx context.Context, o Options) (*Result, error) {
	start := time.Now()
	r := e.result(e.view, o)
	total := 0.0
	for stage, ms := range e.view.took {
		r.Timings[stage] = ms
		total += ms
	}
	own, err := e.settledBy(ctx, o, r)
	if err != nil {
		return nil, err
	}
	if e.settles {
		e.agree(r, o)
	}
	r.Recurrences = len(r.masks) - 1
	r.Measurements = r.measure()
	e.judge(r)
	e.trust(r)
	r.nameRange()
	if own != nil && equal(o.RaterWeights) {
		e.intervals(r, own)
	}
	r.Timings["total"] = math.Round(1000*(total+since(start))) / 1000
	return r, nil
}

// settledBy gives a result its maps and figures from before the consensus. own are the measurements
// before calibrate, where the weights have intervals that refer to them.
func (e *Engine) settledBy(ctx context.Context, o Options, r *Result) (own *Measurements, err error) {
	if known := e.view.settledFor(o); known != nil {
		known.into(r)
		return known.own, nil
	}
	e.view.settled = nil
	e.view.marks = e.marks(e.view.image, e.view.square, o.Evidence)
	if err := e.run(ctx, o, r); err != nil {
		return nil, err
	}
	e.figures(r)
	if e.knowsErrors() && len(o.Evidence) == 0 && (e.settles || equal(o.RaterWeights)) {
		own = new(r.measure())
	}
	e.calibrate(r)
	if e.settles {
		e.view.settled = r.settledAs(o, own)
	}
	return own, nil
}

// run runs Rec0 … RecN on the view, with Metadata.Mirrored on its mirror image, and those of an
// ensemble's other members.
func (e *Engine) run(ctx context.Context, o Options, r *Result) (err error) {
	if r.masks, r.raters, err = e.passes(ctx, o, "segment", r.Timings); err != nil {
		return err
	}
	if e.about.Mirrored {
		r.Timings["mirror"], err = timed(func() error { return e.withMirrored(ctx, o, r) })
		if err != nil {
			return err
		}
	}
	if e.about.SinglePieces {
		for _, maps := range r.masks {
			onePiece(maps, r.side, len(r.Classes), e.network.Inside)
		}
		onePiece(r.raters, r.side, r.heads()*len(r.Classes), e.network.Inside)
	}
	if len(e.others) > 0 {
		r.Timings["others"], err = timed(func() error { return e.withOthers(ctx, o, r) })
	}
	return err
}

// result is a result for a view, without maps.
func (e *Engine) result(v *view, o Options) *Result {
	picture := *v.image
	picture.Pix = nil
	var photograph []float32
	if 2*v.square.Side <= v.field.Side {
		photograph = v.looks["whole"]
	}
	return &Result{
		Photograph: photograph, Sharpness: v.sharpness,
		Picture: picture, Width: v.image.W, Height: v.image.H, ROI: v.square, Recurrences: o.Recurrences,
		Classes: slices.Clone(e.about.Classes), Raters: Heads(&e.about), Labels: e.about.Labels, Steered: e.steered, TakesMarks: e.settles,
		Adapter: e.Adapter(), Why: e.device.Info().Why, Precision: e.precision, Timings: map[string]float64{}, Figures: trust.Figures{}, Looks: maps.Clone(v.looks), side: e.about.Side,
		given: given{marks: o.Evidence, width: v.image.W}, eyeBy: signs{o.Eye, o.Name, v.field, !v.turned},
	}
}

// nothing is the result of a search that found nothing.
func (e *Engine) nothing(o Options) *Result {
	r := e.result(e.view, o)
	pixels, k := r.side*r.side, len(r.Classes)
	for range o.Recurrences + 1 {
		r.masks = append(r.masks, make([]float32, pixels*k))
	}
	r.raters = make([]float32, pixels*e.heads()*k)
	r.Measurements = r.measure()
	e.judge(r)
	e.trust(r)
	r.Timings["search"], r.Timings["total"] = e.view.took["search"], e.view.took["search"]
	return r
}

// heads is the number of maps of raters that the network makes: their masks, or how far it Trusts
// them.
func (e *Engine) heads() int {
	if HasHeads(&e.about) || Trusts(&e.about) {
		return len(e.about.Raters)
	}
	return 0
}

// passes returns the masks of Rec0 … RecN and, with heads, the rater maps of RecN for the encoder's
// last input. took gets the ms of each recurrence.
func (e *Engine) passes(ctx context.Context, o Options, stage string, took map[string]float64) (masks [][]float32, raters []float32, err error) {
	if e.settles {
		return e.settle(ctx, o, stage, took)
	}
	if err := errors.Join(e.network.SetRaterWeights(o.RaterWeights), e.network.Restart()); err != nil {
		return nil, nil, err
	}
	for i := range o.Recurrences + 1 {
		o.Progress(stage, i, o.Recurrences+1)
		took[fmt.Sprintf("rec%d", i)], err = timed(func() error {
			y, err := e.checked(ctx, e.network.Recur)
			masks = append(masks, y)
			if err == nil && i == o.Recurrences && e.heads() > 0 {
				raters, err = e.checked(ctx, e.network.RaterLabels)
			}
			return err
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return masks, raters, nil
}

// checked computes maps. The error names the device that returned nothing.
func (e *Engine) checked(ctx context.Context, compute func(context.Context) ([]float32, error)) ([]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	maps, err := compute(ctx)
	if errors.Is(err, model.ErrNothing) {
		err = fmt.Errorf("%s: %w; no mask is shown", e.device.Info(), err)
	}
	return maps, err
}

// channel picks channel c of maps (…, channels).
func channel(maps []float32, c, channels int) []float32 {
	out := make([]float32, len(maps)/channels)
	for i := range out {
		out[i] = maps[i*channels+c]
	}
	return out
}

// timed runs f and returns its time in ms.
func timed(f func() error) (float64, error) {
	start := time.Now()
	err := f()
	return since(start), err
}

func since(start time.Time) float64 { return float64(time.Since(start).Microseconds()) / 1000 }
