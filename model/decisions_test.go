package model

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tiny(t *testing.T, raters, classes int) Config {
	t.Helper()
	c, err := NewConfig("tiny", raters, classes)
	require.NoError(t, err)
	return c
}

func recipe(t *testing.T, name string) Recipe {
	t.Helper()
	r, err := NewRecipe(name)
	require.NoError(t, err)
	return r
}

// discs is a batch of noise in which rater m draws a disc around the middle whose radius grows with
// m and shrinks with the class.
func discs(s *Step, seed uint64) Batch {
	r := rand.New(rand.NewPCG(seed, 1))
	b := Batch{X: make([]float32, s.X.Elements()), Z: make([]float32, s.Z.Elements()), Valid: ones(s.Valid.Elements()), Diagnosis: make([]float32, s.X.Dim(0))}
	b.Diagnosis[0] = 1
	for i := range b.X {
		b.X[i] = float32(r.NormFloat64())
	}
	side, raters, classes := s.Z.Dim(1), s.Z.Dim(3), s.Z.Dim(4)
	for i := range b.Z {
		k, m, x, y := i%classes, i/classes%raters, i/classes/raters%side, i/classes/raters/side%side
		if math.Hypot(float64(x-side/2), float64(y-side/2)) < float64(side)/4+3*float64(m)-5*float64(k) {
			b.Z[i] = 1
		}
	}
	return b
}

// running compiles the graph of a step on the reference with parameters drawn anew.
func (s *Step) running(t *testing.T, set *tensor.Set) *tensor.Plan {
	t.Helper()
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, s.Graph)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	return plan
}

func read(t *testing.T, plan *tensor.Plan, tensors ...*tensor.Tensor) [][]float32 {
	t.Helper()
	values, err := plan.Read(t.Context(), tensors...)
	require.NoError(t, err)
	return values
}

// What enlarges begins by repeating pixels: a young model's mask has no checkerboard.
func TestFreshNetworksRepeatPixels(t *testing.T) {
	c := tiny(t, 3, 2)
	set := Variables(c)
	defer set.Release()
	require.NoError(t, set.Allocate(t.Context(), reference.Open()))
	for range 2 {
		require.NoError(t, set.Initialise(1))
		all, err := set.Read(t.Context(), set.Lookup("conp.stage1.up.weight"), set.Lookup("conp.head.weight"))
		require.NoError(t, err)
		for _, w := range all {
			n := len(w) / 4
			require.NotEqual(t, w[0], w[1])
			for pixel := range 4 {
				require.Equal(t, w[:n], w[pixel*n:][:n])
			}
		}
	}
}

// §3.4, at inference: the constant ½, of which the logarithm is taken, with nothing drawn; so too
// where a recipe fixes the start.
func TestInitialConfidenceAtInference(t *testing.T) {
	c := tiny(t, 3, 2)
	d, set := reference.Open(), Variables(c)
	in, err := NewInference(t.Context(), d, set, c, 64)
	require.NoError(t, err)
	require.NoError(t, in.Restart())
	start, err := set.Read(t.Context(), in.between)
	require.NoError(t, err)
	assert.Equal(t, repeat(0.5, 8*8*3*2), start[0])

	s := NewStep(tensor.NewSet(), c, Recipe{Recurrences: 1, Rule: RuleMean}, 2, 64)
	var b Batch
	b.Draw(s, Recipe{FixedStart: true}, rand.New(rand.NewPCG(1, 2)))
	assert.Equal(t, repeat(float32(math.Log(0.5)), 2*8*8*3*2), b.W0)
}

// §3.8: the weights are permuted by permutations that move somebody, drawn anew each recurrence
// from the seed alone.
func TestShufflesAreDrawn(t *testing.T) {
	for _, name := range []string{"steered", "paper"} {
		r := recipe(t, name)
		s := NewStep(tensor.NewSet(), tiny(t, 4, 1), r, 2, 64)
		draw := func(seed uint64) Batch {
			b := Batch{Valid: slices.Repeat([]float32{1}, s.Valid.Elements())}
			b.Draw(s, r, rand.New(rand.NewPCG(seed, 0)))
			return b
		}
		assert.Equal(t, draw(1), draw(1))
		assert.NotEqual(t, draw(1).Shuffles, draw(2).Shuffles)
		for seed := range uint64(50) {
			b := draw(seed)
			require.Len(t, b.Shuffles, r.Recurrences)
			for _, row := range b.Shuffles {
				require.Len(t, row, 3)
				for j, w := range row {
					if j >= r.Permutations { // of the others, random confidences in place of DivP's
						require.Equal(t, make([]float32, 4), w.Scale)
						for _, o := range w.Offset {
							require.InDelta(t, 0.5, math.Exp(float64(o)), 0.4+1e-6)
						}
						continue
					}
					identity := []uint32{0, 1, 2, 3}
					require.NotEqual(t, identity, w.Order)
					require.ElementsMatch(t, identity, w.Order)
					require.Equal(t, ones(4), w.Scale)
					require.Equal(t, make([]float32, 4), w.Offset)
				}
			}
		}
	}
	assert.Equal(t, []uint32{0}, permutation(1, rand.New(rand.NewPCG(1, 1))).Order, "one rater has nobody to change with")
}

