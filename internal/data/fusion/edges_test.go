package fusion

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/internal/data/fusion/fusiontest"
)

// pictured draws discs in pictures of a side, and the marks of people who draw outside pixels
// outside the edge of the picture. Two of them mark something else in every third picture.
func pictured(random *rand.Rand, side, people int, outside float64) (rgb []uint8, truth []uint8, marks [][]uint8) {
	scale := float64(side) / 128
	radius := (24 + 8*random.Float64()) * scale
	truth = fusiontest.Disc(side, fusiontest.Steady(radius))
	for _, v := range truth {
		level := uint8(60 + random.IntN(10) + 100*int(v))
		rgb = append(rgb, level, level, level)
	}
	for range people {
		own := fusiontest.Wobble(random)
		marks = append(marks, fusiontest.Disc(side, func(theta float64) float64 { return radius + scale*(outside+own(theta)) }))
	}
	return rgb, truth, marks
}

// away moves a mark by a quarter of the picture.
func away(mark []uint8) []uint8 {
	return append(append([]uint8{}, mark[len(mark)/4:]...), mark[:len(mark)/4]...)
}

// Lines that all lie outside the edge move inward, and those on the edge stay. A gross mark weighs
// nothing, whoever drew it and whatever the size of the picture.
func TestEdges(t *testing.T) {
	for name, c := range map[string]struct {
		side, people int
		outside      float64
		bias         [2]float64 // least and most
		gain         float64    // of Dice over the majority
	}{
		"crowd":         {128, 7, 5, [2]float64{1.5, 3.5}, .04},
		"large picture": {260, 5, 4, [2]float64{1.5, 3.5}, .04},
		"experts":       {128, 5, 0, [2]float64{0, 0}, -.02},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 5))
			const images, two = 2, 2
			var e Edges
			var pictures, truths [images][]uint8
			var marks [images][][]uint8
			for i := range marks {
				pictures[i], truths[i], marks[i] = pictured(random, c.side, c.people, c.outside)
				if i%3 == 0 {
					for m := range two {
						marks[i][m] = away(marks[i][m])
					}
				} else {
					marks[i][0] = nil
				}
				e.Add(marks[i], pictures[i], c.side)
			}
			e.Learn()
			require.GreaterOrEqual(t, e.Bias(), c.bias[0])
			require.LessOrEqual(t, e.Bias(), c.bias[1])
			for i := range marks {
				fit := e.Fuse(marks[i], pictures[i], c.side)
				own, most := overlap(truths[i], fit.Map), overlap(truths[i], Majority(marks[i]).Map)
				require.Greater(t, own, .9)
				require.GreaterOrEqual(t, own, most+c.gain)
				sum := 0.
				for m, weight := range fit.Weights {
					switch {
					case marks[i][m] == nil:
						require.True(t, weight != weight, "no mark, no weight")
					case i%3 == 0 && m < two:
						require.Zero(t, weight, "a gross mark")
					default:
						require.Greater(t, weight, .5/float64(c.people))
						sum += weight
					}
				}
				require.InDelta(t, 1, sum, 1e-9)
			}
		})
	}
}

// Of two lines, the one beside an edge counts more.
func TestEdgesWeighLines(t *testing.T) {
	rgb, _, marks := pictured(rand.New(rand.NewPCG(1, 2)), 128, 3, 2)
	marks[0] = fusiontest.Disc(128, fusiontest.Steady(20))
	fit := new(Edges).Fuse(marks, rgb, 128)
	require.Less(t, 1.3*fit.Weights[0], min(fit.Weights[1], fit.Weights[2]))
}

// Pictures without edges and marks without an outline change nothing, and a thin structure stays.
func TestEdgesWithoutEdges(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	rgb, _, marks := pictured(random, 128, 5, 5)
	flat, empty := make([]uint8, len(rgb)), [][]uint8{make([]uint8, 128*128), nil, marks[2]}
	var e Edges
	e.Add(marks, flat, 128)
	e.Add(empty, rgb, 128)
	e.Learn()
	require.Zero(t, e.Bias())
	vote := make([]uint8, len(flat)/3)
	for i, v := range Majority(marks).Map {
		vote[i] = uint8(v)
	}
	require.Greater(t, overlap(vote, e.Fuse(marks, flat, 128).Map), .97)
	require.Equal(t, Majority(empty).Map, e.Fuse(empty, rgb, 128).Map)

	thin := make([]uint8, 128*128)
	for x := 20; x < 100; x++ {
		thin[60*128+x], thin[61*128+x], thin[62*128+x] = 1, 1, 1
	}
	fit := (&Edges{bias: 4}).Fuse([][]uint8{thin, thin, thin}, rgb, 128)
	require.Greater(t, overlap(thin, fit.Map), .3, "a bias takes no structure away")
}

// overlap is the Dice of a mask and a map.
func overlap(mask []uint8, fused []float64) float64 {
	c := Count(mask, fused)
	return 2 * c.Both / (c.Inside + c.Marked)
}

func TestSignedDistance(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, size := range [][2]int{{1, 1}, {1, 7}, {7, 1}, {13, 9}, {20, 20}} {
		for _, share := range []float64{0, .05, .5, 1} {
			w, h := size[0], size[1]
			mark := make([]uint8, w*h)
			for i := range mark {
				if r.Float64() < share {
					mark[i] = 1
				}
			}
			const most = 6.
			for i, d := range Signed(mark, w, most) {
				nearest := math.Inf(1)
				for j, v := range mark {
					if v != mark[i] {
						nearest = min(nearest, math.Hypot(float64(i%w-j%w), float64(i/w-j/w))-.5)
					}
				}
				want := min(nearest, most)
				if mark[i] == 0 {
					want = -want
				}
				require.InDelta(t, want, float64(d), 1e-5, "%d×%d, pixel %d", w, h, i)
			}
		}
	}
}
