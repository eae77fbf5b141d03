package training

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/dataset"
	"mrprism/internal/tensor"
	"mrprism/model"
	"mrprism/weights"
)

// Files in a run's folder.
const (
	Checkpoint         = "checkpoint.safetensors"
	PreviousCheckpoint = "checkpoint.previous.safetensors"

	floatSuffix = ".f32.safetensors" // the exported model in float32, after its name
	smallSuffix = ".safetensors"     // in int8
)

// save writes the whole state of the run, the checkpoint before it being kept as the previous one, and exports the weights. A state
// that is not finite is refused: what was saved before it stays.
func (t *Trainer) save(ctx context.Context) error {
	variables := t.state()
	values, err := t.set.Read(ctx, variables...)
	if err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	for i, v := range variables {
		if slices.ContainsFunc(values[i], func(x float32) bool { return math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) }) {
			return fmt.Errorf("after step %d %s is not finite: %w; %s", t.step, v.Name, ErrDiverged, t.lastGood())
		}
	}
	if t.checkpointed != t.step {
		if err := t.checkpoint(variables, values); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
		t.checkpointed = t.step
	}
	if err := t.export(variables, values); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	t.saved = time.Now()
	return nil
}

// state lists what decides every further step.
func (t *Trainer) state() []*tensor.Variable {
	return t.set.Variables(tensor.Parameter, tensor.Statistic, tensor.Moment)
}

// checkpoint writes the state. At no moment is there less than one whole checkpoint, and from the second on never less than two
// unless the folder cannot hold two names of one file.
func (t *Trainer) checkpoint(variables []*tensor.Variable, values [][]float32) error {
	file := &weights.File{Metadata: map[string]string{
		"mrprism_checkpoint": "1", "step": strconv.Itoa(t.step), "options": t.Options.fingerprint(), "images": t.images(), "commit": t.Options.Commit,
	}}
	for i, v := range variables {
		file.Tensors = append(file.Tensors, weights.NewF32(v.Name, v.Shape, values[i]))
	}
	file.Seal()
	if err := os.MkdirAll(t.Options.Out, 0o755); err != nil {
		return err
	}
	path, previous := filepath.Join(t.Options.Out, Checkpoint), filepath.Join(t.Options.Out, PreviousCheckpoint)
	if t.checkpointed == none { // what bears the name, if anything, is damaged: the previous one is not given up for it
		return writeFile(path, file)
	}
	second := previous + ".new"
	_ = os.Remove(second)
	if err := os.Link(path, second); err != nil { // a file system without links
		if err := os.Rename(path, previous); err != nil {
			return err
		}
		return writeFile(path, file)
	}
	if err := writeFile(path, file); err != nil {
		_ = os.Remove(second)
		return err
	}
	return os.Rename(second, previous)
}

// none is the step of a checkpoint that does not exist.
const none = -1