// saturated is an inference of random parameters whose DivP and ConP are driven to extremes by the
// biases of their last layers.
func saturated(t *testing.T, raters, mask []float32) (*Inference, *tensor.Set) {
	t.Helper()
	c := tiny(t, 2, 2)
	set := Variables(c)
	in, err := NewInference(t.Context(), reference.Open(), set, c, 64)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	require.NoError(t, set.Write(set.Lookup("divp.heads.output.bias"), raters))
	require.NoError(t, set.Write(set.Lookup("conp.head.bias"), mask))
	require.NoError(t, in.Encode(t.Context(), noise()))
	return in, set
}

// §3.4: a probability is clamped at 1e-3 before its logarithm.
func TestLogarithmsAreClamped(t *testing.T) {
	in, set := saturated(t, []float32{-200, -200, 200, 200}, []float32{0, 0})
	after := func(estimate ...float32) []float32 {
		require.NoError(t, set.Write(in.between, slices.Repeat(estimate, in.between.Elements()/len(estimate))))
		y, err := in.Recur(t.Context())
		require.NoError(t, err)
		return y
	}
	clamped := after(1e-3, 1e-3, 1, 1)
	again, err := in.Recur(t.Context()) // from what DivP made
	require.NoError(t, err)
	require.InDeltaSlice(t, clamped, again, 1e-6)
	require.Equal(t, clamped, after(0, 1e-4, 1, 1))
	require.NotEqual(t, clamped, after(2e-3, 1e-3, 1, 1))
}

// §3.10: the second structure lies inside the first, in the mask and in every rater's.
func TestStructuresAreNested(t *testing.T) {
	in, _ := saturated(t, []float32{-1, 5, -1, 5}, []float32{-1, 5})
	y, err := in.Recur(t.Context())
	require.NoError(t, err)
	raters, err := in.RaterLabels(t.Context())
	require.NoError(t, err)
	for _, maps := range [][]float32{y, raters} {
		for i := 0; i < len(maps); i += 2 {
			require.LessOrEqual(t, maps[i+1], maps[i])
		}
	}
	maps := []float32{0.5, 0.7, 0.6 /**/, 0.9, 0.2, 0.4}
	(&Config{Classes: 3}).Nest(maps, 3)
	assert.Equal(t, []float32{0.5, 0.5, 0.5, 0.9, 0.2, 0.2}, maps)
	maps = []float32{0.5, 0.7, 0.6}
	(&Config{Classes: 3, Independent: true}).Nest(maps, 3)
	assert.Equal(t, []float32{0.5, 0.7, 0.6}, maps)
	levels := []float32{0.9, 0.8 /**/, 0.5, 0.6 /**/, 0.7, 0.4} // of three levels, discs and cups
	(&Config{Classes: 2, Levels: true}).Nest(levels, 6)
	assert.Equal(t, []float32{0.9, 0.8, 0.5, 0.5, 0.5, 0.4}, levels)
}

// §3.11: batch norm's running statistics move once a recurrence: those of ConP τ times a step,
// those of the encoder once.
func TestRunningStatisticsMoveOnceARecurrence(t *testing.T) {
	set := tensor.NewSet()
	s := NewStep(set, tiny(t, 2, 1), Recipe{Recurrences: 3, Rule: RuleMean}, 2, 64)
	plan := s.running(t, set)
	b := discs(s, 1)
	b.Draw(s, Recipe{}, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, s.Write(plan, b, 0))
	const far = 1e6 // so far off that the batch's own mean does not show
	for _, v := range set.Variables(tensor.Statistic) {
		require.NoError(t, set.Write(v, repeat(far, v.Elements())))
	}
	require.NoError(t, plan.Run(t.Context()))
	for _, v := range set.Variables(tensor.Statistic) {
		moves := 1.0
		if v.Name[:4] == "conp" {
			moves = 3
		}
		got, err := set.Read(t.Context(), v)
		require.NoError(t, err)
		require.InEpsilon(t, far*math.Pow(0.9, moves), got[0][0], 1e-3, v.Name)
	}
}

