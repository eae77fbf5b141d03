package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/doubt"
	"mrprism/internal/trust"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// rangeImages is the number of images for the ranges of layers. More images change the largest
// values little.
var rangeImages = 32

// taken reports whether the i-th of all images is among the most that are spread evenly over them.
func taken(i, all, most int) bool {
	count := min(most, all)
	return i == 0 || i*count/all > (i-1)*count/all
}

// open opens weights and changes their metadata by -mirror.
func (r *request) open(name string) (*weights.Model, error) {
	m, err := computing.Weights(name)
	if err != nil || !r.given["mirror"] || m.Metadata.Mirrored == r.mirror {
		return m, err
	}
	m.Metadata.Mirrored, m.Metadata.Trust = r.mirror, nil // trust was learned for the other value
	return m, m.Describe(&m.Metadata)
}

// withRanges writes the weights with the ranges of layers' inputs and with what training images say
// about when to doubt a result. It returns a line about the file.
func (r *request) withRanges(ctx context.Context, wish *computing.Device, stderr io.Writer) (string, error) {
	if err := command.CheckOutputs(r.ranges); err != nil {
		return "", err
	}
	m, err := r.open(r.weights)
	if err != nil {
		return "", err
	}
	data, err := r.trainingData(m)
	if err != nil {
		return "", err
	}
	folds, err := r.openFolds(m, data)
	if err != nil {
		return "", err
	}
	cases := r.cases(data)
	l := &doubt.Learner{Cases: cases, Turns: m.Metadata.Turned, Folds: folds, Parts: r.parts(cases, max(1, len(folds)))}
	progress := command.NewProgress(stderr, min(rangeImages, len(cases))+l.Images(m))
	defer progress.Clear()
	device, err := wish.Open(ctx, func(text string) { progress.Note(program, text) })
	if err != nil {
		return "", err
	}
	defer device.Close()
	l.Device, l.Next = device, func(what string) error {
		progress.Begin()
		progress.Show("%s", what)
		return ctx.Err()
	}
	meta := m.Metadata
	if meta.Ranges, err = measure(ctx, device, m, cases, progress); err != nil {
		return "", err
	}
	if meta.Trust, err = l.Learn(ctx, m); err != nil {
		return "", err
	}
	if err := write(r.ranges, m, meta); err != nil {
		return "", err
	}
	line := fmt.Sprintf("%s: %s with the ranges of %d layers, from %d training images, and %s", r.ranges, meta.Name, len(meta.Ranges),
		min(rangeImages, len(cases)), told(meta.Trust, l))
	if len(folds) == 0 {
		return line, nil
	}
	held := ""
	for _, f := range l.Report(m, meta.Trust).Figures {
		for _, fared := range f.Fared() {
			held += "\n  " + fared
		}
	}
	if held != "" {
		line += fmt.Sprintf("\n%.0f %% intervals and outlines on the images of each fold, by what the other folds taught:", 100*doubt.Coverage) + held
	}
	return line, nil
}

// trainingData opens -data and -also for a model. It divides -data by the splits of -folds.
func (r *request) trainingData(m *weights.Model) (*dataset.Dataset, error) {
	data, err := openData(strings.Split(r.data, ","), len(m.Metadata.Panels) > 0)
	if err != nil {
		return nil, err
	}
	switch about := m.Metadata; {
	case !slices.Equal(about.Classes, data.Classes):
		return nil, fmt.Errorf("%s segments %s, and %s is about %s", about.Name, strings.Join(about.Classes, ", "), data.Name, strings.Join(data.Classes, ", "))
	case len(data.Training()) == 0:
		return nil, fmt.Errorf("%s has no training images", data.Name)
	}
	if _, splits := r.runs(); len(splits) > 0 {
		if r.aside, err = setAside(data, splits); err != nil {
			return nil, err
		}
	}
	if r.also == "" {
		return data, nil
	}
	for folder := range strings.SplitSeq(r.also, ",") { // each folder has its own raters
		others, err := dataset.Open(folder)
		if err != nil {
			return nil, err
		}
		if err := data.Add(others); err != nil {
			return nil, err
		}
	}
	return data, nil
}

