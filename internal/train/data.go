package train

import (
	"errors"
	"fmt"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/model"
)

// open lists the data. A bad case is an error. With SkipBad, open notes and omits it instead.
func (o Options) open() (*dataset.Dataset, error) {
	d, err := o.openData()
	if err != nil {
		return nil, err
	}
	if o.Split != "" {
		if err := d.Divide(o.Split); err != nil {
			return nil, err
		}
	}
	if o.Cross > 0 {
		d.TeachAll()
	}
	switch {
	case o.Slots == SlotsLevels:
		if err := d.BecomeLevels(); err != nil {
			return nil, choice.Errorf("$slots levels: %w", err)
		}
	case o.Slots == SlotsDrawn && d.Levels:
		return nil, choice.Errorf("$slots drawn: the raters of %s are agreement levels, which have an order", d.Name)
	}
	for _, folder := range o.Also { // each has its own raters
		others, err := o.openFolders([]string{folder})
		if err != nil {
			return nil, err
		}
		if err := d.Add(others); err != nil {
			return nil, err
		}
	}
	for _, note := range d.Notes() {
		o.tell(note.String())
	}
	if len(d.Training()) == 0 && len(d.Splits) > 0 {
		return nil, fmt.Errorf("%s: the split leaves no image to train on; list images under train", d.Name)
	}
	return d, nil
}

// divide returns the images to learn from and the images for scores. The latter are chosen by
// -validate or -fold, and otherwise by the split's validation list.
func (o Options) divide(d *dataset.Dataset) (learn, aside []dataset.Case, err error) {
	listed := d.Validation()
	if o.validates() {
		if len(listed) > 0 {
			o.tell(fmt.Sprintf("the %d images of the split's validation list are not used: validate and fold choose others", len(listed)))
		}
		learn, aside = o.split(d.Training())
	} else {
		learn, aside = d.Training(), listed
	}
	switch {
	case o.validates() && (len(learn) == 0 || len(aside) == 0):
		err = fmt.Errorf("of %d images %d would be set aside to score by, and %d would be left to learn from: both are needed", len(learn)+len(aside), len(aside), len(learn))
	case len(aside) == 0 && (o.ScoreEvery > 1 || o.Patience > 0):
		err = choice.Errorf("${score-every} and $patience need scores: set images aside to score by, with $validate, $fold or the validation list of a split")
	}
	return learn, aside, err
}

// maskAlone says that the recipe teaches nothing but the mask, by the mean vote.
func (o Options) maskAlone() bool {
	r := o.Recipe
	return !r.Recurrent() && r.Settles == 0 && !r.Steered && r.Rule == model.RuleMean
}

// checkPanels returns an error if the options do not allow panels.
func (o Options) checkPanels() error {
	switch {
	case o.Slots != SlotsPanels:
		return nil
	case len(o.Data) < 2:
		return choice.Errorf("$slots panels: name the folders of two panels or more by $data")
	case !o.maskAlone() || model.MethodOf(o.Config) != nil:
		return choice.Errorf("$slots panels teaches the mask alone: add $recipe bce")
	}
	return nil
}

// checkLabels returns an error if the options do not allow fused labels.
func (o Options) checkLabels() error {
	r, method := o.Recipe, model.MethodOf(o.Config)
	switch {
	case o.Labels == "":
		return nil
	case o.Slots == SlotsLevels || o.Slots == SlotsPanels:
		return choice.Errorf("$labels takes the raters' place, and $slots %s makes %[1]s of them: leave one of them out", o.Slots)
	case len(o.Data) > 1:
		return choice.Errorf("$labels: give one folder by $data; labels are fused for one data set at a time")
	case method != nil && method.NeedsRaters():
		return choice.Errorf("$labels has no raters' masks, from which $method %s learns: leave one of them out", method.Name)
	case !o.maskAlone():
		return choice.Errorf("$labels teaches the mask alone, and $recipe %s also learns from each rater: add $recipe bce", r.Name)
	}
	return nil
}

// teach gives the images to learn from the fused labels, if there are any. The raters of the data
// set that it returns are the ones that teach.
func (o Options) teach(d *dataset.Dataset, learn []dataset.Case) (*dataset.Dataset, []dataset.Case, error) {
	if o.Labels == "" {
		return d, learn, nil
	}
	return d.Taught(o.Labels, learn)
}

// openData opens the folders of Data as one data set.
func (o Options) openData() (*dataset.Dataset, error) {
	if o.Slots != SlotsPanels {
		return o.openFolders(o.Data)
	}
	var panels []*dataset.Dataset
	for _, folder := range o.Data {
		d, err := o.openFolders([]string{folder})
		if err != nil {
			return nil, err
		}
		panels = append(panels, d)
	}
	return dataset.Join(panels)
}

func (o Options) openFolders(folders []string) (*dataset.Dataset, error) {
	if !o.SkipBad {
		return dataset.Open(folders...)
	}
	d, left, err := dataset.OpenSound(folders...)
	o.tellSkipped(left)
	return d, err
}

// sound returns what was loaded. Without SkipBad an omitted case is an error. With it, sound notes
// the case, and only a set without any sound case is an error.
func sound[T any](o Options, loaded []T, left dataset.Problems, err error) ([]T, error) {
	switch {
	case err != nil || len(left) == 0:
		return loaded, err
	case !o.SkipBad:
		return nil, left
	}
	o.tellSkipped(left)
	if len(loaded) == 0 {
		return nil, errors.New("none of the images can be read")
	}
	return loaded, nil
}

func (o Options) tellSkipped(left dataset.Problems) {
	if len(left) > 0 {
		o.tell(fmt.Sprintf("left out (%d):\n  %s", len(left), strings.Join(left, "\n  ")))
	}
}