// §3.9, §3.10: the loss is 1 − SSIM a structure, averaged over the batch and summed over the
// structures, an unlabelled one left out.
func TestLossesAreSummedOverStructures(t *testing.T) {
	set := tensor.NewSet()
	s := NewStep(set, tiny(t, 2, 2), Recipe{Recurrences: 1, Rule: RuleMean}, 2, 64)
	y := s.Recurrence[0].Y.Keep()
	vote := s.Recurrence[0].Fused.Keep()
	loss := s.Loss()
	plan := s.running(t, set)
	b := discs(s, 1)
	b.Draw(s, Recipe{}, rand.New(rand.NewPCG(1, 1)))
	for _, missing := range []bool{false, true} {
		if missing { // nobody labelled the second structure of the second image
			b.Valid[5], b.Valid[7] = 0, 0
		}
		require.NoError(t, s.Write(plan, b, 0))
		require.NoError(t, plan.Run(t.Context()))
		got := read(t, plan, loss, y, vote)
		want := 0.0
		for i := range 2 {
			for k := range 2 {
				if missing && i == 1 && k == 1 {
					continue
				}
				want += (1 - ssim(plane(got[1], i, k), plane(got[2], i, k), 64, 64)) / 2
			}
		}
		require.InDelta(t, want, got[0][0], 1e-5)
	}
}

// plane is structure k of item i of maps (B, 64, 64, 2).
func plane(maps []float32, i, k int) []float64 {
	out := make([]float64, 64*64)
	for p := range out {
		out[p] = float64(maps[(i*64*64+p)*2+k])
	}
	return out
}

// §3.12 and §3.7: what the named recipes are.
func TestRecipes(t *testing.T) {
	paper := recipe(t, "paper")
	assert.Equal(t, Recipe{
		Name: "paper", Recurrences: 3, Rule: RuleCode, Permutations: 3, ShuffleWeight: 0.3, Threshold: true, FuseLoss: true,
		Rate: 1e-4, Constant: true,
	}, paper)
	steered := recipe(t, "steered")
	assert.Equal(t, RuleLikelihood, steered.Rule)
	assert.Equal(t, 3, steered.Shuffles())
	assert.Positive(t, steered.HeadsWeight, "L_MH ties a head to its rater")
	assert.True(t, steered.Steered)
	unsteered := steered
	unsteered.Name, unsteered.Steered = "unsteered", false
	assert.Equal(t, unsteered, recipe(t, "unsteered"))
	assert.False(t, steered.ForLevels().Steered, "levels have no weights")
	recurrent := recipe(t, "recurrent")
	assert.False(t, recurrent.Heads(), "nothing teaches a rater's marks")
	assert.True(t, recurrent.Recurrent())
	assert.True(t, recurrent.ForLevels().Heads())
	assert.Equal(t, 1., recurrent.DiceWeight)
	baseline := recipe(t, "baseline")
	assert.Equal(t, 1, baseline.Recurrences)
	assert.Equal(t, RuleMean, baseline.Rule)
	assert.Zero(t, baseline.Shuffles())
	assert.Zero(t, baseline.HeadsWeight)
	assert.Equal(t, steered.FadeWeight, baseline.FadeWeight, "the mask learns under the same losses")
	bce := recipe(t, "bce")
	assert.Equal(t, 1., bce.FadeFloor, "nothing fades")
	terms := NewStep(tensor.NewSet(), tiny(t, 2, 1), bce, 2, 64).Terms
	assert.Nil(t, terms[0].Mask)
	assert.NotNil(t, terms[0].Fade)
	ours, settling := recipe(t, "default"), recipe(t, "evidence")
	settling.Name, settling.Frozen, settling.MaskFirst, settling.DiceWeight = ours.Name, false, ours.MaskFirst, 1
	assert.Equal(t, settling, ours)
	ours = ours.First()
	ours.Name, ours.MaskFirst, ours.DiceWeight = bce.Name, 0, 0
	assert.Equal(t, bce, ours, "the mask learns as in bce, and by a Dice loss")
	bce.Name, bce.NoSSIM, bce.FadeFloor = baseline.Name, false, baseline.FadeFloor
	assert.Equal(t, baseline, bce)
	onePass := recipe(t, "one-pass")
	assert.True(t, onePass.Steered)
	assert.Equal(t, RuleLikelihood, onePass.Rule, "labels are not fused equally, but under the weights")
	onePass.Name, onePass.Rule, onePass.Steered = baseline.Name, baseline.Rule, false
	assert.Equal(t, baseline, onePass)
	assert.Nil(t, NewStep(tensor.NewSet(), tiny(t, 2, 1), steered.CrossEntropy(), 2, 64).Terms[1].Mask)
	assert.NotNil(t, NewStep(tensor.NewSet(), tiny(t, 2, 1), paper.CrossEntropy(), 2, 64).Terms[1].Fade, "which has none by itself")
	_, err := NewRecipe("letter")
	assert.ErrorContains(t, err, `"letter"`)

	// §3.13: agreement levels have equal weights, nothing to shuffle and a cross-entropy for each
	// level.
	for _, name := range []string{"steered", "paper"} {
		levels := recipe(t, name).ForLevels()
		assert.Equal(t, RuleMean, levels.Rule, name)
		assert.Zero(t, levels.Shuffles(), name)
		assert.Positive(t, levels.HeadsWeight, name)
		s := NewStep(tensor.NewSet(), tiny(t, 4, 1), levels, 2, 64)
		for _, terms := range s.Terms {
			assert.Nil(t, terms.Shuffle)
			assert.NotNil(t, terms.Heads)
		}
	}
	s := NewStep(tensor.NewSet(), tiny(t, 4, 1), baseline.ForLevels(), 2, 64)
	assert.Nil(t, s.Terms[0].Heads)
}

