package train

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The order of images does not matter to the folds, and an image in two folders is in one fold.
func TestSplit(t *testing.T) {
	var cases []dataset.Case
	for _, folder := range []string{"crops", "photographs"} {
		for _, name := range []string{"g", "b", "a", "d", "c", "f", "e"} {
			cases = append(cases, dataset.Case{Folder: folder, Name: name})
		}
	}
	names := func(cases []dataset.Case) (out []string) {
		for _, c := range cases {
			out = append(out, c.Folder+"/"+c.Name)
		}
		slices.Sort(out)
		return out
	}
	var all []string
	for i := range 3 {
		learn, aside := Options{Fold: Fold{i + 1, 3}}.split(cases)
		assert.Len(t, learn, len(cases)-len(aside))
		for _, c := range aside {
			assert.NotContains(t, learn, dataset.Case{Folder: "crops", Name: c.Name})
			assert.NotContains(t, learn, dataset.Case{Folder: "photographs", Name: c.Name})
		}
		all = append(all, names(aside)...)
	}
	slices.Sort(all)
	assert.Equal(t, names(cases), all, "every image is in one fold")

	for share, want := range map[float64]int{0: 0, 0.1: 0, 0.15: 1, 0.3: 2, 0.5: 3, 0.99: 6} {
		learn, aside := Options{Validate: share}.split(cases[:7])
		assert.Len(t, aside, want, share)
		assert.Len(t, learn, 7-want, share)
	}
}

func TestParseFold(t *testing.T) {
	f, err := ParseFold("2/5")
	require.NoError(t, err)
	assert.Equal(t, Fold{2, 5}, f)
	for _, bad := range []string{"", "2", "0/5", "6/5", "1/1", "2/5x", "2/5/6", "-1/5", "a/b"} {
		_, err := ParseFold(bad)
		assert.Error(t, err, bad)
	}
}

// scored are the options of a run with one of its four images set aside: two epochs.
func scored(t *testing.T, data string) Options {
	t.Helper()
	o := options(t, data)
	o.Fold = Fold{2, 4}
	return o
}

// The score after an epoch is the score of the model exported then. A run that is stopped after a
// score or between two comes to the same bytes, scores and files, on every device.
func TestScores(t *testing.T) {
	data, _ := finished(t)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		straight, stopped := scored(t, data), scored(t, data)
		trainer, err := New(t.Context(), d, straight, nil)
		require.NoError(t, err)
		assert.Equal(t, 3, trainer.Images())
		assert.Equal(t, []string{"synthetic-pair/case0001"}, trainer.Aside())
		scores := map[int]float64{}
		require.NoError(t, trainer.Run(t.Context(), func(r Report) {
			if r.SoftDice != nil {
				scores[r.Step] = *r.SoftDice
			}
		}))
		aside := trainer.aside[0]
		trainer.Close()
		require.Len(t, scores, 2)
		best := max(scores[2], scores[4])

		m, err := weights.Shipped().Open("eyes", results(t, straight.Out)["eyes.f32.safetensors"])
		require.NoError(t, err)
		engine, err := segment.New(t.Context(), d, m, "")
		require.NoError(t, err)
		defer engine.Close()
		r, err := engine.Segment(t.Context(), aside.Image, segment.Options{Recurrences: segment.DefaultRecurrences})
		require.NoError(t, err)
		want := 0.0
		for k := range 2 {
			want += metric.SoftDice(r.Probability(k), metric.Count(aside.Given(k)...)) / 2
		}
		assert.Equal(t, want, scores[4], "the last model is the one that was scored last")

		train(t, d, stopped, 2)
		stopped.Resume = true
		train(t, d, stopped, 3)
		train(t, d, stopped, 4)
		requireSame(t, straight.Out, stopped.Out)
		for _, name := range []string{"eyes.best.safetensors", "eyes.best.f32.safetensors"} {
			kept := results(t, straight.Out)[name]
			require.NotEmpty(t, kept)
			require.True(t, string(kept) == string(results(t, stopped.Out)[name]), name)
		}
		if best == scores[4] && scores[4] != scores[2] {
			require.True(t, string(results(t, straight.Out)["eyes.best.safetensors"]) == string(results(t, straight.Out)["eyes.safetensors"]))
		}
	})
}

// With -score-every, epochs in between are not scored, and the last is.
func TestScoresNow(t *testing.T) {
	data, _ := finished(t)
	for every, want := range map[int][]int{0: {2, 4, 6}, 2: {4, 6}, 5: {6}} {
		o := scored(t, data)
		o.Phases, o.ScoreEvery = []Phase{{64, 3}}, every
		trainer, err := New(t.Context(), reference.Open(), o, nil)
		require.NoError(t, err)
		var steps []int
		for trainer.step = 1; trainer.step <= trainer.Steps(); trainer.step++ {
			if trainer.scoresNow() {
				steps = append(steps, trainer.step)
			}
		}
		assert.Equal(t, want, steps, every)
		trainer.Close()
	}
}

// oneEpoch trains one epoch at 64² and returns its score. The trainer is closed when the test
// ends.
func oneEpoch(t *testing.T, o Options) (*Trainer, float64) {
	t.Helper()
	o.Phases = []Phase{{64, 1}}
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	t.Cleanup(trainer.Close)
	var score *float64
	require.NoError(t, trainer.Run(t.Context(), func(r Report) { score = r.SoftDice }))
	require.NotNil(t, score)
	return trainer, *score
}

