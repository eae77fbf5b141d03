package train

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/segment"
	"mrprism/model"
	_ "mrprism/model/rivals"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeData makes a data set of two raters and the given number of images of 64×64 pixels.
func writeData(t *testing.T, images int) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "eyes")
	pair := synthetic.Scenario{Name: "pair", Raters: []synthetic.Rater{{Name: "ann", Noise: 0.05}, {Name: "bob", Noise: 0.05, Bias: 0.3}}}
	require.NoError(t, synthetic.WriteDataset(t.Context(), folder, pair, images, 64, 1))
	return folder
}

// options are for a run of four steps: two epochs of four images, two in a step. Every fifth image
// is held out.
func options(t *testing.T, data string) Options {
	t.Helper()
	r, err := model.NewRecipe("steered")
	require.NoError(t, err)
	return Options{
		Data: []string{data}, Config: "tiny", Recipe: r, Phases: []Phase{{64, 2}}, Batch: 2, Seed: 1, Name: "eyes", Task: "synthetic eyes",
		Out: filepath.Join(t.TempDir(), "run"), Commit: "test", CheckpointSeconds: 3600,
	}
}

// train runs to the end, or for a number of steps as if Ctrl-C came then.
func train(t *testing.T, d gpu.Device, o Options, until int) {
	t.Helper()
	trainer, err := New(t.Context(), d, o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err = trainer.Run(ctx, func(r Report) {
		if r.Step == until {
			cancel()
		}
	})
	if until < trainer.Steps() {
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, until, trainer.Done())
		return
	}
	require.NoError(t, err)
	require.Equal(t, trainer.Steps(), trainer.Done())
}

// results are a run's files without its log, by name.
func results(t *testing.T, folder string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(folder, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = data
	}
	return files
}

// requireSame compares runs without printing megabytes.
func requireSame(t *testing.T, want, got string) {
	t.Helper()
	wanted, have := results(t, want), results(t, got)
	for _, name := range []string{Checkpoint, "eyes.safetensors", "eyes.f32.safetensors"} {
		require.NotEmpty(t, wanted[name], name)
		require.True(t, string(wanted[name]) == string(have[name]), "%s differs", name)
	}
}

// finished is a run of four steps on the reference, saved after each. All tests share it.
func finished(t *testing.T) (data string, files map[string][]byte) {
	t.Helper()
	made.once.Do(func() {
		made.data, made.err = os.MkdirTemp("", "mrprism-training-*")
		if made.err != nil {
			return
		}
		require.NoError(t, os.Rename(writeData(t, 5), filepath.Join(made.data, "eyes")))
		made.data = filepath.Join(made.data, "eyes")
		o := options(t, made.data)
		o.CheckpointSeconds = 0
		train(t, reference.Open(), o, 4)
		made.files = results(t, o.Out)
	})
	require.NoError(t, made.err)
	require.NotEmpty(t, made.files)
	return made.data, made.files
}

var made struct {
	once  sync.Once
	data  string
	files map[string][]byte
	err   error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if made.data != "" {
		_ = os.RemoveAll(filepath.Dir(made.data))
	}
	os.Exit(code)
}

// resumable is options and a folder of the finished run.
func resumable(t *testing.T) Options {
	t.Helper()
	data, files := finished(t)
	o := options(t, data)
	o.Resume = true
	require.NoError(t, os.MkdirAll(o.Out, 0o755))
	for name, content := range files {
		require.NoError(t, os.WriteFile(filepath.Join(o.Out, name), content, 0o644))
	}
	return o
}

// stepOf is the step of a checkpoint, which must be whole.
func stepOf(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	file, err := weights.Decode(data)
	require.NoError(t, err)
	require.NoError(t, file.VerifyContent())
	return file.Metadata["step"]
}

// some runs a test on the devices that people train on, and without -short on the reference too.
// TestScores and TestLossFalls always run on all.
func some(t *testing.T, test func(t *testing.T, d gpu.Device)) {
	t.Helper()
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		if testing.Short() && d.Info().Kind == gpu.KindReference {
			t.Skip("-short: the devices that people train on")
		}
		test(t, d)
	})
}

// A stopped run with all options of a recipe also ends with the same bytes.
func TestResumeOfAnElaborateRecipe(t *testing.T) {
	some(t, func(t *testing.T, d gpu.Device) {
		data := writeData(t, 9)
		straight := options(t, data)
		straight.Batch, straight.Accumulate, straight.Clip, straight.Warmup = 2, 2, 0.5, 2
		straight.Recipe.DiceWeight = 0.5
		straight.Fold, straight.Patience, straight.Recipe.Constant, straight.Recipe.Decay = Fold{1, 4}, 9, true, 0.01
		stopped := straight
		stopped.Out = filepath.Join(t.TempDir(), "stopped")
		trainer, err := New(t.Context(), d, straight, nil)
		require.NoError(t, err)
		require.Equal(t, []int{6, 4}, []int{trainer.Images(), trainer.Steps()})
		require.NoError(t, trainer.Run(t.Context(), func(r Report) {
			assert.Equal(t, 4, r.Images)
			assert.Greater(t, r.Norm, 0.5, "so that it is clipped")
			assert.Equal(t, straight.Recipe.Rate*min(1, float64(r.Step)/2), r.Rate)
			sum := 0.0
			for _, v := range r.Terms {
				sum += v
			}
			assert.InEpsilon(t, r.Loss, sum, 1e-5)
		}))
		trainer.Close()
		train(t, d, stopped, 1)
		stopped.Resume = true
		train(t, d, stopped, 3)
		train(t, d, stopped, 4)
		requireSame(t, straight.Out, stopped.Out)
	})
}

