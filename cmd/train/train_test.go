package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/program/cli"
	"mrprism/internal/train"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asProgram is the environment variable under which this test binary is the program itself, to be
// killed.
const asProgram = "MRPRISM_TEST_TRAIN"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// writeData makes a data set of two raters and a number of images of 64×64 pixels.
func writeData(t *testing.T, images int) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "eyes")
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), folder, pair, images, 64, 1))
	return folder
}

// arguments are those of a short run. It trains on four of five images, two in a step.
func arguments(data, out string, epochs string, more ...string) []string {
	return append([]string{"-data", data, "-out", out, "-config", "tiny", "-side", "64", "-batch", "2", "-epochs", epochs, "-name", "eyes",
		"-device", "processor", "-save", "0"}, more...)
}

// invoke runs the program inside the test. Arguments such as -warmup 2, which are no flags, become
// lines of the file of -with, and so do recipes of studies.
func invoke(ctx context.Context, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(ctx, withFields(args), &out, &err)
	return code, out.String(), err.String()
}

func process(args ...string) *exec.Cmd {
	c := exec.Command(os.Args[0], withFields(args)...)
	c.Env = append(os.Environ(), asProgram+"=1")
	return c
}

func withFields(args []string) []string {
	d := newRunner(io.Discard).declare()
	var rest []string
	var lines, with string
	for i := 0; i < len(args); i++ {
		name := strings.TrimLeft(args[i], "-")
		switch {
		case name == "with" && i+1 < len(args):
			with = args[i+1]
			i++
		case i+1 < len(args) && (strings.HasPrefix(args[i], "-") && d.Lookup(name) != nil && d.Shown(name) == name ||
			name == "recipe" && slices.Contains(model.Studied, args[i+1])):
			lines += name + ": " + args[i+1] + "\n"
			i++
		default:
			rest = append(rest, args[i])
		}
	}
	if with != "" && lines != "" {
		path := with
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			path = filepath.Join(path, configurationName)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			panic(err)
		}
		for line := range strings.Lines(string(text)) {
			if key, _, _ := strings.Cut(line, ":"); !strings.Contains("\n"+lines, "\n"+key+": ") {
				lines += line
			}
		}
		with = ""
	}
	if lines != "" {
		file, err := os.CreateTemp("", "fields-*.yaml")
		if err != nil {
			panic(err)
		}
		defer file.Close()
		if _, err := file.WriteString(lines); err != nil {
			panic(err)
		}
		with = file.Name()
	}
	if with != "" {
		rest = append(rest, "-with", with)
	}
	return rest
}

func readFile(t *testing.T, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	require.NoError(t, err)
	return data
}

// requireSame compares what two runs have written, without printing megabytes.
func requireSame(t *testing.T, want, got string) {
	t.Helper()
	for _, name := range []string{train.Checkpoint, train.PreviousCheckpoint, "eyes.safetensors", "eyes.f32.safetensors"} {
		require.True(t, bytes.Equal(readFile(t, want, name), readFile(t, got, name)), "%s differs", name)
	}
	require.Equal(t, steps(t, want), steps(t, got), "the log has every step once")
}

// steps are the steps in a run's log.
func steps(t *testing.T, folder string) (numbers []int) {
	t.Helper()
	for line := range strings.Lines(string(readFile(t, folder, "log.jsonl"))) {
		var step struct {
			Step int
			Loss float64
		}
		require.NoError(t, json.Unmarshal([]byte(line), &step))
		require.Positive(t, step.Loss)
		numbers = append(numbers, step.Step)
	}
	return numbers
}

func TestHelpAndUsage(t *testing.T) {
	code, stdout, stderr := invoke(t.Context(), "-h")
	assert.Equal(t, cli.Done, code)
	assert.Empty(t, stderr)
	for _, word := range []string{"usage: train", "-resume", "dataset.json", "examples:", "exit codes: 0"} {
		assert.Contains(t, stdout, word)
	}
	out := filepath.Join(t.TempDir(), "run")
	for want, args := range map[string][]string{
		"no data":              {},
		"no folder for":        {"-data", "a"},
		"-nonsense":            {"-data", "a", "-out", out, "-nonsense"},
		`"extra"`:              {"-data", "a", "-out", out, "extra"},
		`"huge"`:               {"-data", "a", "-out", out, "-config", "huge"},
		`"letter"`:             {"-data", "a", "-out", out, "-recipe", "letter"},
		"for studies":          {"-data", "a", "-out", out, "-recipe=baseline"},
		"-batch 0: give":       {"-data", "a", "-out", out, "-batch", "0"},
		"-accumulate -1: give": {"-data", "a", "-out", out, "-accumulate", "-1"},
		"side 100":             {"-data", "a", "-out", out, "-side", "100"},
		`phase "64"`:           {"-data", "a", "-out", out, "-phases", "64"},
		"-rate -0.1: give":     {"-data", "a", "-out", out, "-rate", "-0.1"},
		"-device cuda":         {"-data", "a", "-out", out, "-device", "cuda"},
		`name "a b"`:           {"-data", "a", "-out", out, "-name", "a b"},
		"not both":             {"-data", "a", "-out", out, "-resume", "-init", "x"},
	} {
		code, stdout, stderr := invoke(t.Context(), args...)
		assert.Equal(t, cli.Usage, code, args)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, want)
		assert.Contains(t, stderr, "train -h")
	}
	assert.NoDirExists(t, out)
}

