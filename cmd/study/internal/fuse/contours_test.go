package fuse

import (
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/fusion"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mrprism/internal/data/fusion/fusiontest"
)

// person marks discs whose radius is wrong by bias, and by noise that changes with the direction;
// in pixels.
type person struct {
	bias  float64
	noise func(theta float64) float64
}

const discSide = 96

// marked are discs of several sizes, and people's marks. A panel of 0 is everybody.
func marked(random *rand.Rand, images, panel int, people []person) (truths [][]uint8, marks [][][]uint8) {
	for range images {
		radius := 18 + 10*random.Float64()
		truths = append(truths, fusiontest.Disc(discSide, fusiontest.Steady(radius)))
		all, present := make([][]uint8, len(people)), random.Perm(len(people))
		for _, m := range present[:(panel+len(people)-1)%len(people)+1] {
			own := fusiontest.Wobble(random)
			all[m] = fusiontest.Disc(discSide, func(theta float64) float64 { return radius + people[m].bias + people[m].noise(theta)*own(theta) })
		}
		marks = append(marks, all)
	}
	return truths, marks
}

func learned(marks [][][]uint8, width int) *Contours {
	c := NewContours(len(marks[0]))
	for _, m := range marks {
		c.Add(m, width)
	}
	c.Learn()
	return c
}

// squaredError is the squared distance of an image's map from the truth, on average.
func squaredError(truths [][]uint8, marks [][][]uint8, fuse func([][]uint8) *fusion.Fit) (sum float64) {
	for i, truth := range truths {
		for j, v := range fuse(marks[i]).Map {
			sum += (v - float64(truth[j])) * (v - float64(truth[j])) / float64(len(truths))
		}
	}
	return sum
}

// Contours learns who is precise and what biases are, from panels that change, and comes nearer to
// the truth than the mean vote and STAPLE.
func TestContoursLearnTheRaters(t *testing.T) {
	people := []person{{.3, fusiontest.Steady(.6)}, {-2, fusiontest.Steady(1.2)}, {3, fusiontest.Steady(2)}, {2, fusiontest.Steady(1.2)}, {-3, fusiontest.Steady(2)}}
	truths, marks := marked(rand.New(rand.NewPCG(1, 2)), 60, 3, people)
	c := learned(marks, discSide)
	for m, p := range people {
		assert.InDelta(t, p.bias, c.bias[m]*discSide, .6, "bias of rater %d", m)
		assert.InEpsilon(t, p.noise(0), discSide/math.Sqrt(c.precision(m)), .45, "noise of rater %d", m)
	}
	ours := squaredError(truths, marks, func(m [][]uint8) *fusion.Fit { return c.Fuse(m, discSide) })
	assert.Less(t, ours, .6*squaredError(truths, marks, fusion.MeanVote))
	assert.Less(t, ours, .6*squaredError(truths, marks, func(m [][]uint8) *fusion.Fit { return fusion.STAPLE(m, nil) }))

	// A single mark loses its rater's bias: 3 pixels of 18 to 28.
	for i, truth := range truths[:10] {
		if large := marks[i][2]; large != nil {
			area, inside := 0., 0.
			for j, v := range c.Fuse([][]uint8{2: large, 4: nil}, discSide).Map {
				area, inside = area+float64(truth[j]), inside+v
			}
			assert.InEpsilon(t, area, inside, .15)
			assert.Greater(t, fusion.Count(large, fusion.MeanVote([][]uint8{truth}).Map).Marked, 1.15*area)
		}
	}

	fit := c.Fuse(marks[0], discSide)
	for m, mark := range marks[0] {
		assert.Equal(t, mark == nil, math.IsNaN(fit.Raters[m].Sensitivity), "rates are of raters who marked")
	}
}

// One expert is right, and all others mark too much, together more in one image than in another.
// The mean vote and STAPLE side with them. The expert's hand is steadier, and moves the fused
// outline towards his.
func TestContoursHeedTheExpert(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var truths [][]uint8
	var marks [][][]uint8
	for range 30 {
		others := person{4 + 1.5*r.NormFloat64(), fusiontest.Steady(1.8)}
		truth, mark := marked(r, 1, 0, []person{{0, fusiontest.Steady(.7)}, others, others, others, others})
		truths, marks = append(truths, truth...), append(marks, mark...)
	}
	c := learned(marks, discSide)
	ours := squaredError(truths, marks, func(m [][]uint8) *fusion.Fit { return c.Fuse(m, discSide) })
	assert.Less(t, ours, .85*squaredError(truths, marks, fusion.MeanVote))
	assert.Less(t, ours, .5*squaredError(truths, marks, func(m [][]uint8) *fusion.Fit { return fusion.STAPLE(m, nil) }))
	c.unsure = 0
	assert.Less(t, ours, .9*squaredError(truths, marks, func(m [][]uint8) *fusion.Fit { return c.Fuse(m, discSide) }), "biases of the panel are in doubt")
}

