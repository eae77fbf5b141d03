package train

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// Files in a run's folder.
const (
	Checkpoint         = "checkpoint.safetensors"
	PreviousCheckpoint = "checkpoint.previous.safetensors"
)

// ofPrefix begins a checkpoint's keys that describe the model whose network the run keeps.
const ofPrefix = "of."

// save writes the state of the run as the checkpoint, keeps the last checkpoint as the previous
// one, and exports the weights. It refuses a state that is not finite, and the saved files then
// stay. Only one rank writes.
func (t *Trainer) save(ctx context.Context) error {
	if t.Options.Follows() {
		t.saved = time.Now()
		return nil
	}
	variables := t.state()
	values, err := t.set.Read(ctx, variables...)
	if err != nil {
		return fmt.Errorf("reading the state of the run for the checkpoint: %w", err)
	}
	for i, v := range variables {
		if slices.ContainsFunc(values[i], func(x float32) bool { return !finite(float64(x)) }) {
			return fmt.Errorf("after step %d %s is not finite: %w; %w", t.step, v.Name, ErrDiverged, t.lastGood())
		}
	}
	if t.checkpointed != t.step {
		written, err := t.checkpoint(variables, values)
		if written {
			t.checkpointed = t.step
		}
		if err != nil {
			return fmt.Errorf("writing the checkpoint: %w; %w", err, t.adviceOnDisk())
		}
	}
	file, err := t.averaged(ctx)
	if err == nil {
		err = t.Options.export(file, "")
	}
	if err != nil {
		return fmt.Errorf("exporting the weights: %w; %w", err, t.adviceOnDisk())
	}
	t.saved = time.Now()
	return nil
}

// state lists the variables that decide all further steps.
func (t *Trainer) state() []*tensor.Variable {
	return t.set.Variables(tensor.Parameter, tensor.Statistic, tensor.Moment)
}

// checkpoint writes the state. From the first checkpoint on, the folder always has a whole one.
// From the second on it has two, if the file system allows two names for a file. written says that
// the new checkpoint is in place, even if there is an error.
func (t *Trainer) checkpoint(variables []*tensor.Variable, values [][]float32) (written bool, err error) {
	file := &weights.File{Metadata: map[string]string{
		"mrprism_checkpoint": "1", "step": strconv.Itoa(t.step), "options": t.Options.fingerprint(), "images": t.images(), "content": t.content, "commit": t.Options.Commit,
		"device": computedOn(t.device.Info()),
	}}
	if split := t.Split(); split != "" {
		file.Metadata["split"] = split
	}
	if t.of != nil {
		about, err := t.of.Map()
		if err != nil {
			return false, err
		}
		for key, value := range about {
			file.Metadata[ofPrefix+key] = value
		}
	}
	if t.kept != nil {
		text, err := json.Marshal(t.kept)
		if err != nil {
			return false, err
		}
		file.Metadata["panels"] = string(text)
	}
	if t.best.Epoch > 0 {
		file.Metadata["best"] = fmt.Sprintf("%v %d", t.best.Score, t.best.Epoch)
	}
	if t.Options.Precision == model.F16 {
		file.Metadata["loss_scale"] = t.scaled.String()
	}
	for i, v := range variables {
		file.Tensors = append(file.Tensors, weights.NewF32(v.Name, v.Shape, values[i]))
	}
	if t.finder != nil {
		file.Attach(t.finder)
	}
	file.Seal()
	data, err := file.Encode()
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(t.Options.Out, 0o755); err != nil {
		return false, err
	}
	path, previous := filepath.Join(t.Options.Out, Checkpoint), filepath.Join(t.Options.Out, PreviousCheckpoint)
	staged, err := weights.Stage(path, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err != nil {
		return false, err
	}
	defer staged.Discard()
	if t.checkpointed != noCheckpoint { // otherwise the file is damaged, and must not replace the other
		if err := keep(path, previous); err != nil {
			return false, err
		}
	}
	err = staged.Commit()
	written = err == nil || errors.Is(err, weights.ErrUnsynced)
	if !written && t.checkpointed != noCheckpoint {
		_ = os.Rename(previous, path) // if they are two names of a file, nothing happens
	}
	return written, err
}

// keep makes the checkpoint the previous one. Its own name stays too, if the file system allows two
// names for a file.
func keep(path, previous string) error {
	second := previous + ".new"
	_ = os.Remove(second)
	if err := disk.SecondName(path, second); err != nil {
		return disk.Move(path, previous)
	}
	err := disk.Move(second, previous)
	if err != nil {
		_ = os.Remove(second)
	}
	return err
}

// adviceOnDisk says what is saved, and what to do after the disk failed.
func (t *Trainer) adviceOnDisk() error {
	const again = "make room there, or let it be written to, and "
	path := filepath.Join(t.Options.Out, Checkpoint)
	switch {
	case t.checkpointed != noCheckpoint:
		return choice.Errorf("%s holds step %d: %sgo on with $resume", path, t.checkpointed, again)
	case t.Options.Resume:
		return fmt.Errorf("the checkpoint that the run was resumed from is still there: %sresume once more", again)
	}
	return choice.Errorf("nothing of the run was saved yet: %sstart again, or name another $out", again)
}

// noCheckpoint is the step of a checkpoint that does not exist.
const noCheckpoint = -1

// lastGood says what is saved, and what to do after a run diverged.
func (t *Trainer) lastGood() error {
	lower := choice.Errorf("a lower $rate")
	if t.Options.Precision == model.F16 {
		lower = choice.Errorf("$precision f32 or a lower $rate")
	}
	switch {
	case t.checkpointed == noCheckpoint && t.Options.Resume: // resumed from the previous checkpoint
		return choice.Errorf("%s is whole: start from the weights exported in the same folder with $init, %w and another $out", filepath.Join(t.Options.Out, PreviousCheckpoint), lower)
	case t.checkpointed == noCheckpoint:
		return fmt.Errorf("nothing was saved yet: try %w", lower)
	}
	return choice.Errorf("%s holds step %d, the last good state: start from its weights with $init %s, %w and another $out",
		filepath.Join(t.Options.Out, Checkpoint), t.checkpointed, filepath.Join(t.Options.Out, t.Options.Name+floatSuffix), lower)
}

// writeFile replaces the file at path. written says that the new file is in place, even if its
// folder could not be synced.
func writeFile(path string, file *weights.File) (written bool, err error) {
	data, err := file.Encode()
	if err != nil {
		return false, err
	}
	err = weights.WriteFile(path, data)
	return err == nil || errors.Is(err, weights.ErrUnsynced), err
}

// restore reads the checkpoint, or the previous one if the checkpoint is damaged or missing.
func (t *Trainer) restore() error {
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
				t.Options.tell(fmt.Sprintf("%v; going on from %s, step %d", p, path, t.step))
			}
			return nil
		case errors.Is(err, errOptions): // of another run, and so is the previous one
			return err
		}
		problems = append(problems, err)
	}
	return t.Options.nothing(problems...)
}