// A run that cannot work exits with 1 and names the file.
func TestFailures(t *testing.T) {
	data, out := writeData(t, 2), filepath.Join(t.TempDir(), "run")
	t.Setenv("MRPRISM_DAWN_LIB", filepath.Join(data, "libdawn.so.123"))
	image := filepath.Join(data, "images", "case0001.png")
	require.NoError(t, os.WriteFile(image, []byte("a text"), 0o644))
	_, _, stderr := invoke(t.Context(), arguments(out, out, "1")...)
	assert.NotContains(t, stderr, "-skip-bad", "it cannot help without a data set")
	for want, args := range map[string][]string{
		image: arguments(data, out, "1"),
		`"train check -most 0 ` + data + `" lists`: arguments(data, out, "1"),
		filepath.Join(out, "dataset.json"):         arguments(out, out, "1"),
		"nothing to resume":                        arguments(writeData(t, 2), out, "1", "-resume"),
		filepath.Join(data, "x.safetensors"):       arguments(data, out, "1", "-init", filepath.Join(data, "x.safetensors")),
		image + ": not a directory":                arguments(writeData(t, 2), filepath.Join(image, "run"), "1"),
		filepath.Join(data, "libdawn.so.123"):      arguments(data, out, "1", "-device", "dawn"),
	} {
		code, _, stderr := invoke(t.Context(), args...)
		assert.Equal(t, cli.Failed, code, args)
		assert.Contains(t, stderr, want)
	}
}

// A run prints its device, its data and its progress, notes missing labels, and writes a line for
// each step into the log.
func TestARun(t *testing.T) {
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	missing := filepath.Join(data, "raters", "bob", "cup", "case0001.png")
	require.NoError(t, os.Remove(missing))
	code, _, stderr := invoke(t.Context(), arguments(data, out, "1")...)
	require.Equal(t, cli.Done, code, stderr)
	for _, want := range []string{"computing on Go float32", "4 images to train on, 1 held out; 2 raters, 2 classes; 2 steps, 0 done",
		"1 mask is missing, such as " + missing, "step 2/2", "done: " + filepath.Join(out, "eyes.safetensors")} {
		assert.Contains(t, stderr, want)
	}
	assert.Equal(t, []int{1, 2}, steps(t, out))
	_, err := weights.Shipped().Open("eyes", readFile(t, out, "eyes.safetensors"))
	require.NoError(t, err)

	code, _, stderr = invoke(t.Context(), arguments(data, out, "1")...)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "-resume", "a run is not written over")
}

// Ctrl-C finishes the step, saves and exits with 130. After -resume the run ends as if it had not
// been stopped.
func TestInterrupt(t *testing.T) {
	data, folder := writeData(t, 5), t.TempDir()
	straight, stopped := filepath.Join(folder, "straight"), filepath.Join(folder, "stopped")
	code, _, stderr := invoke(t.Context(), arguments(data, straight, "3")...)
	require.Equal(t, cli.Done, code, stderr)

	c := process(arguments(data, stopped, "3", "-save", "3600")...)
	var said bytes.Buffer
	c.Stderr = &said
	require.NoError(t, c.Start())
	waitFor(t, func() bool {
		data, _ := os.ReadFile(filepath.Join(stopped, "log.jsonl"))
		return bytes.Count(data, []byte("\n")) >= 1
	})
	require.NoError(t, c.Process.Signal(os.Interrupt))
	var exit *exec.ExitError
	require.ErrorAs(t, c.Wait(), &exit)
	require.Equal(t, cli.Interrupted, exit.ExitCode(), said.String())
	assert.Contains(t, said.String(), "finishing the step and saving")
	assert.Contains(t, said.String(), "-resume")
	require.FileExists(t, filepath.Join(stopped, train.Checkpoint))
	require.Less(t, len(steps(t, stopped)), 6)

	code, _, stderr = invoke(t.Context(), arguments(data, stopped, "3", "-resume")...)
	require.Equal(t, cli.Done, code, stderr)
	requireSame(t, straight, stopped)

	// before there is anything to save
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, stderr = invoke(ctx, arguments(data, filepath.Join(folder, "never"), "3")...)
	assert.Equal(t, cli.Interrupted, code)
	assert.NotContains(t, stderr, "saved in")
}

