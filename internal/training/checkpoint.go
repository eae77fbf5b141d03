package training

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/tensor"
	"mrprism/model"
	"mrprism/weights"
)

// Files in a run's folder.
const (
	Checkpoint         = "checkpoint.safetensors"
	PreviousCheckpoint = "checkpoint.previous.safetensors"
)

// save writes the whole state of the run, the old checkpoint being kept as the previous one, and exports the weights.
func (t *Trainer) save(ctx context.Context) error {
	file := &weights.File{Metadata: map[string]string{
		"mrprism_checkpoint": "1", "step": strconv.Itoa(t.step), "options": t.Options.fingerprint(),
	}}
	variables := t.set.Variables(tensor.Parameter, tensor.Statistic, tensor.Moment)
	values, err := t.set.Read(ctx, variables...)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for i, v := range variables {
		file.Tensors = append(file.Tensors, weights.NewF32(v.Name, v.Shape, values[i]))
	}
	file.Seal()
	if err := os.MkdirAll(t.Options.Out, 0o755); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	path := filepath.Join(t.Options.Out, Checkpoint)
	if err := keepPrevious(path, filepath.Join(t.Options.Out, PreviousCheckpoint)); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := writeFile(path, file); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	if err := t.export(variables, values); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	t.saved = time.Now()
	return nil
}

// keepPrevious makes the present checkpoint the previous one, without a moment at which there is none.
func keepPrevious(path, previous string) error {
	temporary := previous + ".new"
	_ = os.Remove(temporary)
	if err := os.Link(path, temporary); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	return os.Rename(temporary, previous)
}

func writeFile(path string, file *weights.File) error {
	data, err := file.Encode()
	if err != nil {
		return err
	}
	return weights.WriteAtomic(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// load reads the checkpoint; where it is damaged, the previous one.
func (t *Trainer) load(ctx context.Context) error {
	var problems []error
	for _, name := range []string{Checkpoint, PreviousCheckpoint} {
		err := t.loadFile(filepath.Join(t.Options.Out, name))
		if err == nil {
			return nil
		}
		problems = append(problems, err)
	}
	return fmt.Errorf("nothing to resume in %s (start without -resume): %w", t.Options.Out, errors.Join(problems...))
}

func (t *Trainer) loadFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	file, err := weights.Decode(data)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := file.VerifyContent(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if had := file.Metadata["options"]; had != t.Options.fingerprint() {
		return fmt.Errorf("%s was written by a run with other options:\n  then %s\n  now  %s", path, had, t.Options.fingerprint())
	}
	step, err := strconv.Atoi(file.Metadata["step"])
	if err != nil {
		return fmt.Errorf("%s: step %q", path, file.Metadata["step"])
	}
	if err := t.write(file, t.set.Variables(tensor.Parameter, tensor.Statistic, tensor.Moment)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t.step = step
	return nil
}

// write copies a file's tensors into variables; names and shapes must fit exactly.
func (t *Trainer) write(file *weights.File, variables []*tensor.Variable) error {
	var expected []weights.Spec
	for _, v := range variables {
		expected = append(expected, weights.Spec{Name: v.Name, Shape: v.Shape})
	}
	if err := file.Match(expected); err != nil {
		return err
	}
	for _, v := range variables {
		values, err := file.Tensor(v.Name).Float32()
		if err != nil {
			return err
		}
		if err := t.set.Write(v, values); err != nil {
			return err
		}
	}
	return nil
}

// initialiseFrom starts parameters and statistics from a weights file, quantized or not.
func (t *Trainer) initialiseFrom(path string) error {
	data, err := weights.ReadFile(path)
	if err != nil {
		return err
	}
	m, err := weights.Shipped().Open(path, data)
	if err != nil {
		return err
	}
	plain, err := weights.Dequantize(m.File)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := t.write(plain, t.set.Variables(tensor.Parameter, tensor.Statistic)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// export writes the averaged weights, in f32 and in int8, under the model's name.
func (t *Trainer) export(variables []*tensor.Variable, values [][]float32) error {
	byName := map[string][]float32{}
	for i, v := range variables {
		byName[v.Name] = values[i]
	}
	metadata, err := t.metadata().Map()
	if err != nil {
		return err
	}
	file := &weights.File{Metadata: metadata}
	for _, v := range t.set.Variables(tensor.Parameter, tensor.Statistic) {
		value := byName[v.Name]
		if average := byName[model.AveragePrefix+v.Name]; average != nil && t.Options.Recipe.Average > 0 && t.step > 0 {
			value = average
		}
		file.Tensors = append(file.Tensors, weights.NewF32(v.Name, v.Shape, value))
	}
	small, err := weights.Quantize(file)
	if err != nil {
		return err
	}
	small.Metadata["quantization"] = weights.Int8PerChannel
	for suffix, f := range map[string]*weights.File{".f32.safetensors": file, ".safetensors": small} {
		f.Seal()
		if err := writeFile(filepath.Join(t.Options.Out, t.Options.Name+suffix), f); err != nil {
			return err
		}
	}
	return nil
}

func (t *Trainer) metadata() *weights.Metadata {
	o, d := t.Options, t.Dataset
	labels := weights.LabelsRaters
	if d.Levels {
		labels = weights.LabelsAgreementLevels
	}
	side := o.Phases[len(o.Phases)-1].Side
	return &weights.Metadata{
		Name: o.Name, Title: o.Title, Configuration: o.Config, Recipe: o.Recipe.Name, Task: o.Task,
		Classes: d.Classes, Raters: d.Raters, Labels: labels, Anchor: o.Anchor, Side: side,
		Mean: [3]float32{0.5, 0.5, 0.5}, Deviation: [3]float32{0.25, 0.25, 0.25},
		Data:   fmt.Sprintf("%s; every fifth image held out; %d images trained on", strings.ReplaceAll(d.Name, "+", ", "), len(t.cases)),
		Commit: o.Commit, Seed: o.Seed, Layout: weights.LayoutHWIO,
		Metrics: map[string]float64{"steps": float64(t.step)},
	}
}
