package train

import (
	"context"
	"slices"

	"mrprism/internal/choice"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/segment"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// folds are the weights of runs, each of which had set aside a part of the training images. Settle
// learns from a fold's results on that part: weights that have seen an image know it too well.
type folds struct {
	variables []*tensor.Variable // of the network, which does not learn
	values    [][][]float32      // first of the run itself, from Init, then of each fold
	loaded    int                // index in values of the variables' present weights
	parts     map[string]int     // by the name of an image: the fold that had set it aside
}

// openFolds reads the weights of Options.Folds, in the order of -fold 1/K to K/K.
func (o Options) openFolds() (files []*weights.File, err error) {
	for _, name := range o.Folds {
		m, err := computing.Weights(name)
		if err != nil {
			return nil, choice.Errorf("$folds: %w", err)
		}
		file, err := weights.Dequantize(m.File)
		if err != nil {
			return nil, choice.Errorf("$folds: %w", err)
		}
		files = append(files, file)
	}
	return files, nil
}

// fold prepares the weights of the folds. The variables have the run's own weights.
func (t *Trainer) fold(ctx context.Context, files []*weights.File, all []dataset.Case) error {
	f := &folds{parts: map[string]int{}}
	for i, part := range dataset.Folds(all, len(files)) {
		f.parts[all[i].Name] = part
	}
	for _, v := range t.set.Variables(tensor.Parameter, tensor.Statistic) {
		if t.set.Lookup("adam.m."+v.Name) == nil { // v belongs to the network, which does not learn
			f.variables = append(f.variables, v)
		}
	}
	own, err := t.set.Read(ctx, f.variables...)
	if err != nil {
		return err
	}
	f.values = append(f.values, own)
	for i, file := range files {
		taken := fitting(file, f.variables)
		if err := taken.Match(segment.Specs(f.variables)); err != nil {
			return choice.Errorf("$folds: %s has another network than $init: %w", t.Options.Folds[i], err)
		}
		var values [][]float32
		for _, v := range f.variables {
			one, err := taken.Tensor(v.Name).Float32()
			if err != nil {
				return err
			}
			values = append(values, one)
		}
		f.values = append(f.values, values)
	}
	t.folds = f
	return nil
}

// loadFold(0) loads the run's own weights; loadFold(k) loads those of fold k. Without folds it does
// nothing.
func (t *Trainer) loadFold(which int) error {
	f := t.folds
	if f == nil || f.loaded == which {
		return nil
	}
	for i, v := range f.variables {
		if err := t.set.Write(v, f.values[which][i]); err != nil {
			return err
		}
	}
	f.loaded = which
	return nil
}

// samplers draw the batches of a phase. With folds, each fold has its own, and they take turns.
func (t *Trainer) samplers(side int) (all []*dataset.Sampler, err error) {
	o := dataset.Options{Size: side, Batch: t.Options.Batch, Seed: t.Options.Seed, Balance: t.Options.Balance, Drawn: t.Options.Slots == SlotsDrawn, Augmentation: t.Options.augmentation()}
	if t.folds == nil {
		s, err := dataset.NewSampler(t.Dataset, t.cases, o)
		return []*dataset.Sampler{s}, err
	}
	for part := range t.Options.Folds {
		s, err := dataset.NewSampler(t.Dataset, slices.DeleteFunc(slices.Clone(t.cases), func(c *dataset.Sample) bool { return t.folds.parts[c.Name] != part }), o)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// checkFolds returns an error if the options do not allow folds.
func (o Options) checkFolds() error {
	switch {
	case len(o.Folds) == 0:
		return nil
	case !o.Recipe.Frozen:
		return choice.Errorf("$folds are for $recipe evidence, which learns from what other runs make of images that they have not seen")
	case len(o.Folds) == 1:
		return choice.Errorf("$folds %s: a run for each of two or more folds is needed, from $fold 1/K to K/K in this order", o.Folds[0])
	case o.Init == "" && !o.Resume:
		return choice.Errorf("$folds: name the weights that the model will have by $init")
	case o.validates():
		return choice.Errorf("$folds: leave $validate and $fold out; each image is scored by the run that had set it aside")
	}
	return nil
}
