package train

import (
	"bytes"
	"context"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// resume resumes a run, and keeps its notes.
func resume(t *testing.T, o Options) (trainer *Trainer, notes []string, err error) {
	t.Helper()
	o.Note = func(s string) { notes = append(notes, s) }
	trainer, err = New(t.Context(), reference.Open(), o, nil)
	if trainer != nil {
		t.Cleanup(trainer.Close)
	}
	return trainer, notes, err
}

func TestThePreviousCheckpointIsKept(t *testing.T) {
	o := resumable(t)
	assert.Equal(t, "4", stepOf(t, filepath.Join(o.Out, Checkpoint)))
	assert.Equal(t, "3", stepOf(t, filepath.Join(o.Out, PreviousCheckpoint)))
	train(t, reference.Open(), o, 4) // a run that is done exports again and leaves the checkpoints alone
	assert.Equal(t, "3", stepOf(t, filepath.Join(o.Out, PreviousCheckpoint)))
	entries, err := os.ReadDir(o.Out)
	require.NoError(t, err)
	assert.Len(t, entries, 5, "two checkpoints, two exports, the lock and nothing temporary")
}

// If the folder cannot be forced to disk, the new checkpoint is kept, with hard links and without,
// and the error says so.
func TestAFolderThatCannotBeSynced(t *testing.T) {
	defer func() { disk.Fault = nil }()
	fail := func(path string, links bool, err error) {
		disk.Fault = func(operation, name string) error {
			switch {
			case operation == disk.Link && !links:
				return syscall.EPERM
			case operation == disk.Sync && name == path:
				return err
			}
			return nil
		}
	}
	for _, links := range []bool{true, false} {
		o := resumable(t)
		path, previous := filepath.Join(o.Out, Checkpoint), filepath.Join(o.Out, PreviousCheckpoint)
		trainer, _, err := resume(t, o)
		require.NoError(t, err)
		trainer.step = 5
		fail(path, links, syscall.EIO)
		err = trainer.save(t.Context())
		require.ErrorIs(t, err, syscall.EIO)
		require.ErrorContains(t, err, path+" holds step 5: ")
		require.ErrorContains(t, err, "resume")
		assert.Equal(t, []string{"5", "4"}, []string{stepOf(t, path), stepOf(t, previous)})
		assert.Equal(t, 5, Saved(o.Out))

		trainer.step = 6
		fail(path, links, syscall.EINVAL) // a file system that cannot sync folders
		require.NoError(t, trainer.save(t.Context()))
		assert.Equal(t, []string{"6", "5"}, []string{stepOf(t, path), stepOf(t, previous)})

		trainer.step = 7
		disk.Fault = func(operation, name string) error {
			if operation == disk.Link && !links || operation == disk.Rename && name == path {
				return syscall.EIO
			}
			return nil
		}
		require.ErrorContains(t, trainer.save(t.Context()), path+" holds step 6: ")
		assert.Equal(t, "6", stepOf(t, path), "what was not replaced is there")
	}
	data, _ := finished(t)
	o := options(t, data)
	trainer, _, err := resume(t, o)
	require.NoError(t, err)
	assert.Equal(t, -1, Saved(o.Out))
	fail(filepath.Join(o.Out, Checkpoint), true, syscall.EIO)
	require.ErrorContains(t, trainer.save(t.Context()), "holds step 0: ", "the first one too")
	assert.Equal(t, 0, Saved(o.Out))
}

// If the checkpoint is damaged, a run resumes from the previous one, says so, and ends with the
// same bytes. The damaged checkpoint does not replace the previous one.
func TestADamagedCheckpoint(t *testing.T) {
	data, files := finished(t)
	random := rand.New(rand.NewPCG(1, 2))
	damage := map[string]func(whole []byte) []byte{
		"one bit":   func(b []byte) []byte { b[random.IntN(len(b))] ^= 1 << random.IntN(8); return b },
		"truncated": func(b []byte) []byte { return b[:random.IntN(len(b))] },
		"empty":     func([]byte) []byte { return nil },
		"other":     func([]byte) []byte { return []byte("this is a note, not a checkpoint") },
		"longer":    func(b []byte) []byte { return append(b, 0) },
		"missing":   nil,
	}
	for name, harm := range damage {
		t.Run(name, func(t *testing.T) {
			o := resumable(t)
			path := filepath.Join(o.Out, Checkpoint)
			if harm == nil {
				require.NoError(t, os.Remove(path))
			} else {
				require.NoError(t, os.WriteFile(path, harm([]byte(string(files[Checkpoint]))), 0o644))
			}
			trainer, notes, err := resume(t, o)
			require.NoError(t, err)
			assert.Equal(t, 3, trainer.Done())
			require.Len(t, notes, 1)
			assert.Contains(t, notes[0], path)
			assert.Contains(t, notes[0], PreviousCheckpoint+", step 3")

			assert.Equal(t, 3, Saved(o.Out))
			require.NoError(t, trainer.save(t.Context()))
			assert.Equal(t, "3", stepOf(t, path))
			assert.Equal(t, "3", stepOf(t, filepath.Join(o.Out, PreviousCheckpoint)))
			if name == "one bit" {
				trainer.Close()
				train(t, reference.Open(), o, 4)
				for _, file := range []string{Checkpoint, "eyes.safetensors"} {
					require.True(t, string(results(t, o.Out)[file]) == string(files[file]), file)
				}
			}
		})
	}
	t.Run("both", func(t *testing.T) {
		o := resumable(t)
		for _, name := range []string{Checkpoint, PreviousCheckpoint} {
			require.NoError(t, os.WriteFile(filepath.Join(o.Out, name), files[name][:1000], 0o644))
		}
		_, _, err := resume(t, o)
		require.ErrorContains(t, err, filepath.Join(o.Out, Checkpoint))
		require.ErrorContains(t, err, filepath.Join(o.Out, PreviousCheckpoint))
		require.ErrorContains(t, err, "start a new run in another out")
		assert.NotContains(t, err.Error(), "start without resume", "which would be refused")
	})
	t.Run("none", func(t *testing.T) {
		o := options(t, data)
		o.Resume = true
		_, _, err := resume(t, o)
		require.ErrorContains(t, err, "nothing to resume")
	})
}

// A changed data folder is refused: it would change the order and the length of the run.
func TestOtherImagesAreRefused(t *testing.T) {
	o := resumable(t)
	rename := func(from, to string) {
		require.NoError(t, filepath.WalkDir(o.Data[0], func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Base(path) != from {
				return err
			}
			return os.Rename(path, filepath.Join(filepath.Dir(path), to))
		}))
	}
	rename("case0002.png", "case0002b.png")
	defer rename("case0002b.png", "case0002.png")
	rename("diagnosis.csv", "kept.csv") // it names the image
	defer rename("kept.csv", "diagnosis.csv")
	_, _, err := resume(t, o)
	require.ErrorIs(t, err, errOptions)
	require.ErrorContains(t, err, "other images than when it was written (then 4 images")
}