// lastGood says what to do after a run has diverged.
func (t *Trainer) lastGood() string {
	if t.checkpointed == none {
		return "nothing was saved yet: try a lower -rate"
	}
	return fmt.Sprintf("%s holds step %d, the last good state: start from its weights with -init %s, a lower -rate and another -out",
		filepath.Join(t.Options.Out, Checkpoint), t.checkpointed, filepath.Join(t.Options.Out, t.Options.Name+floatSuffix))
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

// load reads the checkpoint; where it is damaged or missing, the previous one.
func (t *Trainer) load() error {
	var problems []error
	for _, name := range []string{Checkpoint, PreviousCheckpoint} {
		path := filepath.Join(t.Options.Out, name)
		err := t.loadFile(path)
		switch {
		case err == nil:
			if name == Checkpoint {
				t.checkpointed = t.step
			}
			for _, p := range problems {
				t.note(fmt.Sprintf("%v; going on from %s, step %d", p, path, t.step))
			}
			return nil
		case errors.Is(err, errOptions): // a whole checkpoint of another run: its previous one is no better
			return err
		}
		problems = append(problems, err)
	}
	return fmt.Errorf("nothing to resume in %s (start without -resume): %w", t.Options.Out, errors.Join(problems...))
}

// images names what is trained on: how many images, and a sum over their names in order.
func (t *Trainer) images() string {
	sum := crc32.NewIEEE()
	for _, c := range t.cases {
		fmt.Fprintf(sum, "%s/%s\n", c.Folder, c.Name)
	}
	return fmt.Sprintf("%d images %08x", len(t.cases), sum.Sum32())
}

var errOptions = errors.New("written by a run with other options")

// loadFile reads a checkpoint into the variables.
func (t *Trainer) loadFile(path string) error {
	data, err := weights.ReadFile(path)
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
		return fmt.Errorf("%s: %w:\n%s", path, errOptions, differences(had, t.Options.fingerprint()))
	}
	if had, ok := file.Metadata["images"]; ok && had != t.images() {
		return fmt.Errorf("%s: %w: the data folders hold other images than when it was written (then %s, now %s): put back what changed, or begin "+
			"a new run with -init", path, errOptions, had, t.images())
	}
	if had := file.Metadata["commit"]; had != t.Options.Commit {
		t.note(fmt.Sprintf("%s was written by version %s of this program, which is now %s: the run goes on, though perhaps not bit for bit", path,
			cmp.Or(had, "unknown"), cmp.Or(t.Options.Commit, "unknown")))
	}
	step, err := strconv.Atoi(file.Metadata["step"])
	if err != nil {
		return fmt.Errorf("%s: step %q", path, file.Metadata["step"])
	}
	if err := t.write(file, t.state()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t.step = step
	return nil
}

// vacant makes sure that no other run would be written over.
func (o Options) vacant() error {
	for _, name := range []string{Checkpoint, PreviousCheckpoint} {
		path := filepath.Join(o.Out, name)
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s exists: go on with that run by -resume, or name another -out for a new one", path)
		}
	}
	return nil
}

// writable makes the run's folder and tries it, before hours are spent on what could not be saved.
func (o Options) writable() error {
	if err := os.MkdirAll(o.Out, 0o755); err != nil {
		return fmt.Errorf("the run's folder cannot be made: %w", err)
	}
	trial, err := os.CreateTemp(o.Out, ".trial.*")
	if err != nil {
		return fmt.Errorf("the run's folder cannot be written to: %w", err)
	}
	trial.Close()
	return os.Remove(trial.Name())
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

// openInitial reads the weights to start from, quantized or not.
func openInitial(path string) (*weights.File, error) {
	data, err := weights.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := weights.Shipped().Open(path, data)
	if err != nil {
		return nil, err
	}
	return weights.Dequantize(m.File)
}

// export writes the averaged weights, in f32 and in int8, under the model's name.
func (t *Trainer) export(variables []*tensor.Variable, values [][]float32) error {
	byName := map[string][]float32{}
	for i, v := range variables {
		byName[v.Name] = values[i]
	}
	metadata, err := t.Options.metadata(t.Dataset, len(t.cases), t.step).Map()
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
	for suffix, f := range map[string]*weights.File{floatSuffix: file, smallSuffix: small} {
		f.Seal()
		if err := writeFile(filepath.Join(t.Options.Out, t.Options.Name+suffix), f); err != nil {
			return err
		}
	}
	return nil
}

// metadata says what the exported model is.
func (o Options) metadata(d *dataset.Dataset, images, step int) *weights.Metadata {
	labels := weights.LabelsRaters
	if d.Levels {
		labels = weights.LabelsAgreementLevels
	}
	side := 0
	for _, p := range o.Phases {
		if p.Epochs > 0 {
			side = p.Side
		}
	}
	return &weights.Metadata{
		Name: o.Name, Title: o.Title, Configuration: o.Config, Recipe: o.Recipe.Name, Task: o.Task,
		Classes: d.Classes, Raters: d.Raters, Labels: labels, Anchor: o.Anchor, Side: side,
		Mean: [3]float32{0.5, 0.5, 0.5}, Deviation: [3]float32{0.25, 0.25, 0.25},
		Data:   fmt.Sprintf("%s; every fifth image held out; %d images trained on", strings.ReplaceAll(d.Name, "+", ", "), images),
		Commit: o.Commit, Seed: o.Seed, Layout: weights.LayoutHWIO,
		Metrics: map[string]float64{"steps": float64(step)},
	}
}
