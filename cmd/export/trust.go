package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/trust"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// openFolds opens the weights of -folds, in the order of "train -fold 1/K" to K/K, and makes them
// look at images as the model does. The names of all images decide which of them a run had set
// aside: -data and -also must be the folders of these runs.
func (r *request) openFolds(m *weights.Model, data *dataset.Dataset) ([]*weights.Model, error) {
	if r.folds == "" {
		return nil, nil
	}
	var folds []*weights.Model
	for _, name := range strings.Split(r.folds, ",") {
		fold, err := command.Weights(name)
		if err != nil {
			return nil, err
		}
		if fmt.Sprint(fold.Metadata.Classes, fold.Metadata.Raters, fold.Metadata.Anchor) != fmt.Sprint(m.Metadata.Classes, m.Metadata.Raters, m.Metadata.Anchor) {
			return nil, fmt.Errorf("-folds: %s has other classes, raters or another anchor than %s", name, m.Metadata.Name)
		}
		if from, ours := trainedOn(&fold.Metadata), folders(data.Name); from != nil && !slices.Equal(from, ours) {
			return nil, fmt.Errorf("-folds: %s was trained on %s, and -data and -also are %s: name the same folders, because others set other images aside",
				name, strings.Join(from, ", "), strings.Join(ours, ", "))
		}
		fold.Metadata.Mirrored, fold.Metadata.SinglePieces, fold.Metadata.Turned, fold.Metadata.Trust = m.Metadata.Mirrored, m.Metadata.SinglePieces, m.Metadata.Turned, nil
		folds = append(folds, fold)
	}
	if r.splits != "" && len(strings.Split(r.splits, ",")) != len(folds) {
		return nil, fmt.Errorf("-splits %s: name one for each of the %d runs of -folds, in their order", r.splits, len(folds))
	}
	if len(folds) < 2 {
		return nil, fmt.Errorf("-folds %s: a run for each of two or more folds is needed", r.folds)
	}
	return folds, nil
}

// trainedOn are the sorted names of the training data sets in the metadata; nil if train did not
// write them.
func trainedOn(about *weights.Metadata) []string {
	names, _, known := strings.Cut(about.Data, "; every fifth image held out")
	if !known {
		return nil
	}
	return folders(names)
}

// folders are the sorted names in the name of a dataset.Dataset of several folders, or in the list
// that train writes.
func folders(names string) []string {
	return slices.Sorted(strings.SplitSeq(strings.ReplaceAll(names, "+", ", "), ", "))
}

// coverage is the share of images in which intervals should hold the majority's figure.
const coverage = 0.9

// truster learns from training images when to doubt a model's results.
type truster struct {
	device   gpu.Device
	progress *command.Progress
	cases    []dataset.Case
	anchor   string
	turns    bool // three of four training images are turned

	references []trust.Reference
	parts      []int              // by case: the run that had set it aside
	units      []int              // by case: the patient
	pixels     [][]*trust.Pixels  // by structure and image
	areas      [][]trust.Residual // by structure: of the majority's area, logarithms
	outlines   [][]trust.Residual // by structure: of each expert's outline, radii
	ratios     []trust.Residual   // of the majority's ratio
}

// foldsToDoubtBy is the smallest number of folds with which the signs of doubt are those of the
// runs that had set the images aside. With fewer folds these runs differ too much from the model.
const foldsToDoubtBy = 4