// nothing is the error if no checkpoint can be resumed: there is none, or none can be read.
func (o Options) nothing(problems ...error) error {
	damaged := slices.DeleteFunc(problems, func(err error) bool { return errors.Is(err, fs.ErrNotExist) })
	if len(damaged) == 0 {
		return choice.Errorf("nothing to resume: no %s (start without $resume)", filepath.Join(o.Out, Checkpoint))
	}
	return choice.Errorf("nothing in %s can be resumed: %w\nstart a new run in another $out. If the weights were exported (NAME%s), start from them with $init", o.Out, errors.Join(damaged...), floatSuffix)
}

// images identifies the images of the run by their number and a sum over their names in order.
func (t *Trainer) images() string {
	sum := crc32.NewIEEE()
	for _, c := range t.cases {
		fmt.Fprintf(sum, "%s/%s\n", c.Folder, c.Name)
	}
	return fmt.Sprintf("%d images %08x", len(t.cases), sum.Sum32())
}

// contents is a sum over the files of the images to learn from and to score by, and of their masks.
func contents(ctx context.Context, cases []dataset.Case) (string, error) {
	sums := make([]uint32, len(cases))
	err := dataset.Each(ctx, len(cases), nil, func(i int) error {
		sum, c := crc32.NewIEEE(), cases[i]
		for _, path := range append(slices.Concat(c.Masks...), c.Image) {
			data, err := disk.ReadFile(path)
			fmt.Fprintln(sum, len(data), err == nil) // reading has named a missing file
			sum.Write(data)
		}
		sums[i] = sum.Sum32()
		return nil
	})
	whole := crc32.NewIEEE()
	for i, c := range cases {
		fmt.Fprintf(whole, "%s/%s %08x\n", c.Folder, c.Name, sums[i])
	}
	return fmt.Sprintf("%d images %08x", len(cases), whole.Sum32()), err
}

// everyFifth names the division of images that have no split.
const everyFifth = "every fifth held out"

