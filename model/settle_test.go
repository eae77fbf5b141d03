package model

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// evident is a tiny network with random weights that takes marks, ready for an image.
func evident(t *testing.T, d gpu.Device, levels bool) (*Inference, *tensor.Set) {
	t.Helper()
	c := tiny(t, 3, 2)
	c.Levels = levels
	c.Extend(false, true, true)
	set := Variables(c)
	in, err := NewInference(t.Context(), d, set, c, 64)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	change := set.Lookup("settle.change.weight")
	random, values := rand.New(rand.NewPCG(1, 2)), make([]float32, change.Elements())
	for i := range values {
		values[i] = float32(random.NormFloat64())
	}
	require.NoError(t, set.Write(change, values))
	image := make([]float32, 64*64*3)
	for i := range image {
		image[i] = float32(random.NormFloat64())
	}
	require.NoError(t, in.Encode(t.Context(), image))
	return in, set
}

// whole is a mark of a square in the middle, of all of the image.
func whole(rater, classes int) Mark {
	m := Mark{Rater: rater, Said: slices.Repeat([]float32{1}, 64*64*classes), Inside: make([]float32, 64*64*classes)}
	for i := range m.Inside {
		if x, y := i/classes%64, i/classes/64; x > 20 && x < 44 && y > 20 && y < 44 {
			m.Inside[i] = 1
		}
	}
	return m
}

// A name that ends in -anchored lacks the passes that a rater's map comes from.
func TestAnchoredNeedsEvidence(t *testing.T) {
	_, err := NewConfig("tiny-anchored", 3, 2)
	require.EqualError(t, err, "configuration tiny-anchored: -anchored stands before -evidence alone; name tiny-anchored-evidence")
	c, err := NewConfig("tiny-steered-anchored-evidence", 3, 2)
	require.NoError(t, err)
	assert.True(t, c.Steered && c.Anchored && c.Evidence)
	assert.True(t, IsAnchored(c.Name) && !IsAnchored("tiny-evidence"))
}

// An untrained rater is the mask, with all of its detail, until a pass settles. Levels begin so too.
func TestRatersBeginAsTheMask(t *testing.T) {
	for _, levels := range []bool{false, true} {
		in, set := evident(t, reference.Open(), levels)
		defer set.Release()
		defer in.Release()
		y, err := in.Recur(t.Context())
		require.NoError(t, err)
		z, err := in.RaterLabels(t.Context())
		require.NoError(t, err)
		for i, v := range z {
			require.InDelta(t, y[i/6*2+i%2], v, 1e-6, "pixel %d", i/6)
		}
		require.NoError(t, set.Write(set.Lookup("divp.heads.offset.bias"), []float32{1, 1, -1, -1, 0, 0}))
		_, err = in.Recur(t.Context())
		require.NoError(t, err)
		z, err = in.RaterLabels(t.Context())
		require.NoError(t, err)
		for i := range y {
			if at := i/2*6 + i%2; !levels && i%2 == 0 {
				require.Greater(t, z[at], y[i])
				require.Less(t, z[at+2], y[i])
			}
		}
	}
}

// Without a mark the mask stays what ConP made, to the bit, while the raters settle. With one it
// changes, and a new start forgets it. All devices agree.
func TestSettleNeedsEvidence(t *testing.T) {
	var want [][]float32
	run := func(t *testing.T, d gpu.Device) (made [][]float32) {
		in, set := evident(t, d, false)
		defer set.Release()
		defer in.Release()
		settle := func(marks ...Mark) []float32 {
			require.NoError(t, in.SetMarks(t.Context(), marks))
			y, err := in.Settle(t.Context())
			require.NoError(t, err)
			z, err := in.RaterLabels(t.Context())
			require.NoError(t, err)
			made = append(made, y, z)
			return y
		}
		first, err := in.Recur(t.Context())
		require.NoError(t, err)
		assert.Equal(t, first, settle())
		assert.NotEqual(t, first, settle(whole(1, 2)))
		assert.NotEqual(t, made[1], made[3], "the raters follow the mark")
		assert.NotEqual(t, made[3], func() []float32 { settle(whole(2, 2)); return made[5] }(), "it matters who marked")
		assert.Equal(t, first, settle())
		assert.Equal(t, made[1], made[7])
		return made
	}
	want = run(t, reference.Open())
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		for i, got := range run(t, d) {
			assert.Less(t, distance(want[i], got), 1e-4, "map %d", i)
		}
	})
}

