package segment

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"
	"mrprism/model"
)

// Segment segments an image, which must not change while the engine lives. A second call with the
// same image and ROI runs only the recurrences, and with Metadata.Mirrored one encoding.
//
// With ROI "auto" and a model that has an anchor, Segment first searches the lit part of the image
// for the anchor, and segments the region around it. If it finds none, Found is false. Wrong
// options give an OptionError, and the device gives the errors of package gpu. A map with other
// values than probabilities, or of zeros alone, gives model.ErrNotFinite or model.ErrNothing and no
// mask.
//
// Five steps lead to the result: place, look, settle, measure and judge. Each makes a value of the
// values before it, and none changes later. The engine keeps those of the last image: a step does
// not run again on the same inputs.
func (e *Engine) Segment(ctx context.Context, img *imageio.Image, o Options) (*Result, error) {
	finish, err := e.Begin(ctx, img, o)
	if err != nil {
		return nil, err
	}
	return finish(), nil
}

// Begin is the part of Segment that needs the device: it takes the first three steps. finish takes
// the others. It may run on another goroutine while the engine goes on, also with another image.
func (e *Engine) Begin(ctx context.Context, img *imageio.Image, o Options) (finish func() *Result, err error) {
	q, err := e.request(img, o)
	if err != nil {
		return nil, err
	}
	p, err := e.place(ctx, q)
	if err != nil {
		return nil, err
	}
	l, err := e.look(ctx, p, q)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	s, err := e.settle(ctx, p, q)
	if err != nil {
		return nil, err
	}
	settled := since(start)
	return func() *Result {
		start := time.Now()
		r := e.judge(p, l, s, s.measure())
		r.Timings = timings(p, l, s, settled+since(start))
		return r
	}, nil
}

// Recalculate runs the recurrences again on the region that was encoded last, with other options.
// It ignores o.ROI.
func (e *Engine) Recalculate(ctx context.Context, o Options) (*Result, error) {
	p := e.last.place
	if p == nil {
		return nil, errors.New("no region has been encoded: call Segment first")
	}
	o.ROI = p.roi
	return e.Segment(ctx, p.image, o)
}

// last are the values of the steps on the last image; nil: there is none.
type last struct {
	place  *place
	look   *look
	passed *passed
}

// place is where to look in an image.
type place struct {
	image     *imageio.Image
	roi       string         // Options.ROI
	square    imageio.Square // the region
	field     imageio.Square // the lit part, for a model with an anchor; otherwise the whole image
	finding                  // of the search; empty without one
	nothing   bool           // the search found nothing: there is no region
	detail    float64        // of the field: see trust.Quality
	sharpness float64        // of the field: see Result.Sharpness
	quality   *Quality       // nil for a model without an anchor
	camera    camera         // what a certificate says of the photograph
	took      float64        // ms, the search
}

// place is the first step. It takes the region from the options, or searches the image for it.
func (e *Engine) place(ctx context.Context, q request) (*place, error) {
	if p := e.last.place; p != nil && p.image == q.image && p.roi == q.ROI {
		return p, nil
	}
	e.last = last{}
	whole := imageio.Letterbox(q.image.W, q.image.H)
	p := &place{image: q.image, roi: q.ROI, square: whole, field: whole}
	anchor := slices.Index(e.about.Classes, e.about.Anchor)
	if anchor >= 0 {
		p.field = roi.Field(q.image)
	}
	x := e.crop(q.image, p.field)
	p.detail, p.sharpness = detail(x, e.about.Side), sharpness(x, e.about.Side)
	if anchor >= 0 {
		p.quality = quality(x, e.about.Side, p.image, p.field, p.sharpness)
	}
	p.camera = e.watch(appearance(x, p.detail, p.sharpness))
	switch {
	case q.region.Mode == roi.Given:
		p.square = q.region.Square
	case q.region.Mode == roi.Auto && anchor >= 0:
		start := time.Now()
		var err error
		if p.finding, err = e.search(ctx, q, p.field, x, anchor); err != nil {
			return nil, err
		}
		if p.nothing = len(p.candidates) == 0; !p.nothing {
			p.square = p.candidates[0].Square
		}
		p.took = since(start)
	}
	e.last.place = p
	return p, nil
}