// A baseline is scored by Rec0.
func TestScoresWithoutRecurrence(t *testing.T) {
	data, _ := finished(t)
	for name, want := range map[string]int{"recurrent": segment.DefaultRecurrences, "steered": segment.DefaultRecurrences, "unsteered": segment.DefaultRecurrences, "paper": segment.DefaultRecurrences, "baseline": 0, "one-pass": 0, "bce": 0} {
		r, err := model.NewRecipe(name)
		require.NoError(t, err)
		for _, r := range []model.Recipe{r, r.ForLevels()} {
			assert.Equal(t, want, (&Trainer{Options: Options{Recipe: r}}).recurrences(), name)
		}
	}
	o := scored(t, data)
	o.Recipe, _ = model.NewRecipe("baseline")
	trainer, score := oneEpoch(t, o)
	dice := func(recurrences int) (mean float64) {
		r, err := trainer.engine.Segment(t.Context(), trainer.aside[0].Image, segment.Options{Recurrences: recurrences})
		require.NoError(t, err)
		for k := range 2 {
			votes, ok := trainer.aside[0].Votes(k)
			require.True(t, ok)
			mean += metric.SoftDice(r.Probability(k), votes) / 2
		}
		return mean
	}
	assert.Equal(t, dice(0), score)
	assert.NotEqual(t, dice(segment.DefaultRecurrences), score, "otherwise this test shows nothing")
}

// Incomplete agreement levels are not votes, and are not scored. If there is nothing else, New
// returns an error.
func TestScoresOfIncompleteLevels(t *testing.T) {
	data := writeData(t, 5)
	path := filepath.Join(data, "dataset.json")
	description, err := os.ReadFile(path)
	require.NoError(t, err)
	levels := bytes.Replace(description, []byte(`"labels": "raters"`), []byte(`"labels": "agreement-levels"`), 1)
	require.NotEqual(t, description, levels)
	require.NoError(t, os.WriteFile(path, levels, 0o644))
	require.NoError(t, os.Remove(filepath.Join(data, "raters", "bob", "cup", "case0001.png")))
	o := scored(t, data)
	trainer, score := oneEpoch(t, o)
	r, err := trainer.engine.Segment(t.Context(), trainer.aside[0].Image, segment.Options{Recurrences: segment.DefaultRecurrences})
	require.NoError(t, err)
	votes, ok := trainer.aside[0].Votes(0)
	require.True(t, ok)
	assert.Equal(t, metric.SoftDice(r.Probability(0), votes), score, "by the disc alone")

	require.NoError(t, os.Remove(filepath.Join(data, "raters", "ann", "disc", "case0001.png")))
	o.Out = filepath.Join(t.TempDir(), "none")
	_, err = New(t.Context(), reference.Open(), o, nil)
	require.ErrorContains(t, err, "the images set aside to score by (1) all lack masks of an agreement level")
}

// A run whose scores do not get better ends when patience is out.
func TestPatience(t *testing.T) {
	data, _ := finished(t)
	o := scored(t, data)
	o.Phases, o.Patience = []Phase{{64, 5}}, 2
	var notes []string
	o.Note = func(s string) { notes = append(notes, s) }
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	trainer.best = best{2, 1} // which no soft Dice beats
	require.NoError(t, trainer.Run(t.Context(), func(r Report) { assert.Equal(t, 2., r.Best, "a score of before the run was resumed counts") }))
	assert.Equal(t, 6, trainer.Done(), "three epochs of two steps")
	trainer.Close()
	assert.Contains(t, notes[len(notes)-1], "epoch 1 scored 2.0000, and 2 later epochs did not score better")
	assert.NoFileExists(t, filepath.Join(o.Out, "eyes.best.safetensors"))

	o.Resume = true
	again, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer again.Close()
	require.NoError(t, again.Run(t.Context(), func(Report) { t.Error("a step was taken") }))
}

// Where the raters' marks are one piece and the model's are not, the user is told what to set; not
// where a rater marked two.
func TestAdviceOnPieces(t *testing.T) {
	data, _ := finished(t)
	o := scored(t, data)
	var notes []string
	o.Note = func(s string) { notes = append(notes, s) }
	trainer, err := New(t.Context(), reference.Open(), o, nil)
	require.NoError(t, err)
	defer trainer.Close()
	const advice = "in 1 of 1 images set aside the mask of the cup is in several pieces, and each rater's is in one: a run with \"single-pieces: true\""
	require.NoError(t, trainer.Run(t.Context(), func(Report) {}))
	l := trainer.aside[0]
	r, err := trainer.engine.Segment(t.Context(), l.Image, segment.Options{Recurrences: trainer.recurrences()})
	require.NoError(t, err)
	if trainer.best.Epoch == 2 {
		for k, s := range r.Measurements.Structures {
			require.Equal(t, s.Pieces > 1, slices.Contains(trainer.pieces, [2]int{0, k}))
		}
	}
	trainer.pieces, notes = [][2]int{{0, 1}}, nil
	trainer.adviceOnPieces()
	require.Len(t, notes, 1)
	require.Contains(t, notes[0], advice)
	mask := l.ByRater(1)[0]
	mask[0], mask[len(mask)-1] = 1, 1
	trainer.adviceOnPieces()
	require.Len(t, notes, 1)
}

// Too few images to set aside, or to learn from, is an error before they are read.
func TestNothingAside(t *testing.T) {
	data, _ := finished(t)
	for _, change := range []func(*Options){func(o *Options) { o.Validate = 0.1 }, func(o *Options) { o.Fold = Fold{5, 5} }} {
		o := options(t, data)
		change(&o)
		_, err := New(t.Context(), reference.Open(), o, func(int, int) { t.Error("read images first") })
		require.ErrorContains(t, err, "of 4 images 0 would be set aside")
	}
}
