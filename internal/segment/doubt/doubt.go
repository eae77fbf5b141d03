// Package doubt learns from images with marks when to doubt a model's results, and how far these
// err. Results of runs that had set the images aside tell the latter. It gathers what package trust
// computes with.
package doubt

import (
	"context"
	"fmt"
	"math"
	"slices"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/foreign"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// Coverage is the share of images in which intervals should hold the majority's figure.
const Coverage = 0.9

// Learner learns when to doubt a model's results.
type Learner struct {
	Device gpu.Device
	Cases  []dataset.Case
	Turns  bool             // three of four images are turned
	Folds  []*weights.Model // runs that had each set a part of Cases aside; nil: none
	Parts  []int            // by case: which of Folds had set it aside
	// Next is told of each image before it is segmented. An error of it ends Learn.
	Next func(what string) error

	anchor     string
	references []trust.Reference
	units      []int              // by case: the patient
	pixels     [][]*trust.Pixels  // by structure and image
	areas      [][]trust.Residual // by structure: of the majority's area, logarithms
	outlines   [][]trust.Residual // by structure: of each expert's outline, radii
	ratios     []trust.Residual   // of the majority's ratio
	eyes       []trust.Eye        // of the majority's ratio
	looks      [][]float64        // the figures of their photographs
}

// Refers says whether the signs of doubt come from the folds.
func (l *Learner) Refers() bool { return len(l.Folds) >= trust.FoldsToDoubtBy }

// Images is the number of images that Learn segments, each as often as it does.
func (l *Learner) Images(m *weights.Model) int {
	n := len(l.Cases) + foreignPictures
	if m.Metadata.Anchor != "" {
		n += len(l.Cases)
	}
	if l.Refers() {
		n += len(l.Cases)
	}
	for _, c := range l.Cases {
		if len(l.Folds) > 0 && !c.Others {
			n++
		}
	}
	return n
}

// Learn fits the trust of a model; nil: the images are too few. If the signs of doubt come from the
// folds, the figures of an image are those of the run that had set it aside; its features are
// always the model's own. What enough folds have taught stays if there are none now.
func (l *Learner) Learn(ctx context.Context, m *weights.Model) (*weights.Trust, error) {
	classes := m.Metadata.Classes
	l.anchor, l.references = m.Metadata.Anchor, make([]trust.Reference, len(l.Cases), len(l.Cases)+foreignPictures)
	l.pixels, l.areas, l.outlines = make([][]*trust.Pixels, len(classes)), make([][]trust.Residual, len(classes)), make([][]trust.Residual, len(classes))
	l.units = dataset.Units(l.Cases)
	for i, part := range dataset.Folds(l.Cases, 4) { // for images that the model has seen, too
		l.references[i].Part, l.references[i].Unit = part, l.units[i]
	}
	if before := m.Metadata.Trust; before != nil && len(l.Folds) == 0 && before.FoldsOf >= trust.FoldsToDoubtBy {
		return before, nil
	} else if distinct(l.units) < trust.Enough {
		return nil, nil
	}
	known := &weights.Trust{}
	err := l.with(ctx, m, m, func(e *segment.Engine) (err error) {
		if known.Cameras, known.Mirror, err = l.photographs(ctx, e); err != nil {
			return err
		}
		err = l.each(ctx, e, l.Turns, func(int) bool { return true }, func(i int, loaded *dataset.Loaded, r *segment.Result) {
			l.references[i].Looks = r.Looks
			if !l.Refers() {
				l.refer(i, loaded, r)
			}
		})
		if err != nil {
			return err
		}
		return l.addForeign(ctx, e)
	})
	if err != nil {
		return nil, err
	}
	for part, fold := range l.Folds {
		err := l.with(ctx, fold, m, func(e *segment.Engine) error {
			if err := l.each(ctx, e, l.Turns, func(i int) bool { return l.Parts[i] == part && l.Refers() }, l.refer); err != nil {
				return err
			}
			return l.each(ctx, e, false, func(i int) bool { return l.Parts[i] == part && !l.Cases[i].Others }, l.compare)
		})
		if err != nil {
			return nil, err
		}
	}
	fitted := trust.Fit(slices.DeleteFunc(slices.Clone(l.references), func(r trust.Reference) bool { return r.Figures == nil }))
	if fitted == nil {
		return nil, nil
	}
	fitted.Cameras, fitted.Mirror = slices.DeleteFunc(known.Cameras, l.unsure), known.Mirror
	switch before := m.Metadata.Trust; {
	case len(l.Folds) > 0:
		l.spread(fitted, classes)
	case before != nil: // what folds taught of these weights stays
		fitted.FoldsOf, fitted.Maps, fitted.Areas, fitted.Ratio, fitted.Outlines = before.FoldsOf, before.Maps, before.Areas, before.Ratio, before.Outlines
	}
	return fitted, nil
}

// spread adds what the folds tell of probabilities and figures.
func (l *Learner) spread(known *weights.Trust, classes []string) {
	known.FoldsOf, known.Maps, known.Areas, known.Outlines = len(l.Folds), map[string]weights.Map{}, map[string]weights.Spread{}, map[string]weights.Spread{}
	for k, class := range classes {
		if curve, ok := trust.NewMap(l.pixels[k]); ok {
			known.Maps[class] = curve
		}
		if spread, ok := trust.NewSpread(l.areas[k], Coverage); ok {
			known.Areas[class] = spread
		}
		if spread, ok := trust.NewSpread(l.outlines[k], Coverage); ok {
			known.Outlines[class] = spread
		}
	}
	if spread, ok := trust.NewSpread(l.ratios, Coverage); ok {
		known.Ratio = &spread
	}
}

// with makes an engine of a model. It looks at images as the model m does, and knows nothing of
// trust.
func (l *Learner) with(ctx context.Context, of, m *weights.Model, work func(*segment.Engine) error) error {
	plain := *of
	plain.Metadata.Mirrored, plain.Metadata.SinglePieces, plain.Metadata.Turned = m.Metadata.Mirrored, m.Metadata.SinglePieces, m.Metadata.Turned
	plain.Metadata.Trust, plain.Metadata.Certificate = nil, nil
	e, err := segment.New(ctx, l.Device, &plain, model.F32)
	if err != nil {
		return err
	}
	defer e.Close()
	return work(e)
}

// each segments the wanted cases, which a model with an anchor searches. With turns it turns case i
// by i quarters.
func (l *Learner) each(ctx context.Context, e *segment.Engine, turns bool, wanted func(i int) bool, keep func(i int, loaded *dataset.Loaded, r *segment.Result)) error {
	for i, c := range l.Cases {
		if !wanted(i) {
			continue
		}
		if err := l.Next(c.Name + ": when to doubt"); err != nil {
			return err
		}
		loaded, err := dataset.Load(c)
		if err != nil {
			return err
		}
		if turns {
			loaded = loaded.Turned(i % 4)
		}
		about := e.Metadata()
		r, err := e.Segment(ctx, loaded.Image, segment.Options{Recurrences: segment.Feedbacks(&about)})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Image, err)
		}
		keep(i, loaded, r)
	}
	return nil
}