// A run that stops between two phases, and in the second one at another image side, also ends with
// the same bytes.
func TestResumeAcrossPhases(t *testing.T) {
	data, _ := finished(t)
	d := processor(t)
	straight, stopped := options(t, data), options(t, data)
	straight.Phases = []Phase{{64, 1}, {128, 1}}
	stopped.Phases = straight.Phases
	train(t, d, straight, 4)
	train(t, d, stopped, 2)
	stopped.Resume = true
	train(t, d, stopped, 3)
	train(t, d, stopped, 4)
	requireSame(t, straight.Out, stopped.Out)
}

// The loss of a run of 16 steps falls on every device, along the same curve.
func TestLossFalls(t *testing.T) {
	data := writeData(t, 5)
	var first []float64
	var firstDevice string
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		o := options(t, data)
		o.Phases = []Phase{{64, 8}}
		o.Recipe.FadeWeight = 0 // whose weight falls by itself
		trainer, err := New(t.Context(), d, o, nil)
		require.NoError(t, err)
		defer trainer.Close()
		var curve []float64
		require.NoError(t, trainer.Run(t.Context(), func(r Report) {
			curve = append(curve, r.Loss)
			sum := 0.0
			for _, v := range r.Terms {
				sum += v
			}
			require.InEpsilon(t, r.Loss, sum, 1e-5, "the terms make up the loss")
		}))
		t.Logf("%s: %.4f", d.Info(), curve)
		require.Len(t, curve, 16)
		assert.Less(t, mean(curve[12:]), 0.85*mean(curve[:4]))
		if first == nil {
			first, firstDevice = curve, d.Info().Backend
		}
		// Adam's first steps are signs of gradients, which rounding turns over where they are next to
		// nothing
		for i := range 6 {
			assert.InEpsilon(t, first[i], curve[i], 0.01, "step %d, beside %s", i+1, firstDevice)
		}
	})
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Under every recipe a run exports a model that opens and has every variable of the network.
func TestExports(t *testing.T) {
	data, files := finished(t)
	check := func(files map[string][]byte, recipe string) {
		for _, name := range []string{"eyes.safetensors", "eyes.f32.safetensors"} {
			m, err := weights.Shipped().Open(name, files[name])
			require.NoError(t, err)
			c, err := model.NewConfig(m.Metadata.Configuration, len(m.Metadata.Raters), len(m.Metadata.Classes))
			require.NoError(t, err)
			require.NoError(t, m.Match(segment.Specs(model.Variables(c).Variables(tensor.Parameter, tensor.Statistic))))
			assert.Equal(t, recipe, m.Metadata.Recipe)
			assert.Equal(t, []string{"ann", "bob"}, m.Metadata.Raters)
			assert.Equal(t, 64, m.Metadata.Side)
			assert.False(t, m.Shipped)
		}
		small, large := len(files["eyes.safetensors"]), len(files["eyes.f32.safetensors"])
		assert.Less(t, small, large*3/4)
	}
	check(files, "steered")
	for _, name := range []string{"baseline", "paper"} {
		o := options(t, data)
		var err error
		o.Recipe, err = model.NewRecipe(name)
		require.NoError(t, err)
		o.Phases = []Phase{{64, 1}, {128, 0}}
		train(t, reference.Open(), o, 2)
		check(results(t, o.Out), name)
	}
}

// Training starts from a model's weights, quantized or not. It refuses weights of another network
// by name.
func TestInit(t *testing.T) {
	data, files := finished(t)
	for _, name := range []string{"eyes.safetensors", "eyes.f32.safetensors"} {
		o := options(t, data)
		o.Init = filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(o.Init, files[name], 0o644))
		trainer, err := New(t.Context(), reference.Open(), o, nil)
		require.NoError(t, err)
		defer trainer.Close()
		decoded, err := weights.Decode(files[name])
		require.NoError(t, err)
		plain, err := weights.Dequantize(decoded)
		require.NoError(t, err)
		for _, v := range trainer.set.Variables(tensor.Parameter, tensor.Statistic) {
			got, err := trainer.set.Read(t.Context(), v)
			require.NoError(t, err)
			want, err := plain.Tensor(v.Name).Float32()
			require.NoError(t, err)
			require.Equal(t, want, got[0], v.Name)
		}
		assert.Zero(t, trainer.Done())
	}
	o := options(t, data)
	o.Init = filepath.Join(t.TempDir(), "eyes.safetensors")
	_, err := New(t.Context(), reference.Open(), o, nil)
	require.ErrorContains(t, err, o.Init)
	damaged := []byte(string(files["eyes.safetensors"]))
	damaged[len(damaged)/2] ^= 1
	require.NoError(t, os.WriteFile(o.Init, damaged, 0o644))
	_, err = New(t.Context(), reference.Open(), o, nil)
	require.ErrorContains(t, err, "damaged")

	require.NoError(t, os.WriteFile(o.Init, files["eyes.safetensors"], 0o644))
	o.Config = "compact"
	_, err = New(t.Context(), reference.Open(), o, nil)
	require.ErrorContains(t, err, o.Init+": the model has configuration tiny-steered, and config is compact")
	assert.NoDirExists(t, o.Out, "nothing is left of a run that could not begin")
}

