package trust

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cloud draws looks of 40 features that vary along three directions and a little everywhere.
func cloud(n int, seed uint64) [][]float32 {
	r := rand.New(rand.NewPCG(seed, 1))
	looks := make([][]float32, n)
	for i := range looks {
		a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
		looks[i] = make([]float32, 40)
		for j := range looks[i] {
			v := 3*a*math.Sin(float64(j)) + 2*b*math.Cos(2*float64(j)) + c*math.Sin(3*float64(j)) + .2*r.NormFloat64()
			looks[i][j] = float32(5 + v)
		}
	}
	return looks
}

func TestDistance(t *testing.T) {
	f, ok := NewFeatures(cloud(100, 1))
	require.True(t, ok)
	sum := 0.
	for _, look := range cloud(200, 2) {
		d := Distance(f, look)
		sum += d / 200
		assert.Less(t, d, 3., "looks of the same kind are near")
	}
	assert.InDelta(t, 1, sum, .25, "1 is usual")
	far := cloud(1, 3)[0]
	for j := range far {
		far[j] += float32(2 * (j % 2)) // in none of the directions
	}
	assert.Greater(t, Distance(f, far), 5.)
	along := cloud(1, 3)[0]
	for j := range along {
		along[j] += float32(30 * math.Sin(float64(j))) // ten deviations in the first
	}
	assert.Greater(t, Distance(f, along), 2.)
	assert.True(t, math.IsInf(Distance(f, far[:39]), 1))
	far[3] = float32(math.NaN())
	assert.True(t, math.IsInf(Distance(f, far), 1), "what is no number is not near")
	_, ok = NewFeatures(cloud(3, 1))
	assert.False(t, ok)
}

// A fit's own looks are nearer to it than to fits without them. Twins of a look share its part.
func TestUnseen(t *testing.T) {
	looks := cloud(24, 4)
	f, _ := NewFeatures(looks)
	var parts []int
	for i := range looks {
		parts = append(parts, i%4)
	}
	distances, ok := Unseen(looks, parts)
	require.True(t, ok)
	twice, ok := Unseen(append(slices.Clone(looks), looks...), append(slices.Clone(parts), parts...))
	require.True(t, ok)
	assert.InDelta(t, distances[5], twice[24+5], .3*distances[5], "its twin does not make it known")
	_, ok = Unseen(looks, make([]int, 24))
	assert.False(t, ok, "nothing is left to fit")
	seen, unseen := 0., 0.
	for i, look := range looks {
		seen += Distance(f, look)
		unseen += distances[i]
	}
	assert.Greater(t, unseen, 1.05*seen)
}

// results draws right results, and wrong ones that are fainter and in other places.
func results(n int, seed uint64, wrong bool) (references []Reference) {
	r := rand.New(rand.NewPCG(seed, 2))
	for i, look := range cloud(n, seed) {
		f := Figures{Faint: -.9 + .02*r.NormFloat64(), Size: -2 + .3*r.NormFloat64(), Several: 0, Quality: r.NormFloat64()}
		if wrong {
			f[Faint] += .3 * r.Float64()
			for j := range look {
				look[j] += float32(r.Float64() * float64(j%2))
			}
		}
		references = append(references, Reference{f, map[string][]float32{"close": look}, i, i % 4, wrong})
	}
	return references
}

func TestFitAndJudge(t *testing.T) {
	known := Fit(append(results(300, 6, false), results(40, 7, true)...))
	require.Equal(t, 300, known.Images)
	require.Empty(t, known.Faults(nil))
	count := func(references []Reference) (doubted int) {
		for _, f := range references {
			score, codes := Judge(known, f.Figures, f.Looks)
			assert.Equal(t, score > 1, len(codes) > 0)
			assert.LessOrEqual(t, score, float64(Most))
			if len(codes) > 0 {
				doubted++
			}
		}
		return doubted
	}
	assert.LessOrEqual(t, count(results(500, 8, false)), 25, "about three in a hundred of the same kind")
	assert.Greater(t, count(results(500, 9, true)), 400, "most of those that are wrong")
	assert.Greater(t, known.Evidence[Faint].Weight, 2*known.Evidence[Size].Weight, "size does not tell wrong from right here")
	assert.Less(t, known.Evidence[Quality].Weight, .5)

	_, codes := Judge(known, Figures{Faint: -.1, Size: -2}, results(1, 10, false)[0].Looks)
	assert.Equal(t, []string{Faint}, codes)
	_, codes = Judge(known, results(1, 10, false)[0].Figures, map[string][]float32{"close": make([]float32, 40)})
	assert.Equal(t, []string{Strange}, codes)
	score, _ := Judge(known, Figures{Faint: math.Inf(1), Size: math.Inf(-1)}, map[string][]float32{"close": {1}})
	assert.False(t, math.IsInf(score, 0) || math.IsNaN(score))
	score, codes = Judge(known, Figures{Faint: math.NaN(), Size: -2}, results(1, 10, false)[0].Looks)
	assert.Equal(t, []string{Faint}, codes, "what is no number is not near")
	assert.False(t, math.IsNaN(score))

	again := Fit(append(results(300, 6, false), results(40, 7, true)...))
	assert.Equal(t, known, again, "to the bit")
}