// learn fits the trust of the file. With foldsToDoubtBy folds or more, the figures of an image are
// those of the run that had set it aside; its features are always the model's own.
func (t *truster) learn(ctx context.Context, m *weights.Model, folds []*weights.Model) (*weights.Trust, error) {
	classes := m.Metadata.Classes
	t.references = make([]trust.Reference, len(t.cases), len(t.cases)+foreign)
	t.pixels, t.areas, t.outlines = make([][]*trust.Pixels, len(classes)), make([][]trust.Residual, len(classes)), make([][]trust.Residual, len(classes))
	plain := *m
	plain.Metadata.Trust = nil
	cameras, mirror, err := t.photographs(ctx, &plain)
	if err != nil {
		return nil, err
	}
	if before := m.Metadata.Trust; before != nil && len(folds) == 0 && before.FoldsOf >= foldsToDoubtBy { // what folds taught stays
		known := *before
		known.Cameras, known.Mirror = cameras, mirror
		return &known, nil
	}
	err = t.each(ctx, &plain, t.turns, func(int) bool { return true }, func(i int, l *dataset.Loaded, r *segment.Result) {
		t.references[i].Looks = r.Looks
		if len(folds) < foldsToDoubtBy {
			t.refer(i, l, r)
		}
	})
	if err != nil {
		return nil, err
	}
	t.units = dataset.Units(t.cases)
	for i, part := range dataset.Folds(t.cases, 4) { // for images that the model has seen, too
		t.references[i].Part = part
	}
	for part, fold := range folds {
		err := errors.Join(
			t.each(ctx, fold, t.turns, func(i int) bool { return t.parts[i] == part && len(folds) >= foldsToDoubtBy }, t.refer),
			t.each(ctx, fold, false, func(i int) bool { return t.parts[i] == part && !t.cases[i].Others }, t.compare))
		if err != nil {
			return nil, err
		}
	}
	if err := t.addForeign(ctx, &plain); err != nil {
		return nil, err
	}
	known := trust.Fit(slices.DeleteFunc(t.references, func(r trust.Reference) bool { return r.Figures == nil }))
	if known != nil {
		known.Cameras, known.Mirror = cameras, mirror
	}
	if known == nil || len(folds) == 0 {
		if before := m.Metadata.Trust; known != nil && before != nil { // what folds taught of these weights stays
			known.FoldsOf, known.Maps, known.Areas, known.Ratio, known.Outlines = before.FoldsOf, before.Maps, before.Areas, before.Ratio, before.Outlines
		}
		return known, nil
	}
	known.FoldsOf, known.Maps, known.Areas, known.Outlines = len(folds), map[string]weights.Map{}, map[string]weights.Spread{}, map[string]weights.Spread{}
	for k, class := range classes {
		if curve, ok := trust.NewMap(t.pixels[k]); ok {
			known.Maps[class] = curve
		}
		if spread, ok := trust.NewSpread(t.areas[k], coverage); ok {
			known.Areas[class] = spread
		}
		if spread, ok := trust.NewSpread(t.outlines[k], coverage); ok {
			known.Outlines[class] = spread
		}
	}
	if spread, ok := trust.NewSpread(t.ratios, coverage); ok {
		known.Ratio = &spread
	}
	return known, nil
}

// each segments the wanted cases with a model, which searches them if it has an anchor. With turns
// it turns case i by i quarters.
func (t *truster) each(ctx context.Context, m *weights.Model, turns bool, wanted func(i int) bool, keep func(i int, l *dataset.Loaded, r *segment.Result)) error {
	e, err := segment.New(ctx, t.device, m, model.F32)
	if err != nil {
		return err
	}
	defer e.Close()
	for i, c := range t.cases {
		if !wanted(i) {
			continue
		}
		t.progress.Begin()
		t.progress.Show("%s: when to doubt", c.Name)
		l, err := dataset.Load(c)
		if err != nil {
			return err
		}
		if turns {
			l = l.Turned(i % 4)
		}
		r, err := e.Segment(ctx, l.Image, segment.Options{Recurrences: segment.Feedbacks(&m.Metadata)})
		if err != nil {
			return fmt.Errorf("%s: %w", c.Image, err)
		}
		keep(i, l, r)
	}
	return nil
}

// refer keeps the figures of a result, and whether the anchor, or the first structure, is where
// people marked it. It keeps nothing if nothing was found, or if there are no marks.
func (t *truster) refer(i int, l *dataset.Loaded, r *segment.Result) {
	anchor := max(0, slices.Index(r.Classes, t.anchor))
	votes, ok := l.Votes(anchor)
	if !ok || !r.Found {
		return
	}
	t.references[i].Figures = r.Figures
	t.references[i].Wrong = metric.Dice(r.Probability(anchor), votes.Mean()) < wrong
}