// Inference settles as training does, where training reveals the same marks and spoils nothing.
func TestSettleAsInTraining(t *testing.T) {
	for _, levels := range []bool{false, true} {
		d := reference.Open()
		in, set := evident(t, d, levels)
		image := make([]float32, 64*64*3)
		for i := range image {
			image[i] = float32(i%17) / 8
		}
		require.NoError(t, in.Encode(t.Context(), image))
		_, err := in.Recur(t.Context())
		require.NoError(t, err)
		mark := whole(Somebody, 2)
		if !levels {
			mark.Rater = 1
		}
		require.NoError(t, in.SetMarks(t.Context(), []Mark{mark}))
		var want []float32
		for range Settles {
			want, err = in.Settle(t.Context())
			require.NoError(t, err)
		}

		r := recipe(t, "evidence")
		s := NewStep(set, in.Config, r, 1, 64)
		last := s.Settled[Settles-1].Mask.Keep()
		plan, err := shaders.Compile(t.Context(), d, set, s.Graph)
		require.NoError(t, err)
		b := Batch{X: image, Z: make([]float32, s.Z.Elements()), Valid: ones(s.Valid.Elements())}
		for i := range b.Z {
			b.Z[i] = mark.Inside[i/6*2+i%2]
		}
		b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
		v := b.Revealed
		*v = *b.given(s, [][]gift{{{1, !levels, func(_, _ float64) bool { return true }}}})
		v.spoil(32, &in.Config, 0, NewDraws(rand.New(rand.NewPCG(1, 1)), 0, 1))
		require.NoError(t, s.Write(plan, b, 1))
		require.NoError(t, plan.Run(t.Context()))
		logits := read(t, plan, last)[0]
		got, err := in.set.Read(t.Context(), in.settling.now[0])
		require.NoError(t, err)
		assert.Less(t, distance(got[0], logits), 1e-6)
		assert.NotEmpty(t, want)
		plan.Release()
		in.Release()
	}
}

// What settles teaches itself alone: no gradient reaches the network.
func TestSettleTeachesItselfAlone(t *testing.T) {
	for _, pick := range []func(Terms) *tensor.Tensor{
		func(t Terms) *tensor.Tensor { return t.Evidence }, func(t Terms) *tensor.Tensor { return t.Others },
	} {
		set := tensor.NewSet()
		s := NewStep(set, tiny(t, 3, 2), recipe(t, "default"), 2, 64)
		assert.Equal(t, map[string]bool{"settle": true}, reached(s, set, pick(s.Terms[len(s.Terms)-1])))
	}
}

// A network without Evidence says that it takes no marks, and a mark of a wrong size or rater is
// refused.
func TestRefusedMarks(t *testing.T) {
	in, err := NewInference(t.Context(), reference.Open(), tensor.NewSet(), tiny(t, 2, 1), 64)
	require.NoError(t, err)
	require.ErrorContains(t, in.SetMarks(t.Context(), nil), "evidence")
	in, _ = evident(t, reference.Open(), true)
	require.ErrorContains(t, in.SetMarks(t.Context(), []Mark{whole(1, 2)}), "rater 1")
	require.ErrorContains(t, in.SetMarks(t.Context(), []Mark{whole(Somebody, 1)}), "4096 and 4096 numbers")
}