// Without wrong results all evidence has the same weight: each one alone is enough, on the side
// that counts.
func TestJudgeByEachEvidence(t *testing.T) {
	known := Fit(results(300, 6, false))
	judge := func(change func(Figures)) []string {
		f := Figures{Faint: -.9, Size: -2, Several: 0, Quality: 0}
		change(f)
		_, codes := Judge(known, f, results(1, 11, false)[0].Looks)
		return codes
	}
	assert.Empty(t, judge(func(Figures) {}))
	assert.Equal(t, []string{Faint}, judge(func(f Figures) { f[Faint] = -.5 }))
	assert.Empty(t, judge(func(f Figures) { f[Faint] = -1 }), "surer than usual is no reason")
	assert.Equal(t, []string{Size}, judge(func(f Figures) { f[Size] = -9 }))
	assert.Equal(t, []string{Size}, judge(func(f Figures) { f[Size] = 5 }))
	assert.Equal(t, []string{Faint, Several}, judge(func(f Figures) { f[Several], f[Faint] = .7, -.5 }), "the weightiest first")
	assert.Empty(t, judge(func(f Figures) { delete(f, Size) }), "what does not apply says nothing")
	assert.Nil(t, Fit(results(7, 8, false)), "too few")
	twins := append(results(7, 8, false), results(7, 9, false)...)
	assert.Nil(t, Fit(twins), "many images of few patients")
	twins[0].Unit = 7
	assert.NotNil(t, Fit(twins))
	for _, k := range kinds {
		sentence := Sentence(k.code, "disc")
		assert.NotEqual(t, k.code, sentence, "a sentence for people")
		assert.NotContains(t, sentence, "%")
	}
}

// A spot is a reason whatever the weights know of it, and the last where there are others.
func TestSpotIsAReason(t *testing.T) {
	k := &weights.Trust{Threshold: 1, Evidence: map[string]weights.Evidence{Faint: {Middle: 0, Far: 1, Weight: 1}}}
	for _, c := range []struct {
		figures Figures
		score   float64
		doubted []string
	}{
		{Figures{Faint: .5, Spot: spotted}, .5, nil},
		{Figures{Faint: .5, Spot: .1}, 1.1, []string{Spot}},
		{Figures{Faint: 3, Spot: .1}, 3, []string{Faint, Spot}},
	} {
		score, doubted := Judge(k, c.figures, nil)
		assert.InDelta(t, c.score, score, 1e-9)
		assert.Equal(t, c.doubted, doubted)
	}
}

// drawn is images in four parts. vote says how raters mark pixels of probability p.
func drawn(pixels int, vote func(p float64) float64) (images []*Pixels) {
	r := rand.New(rand.NewPCG(9, 1))
	for i := range 8 {
		image := &Pixels{Part: i % 4}
		for range pixels {
			p := r.Float64()
			image.Add(float32(p), vote(p))
		}
		images = append(images, image)
	}
	return images
}

func TestMap(t *testing.T) {
	truth := func(p float64) float64 { return p * p } // it is too sure
	m, ok := NewMap(drawn(25_000, truth))
	require.True(t, ok)
	trusted := weights.Trust{Threshold: 1, Maps: map[string]weights.Map{"disc": m}}
	require.Empty(t, trusted.Faults([]string{"disc"}))
	last := float32(0)
	for i := range 101 {
		p := float32(i) / 100
		v := At(m, p)
		require.GreaterOrEqual(t, v, last)
		require.InDelta(t, truth(float64(p)), v, .03)
		last = v
	}
	require.Equal(t, []float32{0, 1}, []float32{At(m, 0), At(m, 1)})

	wild := func(p float64) float64 { return math.Floor(2 * (1 - p)) } // not monotone: the share falls where the probability rises
	m, ok = isotonic(drawn(4000, wild), -1)
	require.True(t, ok)
	require.Empty(t, (&weights.Trust{Threshold: 1, Maps: map[string]weights.Map{"disc": m}}).Faults([]string{"disc"}))
	require.InDelta(t, .5, At(m, .5), .06)
	_, ok = NewMap([]*Pixels{{}})
	require.False(t, ok)
	_, ok = NewMap(drawn(25_000, func(p float64) float64 { return p }))
	require.False(t, ok, "there is nothing to gain")
}

// If all raters agree where the network is unsure, its masks are right and its probabilities are
// not: a map would cost the masks more than NewMap allows.
func TestMapHeedsSoftDice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	images := drawn(25_000, func(p float64) float64 {
		if r.Float64() < .25+p/2 {
			return 1
		}
		return 0
	})
	all, ok := isotonic(images, -1)
	require.True(t, ok)
	none := func(*Pixels) weights.Map { return identity }
	full := func(*Pixels) weights.Map { return all }
	require.Less(t, softDice(images, full), softDice(images, none)-mostLost, "or this test says little")
	m, ok := NewMap(images)
	if ok {
		by := func(*Pixels) weights.Map { return m }
		assert.GreaterOrEqual(t, softDice(images, by), softDice(images, none)-1.5*mostLost)
		assert.Less(t, At(m, .9), float32(.9))
		assert.Greater(t, At(m, .9), At(all, .9))
	}
}

// A map ignores faint pixels. There are many that nobody marked, and the marked ones alone would
// say that all faint pixels are marked.
func TestFaintPixelsDoNotCount(t *testing.T) {
	image := &Pixels{}
	for i := range 6000 {
		share := 0.
		if i%4 == 0 || i%10 == 1 { // every second of .01, every fifth of .3
			share = 1
		}
		image.Add([]float32{.01, .3}[i%2], share)
	}
	curve, ok := isotonic([]*Pixels{image}, -1)
	require.True(t, ok)
	assert.InDelta(t, .2, At(curve, .3), .001)
	assert.Less(t, At(curve, .01), float32(.01))
}