func waitFor(t *testing.T, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); !happened(); time.Sleep(5 * time.Millisecond) {
		require.True(t, time.Now().Before(end), "nothing happens")
	}
}

// On a full disk, here a limit to the size of a file, a run exits with an error that names the
// file. The checkpoint before is whole, and nothing of another is left.
func TestFullDisk(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no shell to limit the size of files with")
	}
	data, out := writeData(t, 5), filepath.Join(t.TempDir(), "run")
	code, _, stderr := invoke(t.Context(), arguments(data, out, "1")...)
	require.Equal(t, cli.Done, code, stderr)
	whole := readFile(t, out, train.Checkpoint)
	previous := readFile(t, out, train.PreviousCheckpoint)

	args := arguments(data, filepath.Join(filepath.Dir(out), "full"), "1")
	c := exec.Command("sh", append([]string{"-c", `ulimit -f 64; exec "$0" "$@"`, os.Args[0]}, args...)...)
	c.Env = append(os.Environ(), asProgram+"=1")
	said, err := c.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, cli.Failed, exit.ExitCode(), string(said))
	assert.Contains(t, string(said), train.Checkpoint)
	assert.Contains(t, string(said), syscall.EFBIG.Error())
	entries, err := os.ReadDir(filepath.Join(filepath.Dir(out), "full"))
	require.NoError(t, err)
	for _, e := range entries {
		assert.Contains(t, []string{disk.LockFile, logName, configurationName, boardFolder}, e.Name(), "nothing half-written is left")
	}

	// with a checkpoint there already
	require.NoError(t, os.Remove(filepath.Join(out, train.Checkpoint)))
	// one step to go
	require.NoError(t, os.WriteFile(filepath.Join(out, train.Checkpoint), previous, 0o644))
	c = exec.Command("sh", append([]string{"-c", `ulimit -f 64; exec "$0" "$@"`, os.Args[0]}, arguments(data, out, "1", "-resume")...)...)
	c.Env = append(os.Environ(), asProgram+"=1")
	said, err = c.CombinedOutput()
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, cli.Failed, exit.ExitCode(), string(said))
	assert.True(t, bytes.Equal(previous, readFile(t, out, train.Checkpoint)))
	code, _, stderr = invoke(t.Context(), arguments(data, out, "1", "-resume")...)
	require.Equal(t, cli.Done, code, stderr)
	assert.True(t, bytes.Equal(whole, readFile(t, out, train.Checkpoint)))
}

// processor is a device that the program may close.
func processor(t *testing.T) gpu.Device {
	t.Helper()
	d, err := device.Open(t.Context(), device.Processor, device.Options{})
	require.NoError(t, err)
	return d
}

// losable is a device that is lost at a given run, or at once: with its first buffers.
type losable struct {
	gpu.Device
	left int
}

// atOnce is losable.left of a device that is lost before training begins.
const atOnce = -1

func (d *losable) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	if d.left == atOnce {
		return nil, gpu.ErrLost
	}
	return d.Device.Allocate(ctx, specs)
}

func (d *losable) Run(ctx context.Context, r ...gpu.Recording) error {
	if d.left--; d.left < 0 {
		return gpu.ErrLost
	}
	return d.Device.Run(ctx, r...)
}

// A lost device is opened again, and the run ends as if nothing had happened, unless two devices in
// a row are lost without a saved step.
func TestALostDevice(t *testing.T) {
	data, folder := writeData(t, 5), t.TempDir()
	straight, lost := filepath.Join(folder, "straight"), filepath.Join(folder, "lost")
	code, _, stderr := invoke(t.Context(), arguments(data, straight, "2")...)
	require.Equal(t, cli.Done, code, stderr)

	type try struct {
		runs int     // after which the device is lost
		save float64 // seconds between checkpoints
	}
	attempt := func(out string, tries []try, more ...string) error {
		r := parsed(t, arguments(data, out, "2", more...)...)
		r.open = func(context.Context) (gpu.Device, error) {
			now := tries[0]
			tries = tries[1:]
			r.options.CheckpointSeconds = now.save
			return &losable{processor(t), now.runs}, nil
		}
		err := r.train(t.Context())
		require.Empty(t, tries, "it ended early")
		return err
	}
	require.NoError(t, attempt(lost, []try{{0, 0}, {1, 0}, {atOnce, 0}, {2, 0}, {100, 0}}))
	requireSame(t, straight, lost)

	again := filepath.Join(folder, "again")
	err := attempt(again, []try{{2, 0}, {0, 0}, {0, 0}})
	require.ErrorIs(t, err, gpu.ErrLost)
	require.ErrorContains(t, err, "step 3")
	err = attempt(again, []try{{atOnce, 0}, {atOnce, 0}}, "-resume")
	require.ErrorIs(t, err, gpu.ErrLost)

	// step 3 is taken and not saved. Then it is saved: this is progress, though no later step was
	// taken
	unsaved := filepath.Join(folder, "unsaved")
	require.NoError(t, attempt(unsaved, []try{{3, 3600}, {1, 0}, {100, 0}}, "-phases", "64:1,64:1"))
	require.Equal(t, []int{1, 2, 3, 4}, steps(t, unsaved))

	// the device is lost before the other run in the folder is noticed: that run is not resumed
	r := parsed(t, arguments(data, straight, "2")...)
	opened := 0
	r.open = func(context.Context) (gpu.Device, error) {
		if opened++; opened == 1 {
			return nil, gpu.ErrLost
		}
		return processor(t), nil
	}
	require.ErrorContains(t, r.train(t.Context()), train.Checkpoint+" exists")
}

