package train

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/model"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A resumed run needs its options. Other options are refused, and the error has both values of
// each.
func TestOtherOptionsAreRefused(t *testing.T) {
	had, _ := finished(t)
	elsewhere := writeData(t, 5)
	for want, change := range map[string]func(*Options){
		`rate: then "0.002", now "0.5"`:                              func(o *Options) { o.Recipe.Rate = 0.5 },
		`seed: then "1", now "2"`:                                    func(o *Options) { o.Seed = 2 },
		`batch: then "2", now "4"`:                                   func(o *Options) { o.Batch = 4 },
		`phases (or side and epochs): then "64:2", now "64:2,128:1"`: func(o *Options) { o.Phases = append(o.Phases, Phase{128, 1}) },
		`recipe: then "steered", now "paper"`:                        func(o *Options) { o.Recipe, _ = model.NewRecipe("paper") },
		`anchor: then "", now "disc"`:                                func(o *Options) { o.Anchor = "disc" },
		`fold: then "", now "1/4"`:                                   func(o *Options) { o.Fold = Fold{1, 4} },
		`accumulate: then "", now "2"`:                               func(o *Options) { o.Accumulate = 2 },
		`clip: then "", now "0.5"`:                                   func(o *Options) { o.Clip = 0.5 },
		`warmup: then "", now "7"`:                                   func(o *Options) { o.Warmup = 7 },
		`standardise: then "", now "true"`:                           func(o *Options) { o.Standardise = true },
		`single-pieces: then "", now "single"`:                       func(o *Options) { o.SinglePieces = true },
		`orientation: then "", now "any"`:                            func(o *Options) { o.AnyOrientation = true },
		`elastic: then "", now "0.05"`:                               func(o *Options) { o.Elastic = 0.05 },
		`grain: then "", now "0.3"`:                                  func(o *Options) { o.Grain = 0.3 },
		`dice: then "", now "0.5"`:                                   func(o *Options) { o.Recipe.DiceWeight = 0.5 },
		`cross-entropy: then "", now "true"`:                         func(o *Options) { o.Recipe = o.Recipe.CrossEntropy() },
		`swell: then "", now "0.7"`:                                  func(o *Options) { o.Anchor, o.Swell = "disc", 0.7 },
		`orientation upright: then "", now "true"`:                   func(o *Options) { o.Upright = true },
		`orientation quarters: then "", now "true"`:                  func(o *Options) { o.Turns = true },
		`away: then "", now "0.1"`:                                   func(o *Options) { o.Anchor, o.Away = "disc", 0.1 },
		`balance: then "", now "cup"`:                                func(o *Options) { o.Balance = "cup" },
		`slots: then "", now "drawn"`:                                func(o *Options) { o.Slots = SlotsDrawn },
		`restyle: then "", now "0.5"`:                                func(o *Options) { o.Restyle = 0.5 },
		`distract: then "", now "0.5"`:                               func(o *Options) { o.Distract = 0.5 },
		fmt.Sprintf(`also: then "", now %q`, elsewhere):              func(o *Options) { o.Also = []string{elsewhere} },
		fmt.Sprintf(`data: then %q, now %q`, had, elsewhere):         func(o *Options) { o.Data = []string{elsewhere} },
	} {
		o := resumable(t)
		change(&o)
		_, _, err := resume(t, o)
		require.ErrorIs(t, err, errOptions, want)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, filepath.Join(o.Out, Checkpoint))
		require.ErrorContains(t, err, "run.yaml in the same folder has them")
		assert.NotContains(t, err.Error(), PreviousCheckpoint)
		if strings.HasPrefix(want, "rate") {
			assert.NotContains(t, err.Error(), "seed", "what is the same is not named")
		}
	}
}

// The next version must resume checkpoints of this one: what is set in the fingerprint may not
// change.
func TestFingerprint(t *testing.T) {
	o := options(t, "a")
	o.Data, o.Anchor = []string{"a", "b"}, "disc"
	assert.Empty(t, differences("config=tiny recipe={Name:steered Recurrences:2 Rule:likelihood Permutations:2 Draws:1 ShuffleWeight:0.3 HeadsWeight:1 "+
		"FadeWeight:1 FadeFloor:0.5 Threshold:false FuseLoss:true Levels:false Steered:true FixedStart:false Rate:0.002 Constant:false Decay:0 Average:0.98} "+
		"phases=[{64 2}] batch=2 seed=1 anchor=disc data=a,b", o.fingerprint(), "then", "now"))
}