// refer keeps the figures of a result, and whether the anchor, or the first structure, is where
// people marked it. It keeps nothing if nothing was found, or if there are no marks.
func (l *Learner) refer(i int, loaded *dataset.Loaded, r *segment.Result) {
	anchor := max(0, slices.Index(r.Classes, l.anchor))
	votes, ok := loaded.Votes(anchor)
	if !ok || !r.Found {
		return
	}
	l.references[i].Figures = r.Figures
	l.references[i].Wrong = metric.Dice(r.Probability(anchor), votes.Mean()) < wrong
}

// wrong is the Dice below which a mask shows something else than the structure.
const wrong = 0.5

// foreignPictures is the number of drawn pictures of other kinds, and foreignSide their longer side
// in pixels.
const foreignPictures, foreignSide = 54, 384

// addForeign adds results on drawn pictures of other kinds as wrong results. A few of them show
// brains or cells, which costs a model of these little.
func (l *Learner) addForeign(ctx context.Context, e *segment.Engine) error {
	about := e.Metadata()
	for i := range foreignPictures {
		if err := l.Next("a picture of another kind"); err != nil {
			return err
		}
		drawn := foreign.Kinds[i%len(foreign.Kinds)].Picture(uint64(i), foreignSide, foreignSide*3/4)
		img := &imageio.Image{W: drawn.Rect.Dx(), H: drawn.Rect.Dy()}
		for p := 0; p < len(drawn.Pix); p += 4 {
			img.Pix = append(img.Pix, drawn.Pix[p:p+3]...)
		}
		r, err := e.Segment(ctx, img, segment.Options{Recurrences: segment.Feedbacks(&about)})
		if err != nil {
			return fmt.Errorf("a picture of another kind: %w", err)
		}
		if r.Found {
			l.references = append(l.references, trust.Reference{Figures: r.Figures, Looks: r.Looks, Wrong: true})
		}
	}
	return nil
}

// compare adds the differences between a result and the marks.
func (l *Learner) compare(i int, loaded *dataset.Loaded, r *segment.Result) {
	image := trust.Residual{Unit: l.units[i], Part: l.Parts[i], Camera: l.Cases[i].Folder, Signs: r.Figures}
	for k := range r.Classes {
		votes, ok := loaded.Votes(k)
		if !ok || !r.Found {
			continue
		}
		p, mean := r.Probability(k), votes.Mean()
		pixels := &trust.Pixels{Part: l.Parts[i]}
		for j, v := range p {
			pixels.Add(v, float64(mean[j]))
		}
		l.pixels[k] = append(l.pixels[k], pixels)
		majority, s := metric.Area(mean), r.Measurements.Structures[k]
		if s.Area == 0 {
			continue
		}
		if majority > 0 {
			low, high := s.Experts()
			l.areas[k] = append(l.areas[k], image.Of(math.Log(max(1, float64(low))), math.Log(float64(s.Area)), math.Log(float64(high)), math.Log(float64(majority))))
		}
		for _, mask := range loaded.Experts(k) {
			outline := image
			outline.Beyond, outline.Signs = r.Apart(k, mask), nil
			l.outlines[k] = append(l.outlines[k], outline)
		}
	}
	if value, majority, ok := ratios(loaded, r); ok {
		low, high := r.Measurements.VerticalRatio.Experts()
		l.ratios = append(l.ratios, image.Of(low, value, high, majority))
		l.certify(i, loaded, r)
	}
}

// ratios are the vertical ratio of a result, and that of the majority.
func ratios(loaded *dataset.Loaded, r *segment.Result) (value, majority float64, ok bool) {
	disc, cup := metric.DiscAndCup(r.Classes)
	ratio := r.Measurements.VerticalRatio
	if ratio == nil || ratio.Value == nil {
		return 0, 0, false
	}
	outer, first := loaded.Votes(disc)
	inner, second := loaded.Votes(cup)
	if !first || !second {
		return 0, 0, false
	}
	return *ratio.Value, metric.VerticalRatio(outer.Mean(), inner.Mean(), loaded.Image.W, loaded.Image.H), true
}