// An image or a mask whose bytes have changed is refused, and so is another choice of images to
// score by. Checkpoints of versions that kept no sums go on.
func TestChangedImagesAreRefused(t *testing.T) {
	for _, name := range []string{"images/case0003.png", "raters/*/disc/case0003.png"} {
		o := resumable(t)
		paths, err := filepath.Glob(filepath.Join(o.Data[0], name))
		require.NoError(t, err)
		before, err := os.ReadFile(paths[0])
		require.NoError(t, err)
		picture, err := png.Decode(bytes.NewReader(before))
		require.NoError(t, err)
		picture.(draw.Image).Set(3, 3, color.White)
		var after bytes.Buffer
		require.NoError(t, png.Encode(&after, picture))
		require.NoError(t, os.WriteFile(paths[0], after.Bytes(), 0o644))
		t.Cleanup(func() { require.NoError(t, os.WriteFile(paths[0], before, 0o644)) })
		_, _, err = resume(t, o)
		require.ErrorIs(t, err, errOptions)
		require.ErrorContains(t, err, "images, masks or which of them score have changed since it was written")

		for _, name := range []string{Checkpoint, PreviousCheckpoint} {
			file, err := readCheckpoint(filepath.Join(o.Out, name))
			require.NoError(t, err)
			delete(file.Metadata, "content")
			file.Seal()
			_, err = writeFile(filepath.Join(o.Out, name), file)
			require.NoError(t, err)
		}
		_, notes, err := resume(t, o)
		require.NoError(t, err)
		require.Empty(t, notes)
		require.NoError(t, os.WriteFile(paths[0], before, 0o644))
	}
}