// openData opens folders as one data set. With panels, each may have people of its own.
func openData(folders []string, panels bool) (*dataset.Dataset, error) {
	if !panels || len(folders) == 1 {
		return dataset.Open(folders...)
	}
	var all []*dataset.Dataset
	for _, folder := range folders {
		d, err := dataset.Open(folder)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return dataset.Join(all)
}

// runs are the weights of -folds, and their splits if it names any.
func (r *request) runs() (names, splits []string) {
	if r.folds == "" {
		return nil, nil
	}
	for run := range strings.SplitSeq(r.folds, ",") {
		name, split, divided := strings.Cut(run, "=")
		if names = append(names, name); divided {
			splits = append(splits, split)
		}
	}
	return names, splits
}

// openFolds opens the weights of -folds, in the order of "train -fold 1/K" to K/K. The names of all
// images decide which of them a run had set aside: -data and -also must be the folders of these
// runs, unless splits say what each had set aside.
func (r *request) openFolds(m *weights.Model, data *dataset.Dataset) (folds []*weights.Model, err error) {
	names, splits := r.runs()
	switch {
	case len(names) == 1:
		return nil, fmt.Errorf("-folds %s: a run for each of two or more folds is needed", r.folds)
	case len(splits) != 0 && len(splits) != len(names):
		return nil, fmt.Errorf("-folds %s: give each of the %d runs its split, or none", r.folds, len(names))
	}
	for _, name := range names {
		fold, err := computing.Weights(name)
		if err != nil {
			return nil, err
		}
		if fmt.Sprint(fold.Metadata.Classes, fold.Metadata.Raters, fold.Metadata.Anchor) != fmt.Sprint(m.Metadata.Classes, m.Metadata.Raters, m.Metadata.Anchor) {
			return nil, fmt.Errorf("-folds: %s has other classes, raters or another anchor than %s", name, m.Metadata.Name)
		}
		if from, ours := trainedOn(&fold.Metadata), folders(data.Name); len(splits) == 0 && from != nil && !slices.Equal(from, ours) {
			return nil, fmt.Errorf("-folds: %s was trained on %s, and -data and -also are %s: name the same folders, because others set other images aside",
				name, strings.Join(from, ", "), strings.Join(ours, ", "))
		}
		folds = append(folds, fold)
	}
	return folds, nil
}

// trainedOn are the sorted names of the training data sets in the metadata; nil if train did not
// write them.
func trainedOn(about *weights.Metadata) []string {
	names, rest, _ := strings.Cut(about.Data, "; ")
	if !strings.HasSuffix(rest, " images trained on") {
		return nil
	}
	return folders(names)
}

// folders are the sorted names in the name of a dataset.Dataset of several folders, or in the list
// that train writes.
func folders(names string) []string {
	return slices.Sorted(strings.SplitSeq(strings.ReplaceAll(names, "+", ", "), ", "))
}

// setAside says which of several splits has an image in its test list. The splits are those of runs
// that each set a part of the images aside.
func setAside(data *dataset.Dataset, splits []string) (map[string]int, error) {
	aside := map[string]int{}
	for k, path := range splits {
		if err := data.Divide(path); err != nil {
			return nil, fmt.Errorf("-folds: %w", err)
		}
		for _, c := range data.HeldOut() {
			if other, ok := aside[c.Name]; ok && other != k {
				return nil, fmt.Errorf("-folds: %s and %s both have %q in their test lists: name the splits of runs that set different images aside", splits[other], path, c.Name)
			}
			aside[c.Name] = k
		}
	}
	return aside, nil
}

// cases are the images to learn from: those for training, or with splits those that a run had set
// aside.
func (r *request) cases(data *dataset.Dataset) (cases []dataset.Case) {
	for _, c := range data.Training() {
		if r.aside == nil || c.Others {
			cases = append(cases, c)
		}
	}
	for _, c := range data.Cases {
		if _, ok := r.aside[c.Name]; ok && !c.Others {
			cases = append(cases, c)
		}
	}
	return cases
}

// parts are, by case, the run of n that had set it aside. All runs with splits have seen -also.
func (r *request) parts(cases []dataset.Case, n int) []int {
	parts := dataset.Folds(cases, n)
	for i, c := range cases {
		if k, ok := r.aside[c.Name]; ok && !c.Others {
			parts[i] = k
		}
	}
	return parts
}

// measure returns the ranges of layers over some of the cases.
func measure(ctx context.Context, device gpu.Device, m *weights.Model, cases []dataset.Case, progress *command.Progress) (map[string]float32, error) {
	at := 0
	return segment.Ranges(ctx, device, m, func() (*imageio.Image, error) {
		for at < len(cases) && ctx.Err() == nil {
			c, measured := cases[at], taken(at, len(cases), rangeImages)
			at++
			if !measured {
				continue
			}
			progress.Begin()
			progress.Show("%s: ranges", c.Name)
			l, err := dataset.Load(c)
			if err != nil {
				return nil, err
			}
			return l.Image, nil
		}
		return nil, ctx.Err()
	})
}

// write writes the model's weights under other metadata.
func write(path string, m *weights.Model, meta weights.Metadata) error {
	file := *m.File
	if err := file.Describe(&meta); err != nil {
		return err
	}
	encoded, err := sealed(&file)
	if err != nil {
		return err
	}
	return weights.WriteFile(path, encoded)
}

// told describes what the file knows about when to doubt a result.
func told(t *weights.Trust, l *doubt.Learner) string {
	switch {
	case t == nil:
		return fmt.Sprintf("nothing to doubt by: that needs right results on training images of %d patients", trust.Enough)
	case len(l.Folds) == 0 && t.FoldsOf > 0:
		return fmt.Sprintf("the signs of doubt of %d training images; calibration and intervals stay as %d folds taught them", t.Images, t.FoldsOf)
	case len(l.Folds) == 0:
		return fmt.Sprintf("the signs of doubt of %d training images; calibration and intervals need -folds", t.Images)
	}
	by := "each from a run that had set it aside, with"
	if !l.Refers() {
		by = "and, from runs that had set them aside,"
	}
	return fmt.Sprintf("the signs of doubt of %d training images, %s %d maps of probabilities, %d intervals of areas and %d outlines", t.Images, by, len(t.Maps), len(t.Areas), len(t.Outlines))
}
