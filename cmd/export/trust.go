package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
	"mrprism/internal/gpu"
	"mrprism/internal/imageio"
	"mrprism/internal/metric"
	"mrprism/internal/segment"
	"mrprism/internal/synthetic"
	"mrprism/internal/trust"
	"mrprism/model"
	"mrprism/weights"
)

// openFolds opens the weights of -folds, that of "train -fold 1/K" first. They look at images as
// the model does. Which images a run had set aside follows from the names of all its images: -data
// and -also are to be the folders of these runs.
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
			return nil, fmt.Errorf("-folds: %s was trained on %s, and -data and -also are %s: name the same folders, or it had set other images aside",
				name, strings.Join(from, ", "), strings.Join(ours, ", "))
		}
		fold.Metadata.Mirrored, fold.Metadata.SinglePieces, fold.Metadata.Turned, fold.Metadata.Trust = m.Metadata.Mirrored, m.Metadata.SinglePieces, m.Metadata.Turned, nil
		folds = append(folds, fold)
	}
	if len(folds) < 2 {
		return nil, fmt.Errorf("-folds %s: a run for each of two or more folds is needed", r.folds)
	}
	return folds, nil
}

// trainedOn are the sorted names of the data sets that the metadata say weights were trained on;
// nil where they are not as train writes them.
func trainedOn(about *weights.Metadata) []string {
	names, _, known := strings.Cut(about.Data, "; every fifth image held out")
	if !known {
		return nil
	}
	return folders(names)
}

// folders are the sorted names of a dataset.Dataset that is of several, or of the list that train
// makes of them.
func folders(names string) []string {
	return slices.Sorted(strings.SplitSeq(strings.ReplaceAll(names, "+", ", "), ", "))
}

// coverage is the share of images in which intervals are to hold the majority's figure.
const coverage = 0.9

// truster learns from training images when to believe a model's results.
type truster struct {
	device   gpu.Device
	progress *command.Progress
	cases    []dataset.Case
	anchor   string
	turns    bool // training images are also looked at turned

	references []trust.Reference
	parts      []int             // of the cases: which run had set each aside
	pixels     [][]*trust.Pixels // by structure and image
	areas      [][]float64       // by structure: how far beyond the range, logarithms
	ratios     []float64         // how far beyond the range
}

// foldsToDoubtBy is from how many folds on the signs of doubt are those of the runs that had set
// the images aside. Runs on halves of cells were so unlike the model that it doubted 91 % of
// foreign pictures by their signs, and 97 % by its own.
const foldsToDoubtBy = 4

// learn fits what the file keeps. With four folds or more, each image's figures are those of the
// run that had set it aside; its features are always the model's own.
func (t *truster) learn(ctx context.Context, m *weights.Model, folds []*weights.Model) (*weights.Trust, error) {
	classes := m.Metadata.Classes
	t.references = make([]trust.Reference, len(t.cases), len(t.cases)+foreign)
	t.pixels, t.areas = make([][]*trust.Pixels, len(classes)), make([][]float64, len(classes))
	plain := *m
	plain.Metadata.Trust = nil
	err := t.each(ctx, &plain, t.turns, func(int) bool { return true }, func(i int, l *dataset.Loaded, r *segment.Result) {
		t.references[i].Looks = r.Looks
		if len(folds) < foldsToDoubtBy {
			t.refer(i, l, r)
		}
	})
	if err != nil {
		return nil, err
	}
	t.parts = dataset.Folds(t.cases, max(1, len(folds)))
	for i, part := range dataset.Folds(t.cases, 4) { // of what the model has seen, too
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
	if known == nil || len(folds) == 0 {
		return known, nil
	}
	known.FoldsOf, known.Maps, known.Areas = len(folds), map[string]weights.Map{}, map[string]weights.Spread{}
	for k, class := range classes {
		if curve, ok := trust.NewMap(t.pixels[k]); ok {
			known.Maps[class] = curve
		}
		if spread, ok := trust.NewSpread(t.areas[k], coverage); ok {
			known.Areas[class] = spread
		}
	}
	if spread, ok := trust.NewSpread(t.ratios, coverage); ok {
		known.Ratio = &spread
	}
	return known, nil
}

// each segments some of the cases with a model, searched where it has an anchor; with turns a
// quarter of them lies each way.
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
		t.progress.Show("%s: what to believe", c.Name)
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

// refer keeps the figures of a result, and whether the structure that all hangs on is where people
// marked it. Where nothing was found, or nobody marked anything, there are no figures.
func (t *truster) refer(i int, l *dataset.Loaded, r *segment.Result) {
	anchor := max(0, slices.Index(r.Classes, t.anchor))
	votes, ok := l.Votes(anchor)
	if !ok || !r.Found {
		return
	}
	t.references[i].Figures = r.Figures
	t.references[i].Wrong = metric.Dice(r.Probability(anchor), votes.Mean()) < wrong
}

// wrong is the Dice below which a mask is that of something else.
const wrong = 0.5

// foreign is how many pictures of other kinds the evidence is weighed with, and foreignSide their
// longer side, pixels.
const foreign, foreignSide = 54, 384

// addForeign adds results on pictures of other kinds, which are drawn for it, as wrong. There are
// brains and cells in a few: a model of those loses little.
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

// compare adds how a result differs from what people marked.
func (t *truster) compare(i int, l *dataset.Loaded, r *segment.Result) {
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
		if majority, s := metric.Area(mean), r.Measurements.Structures[k]; majority > 0 && s.Area > 0 {
			m := math.Log(float64(majority))
			t.areas[k] = append(t.areas[k], max(math.Log(float64(s.Low))-m, m-math.Log(float64(s.High))))
		}
	}
	disc, cup := segment.DiscAndCup(r.Classes)
	if ratio := r.Measurements.VerticalRatio; ratio != nil && ratio.Value != nil {
		outer, first := l.Votes(disc)
		inner, second := l.Votes(cup)
		if first && second {
			majority := metric.VerticalRatio(outer.Mean(), inner.Mean(), l.Image.W, l.Image.H)
			t.ratios = append(t.ratios, max(*ratio.Low-majority, majority-*ratio.High))
		}
	}
}