// Another version of the program may resume a run, and says so.
func TestAnotherVersionGoesOn(t *testing.T) {
	o := resumable(t)
	o.Commit = "later"
	_, notes, err := resume(t, o)
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], "version test of this program wrote")
}

func TestAnotherRunIsNotWrittenOver(t *testing.T) {
	o := resumable(t)
	before := results(t, o.Out)
	o.Resume = false
	_, _, err := resume(t, o)
	require.ErrorContains(t, err, filepath.Join(o.Out, Checkpoint))
	require.ErrorContains(t, err, "resume")
	requireUntouched(t, before, o.Out)
}

// While a process has a folder, neither a new nor a resumed run gets it: they would overwrite their
// checkpoints.
func TestOneRunAFolder(t *testing.T) {
	data, _ := finished(t)
	o := options(t, data)
	first, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	for _, o.Resume = range []bool{false, true} {
		_, err := New(t.Context(), reference.Open(), o, func(int, int) { t.Error("read images first") })
		require.ErrorContains(t, err, o.Out+": another process is training in this folder")
	}
	first.Close()
	o.Resume = false
	second, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	second.Close()
}

// A missing run is not resumed, and leaves no empty folder.
func TestNothingToResume(t *testing.T) {
	o := resumable(t)
	o.Out = filepath.Join(t.TempDir(), "mistyped")
	_, _, err := resume(t, o)
	require.EqualError(t, err, "nothing to resume: no "+filepath.Join(o.Out, Checkpoint)+" (start without resume)")
	assert.NoDirExists(t, o.Out)
	require.NoError(t, os.Mkdir(o.Out, 0o755))
	_, _, err = resume(t, o)
	require.ErrorContains(t, err, "nothing to resume: no "+filepath.Join(o.Out, Checkpoint))
}

// requireUntouched requires that a folder has not changed.
func requireUntouched(t *testing.T, before map[string][]byte, folder string) {
	t.Helper()
	require.True(t, maps.EqualFunc(before, results(t, folder), bytes.Equal), "%s was changed", folder)
}

// poison writes a value into one element of a variable of a running trainer.
func poison(t *testing.T, trainer *Trainer, name string, value float32) {
	t.Helper()
	v := trainer.set.Lookup(name)
	require.NotNil(t, v, name)
	values, err := trainer.set.Read(context.Background(), v)
	require.NoError(t, err)
	values[0][0] = value
	require.NoError(t, trainer.set.Write(v, values[0]))
}

// A loss that is NaN stops the run and names the images. The last good checkpoint stays, and the
// error says how to go on.
func TestALossThatIsNotANumber(t *testing.T) {
	data, _ := finished(t)
	o := options(t, data)
	o.CheckpointSeconds = 0
	trainer, _, err := resume(t, o)
	require.NoError(t, err)
	err = trainer.Run(t.Context(), func(r Report) {
		if r.Step == 2 {
			trainer.Options.CheckpointSeconds = 3600
			require.NoError(t, trainer.save(t.Context()))
			poison(t, trainer, "conp.head.bias", float32(math.NaN()))
		}
	})
	require.ErrorIs(t, err, ErrDiverged)
	assert.Regexp(t, `step 3: the loss or its gradient is not finite on synthetic-pair/case000\d, synthetic-pair/case000\d`, err)
	assert.ErrorContains(t, err, "mask:NaN")
	assert.ErrorContains(t, err, filepath.Join(o.Out, Checkpoint)+" holds step 2")
	assert.ErrorContains(t, err, "init "+filepath.Join(o.Out, "eyes.f32.safetensors"))
	assert.Equal(t, "2", stepOf(t, filepath.Join(o.Out, Checkpoint)))

	// as the message says
	o.Init, o.Out = filepath.Join(o.Out, "eyes.f32.safetensors"), filepath.Join(t.TempDir(), "again")
	o.Recipe.Rate /= 2
	_, _, err = resume(t, o)
	require.NoError(t, err)
}