// look is what the encoder tells of a region.
type look struct {
	features []float32 // model.Inference.Features; nil without a region
	took     float64   // ms
}

// look is the second step. The encoder sees the region.
func (e *Engine) look(ctx context.Context, p *place, q request) (*look, error) {
	if e.last.look != nil || p.nothing {
		return cmp.Or(e.last.look, &look{}), nil
	}
	q.Progress("segment", 0, q.Recurrences+1)
	start := time.Now()
	if err := e.show(ctx, sight{p, false}); err != nil {
		return nil, err
	}
	features, err := e.network.Features(ctx)
	if err != nil {
		return nil, fmt.Errorf("features: %w", err)
	}
	e.last.look = &look{features, since(start)}
	return e.last.look, nil
}

// settled are the maps of a region.
type settled struct {
	*Maps
	figures trust.Figures      // trust.Fit learns from them
	before  *Maps              // before calibrate, with the same raters; nil where no interval refers to them
	read    func() []reading   // of before
	equal   bool               // rater weights: intervals refer to before
	took    map[string]float64 // ms of the stages that ran
}

// settle is the third step. Passes make masks, around marks if there are some, and raters' weights
// act.
func (e *Engine) settle(ctx context.Context, p *place, q request) (settled, error) {
	made, took := e.last.passed, map[string]float64(nil)
	if !made.answers(q) {
		var err error
		if made, err = e.pass(ctx, p, q); err != nil {
			return settled{}, err
		}
		took = made.took
	}
	s := settled{e.maps(p, q, made.output), made.figures, made.before, made.read, equal(q.RaterWeights), took}
	if e.settles {
		e.last.passed = made
		if !p.nothing {
			s.Maps = e.agree(*s.Maps, made.marks, q.consensus)
		}
	}
	return s, nil
}

// passed is what the passes make of a region and marks. Raters' weights of a model that takes marks
// act after it, in the consensus alone (model/DECISIONS.md): another choice of weights needs no
// pass.
type passed struct {
	evidence    []Evidence // that were asked for
	recurrences int
	panels      []float32 // request.panels
	marks       []model.Mark
	output
	figures trust.Figures
	before  *Maps            // before calibrate; nil with marks, and where the weights know no intervals
	read    func() []reading // of before, once
}

// answers reports whether p was computed with q's marks and recurrences, so that its maps can be
// reused.
func (p *passed) answers(q request) bool {
	return p != nil && p.recurrences == q.Recurrences && slices.Equal(p.panels, q.panels) && slices.EqualFunc(p.evidence, q.Evidence, func(a, b Evidence) bool {
		return a.Rater == b.Rater && a.Class == b.Class && bytes.Equal(a.Mask, b.Mask)
	})
}

// pass runs the passes. The figures are those of the maps before calibrate.
func (e *Engine) pass(ctx context.Context, p *place, q request) (*passed, error) {
	e.last.passed = nil
	made := &passed{evidence: q.Evidence, recurrences: q.Recurrences, panels: q.panels}
	if p.nothing {
		made.output = e.blank(q.Recurrences + 1)
		return made, nil
	}
	made.marks = e.marks(q.image, p.square, q.Evidence)
	out, unsteady, err := e.run(ctx, p, made.marks, q)
	if err != nil {
		return nil, err
	}
	mask := out.masks[len(out.masks)-1]
	if e.settles {
		mask = out.masks[0] // what the image says, and no mark
	}
	made.figures = e.figures(p, mask, unsteady)
	out.plain = slices.Clone(out.masks[len(out.masks)-1])
	if e.knowsErrors() && len(q.Evidence) == 0 {
		made.before = e.maps(p, q, output{masks: [][]float32{out.plain}, raters: out.raters})
		made.read = sync.OnceValue(func() []reading {
			within, _, _ := made.before.Within()
			return within.readings(within.each(within.Probability), nil)
		})
	}
	e.calibrate(out.masks)
	made.output = out
	return made, nil
}