// Raters who are precise on one side are learned by direction.
func TestContoursLearnDirections(t *testing.T) {
	on := func(side float64) func(float64) float64 {
		return func(theta float64) float64 { return 2.4 - 2*math.Tanh(4*side*math.Cos(theta)) }
	}
	people := []person{{0, on(1)}, {0, on(-1)}, {0, on(-1)}}
	truths, marks := marked(rand.New(rand.NewPCG(5, 6)), 60, 0, people)
	c := learned(marks, discSide)
	right, left := sectors/2, 0 // directions 0 and ±π
	assert.Greater(t, c.noise[0][left], 6*c.noise[0][right])
	assert.Greater(t, c.noise[1][right], 6*c.noise[1][left])
	ours := squaredError(truths, marks, func(m [][]uint8) *fusion.Fit { return c.Fuse(m, discSide) })
	assert.Less(t, ours, .5*squaredError(truths, marks, fusion.MeanVote))
}

// Marks of one form, whoever drew them, are their own fusion. The outline between two equal raters
// lies in the middle.
func TestContoursOfEqualRaters(t *testing.T) {
	one := fusiontest.Disc(64, fusiontest.Steady(20))
	for name, marks := range map[string][][]uint8{"one rater": {one}, "one of two": {nil, one}, "three who agree": {one, one, one}} {
		for i, v := range learned([][][]uint8{marks}, 64).Fuse(marks, 64).Map {
			require.Equal(t, one[i] == 1, v > .5, name)
		}
	}
	large := fusiontest.Disc(64, fusiontest.Steady(26))
	both := [][][]uint8{{one, large}, {large, one}}
	c := learned(both, 64)
	assert.InDelta(t, c.bias[0], c.bias[1], 1e-9)
	inside := 0.
	for _, v := range c.Fuse(both[0], 64).Map {
		inside += v
	}
	assert.InEpsilon(t, math.Pi*23*23, inside, .02)
}

// A blank mark and a mark of something else hardly count beside the others'.
func TestContoursDistrustGrossMarks(t *testing.T) {
	people := []person{{0, fusiontest.Steady(1)}, {0, fusiontest.Steady(1)}, {0, fusiontest.Steady(1)}, {0, fusiontest.Steady(1)}}
	truths, marks := marked(rand.New(rand.NewPCG(7, 8)), 20, 0, people)
	learn := func() func([][]uint8) *fusion.Fit {
		c := learned(marks, discSide)
		return func(m [][]uint8) *fusion.Fit { return c.Fuse(m, discSide) }
	}
	before := squaredError(truths, marks, learn())
	marks[3][0] = make([]uint8, discSide*discSide)
	marks[4][1] = fusiontest.Disc(discSide, fusiontest.Steady(8))
	after := squaredError(truths, marks, learn())
	assert.InEpsilon(t, before, after, .1)
	assert.Greater(t, squaredError(truths, marks, fusion.MeanVote), 1.3*after)
}

// Without a majority's outline the map is the mean vote.
func TestContoursWithoutAnOutline(t *testing.T) {
	nothing, something := make([]uint8, 64), make([]uint8, 64)
	something[9] = 1
	all := make([]uint8, 64)
	for i := range all {
		all[i] = 1
	}
	for _, marks := range [][][]uint8{{nothing, nothing, nil}, {nothing, nothing, something}, {all, all, nil}} {
		fit := learned([][][]uint8{marks}, 8).Fuse(marks, 8)
		assert.Equal(t, fusion.MeanVote(marks).Map, fit.Map)
	}
	assert.PanicsWithValue(t, "fusion: nobody has marked a pixel", func() { NewContours(2).Add([][]uint8{nil, nil}, 8) })
}

// Marks that mean nothing, of any shape and number, give probabilities.
func TestContoursAreFinite(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for trial, size := range [][2]int{{1, 1}, {1, 9}, {9, 1}, {2, 2}, {7, 5}, {600, 3}, {3, 600}, {40, 40}} {
		c := NewContours(4)
		var images [][][]uint8
		for i := range 3 {
			marks, _ := fusiontest.Random(r, 4, size[0]*size[1])
			marks[(trial+i)%4] = nil
			images = append(images, marks)
			c.Add(marks, size[0])
		}
		for range 2 { // before learning and after
			for _, marks := range images {
				for _, v := range c.Fuse(marks, size[0]).Map {
					require.True(t, v >= 0 && v <= 1, "%v: a probability of %v", size, v)
				}
			}
			c.Learn()
		}
	}
}

// Large images are learned from smaller ones, and biases are shares of the side.
func TestContoursLearnFromSmallImages(t *testing.T) {
	c := learned([][][]uint8{{fusiontest.Disc(640, fusiontest.Steady(120)), fusiontest.Disc(640, fusiontest.Steady(152))}, {fusiontest.Disc(640, fusiontest.Steady(200)), fusiontest.Disc(640, fusiontest.Steady(232))}}, 640)
	assert.Equal(t, 214, c.images[0].width)
	assert.Len(t, c.images[0].marks[0], 214*214)
	assert.InDelta(t, 32./640, c.bias[1]-c.bias[0], .5/214)
}

// Variances of pairs that are sums of the raters' are solved exactly, even if some pairs never met.
func TestSolvePairs(t *testing.T) {
	known := []float64{1, 4, 9, .25}
	pairs := make([]pair, 16)
	for m := range known {
		for n := range known {
			if m != n && m+n != 3 {
				pairs[4*m+n] = pair{3 * (known[m] + known[n]), 3}
			}
		}
	}
	pairs[1*4+2], pairs[2*4+1] = pair{3 * 13, 3}, pair{3 * 13, 3}
	assert.InDeltaSlice(t, known, solve(pairs, 4, 1e-9), 1e-6)
}