// A state that is not finite is not saved either, even if the loss is finite: a NaN in a moment, or
// in a weight before a ReLU.
func TestAStateThatIsNotFinite(t *testing.T) {
	for name, value := range map[string]float64{"adam.v.encoder.conv1.weight": math.Inf(1), "average.conp.head.bias": math.NaN()} {
		o := resumable(t)
		before := results(t, o.Out)
		trainer, _, err := resume(t, o)
		require.NoError(t, err)
		poison(t, trainer, name, float32(value))
		trainer.checkpointed, trainer.step = 3, 4
		err = trainer.save(t.Context())
		require.ErrorIs(t, err, ErrDiverged)
		assert.ErrorContains(t, err, name)
		requireUntouched(t, before, o.Out)
	}
}

// One error lists all bad files by name, before a folder is made.
func TestFaultyData(t *testing.T) {
	data := writeData(t, 6)
	mask := func(rater, class, name string) string {
		return filepath.Join(data, "raters", rater, class, name+".png")
	}
	picture, err := os.ReadFile(mask("ann", "disc", "case0001"))
	require.NoError(t, err)
	other := writeData(t, 1)
	large, err := os.ReadFile(filepath.Join(other, "images", "case0000.png"))
	require.NoError(t, err)

	require.NoError(t, os.Remove(mask("bob", "cup", "case0002"))) // a label that is missing: no fault
	require.NoError(t, os.WriteFile(filepath.Join(data, "images", "case0000.png"), []byte("a text"), 0o644))
	require.NoError(t, os.WriteFile(mask("ann", "disc", "case0001"), picture[:len(picture)/2], 0o644))
	require.NoError(t, os.WriteFile(mask("ann", "cup", "case0003"), large, 0o644)) // a photograph where a mask belongs
	require.NoError(t, os.WriteFile(mask("ann", "cup", "nobody"), picture, 0o644))
	o := options(t, data)
	_, err = New(t.Context(), reference.Open(), o, nil)
	var problems dataset.Problems
	require.ErrorAs(t, err, &problems)
	assert.ErrorContains(t, err, filepath.Join(data, "images", "case0000.png"))
	assert.ErrorContains(t, err, mask("ann", "cup", "nobody"))
	assert.NoDirExists(t, o.Out)

	// faults that only reading the pictures shows
	require.NoError(t, os.WriteFile(filepath.Join(data, "images", "case0000.png"), large, 0o644))
	require.NoError(t, os.Remove(mask("ann", "cup", "nobody")))
	_, err = New(t.Context(), reference.Open(), o, nil)
	require.ErrorAs(t, err, &problems)
	assert.ErrorContains(t, err, mask("ann", "disc", "case0001"))
	assert.ErrorContains(t, err, mask("ann", "cup", "case0003"))
	assert.Len(t, problems, 2)

	require.NoError(t, os.WriteFile(mask("ann", "disc", "case0001"), picture, 0o644))
	require.NoError(t, os.Remove(mask("ann", "cup", "case0003")))
	require.NoError(t, os.RemoveAll(filepath.Join(data, "raters", "bob")))
	_, err = New(t.Context(), reference.Open(), o, nil)
	assert.ErrorContains(t, err, filepath.Join(data, "raters", "bob"))

	o.Data = []string{filepath.Join(data, "nowhere")}
	_, err = New(t.Context(), reference.Open(), o, nil)
	assert.ErrorContains(t, err, filepath.Join(data, "nowhere"))
}

// Missing labels are not a fault: the run trains on the others.
func TestMissingLabels(t *testing.T) {
	data := writeData(t, 5)
	for _, name := range []string{"case0000", "case0001", "case0003"} {
		require.NoError(t, os.Remove(filepath.Join(data, "raters", "bob", "cup", name+".png")))
	}
	o := options(t, data)
	o.Phases = []Phase{{64, 1}}
	trainer, _, err := resume(t, o)
	require.NoError(t, err)
	assert.Len(t, trainer.Dataset.Missing, 3)
	require.NoError(t, trainer.Run(t.Context(), func(r Report) { require.False(t, math.IsNaN(r.Loss)) }))
}

