package train

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/ranks/rankstest"

	"github.com/stretchr/testify/require"
)

func onReference(*testing.T) gpu.Device { return reference.Open() }

func onProcessor(t *testing.T) gpu.Device {
	t.Helper()
	d, err := device.Open(t.Context(), device.Processor, device.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// together trains on ranks that are goroutines, each with a device of its own. The last one is told
// to end after step until, if there is one.
func together(t *testing.T, size int, open func(t *testing.T) gpu.Device, of func(rank int) Options, until int) (failed []error) {
	t.Helper()
	failed = make([]error, size)
	var all sync.WaitGroup
	for i, r := range rankstest.New(size) {
		o, d := of(i), open(t)
		o.Ranks = r
		all.Go(func() {
			trainer, err := New(t.Context(), d, o, nil)
			if failed[i] = err; err != nil {
				r.Fail()
				return
			}
			defer trainer.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			failed[i] = trainer.Run(ctx, func(r Report) {
				if r.Step == until && i == size-1 { // one of them wants to end
					cancel()
				}
			})
		})
	}
	all.Wait()
	return failed
}

// state is the checkpoint of a run.
func state(t *testing.T, o Options) map[string][]float32 {
	t.Helper()
	file, err := readCheckpoint(filepath.Join(o.Out, Checkpoint))
	require.NoError(t, err)
	values := map[string][]float32{}
	for _, tensor := range file.Tensors {
		f32, err := tensor.Float32()
		require.NoError(t, err)
		values[tensor.Name] = f32
	}
	return values
}

// furthest is the largest difference of two states, and where it is.
func furthest(t *testing.T, a, b map[string][]float32, without string) (most float64, name string) {
	t.Helper()
	require.Len(t, b, len(a))
	for n, x := range a {
		require.Len(t, b[n], len(x), n)
		for i, v := range x {
			if d := math.Abs(float64(v - b[n][i])); d > most && (without == "" || !strings.Contains(n, without)) {
				most, name = d, n
			}
		}
	}
	return most, name
}

// ofSix are options of six steps of four images for two ranks with two each.
func ofSix(t *testing.T, data, recipe string) Options {
	t.Helper()
	o := options(t, data)
	r, err := model.NewRecipe(recipe)
	require.NoError(t, err)
	r.Rate = 1e-4
	o.Recipe, o.Phases = r, []Phase{{64, 3}}
	return o
}

// Two ranks train like one process that sums the gradients of their batches: to the bit, but for
// the statistics, which move once a step and not twice. A second run gives the same bits in these
// too.
func TestRanksTrainLikeOne(t *testing.T) {
	data := writeData(t, 10)
	for _, recipe := range []string{"default", "paper"} {
		one, two, again := ofSix(t, data, recipe), ofSix(t, data, recipe), ofSix(t, data, recipe)
		one.Accumulate = 2
		train(t, processor(t), one, 6)
		require.Equal(t, []error{nil, nil}, together(t, 2, onProcessor, func(int) Options { return two }, noCheckpoint))
		most, where := furthest(t, state(t, one), state(t, two), "running_")
		require.Zero(t, most, "%s: %s", recipe, where)
		require.Equal(t, []error{nil, nil}, together(t, 2, onProcessor, func(int) Options { return again }, noCheckpoint))
		requireSame(t, two.Out, again.Out)
	}
}

// Two ranks with batches of two train like one process with batches of four, if batch norm takes
// its statistics over the images of both. On a device in float32 roundings grow from step to step.
func TestSynchronisedRanksTrainLikeOneBatch(t *testing.T) {
	data := writeData(t, 10)
	one, two := ofSix(t, data, "default"), ofSix(t, data, "default")
	one.Batch, two.SyncNorm = 4, true
	train(t, reference.Open(), one, 6)
	require.Equal(t, []error{nil, nil}, together(t, 2, onReference, func(int) Options { return two }, noCheckpoint))
	most, where := furthest(t, state(t, one), state(t, two), "adam.")
	t.Logf("at most %.2g apart, in %s", most, where)
	require.Less(t, most, 1e-5, where)
}

// A run of two ranks, of which the second was told to end, goes on in one process, and ends with
// the parameters of a run that was not interrupted.
func TestRanksResumeAsOne(t *testing.T) {
	data := writeData(t, 10)
	whole, parts := ofSix(t, data, "bce"), ofSix(t, data, "bce")
	whole.Accumulate = 2
	train(t, processor(t), whole, 6)
	failed := together(t, 2, onProcessor, func(int) Options { return parts }, 3)
	require.ErrorIs(t, failed[0], context.Canceled, "it must not say that the run is done")
	require.ErrorIs(t, failed[1], context.Canceled)
	require.Equal(t, 3, Saved(parts.Out))
	parts.Resume, parts.Accumulate = true, 2
	train(t, processor(t), parts, 6)
	most, where := furthest(t, state(t, whole), state(t, parts), "running_")
	require.Zero(t, most, where)

	parts.Ranks = rankstest.New(3)[0]
	_, err := New(t.Context(), processor(t), parts, nil)
	require.ErrorContains(t, err, "a step has 2 batches, and 3 ranks cannot share them evenly")
}

// A resumed run has patience as long as the rank that scores: the others know the checkpoint's
// best score and no later one.
func TestPatienceOfRanks(t *testing.T) {
	for i, r := range rankstest.New(2) {
		o := options(t, "")
		o.Ranks, o.Validate, o.Patience = r, 0.5, 2
		trainer := Trainer{Options: o, cases: []*dataset.Sample{{}}, best: best{0.5, 1}, step: 3}
		require.Equal(t, i == 0, trainer.outOfPatience())
	}
}

// Ranks share the batches of a run.
func TestBatchesOfRanks(t *testing.T) {
	for i, r := range rankstest.New(2) {
		o := options(t, "")
		o.Ranks = r
		trainer, list := Trainer{Options: o, step: 5}, []uint64{}
		trainer.numbers()(func(number uint64) bool {
			list = append(list, number)
			return len(list) < 3
		})
		first := uint64(10 + i)
		require.Equal(t, []uint64{first, first + 2, first + 4}, list)
	}
}

// Ranks that do not belong together say so before the first step, all of them, and write nothing.
func TestRanksThatDiffer(t *testing.T) {
	data, split := writeData(t, 5), filepath.Join(t.TempDir(), "split.json")
	require.NoError(t, os.WriteFile(split, []byte(`{"train": ["case0000", "case0001"], "test": ["case0002", "case0003", "case0004"]}`), 0o644))
	for want, change := range map[string]func(o *Options){
		`version: here "test", there "older"`: func(o *Options) { o.Commit = "older" },
		`seed: here "1", there "2"`:           func(o *Options) { o.Seed = 2 },
		`images: here "4 images`:              func(o *Options) { o.Split = split },
	} {
		o := options(t, data)
		failed := together(t, 2, onProcessor, func(rank int) Options {
			mine := o
			if rank == 1 {
				change(&mine)
			}
			return mine
		}, noCheckpoint)
		for _, err := range failed {
			require.ErrorContains(t, err, want)
		}
		_, err := os.Stat(filepath.Join(o.Out, Checkpoint))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
}

func TestClocksThatDiffer(t *testing.T) {
	now := time.Now()
	all := []stranger{{"a", now, nil}, {"b", now.Add(time.Second), nil}, {"c", now.Add(-time.Hour), nil}}
	require.NoError(t, differ(all[:2]))
	require.ErrorContains(t, differ(all), "rank 0 on a and rank 2 on c cannot train together:\n  clock: there it is 1h0m0s off")
}

// A loss that is not finite on one rank ends all.
func TestRanksDivergeTogether(t *testing.T) {
	o := options(t, writeData(t, 5))
	o.Recipe.Rate = 1e30
	for _, err := range together(t, 2, onProcessor, func(int) Options { return o }, noCheckpoint) {
		require.ErrorIs(t, err, ErrDiverged)
	}
}