// wrong is the Dice below which a mask shows something else than the structure.
const wrong = 0.5

// foreign is the number of drawn pictures of other kinds, and foreignSide their longer side in
// pixels.
const foreign, foreignSide = 54, 384

// addForeign adds results on drawn pictures of other kinds as wrong results. A few of them show
// brains or cells, which costs a model of these little.
func (t *truster) addForeign(ctx context.Context, m *weights.Model) error {
	e, err := segment.New(ctx, t.device, m, model.F32)
	if err != nil {
		return err
	}
	defer e.Close()
	for i := range foreign {
		t.progress.Begin()
		t.progress.Show("a picture of another kind")
		drawn := synthetic.ForeignKinds[i%len(synthetic.ForeignKinds)].Picture(uint64(i), foreignSide, foreignSide*3/4)
		img := &imageio.Image{W: drawn.Rect.Dx(), H: drawn.Rect.Dy()}
		for p := 0; p < len(drawn.Pix); p += 4 {
			img.Pix = append(img.Pix, drawn.Pix[p:p+3]...)
		}
		r, err := e.Segment(ctx, img, segment.Options{Recurrences: segment.Feedbacks(&m.Metadata)})
		if err != nil {
			return fmt.Errorf("a picture of another kind: %w", err)
		}
		if r.Found {
			t.references = append(t.references, trust.Reference{Figures: r.Figures, Looks: r.Looks, Wrong: true})
		}
	}
	return nil
}

// compare adds the differences between a result and the marks.
func (t *truster) compare(i int, l *dataset.Loaded, r *segment.Result) {
	image := trust.Residual{Unit: t.units[i], Part: t.parts[i], Camera: t.cases[i].Folder, Signs: r.Figures}
	for k := range r.Classes {
		votes, ok := l.Votes(k)
		if !ok || !r.Found {
			continue
		}
		p, mean := r.Probability(k), votes.Mean()
		pixels := &trust.Pixels{Part: t.parts[i]}
		for j, v := range p {
			pixels.Add(v, float64(mean[j]))
		}
		t.pixels[k] = append(t.pixels[k], pixels)
		majority, s := metric.Area(mean), r.Measurements.Structures[k]
		if s.Area == 0 {
			continue
		}
		if majority > 0 {
			low, high := s.Experts()
			t.areas[k] = append(t.areas[k], image.Of(math.Log(max(1, float64(low))), math.Log(float64(s.Area)), math.Log(float64(high)), math.Log(float64(majority))))
		}
		for _, mask := range l.Experts(k) {
			outline := image
			outline.Beyond, outline.Signs = r.Apart(k, mask), nil
			t.outlines[k] = append(t.outlines[k], outline)
		}
	}
	disc, cup := segment.DiscAndCup(r.Classes)
	if ratio := r.Measurements.VerticalRatio; ratio != nil && ratio.Value != nil {
		outer, first := l.Votes(disc)
		inner, second := l.Votes(cup)
		if first && second {
			majority := metric.VerticalRatio(outer.Mean(), inner.Mean(), l.Image.W, l.Image.H)
			low, high := ratio.Experts()
			t.ratios = append(t.ratios, image.Of(low, *ratio.Value, high, majority))
		}
	}
}

// held says for each data set how often intervals and outlines held, and how wide they were, by
// what the other folds taught.
func (t *truster) held(classes []string) (lines string) {
	add := func(what string, all []trust.Residual, width func(float64) string) {
		for _, h := range trust.Coverage(all, coverage) {
			lines += fmt.Sprintf("\n  %s, %s: %.0f %% of %d patients, %s", what, h.Camera, 100*h.Share, h.Units, width(h.Width))
		}
	}
	add("vertical ratio", t.ratios, func(w float64) string { return fmt.Sprintf("%.2f wide", w) })
	for k, class := range classes {
		add("area of the "+class, t.areas[k], func(w float64) string { return fmt.Sprintf("from 1 to %.2f times", math.Exp(w)) })
		add("outlines of the "+class, t.outlines[k], func(w float64) string { return fmt.Sprintf("%.2f radii to each side", w/2) })
	}
	return lines
}
