package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
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

// open opens weights and changes their metadata by -mirror, -title and -task.
func (r *request) open(name string) (*weights.Model, error) {
	m, err := command.Weights(name)
	if err != nil || !(r.given["mirror"] || r.given["title"] || r.given["task"]) {
		return m, err
	}
	if r.given["mirror"] && m.Metadata.Mirrored != r.mirror {
		m.Metadata.Mirrored, m.Metadata.Trust = r.mirror, nil // trust was learned for the other value
	}
	if r.given["title"] {
		m.Metadata.Title = r.title
	}
	if r.given["task"] {
		m.Metadata.Task = r.task
	}
	m.File.Metadata, err = described(m.File, m.Metadata)
	return m, err
}

// described is the header's string map of a file under other metadata.
func described(file *weights.File, meta weights.Metadata) (map[string]string, error) {
	values, err := meta.Map()
	if err != nil {
		return nil, err
	}
	all := maps.Clone(file.Metadata)
	for _, key := range []string{"mirrored", "trust"} { // Map leaves them out if they are false or nil
		delete(all, key)
	}
	maps.Copy(all, values)
	return all, nil
}

// withRanges writes the weights with the ranges of layers' inputs and with what training images say
// about when to doubt a result. It returns a line about the file.
func (r *request) withRanges(ctx context.Context, wish command.Device, stderr io.Writer) (string, error) {
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
	looks := min(rangeImages, len(cases)) + len(cases) + foreign
	for _, c := range cases {
		if len(folds) > 0 && !c.Others {
			looks++
		}
	}
	if len(folds) >= foldsToDoubtBy {
		looks += len(cases)
	}
	if m.Metadata.Anchor != "" {
		looks += len(cases)
	}
	progress := command.NewProgress(stderr, looks)
	defer progress.Clear()
	device, err := wish.Open(ctx, func(text string) { progress.Note(program, text) })
	if err != nil {
		return "", err
	}
	defer device.Close()
	m.Metadata.Turned = m.Metadata.Turned || r.turns
	meta := m.Metadata
	if meta.Ranges, err = measure(ctx, device, m, cases, progress); err != nil {
		return "", err
	}
	t := truster{device: device, progress: progress, cases: cases, anchor: m.Metadata.Anchor, turns: r.turns, parts: r.parts(cases, max(1, len(folds)))}
	if meta.Trust, err = t.learn(ctx, m, folds); err != nil {
		return "", err
	}
	if err := write(r.ranges, m, meta); err != nil {
		return "", err
	}
	line := fmt.Sprintf("%s: %s with the ranges of %d layers, from %d training images, and %s", r.ranges, meta.Name, len(meta.Ranges),
		min(rangeImages, len(cases)), told(meta.Trust, len(folds)))
	if held := t.held(m.Metadata.Classes); held != "" {
		line += fmt.Sprintf("\n%.0f %% intervals and outlines on the images of each fold, by what the other folds taught:", 100*coverage) + held
	}
	return line, nil
}

// trainingData opens -data and -also for a model.
func (r *request) trainingData(m *weights.Model) (*dataset.Dataset, error) {
	data, err := dataset.Open(strings.Split(r.data, ",")...)
	if err != nil {
		return nil, err
	}
	if err := fits(m, data); err != nil {
		return nil, err
	}
	if r.splits != "" {
		if r.aside, err = setAside(data, strings.Split(r.splits, ",")); err != nil {
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

// setAside says which of several splits has an image in its test list. The splits are those of runs
// that each set a part of the images aside.
func setAside(data *dataset.Dataset, splits []string) (map[string]int, error) {
	aside := map[string]int{}
	for k, path := range splits {
		if err := data.Divide(path); err != nil {
			return nil, fmt.Errorf("-splits: %w", err)
		}
		for _, c := range data.HeldOut() {
			if other, ok := aside[c.Name]; ok && other != k {
				return nil, fmt.Errorf("-splits: %s and %s both have %q in their test lists: name the splits of runs that set different images aside", splits[other], path, c.Name)
			}
			aside[c.Name] = k
		}
	}
	return aside, nil
}

// cases are the images to learn from: those for training, or with -splits those that a run had set
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

// parts are, by case, the run of n that had set it aside. All runs of -splits have seen -also.
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
	values, err := described(m.File, meta)
	if err != nil {
		return err
	}
	delete(values, "colours") // in older files
	file := &weights.File{Tensors: m.Tensors, Metadata: values}
	file.Seal()
	encoded, err := file.Encode()
	if err != nil {
		return err
	}
	return command.WriteFile(path, encoded)
}

// told describes what the file knows about when to doubt a result.
func told(t *weights.Trust, folds int) string {
	switch {
	case t == nil:
		return "nothing to doubt by: that needs eight training images"
	case folds == 0 && t.FoldsOf > 0:
		return fmt.Sprintf("the signs of doubt of %d training images; calibration and intervals stay as %d folds taught them", t.Images, t.FoldsOf)
	case folds == 0:
		return fmt.Sprintf("the signs of doubt of %d training images; calibration and intervals need -folds", t.Images)
	}
	by := "each from a run that had set it aside, with"
	if folds < foldsToDoubtBy {
		by = "and, from runs that had set them aside,"
	}
	return fmt.Sprintf("the signs of doubt of %d training images, %s %d maps of probabilities, %d intervals of areas and %d outlines", t.Images, by, len(t.Maps), len(t.Areas), len(t.Outlines))
}
