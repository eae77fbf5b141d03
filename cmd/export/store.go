package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/weights"
)

// form is a way to store a model's weights.
type form struct {
	name    string // f32, f16 or int8
	path    string // to write; empty: not to be written
	encoded []byte
	model   *weights.Model
	dice    [][]float64 // soft Dice by class and image, from score
}

// store writes the weights as f32, f16 and int8. It returns a text about the files and, with -data,
// about the change of soft Dice.
func (r *request) store(ctx context.Context, wish *computing.Device, stderr io.Writer) (string, error) {
	if err := command.CheckOutputs(r.f32, r.f16, r.int8); err != nil {
		return "", err
	}
	source, err := r.averaged()
	if err != nil {
		return "", err
	}
	forms := []*form{source}
	for _, f := range []struct {
		name, path string
		convert    func(*weights.File) (*weights.File, error)
	}{{"f16", r.f16, weights.Halve}, {"int8", r.int8, weights.Quantize}} {
		if f.path == "" {
			continue
		}
		made, err := convert(f.name, f.path, source.model, f.convert)
		if err != nil {
			return "", err
		}
		forms = append(forms, made)
	}
	var text strings.Builder
	switch {
	case len(forms) == 1: // the mean alone
	case r.data == "":
		fmt.Fprintln(&text, "the change of soft Dice was not measured: give -data")
	default:
		if err := r.cost(ctx, forms, wish, stderr, &text); err != nil {
			return "", err
		}
	}
	for _, f := range forms {
		if f.path == "" {
			continue
		}
		if err := command.WriteFile(f.path, f.encoded); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s: %s as %s, %.1f MB\n", f.path, f.model.Metadata.Name, f.name, float64(len(f.encoded))/1e6)
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// averaged returns the float32 weights of -weights, or the mean of -weights and -mean.
func (r *request) averaged() (*form, error) {
	names := r.sources()
	var models []*weights.Model
	var files []*weights.File
	for _, name := range names {
		m, err := r.open(name)
		if err != nil {
			return nil, err
		}
		models, files = append(models, m), append(files, m.File)
	}
	if len(models) == 1 {
		for _, t := range models[0].Tensors {
			if t.DType != weights.F32 {
				return nil, fmt.Errorf("%s has its weights as %s already (%s): give the .f32.safetensors of the run that it comes from", r.weights, t.DType, t.Name)
			}
		}
		return &form{name: "f32", model: models[0]}, nil
	}
	return convert("f32", r.f32, models[0], func(*weights.File) (*weights.File, error) { return weights.Mean(names, files) })
}

// convert makes the file of a form and opens it.
func convert(name, path string, source *weights.Model, how func(*weights.File) (*weights.File, error)) (*form, error) {
	file, err := how(source.File)
	if err != nil {
		return nil, err
	}
	file.Seal()
	f := &form{name: name, path: path}
	if f.encoded, err = file.Encode(); err == nil {
		f.model, err = weights.Shipped().Open(path, f.encoded)
	}
	return f, err
}

// fits returns an error if a model cannot be measured on data.
func fits(m *weights.Model, data *dataset.Dataset) error {
	about := m.Metadata
	switch {
	case !slices.Equal(about.Classes, data.Classes):
		return fmt.Errorf("%s segments %s, and %s is about %s", about.Name, strings.Join(about.Classes, ", "), data.Name, strings.Join(data.Classes, ", "))
	case len(data.Training()) == 0:
		return fmt.Errorf("%s has no training images to measure on", data.Name)
	}
	return nil
}

// cost segments the training images with every form and prints how much each differs from the
// first.
func (r *request) cost(ctx context.Context, forms []*form, wish *computing.Device, stderr io.Writer, to io.Writer) error {
	data, err := r.trainingData(forms[0].model)
	if err != nil {
		return err
	}
	cases := data.Training()
	progress := command.NewProgress(stderr, len(forms)*len(cases))
	defer progress.Clear()
	for _, f := range forms {
		s := &computing.Session{Model: f.model, Open: wish.Open, Note: func(text string) { progress.Note(program, text) }}
		err := f.score(ctx, s, data, cases, progress)
		s.Close()
		if err != nil {
			return err
		}
	}
	table := command.NewTable(2, 0)
	table.Line("soft Dice ×100 against the mean vote, %d training images", len(cases))
	table.Line("structure\tstored as\tmean\tdifference\tworst image")
	for k, class := range data.Classes {
		for _, f := range forms {
			mean, difference, worst, at := compare(f.dice[k], forms[0].dice[k])
			switch {
			case math.IsNaN(mean):
				table.Line("%s\t%s\tnobody has marked it", class, f.name)
			case f == forms[0]:
				table.Line("%s\t%s\t%.2f", class, f.name, 100*mean)
			default:
				table.Line("%s\t%s\t%.2f\t%+.2f\t%+.2f %s", class, f.name, 100*mean, 100*difference, 100*worst, cases[at].Name)
			}
		}
	}
	return table.Print(to)
}

// score segments the cases. Soft Dice is NaN without marks, and for incomplete agreement levels.
func (f *form) score(ctx context.Context, s *computing.Session, data *dataset.Dataset, cases []dataset.Case, progress *command.Progress) error {
	f.dice = make([][]float64, len(data.Classes))
	for _, c := range cases {
		progress.Begin()
		progress.Show("%s: %s", f.name, c.Name)
		l, err := dataset.Load(c)
		if err != nil {
			return err
		}
		err = s.Do(ctx, func(e *segment.Engine) error {
			result, err := e.Segment(ctx, l.Image, segment.Options{Recurrences: segment.Feedbacks(&f.model.Metadata), ROI: "none"})
			if err != nil {
				return fmt.Errorf("%s: %w", c.Image, err)
			}
			for k := range f.dice {
				dice := math.NaN()
				if votes, ok := l.Votes(k); ok {
					dice = metric.SoftDice(result.Probability(k), votes)
				}
				f.dice[k] = append(f.dice[k], dice)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// compare returns the mean, the mean difference to the source, and the lowest difference with its
// image. NaN does not count; without other values mean and differences are NaN.
func compare(dice, source []float64) (mean, difference, worst float64, at int) {
	n := 0.0
	for i, d := range dice {
		if math.IsNaN(d) {
			continue
		}
		n++
		mean += d
		difference += d - source[i]
		if n == 1 || d-source[i] < worst {
			worst, at = d-source[i], i
		}
	}
	return mean / n, difference / n, worst, at
}