// Lines after the checkpoint, and an incomplete line, are removed from the log.
func TestLogIsCut(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.jsonl")
	for done, want := range map[int]string{
		0: "", 2: "{\"step\":1}\n{\"step\":2}\n", 9: "{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n",
	} {
		require.NoError(t, os.WriteFile(path, []byte("{\"step\":1}\n{\"step\":2}\n{\"step\":3}\n{\"st"), 0o644))
		f, err := openLog(path, done)
		require.NoError(t, err)
		require.NoError(t, f.Append([]byte("next\n")))
		require.NoError(t, f.Close())
		assert.Equal(t, want+"next\n", string(readFile(t, path)))
	}
}

func TestSynthetic(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "eyes")
	code, _, stderr := invoke(t.Context(), "synthetic", "one-expert", folder, "-images", "5", "-side", "64", "-seed", "3")
	require.Equal(t, cli.Done, code, stderr)
	for _, file := range []string{"dataset.json", "images/case0004.png", "raters/rater6/cup/case0000.png", "truth/disc/case0000.png"} {
		assert.FileExists(t, filepath.Join(folder, file))
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	part := filepath.Join(t.TempDir(), "part")
	code, _, _ = invoke(stopped, "synthetic", "one-expert", part)
	assert.Equal(t, cli.Interrupted, code)
	assert.NoFileExists(t, filepath.Join(part, "dataset.json"))
	code, _, stderr = invoke(t.Context(), "synthetic", "one-expert", folder)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, folder+" is not empty")
	_, _, stderr = invoke(t.Context(), "synthetic", "nobody", folder)
	assert.Contains(t, stderr, `no scenario is named "nobody": there are `)
	assert.Contains(t, stderr, ", changing-panels, and foreign; ")
	for _, wrong := range [][]string{{"nobody", folder}, {"one-expert"}, {"one-expert", folder, "-images", "0"}, {"one-expert", folder, "-side", "8"}} {
		code, _, stderr = invoke(t.Context(), append([]string{"synthetic"}, wrong...)...)
		assert.Equal(t, cli.Usage, code, wrong)
		assert.Contains(t, stderr, "train synthetic -h")
	}
	code, stdout, _ := invoke(t.Context(), "synthetic", "-h")
	assert.Equal(t, cli.Done, code)
	assert.Contains(t, stdout, "changing-panels  eight raters")
}

// Previews show the first image that the run does not learn from, and change nothing of the run.
func TestPreviews(t *testing.T) {
	data, plain, out := writeData(t, 6), filepath.Join(t.TempDir(), "plain"), filepath.Join(t.TempDir(), "run")
	for folder, more := range map[string][]string{plain: nil, out: {"-previews", "2"}} {
		code, _, stderr := invoke(t.Context(), arguments(data, folder, "2", more...)...)
		require.Equal(t, cli.Done, code, stderr)
	}
	requireSame(t, plain, out)
	drawing := string(readFile(t, out, previewName))
	assert.Equal(t, 2*(2+1), strings.Count(drawing, "<path "), "two structures, each of two people and of the model")
	assert.Contains(t, drawing, `<image width="64" height="64" href="data:image/png;base64,`)
	var after []int
	for line := range strings.Lines(string(readFile(t, out, "log.jsonl"))) {
		var step struct {
			Step    int
			Preview *train.Preview
		}
		require.NoError(t, json.Unmarshal([]byte(line), &step))
		if step.Preview != nil {
			assert.True(t, step.Preview.Apart)
			after = append(after, step.Step)
		}
	}
	assert.Equal(t, []int{1, 3, 6}, after)
	assert.NoFileExists(t, filepath.Join(plain, previewName))
}