// §2: both configurations build at full size under every recipe, forward, backward and Adam,
// without a device.
func TestEveryConfigurationBuilds(t *testing.T) {
	for _, size := range []struct {
		config string
		want   int
	}{{"paper", 34_800_000}, {"compact", 6_300_000}, {"compact-steered", 6_300_000}, {"mobile", 5_570_000}} {
		c, err := NewConfig(size.config, 7, 2)
		require.NoError(t, err)
		count := 0
		for _, v := range Variables(c).Variables(tensor.Parameter) {
			count += v.Elements()
		}
		assert.InEpsilon(t, size.want, count, 0.01, size.config)
		for _, name := range []string{"default", "evidence", "steered", "paper", "recurrent", "baseline", "one-pass", "bce"} {
			for _, levels := range []bool{false, true} {
				r := recipe(t, name)
				if levels {
					r = r.ForLevels()
				}
				set, c := tensor.NewSet(), c
				c.Levels = levels
				c.Extend(r.Steered, r.Settles > 0, r.Settles > 0)
				s := NewStep(set, c, r, 1, 256)
				s.Backward(s.Loss())
				s.Update(set, adam.Options{}, 0)
				for _, v := range set.Variables(tensor.Parameter) {
					if r.Frozen && !strings.HasPrefix(v.Name, "settle.") {
						require.Nil(t, set.Lookup(AveragePrefix+v.Name), "%s, %s: %s must not learn", size.config, name, v.Name)
						continue
					}
					require.NotNil(t, set.Lookup(AveragePrefix+v.Name), "%s, %s: no gradient reaches %s", size.config, name, v.Name)
				}
			}
		}
	}
	_, err := NewConfig("huge", 1, 1)
	assert.ErrorContains(t, err, `"huge"`)
	_, err = NewConfig("compact", 0, 1)
	assert.Error(t, err)
}

// Every pixel of a map reaches the keys and values that it is pooled to, also where windows do not
// divide it.
func TestPoolingLeavesNothingOut(t *testing.T) {
	g, set := tensor.NewGraph(), tensor.NewSet()
	defer set.Release()
	c := tiny(t, 2, 1)
	c.MaxKeys = 9
	n := Network{Config: c, Builder: &nn.Builder{Graph: g, Set: set, Training: true}}
	queries, context := g.Input("queries", 1, 2, 2, 16), g.Input("context", 1, 5, 5, 16).Track()
	g.Backward(pointwise.Sum(n.attention("attention", queries, context, 16, 1)), g.Constant("seed", []float32{1}, 1))
	gradient := context.Gradient().Keep()
	plan, err := shaders.Compile(t.Context(), reference.Open(), set, g)
	require.NoError(t, err)
	defer plan.Release()
	require.NoError(t, set.Initialise(1))
	values := make([]float32, context.Elements())
	for i := range values {
		values[i] = float32(i%7) / 7
	}
	require.NoError(t, plan.Write(context, values))
	require.NoError(t, plan.Write(queries, values[:queries.Elements()]))
	require.NoError(t, plan.Run(t.Context()))
	by := read(t, plan, gradient)[0]
	for pixel := range 25 {
		assert.NotZero(t, by[16*pixel], pixel)
	}
}