// Training on agreement levels has no shuffles and equal weights, and the model says that its
// raters are levels (PAPER.md §3.13).
func TestAgreementLevels(t *testing.T) {
	data := writeData(t, 5)
	path := filepath.Join(data, "dataset.json")
	description, err := os.ReadFile(path)
	require.NoError(t, err)
	levels := strings.Replace(string(description), `"labels": "raters"`, `"labels": "agreement-levels"`, 1)
	require.NotEqual(t, string(description), levels)
	require.NoError(t, os.WriteFile(path, []byte(levels), 0o644))

	o := options(t, data)
	o.Phases, o.Anchor = []Phase{{64, 1}}, "disc"
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	assert.Equal(t, model.RuleMean, trainer.Options.Recipe.Rule)
	require.NoError(t, trainer.Run(t.Context(), func(r Report) {
		assert.NotContains(t, r.Terms, "shuffle")
		assert.Contains(t, r.Terms, "heads")
	}))
	m, err := weights.Shipped().Open("eyes", results(t, o.Out)["eyes.safetensors"])
	require.NoError(t, err)
	assert.Equal(t, weights.LabelsAgreementLevels, m.Metadata.Labels)
	assert.Equal(t, "disc", m.Metadata.Anchor)

	// A network that takes marks knows no rater by name: the engine reads what was trained.
	o = options(t, data)
	o.Recipe, err = model.NewRecipe("default")
	require.NoError(t, err)
	train(t, reference.Open(), o, 4)
	m, err = weights.Shipped().Open("eyes", results(t, o.Out)["eyes.safetensors"])
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, "")
	require.NoError(t, err)
	e.Close()
}

// The model does not nest structures that raters did not nest.
func TestIndependentStructures(t *testing.T) {
	data := writeData(t, 5)
	path := filepath.Join(data, "dataset.json")
	description, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, order := range []struct {
		classes     []string
		independent bool
	}{{[]string{"disc", "cup"}, false}, {[]string{"cup", "disc"}, true}} {
		var about map[string]any
		require.NoError(t, json.Unmarshal(description, &about))
		about["classes"] = order.classes
		changed, err := json.Marshal(about)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, changed, 0o644))
		o, told := options(t, data), ""
		o.Phases, o.Note = []Phase{{64, 1}}, func(text string) { told += text }
		train(t, reference.Open(), o, 2)
		m, err := weights.Shipped().Open("eyes", results(t, o.Out)["eyes.safetensors"])
		require.NoError(t, err)
		assert.Equal(t, order.independent, m.Metadata.Independent)
		assert.Equal(t, order.independent, strings.Contains(told, "of what is marked as disc lies outside of cup"), told)
	}
}

// The time left counts the steps at each side by the area of their images.
func TestTimeLeft(t *testing.T) {
	data, _ := finished(t)
	o := options(t, data)
	o.Phases = []Phase{{64, 2}, {128, 3}}
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	assert.Equal(t, 10, trainer.Steps())
	assert.Equal(t, map[int]int{64: 4, 128: 6}, trainer.remaining(0))
	assert.Equal(t, map[int]int{64: 1, 128: 6}, trainer.remaining(3))
	assert.Equal(t, map[int]int{64: 0, 128: 2}, trainer.remaining(8))
	var p pace
	assert.Equal(t, 25*time.Second, p.left(1, 64, trainer.remaining(3))) // 1 + 6·4
}

// small is a device with memory for the variables and for nothing else.
type small struct {
	gpu.Device
	allocated int
}

func (s *small) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	if s.allocated++; s.allocated > 1 {
		return nil, gpu.ErrOutOfMemory
	}
	return s.Device.Allocate(ctx, specs)
}

// Too little memory for a step is an error before the first step, and the error says what to do.
func TestOutOfMemory(t *testing.T) {
	data, _ := finished(t)
	trainer, err := New(t.Context(), &small{Device: reference.Open()}, options(t, data), nil)
	require.NoError(t, err)
	err = trainer.Run(t.Context(), func(Report) { t.Error("a step was taken") })
	require.ErrorIs(t, err, gpu.ErrOutOfMemory)
	require.ErrorContains(t, err, "2 images of 64²")
	require.ErrorContains(t, err, "smaller batch")
}