func TestOptionsAreChecked(t *testing.T) {
	require.NoError(t, options(t, "data").Check())
	for want, change := range map[string]func(*Options){
		"no data":                      func(o *Options) { o.Data = nil },
		"no folder":                    func(o *Options) { o.Out = "" },
		"batch 0: give at least":       func(o *Options) { o.Batch = 0 },
		"BatchNorm":                    func(o *Options) { o.Batch = 1 },
		"at most 87381":                func(o *Options) { o.Batch = 1e6 },
		"orientation: upright neither": func(o *Options) { o.Upright, o.AnyOrientation = true, true },
		"and any and quarters do":      func(o *Options) { o.Upright, o.Turns = true, true },
		"not both":                     func(o *Options) { o.Resume, o.Init = true, "x" },
		`"huge"`:                       func(o *Options) { o.Config = "huge" },
		"side 100":                     func(o *Options) { o.Phases[0].Side = 100 },
		"side 2048":                    func(o *Options) { o.Phases[0].Side = 2048 },
		"-1 epochs":                    func(o *Options) { o.Phases[0].Epochs = -1 },
		"no epochs":                    func(o *Options) { o.Phases[0].Epochs = 0 },
		"rate -1: give":                func(o *Options) { o.Recipe.Rate = -1 },
		"rate NaN: give":               func(o *Options) { o.Recipe.Rate = math.NaN() },
		"decay +Inf: give":             func(o *Options) { o.Recipe.Decay = math.Inf(1) },
		"save -1: give":                func(o *Options) { o.CheckpointSeconds = -1 },
		"accumulate -1: give":          func(o *Options) { o.Accumulate = -1 },
		"clip NaN: give":               func(o *Options) { o.Clip = math.NaN() },
		"validate 1: give a share":     func(o *Options) { o.Validate = 1 },
		"validate and fold each":       func(o *Options) { o.Validate, o.Fold = 0.2, Fold{1, 5} },
		"away 1: give a share":         func(o *Options) { o.Anchor, o.Away = "disc", 1 },
		"away 0.1 shows views":         func(o *Options) { o.Away = 0.1 },
		`slots "own"`:                  func(o *Options) { o.Slots = "own" },
		"slots levels makes levels":    func(o *Options) { o.Slots, o.Labels = SlotsLevels, "fused" },
		"score-every -1: give":         func(o *Options) { o.ScoreEvery = -1 },
		"restyle -1: give a share":     func(o *Options) { o.Restyle = -1 },
		"distract 2: give a share":     func(o *Options) { o.Distract = 2 },
		"warmup -1: give":              func(o *Options) { o.Warmup = -1 },
		"ema 1: give a momentum":       func(o *Options) { o.Recipe.Average = 1 },
		"elastic 0.2: give a share":    func(o *Options) { o.Elastic = 0.2 },
		"elastic NaN: give a share":    func(o *Options) { o.Elastic = math.NaN() },
		"grain 2: give a share":        func(o *Options) { o.Grain = 2 },
		"swell 2: give a number":       func(o *Options) { o.Anchor, o.Swell = "disc", 2 },
		"swell 0.5 scales the middle":  func(o *Options) { o.Swell = 0.5 },
		`name "a/b"`:                   func(o *Options) { o.Name = "a/b" },
	} {
		o := options(t, "data")
		change(&o)
		assert.ErrorContains(t, o.Check(), want)
	}
	o := options(t, writeData(t, 2))
	o.Anchor = "macula"
	_, err := New(t.Context(), reference.Open(), o, nil)
	assert.ErrorContains(t, err, "anchor macula is no class of synthetic-pair, which has disc, cup")
}

func TestParsePhases(t *testing.T) {
	phases, err := ParsePhases("64:60,128:40, 256:5")
	require.NoError(t, err)
	assert.Equal(t, []Phase{{64, 60}, {128, 40}, {256, 5}}, phases)
	for _, bad := range []string{"", "64", "64:", ":5", "64:x", "64:5x", "64:5:6", "64:5,", "a:b"} {
		_, err := ParsePhases(bad)
		assert.Error(t, err, bad)
	}
}
