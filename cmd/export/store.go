package main

import (
	"fmt"
	"strconv"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/program/cli"
	"mrprism/model"
	"mrprism/weights"
)

// store writes the weights of -weights, or the mean of -weights and -mean, as f32, f16 and int8. It
// returns a line about each file.
func (r *request) store() (string, error) {
	if err := command.CheckOutputs(r.f32, r.f16, r.int8); err != nil {
		return "", err
	}
	source, err := r.averaged()
	if err == nil {
		err = r.join(source)
	}
	if err != nil {
		return "", err
	}
	var lines []string
	var writes []func() error // after all have been made
	for _, form := range []struct {
		name, path string
		convert    func(*weights.File) (*weights.File, error)
	}{
		{"f32", r.f32, func(f *weights.File) (*weights.File, error) { return f, nil }}, {"f16", r.f16, weights.Halve}, {"int8", r.int8, weights.Quantize},
	} {
		if form.path == "" {
			continue
		}
		file, err := form.convert(source)
		if err != nil {
			return "", err
		}
		encoded, err := sealed(file)
		if err != nil {
			return "", err
		}
		if _, err := weights.Shipped().Open(form.path, encoded); err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("%s: %s as %s, %.1f MB", form.path, file.Metadata["name"], form.name, float64(len(encoded))/1e6))
		writes = append(writes, func() error { return weights.WriteFile(form.path, encoded) })
	}
	for _, write := range writes {
		if err := write(); err != nil {
			return "", err
		}
	}
	return strings.Join(lines, "\n"), nil
}

// averaged returns the float32 weights of -weights, or the mean of -weights and -mean, with the
// weights of -panels.
func (r *request) averaged() (*weights.File, error) {
	names := r.sources()
	var files []*weights.File
	for _, name := range names {
		m, err := r.open(name)
		if err != nil {
			return nil, err
		}
		files = append(files, m.File)
	}
	if len(files) > 1 {
		mean, err := weights.Mean(names, files)
		if err == nil {
			err = r.weighPanels(mean)
		}
		return mean, err
	}
	for _, t := range files[0].Tensors {
		if t.DType != weights.F32 {
			return nil, fmt.Errorf("%s has its weights as %s already (%s): give the .f32.safetensors of the run that it comes from", r.weights, t.DType, t.Name)
		}
	}
	return files[0], r.weighPanels(files[0])
}

// join gives f the finder of -finder.
func (r *request) join(f *weights.File) error {
	if r.finder == "" {
		return nil
	}
	m, err := r.open(r.finder)
	if err != nil {
		return err
	}
	small, err := weights.Dequantize(m.File)
	if err == nil {
		err = f.Join(small)
		delete(f.Metadata, "trust") // it was learned with another finder
	}
	if err != nil {
		return fmt.Errorf("-finder: %w", err)
	}
	return nil
}

func (r *request) weighPanels(f *weights.File) error {
	if r.panels == "" {
		return nil
	}
	given := map[string]float64{}
	for part := range strings.SplitSeq(r.panels, ",") {
		name, text, _ := strings.Cut(part, "=")
		weight, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return cli.Wrong("-panels %s: give NAME=WEIGHT, as in drishti=0.5", part)
		}
		given[name] = weight
	}
	if err := f.WeighPanels(model.MaskBias, given); err != nil {
		return fmt.Errorf("-panels: %w", err)
	}
	return nil
}

// sealed is a weights file with its content sum, in bytes.
func sealed(file *weights.File) ([]byte, error) {
	file.Seal()
	return file.Encode()
}