// Split identifies the splits that divide the images of the run, by the sizes of their lists and a
// sum over the names. It is empty if every fifth image is held out.
func (t *Trainer) Split() string { return strings.Join(t.Dataset.Splits, "; ") }

// Saved is the step from which the run in a folder can be resumed; -1 without a checkpoint.
func Saved(folder string) int {
	if step, err := strconv.Atoi(last(folder).Metadata["step"]); err == nil {
		return step
	}
	return noCheckpoint
}

// last is the checkpoint of the run in a folder, or the previous one if it is damaged or missing, or
// an empty file if both are.
func last(folder string) *weights.File {
	for _, name := range []string{Checkpoint, PreviousCheckpoint} {
		if file, err := readCheckpoint(filepath.Join(folder, name)); err == nil {
			return file
		}
	}
	return &weights.File{}
}

// readCheckpoint reads and verifies a file of tensors. The error names the file.
func readCheckpoint(path string) (*weights.File, error) {
	data, err := weights.ReadFile(path)
	if err != nil {
		return nil, err
	}
	file, err := weights.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := file.VerifyContent(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// computedOn names the device and its driver. The values of a step depend on them.
func computedOn(info gpu.Info) string {
	text := info.String()
	if info.Driver != "" {
		text += ", " + info.Driver
	}
	return text
}

var errOptions = errors.New("written by a run with other options")

// loadFile reads a checkpoint into the variables.
func (t *Trainer) loadFile(path string) error {
	file, err := readCheckpoint(path)
	if err != nil {
		return err
	}
	if changed := differences(file.Metadata["options"], t.Options.fingerprint(), "then", "now"); changed != "" {
		return choice.Errorf("%s: %w:\n%s\nResume with its options (run.yaml in the same folder has them, see $with), or start a new run in another $out, "+
			"from its weights with $init", path, errOptions, changed)
	}
	if had, now := file.Metadata["split"], t.Split(); had != now {
		return choice.Errorf("%s: %w: its images were divided otherwise (then %s, now %s): put the split back, or start a new run in another $out, from its weights "+
			"with $init", path, errOptions, cmp.Or(had, everyFifth), cmp.Or(now, everyFifth))
	}
	if had, ok := file.Metadata["images"]; ok && had != t.images() {
		return choice.Errorf("%s: %w: the data folders have other images than when it was written (then %s, now %s): put the images back, or start "+
			"a new run with $init", path, errOptions, had, t.images())
	}
	if had, ok := file.Metadata["content"]; ok && had != t.content {
		return choice.Errorf("%s: %w: images, masks or which of them score have changed since it was written: put them back as they were, or start a new run "+
			"in another $out, from its weights with $init", path, errOptions)
	}
	if had := file.Metadata["commit"]; had != t.Options.Commit {
		t.Options.tell(fmt.Sprintf("version %s of this program wrote %s, and this is version %s: the bits of the resumed run may differ",
			cmp.Or(had, "unknown"), path, cmp.Or(t.Options.Commit, "unknown")))
	}
	if had, now := file.Metadata["device"], computedOn(t.device.Info()); had != "" && had != now {
		t.Options.tell(fmt.Sprintf("%s was computed on %s, and the run resumes on %s: its bits will differ", path, had, now))
	}
	step, err := strconv.Atoi(file.Metadata["step"])
	if err != nil {
		return fmt.Errorf("%s: the step %q is no whole number", path, file.Metadata["step"])
	}
	var had best
	if text, ok := file.Metadata["best"]; ok {
		if _, err := fmt.Sscan(text, &had.Score, &had.Epoch); err != nil {
			return fmt.Errorf("%s: the best epoch %q is not a score and an epoch", path, text)
		}
	}
	of := map[string]string{}
	for key, value := range file.Metadata {
		if name, found := strings.CutPrefix(key, ofPrefix); found {
			of[name] = value
		}
	}
	if len(of) > 0 {
		about, err := weights.ParseMetadata(of)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		t.of = &about
	}
	if text, ok := file.Metadata["panels"]; ok {
		if err := json.Unmarshal([]byte(text), &t.kept); err != nil {
			return fmt.Errorf("%s: panels: %w", path, err)
		}
	}
	if t.finder, err = file.Attached(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	scaled := newScaling(t.Options.Precision)
	if t.Options.Precision == model.F16 {
		if scaled, err = parseScaling(file.Metadata["loss_scale"]); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := t.write(file, t.state()); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	t.step, t.best, t.scaled = step, had, scaled
	return nil
}
