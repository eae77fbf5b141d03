package train

import (
	"context"
	"fmt"
	"slices"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/model"
	"mrprism/weights"
)

// read reads the images to learn from, and the images set aside for scores.
func (o Options) read(ctx context.Context, data *dataset.Dataset, learn, apart []dataset.Case, progress func(done, total int)) (cases []*dataset.Sample, aside []*dataset.Loaded, err error) {
	cases, left, err := dataset.LoadSamples(ctx, data, learn, o.Anchor, progress)
	if cases, err = sound(o, cases, left, err); err != nil || len(apart) == 0 {
		return cases, nil, err
	}
	aside, left, err = dataset.LoadSound(ctx, apart, progress)
	if aside, err = sound(o, aside, left, err); err != nil {
		return nil, nil, err
	}
	if !scorable(aside, len(data.Classes)) {
		return nil, nil, choice.Errorf("the images set aside to score by (%d) all lack masks of an agreement level, and votes cannot be counted without them: add the masks, "+
			"or train without $validate, $fold and validation list", len(aside))
	}
	return cases, aside, nil
}

// anchored says whether raters begin as the mask. New ones do. A run that is resumed, and a network
// that does not learn, keep what they have.
func (o Options) anchored(from weights.Metadata) bool {
	switch {
	case o.Resume:
		if file := last(o.Out); len(file.Tensors) > 0 {
			return file.Tensor(model.AnchoredHeads) != nil
		}
	case o.Recipe.Frozen:
		return model.IsAnchored(from.Configuration)
	}
	return o.Recipe.Settles > 0
}

// network is the architecture for the data and the recipe, on a model that the run may start from.
func (o Options) network(data *dataset.Dataset, learn []dataset.Case, cases []*dataset.Sample, from weights.Metadata) (model.Config, error) {
	c, err := model.NewConfig(o.Config, len(data.Raters), len(data.Classes))
	if err != nil {
		return c, err
	}
	c.Recompute, c.Precision = o.Recompute, o.Precision
	c.AreaPrior = areas(cases, len(data.Classes))
	c.Independent, c.Levels = o.independent(data, cases), data.Levels
	if data.Panels {
		c.Panels = len(data.Raters)
	}
	c.Extend(o.Recipe.Steered, o.Recipe.Settles > 0, o.anchored(from))
	return c, checkMethod(data, learn, c.Method)
}

// checkMethod returns an error if the data lacks what the method needs; m may be nil.
func checkMethod(data *dataset.Dataset, learn []dataset.Case, m *model.Method) error {
	if m == nil {
		return nil
	}
	if data.Levels && m.NeedsRaters() {
		return fmt.Errorf("method %s learns from who marked what, and %s has agreement levels, which do not say it: use data of named raters, or a method "+
			"without raters such as uecnn", m.Name, data.Name)
	}
	without := slices.IndexFunc(learn, func(c dataset.Case) bool { return c.Diagnosis == dataset.Undiagnosed })
	if m.Diagnosed && without >= 0 {
		return fmt.Errorf("method %s learns from a diagnosis of each image, and %s has none: add a line such as %s,1 to %s in its folder (1: positive, 0: negative)",
			m.Name, learn[without].Name, learn[without].Name, dataset.DiagnosisFile)
	}
	return nil
}

// areas has the mean share of pixels of each class in the labels.
func areas(cases []*dataset.Sample, classes int) []float64 {
	share := make([]float64, classes)
	for k := range share {
		inside, all := 0.0, 0.0
		for _, c := range cases {
			in, of := c.Marked(k, classes)
			inside, all = inside+in, all+of
		}
		share[k] = min(max(inside/max(all, 1), 0.01), 0.5)
	}
	return share
}

// fewOutside is the share of a structure's pixels outside the structure before it, up to which they
// count as raters' mistakes.
const fewOutside = 0.05

// independent says whether raters marked structures outside of the structures before them (a cup
// lies inside its disc). A note tells the user.
func (o Options) independent(data *dataset.Dataset, cases []*dataset.Sample) bool {
	found := false
	for k := 1; k < len(data.Classes); k++ {
		outside, all := 0.0, 0.0
		for _, c := range cases {
			out, of := c.Outside(k, len(data.Classes))
			outside, all = outside+out, all+of
		}
		if outside > fewOutside*all {
			found = true
			o.tell(fmt.Sprintf("%.0f %% of what is marked as %s lies outside of %s: masks of the %d structures are not kept inside one another",
				100*outside/all, data.Classes[k], data.Classes[k-1], len(data.Classes)))
		}
	}
	return found
}