// maps are the network's maps as those of the image.
func (e *Engine) maps(p *place, q request, out output) *Maps {
	picture := *p.image
	picture.Pix = nil
	return &Maps{
		Picture: picture, Width: picture.W, Height: picture.H, ROI: p.square, Recurrences: len(out.masks) - 1,
		Classes: slices.Clone(e.about.Classes), Raters: Heads(&e.about), Labels: Labels(&e.about),
		side: e.about.Side, masks: out.masks, raters: out.raters, plain: out.plain, leftOut: out.others, separate: e.network.Independent,
		given: given{marks: q.Evidence, width: picture.W}, eyeBy: signs{q.Eye, q.Name, p.field, !p.turned}, kept: q.kept,
	}
}

// measured is what the masks measure.
type measured struct {
	Measurements
	uncalibrated *Measurements // the sizes before calibrate; nil where no interval refers to them
	readings     []reading     // of the calibrated mask, then of each rater
}

// measure is the fourth step. It reads the masks at the image's size. The raters were read before
// calibrate, which leaves them as they are.
func (s settled) measure() (m measured) {
	var raters []reading
	if s.before != nil {
		before := s.read()
		if raters = before[1:]; s.equal {
			m.uncalibrated = new(s.before.sizes(before))
		}
	}
	within, _, _ := s.Within()
	masks := within.each(within.Probability)
	m.readings = within.readings(masks, raters)
	m.Measurements = s.measurements(within, masks, m.readings)
	return m
}

// readings are those of masks, and then of each rater unless they are known.
func (r *Maps) readings(masks [][]float32, raters []reading) []reading {
	readings := append([]reading{r.read(masks)}, raters...)
	for i := len(raters); i < len(r.Raters); i++ {
		readings = append(readings, r.read(r.each(func(c int) []float32 { return r.Rater(i, c) })))
	}
	return readings
}

// judge is the last step. It says what was found, whether to doubt it, and how far to trust each
// figure.
func (e *Engine) judge(p *place, l *look, s settled, m measured) *Result {
	r := &Result{
		Maps: *s.Maps, readings: m.readings, Found: e.found(m.Structures), Looks: map[string][]float32{}, Sharpness: p.sharpness, Figures: trust.Figures{}, Appearance: p.camera.appearance,
		Steered: e.steered, TakesMarks: e.settles, Adapter: e.Adapter(), Why: e.device.Info().Why, Precision: e.precision,
	}
	for name, features := range map[string][]float32{"whole": p.whole, "close": l.features} {
		if features != nil {
			r.Looks[name] = features
		}
	}
	if 2*p.square.Side <= p.field.Side {
		r.Photograph, r.Quality = p.whole, p.quality.with(p.image, &r.Maps, e.anchor())
	} else if p.nothing {
		r.Quality = p.quality
	}
	if r.Found { // otherwise they describe nothing
		maps.Copy(r.Figures, s.figures)
	}
	r.Doubt, r.Doubts = e.doubts(r.Found, r.Figures, r.Looks, p.image.Cut)
	r.Measurements, r.margins = e.intervals(e.trusted(m.Measurements, r), m.uncalibrated, r)
	e.certify(r, m.uncalibrated, p.camera)
	return r
}

// timings are Result.Timings. The passes took nothing where their values were there.
func timings(p *place, l *look, s settled, since float64) map[string]float64 {
	out := map[string]float64{"total": math.Round(1000*(p.took+l.took+since)) / 1000}
	maps.Copy(out, s.took)
	for stage, ms := range map[string]float64{"search": p.took, "encode": l.took} {
		if ms > 0 {
			out[stage] = ms
		}
	}
	return out
}