// The consensus is the mean of given marks and of what the others are expected to mark; weights move
// it to the raters who have them.
func TestConsensus(t *testing.T) {
	c := tiny(t, 2, 1)
	mark := func(rater int, said, inside float32) Mark {
		return Mark{Rater: rater, Said: []float32{said}, Inside: []float32{inside}}
	}
	for _, test := range []struct {
		name    string
		marks   []Mark
		weights []float32
		levels  bool
		want    float64
	}{
		{"nothing given", nil, nil, false, 0.5},
		{"equal weights", nil, []float32{0.3, 0.3}, false, 0.5},
		{"one rater alone", nil, []float32{0, 1}, false, 0.5 + 0.9 - 0.6}, // q + z̃₂ − mean z̃
		{"one of two is given", []Mark{mark(0, 1, 1)}, nil, false, (1 + 0.5) / 2},
		{"half a pixel is given", []Mark{mark(0, 0.5, 0.5)}, nil, false, (0.5*0.5 + 0.5 + 0.5) / 2},
		{"a third person", []Mark{mark(Somebody, 1, 0)}, nil, false, (0.5 + 0.5 + 0) / 3},
		{"an expert of two", []Mark{mark(Somebody, 1, 1)}, nil, true, (0.5 + 1) / 2},
		{"all weight on a given mark", []Mark{mark(1, 1, 0)}, []float32{0, 1}, false, 0},
	} {
		c.Levels = test.levels
		y := c.Consensus([]float32{0.5}, []float32{0.3, 0.9}, test.marks, test.weights)
		assert.InDelta(t, test.want, y[0], 2e-3, test.name)
	}
	likely := []float32{0.3, 0.9}
	c.Levels = false
	c.Consensus([]float32{0.5}, likely, []Mark{mark(1, 1, 0)}, nil)
	assert.Equal(t, []float32{0.3, 0}, likely, "a given mark is its rater's map")
}

// Of a third of the images nothing is given; of the others what is given is not asked for, and what
// is asked for is the mean of the rest.
func TestReveal(t *testing.T) {
	for _, levels := range []bool{false, true} {
		c := tiny(t, 4, 2)
		c.Levels = levels
		c.Extend(false, true, true)
		r := recipe(t, "default")
		s := NewStep(tensor.NewSet(), c, r, 2, 64)
		random := rand.New(rand.NewPCG(3, 3))
		const pixels, labels, rounds = 32 * 32, 4 * 2, 150
		without := 0
		for range rounds {
			b := discs(s, 1)
			b.Draw(s, r, random)
			v := b.Revealed
			for image := range 2 {
				total := float32(0)
				for i := range pixels * 2 {
					total += v.For[image*pixels*2+i] + v.Against[image*pixels*2+i]
				}
				if v.Any[image*2] == 0 {
					without++
					require.Zero(t, total)
					require.Zero(t, v.Asked[image*2])
					require.Equal(t, []float32{1, 1}, v.Keep[image*2:][:2], "only where something is given are logits spoilt")
				} else {
					require.Positive(t, total)
				}
				for i := range pixels * labels {
					at := image*pixels*labels + i
					if !levels && v.Share[at] > 0 {
						require.Zero(t, v.Hidden[at], "what is given is not asked for")
					}
				}
				for i := range pixels * 2 {
					sum, mean := float32(0), float32(0)
					for m := range 4 {
						at := image*pixels*labels + i/2*labels + m*2 + i%2
						sum += v.Hidden[at] * 2 * pixels
					}
					require.InDelta(t, 1, sum, 1e-5, "somebody is always asked")
					mean = v.Target[image*pixels*2+i]
					require.True(t, mean >= 0 && mean <= 1)
				}
			}
		}
		assert.InDelta(t, 1./3, float64(without)/(2*rounds), 0.08)
	}
}

// The default recipe trains the mask as bce does, to the bit: heads and passes cost it nothing but
// time.
func TestDefaultTrainsTheMaskAsCrossEntropyDoes(t *testing.T) {
	d := reference.Open()
	ours, alone := recipe(t, "default"), recipe(t, "bce")
	alone.DiceWeight = ours.DiceWeight
	want, names, _ := trained(t, d, alone, F32, false)
	got, more, _ := trained(t, d, ours, F32, false)
	compared := 0
	for i, name := range names {
		if strings.HasPrefix(name, "encoder.") || strings.HasPrefix(name, "conp.") {
			require.Equal(t, want[i], got[slices.Index(more, name)], name)
			compared++
		}
	}
	assert.Greater(t, compared, 50)
}