// A folder that cannot be written to is refused before any image is read. If writing fails later,
// the old checkpoint stays.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	data, _ := finished(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	o := options(t, data)
	o.Out = filepath.Join(file, "run")
	_, err := New(t.Context(), reference.Open(), o, func(int, int) { t.Error("read images first") })
	require.ErrorContains(t, err, file)
	o.Out = "/proc" // where not even root makes files
	if runtime.GOOS != "linux" {
		o.Out = t.TempDir()
		require.NoError(t, os.Chmod(o.Out, 0o555))
	}
	_, err = New(t.Context(), reference.Open(), o, func(int, int) { t.Error("read images first") })
	require.ErrorContains(t, err, "cannot be written to")
	require.ErrorContains(t, err, o.Out)

	o = resumable(t)
	before := results(t, o.Out)
	trainer, _, err := resume(t, o)
	require.NoError(t, err)
	trainer.step, trainer.Options.Title = 5, strings.Repeat("x", 2<<20) // an export whose header is too large to write
	err = trainer.save(t.Context())
	require.ErrorContains(t, err, "export")
	after := results(t, o.Out)
	assert.Equal(t, "5", stepOf(t, filepath.Join(o.Out, Checkpoint)))
	assert.True(t, string(before[Checkpoint]) == string(after[PreviousCheckpoint]))
	assert.True(t, string(before["eyes.safetensors"]) == string(after["eyes.safetensors"]))
}

// A run that is stopped before its first step saves its start, and can be resumed.
func TestStoppedBeforeTheFirstStep(t *testing.T) {
	data, files := finished(t)
	o := options(t, data)
	trainer, _, err := resume(t, o)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, trainer.Run(ctx, func(Report) { t.Error("a step was taken") }), context.Canceled)
	assert.Equal(t, "0", stepOf(t, filepath.Join(o.Out, Checkpoint)))
	trainer.Close()
	o.Resume = true
	train(t, reference.Open(), o, 4)
	require.True(t, string(results(t, o.Out)[Checkpoint]) == string(files[Checkpoint]))
}

// failing is a device whose runs fail from a given number on.
type failing struct {
	gpu.Device
	left int
	err  error
}

func (f *failing) Run(ctx context.Context, r ...gpu.Recording) error {
	if f.left--; f.left < 0 {
		return f.err
	}
	return f.Device.Run(ctx, r...)
}

// An error of the device is returned with the number of the step, and the saved files do not
// change.
func TestADeviceThatFails(t *testing.T) {
	data, files := finished(t)
	for _, fault := range []error{gpu.ErrLost, gpu.ErrOutOfMemory, gpu.ErrValidation} {
		o := options(t, data)
		o.CheckpointSeconds = 0
		trainer, err := New(t.Context(), &failing{reference.Open(), 2, fault}, o, nil)
		require.NoError(t, err)
		err = trainer.Run(t.Context(), func(Report) {})
		require.ErrorIs(t, err, fault)
		require.ErrorContains(t, err, "step 3")
		assert.Equal(t, "2", stepOf(t, filepath.Join(o.Out, Checkpoint)))
		trainer.Close()
		if fault == gpu.ErrLost {
			o.Resume = true
			train(t, reference.Open(), o, 4)
			require.True(t, string(results(t, o.Out)[Checkpoint]) == string(files[Checkpoint]))
		}
	}
}

// A checkpoint has all variables that decide a step: all except those passed between plans.
func TestTheStateIsWhole(t *testing.T) {
	o := resumable(t)
	trainer, _, err := resume(t, o)
	require.NoError(t, err)
	kept := map[*tensor.Variable]bool{}
	for _, v := range trainer.state() {
		kept[v] = true
	}
	for _, v := range trainer.set.Variables() {
		assert.Equal(t, v.Role != tensor.Shared, kept[v], v.Name)
	}
}
