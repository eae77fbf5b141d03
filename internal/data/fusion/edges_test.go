package fusion

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/internal/data/fusion/fusiontest"
	"mrprism/internal/data/metric"
)

// pictured draws discs in pictures of a side, and the marks of people who draw outside pixels
// outside the edge of the picture.
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
		marks = append(marks, fusiontest.Disc(side, func(theta float64) float64 { return radius + scale*(outside+2*own(theta)) }))
	}
	return rgb, truth, marks
}

// away moves a mark by a quarter of the picture.
func away(mark []uint8) []uint8 {
	return append(append([]uint8{}, mark[len(mark)/4:]...), mark[:len(mark)/4]...)
}

// Edges is nearer than the majority where lines waver beside an edge, and as large as the majority,
// however far outside all people draw. A gross mark weighs nothing, whoever drew it.
func TestEdges(t *testing.T) {
	for name, c := range map[string]struct {
		images, side int
		outside      float64
		learned      bool
	}{
		"beside an edge": {18, 64, 3.5, true}, // 1.75 pixels outside
		"outside":        {2, 64, 10, false},
		"large picture":  {2, 260, 1.75, false},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(3, 5))
			const people = 5
			e, gained := new(Edges), 0.
			pictures, truths, marks := make([][]uint8, c.images), make([][]uint8, c.images), make([][][]uint8, c.images)
			for i := range marks {
				pictures[i], truths[i], marks[i] = pictured(random, c.side, people, c.outside)
				if i%3 == 0 {
					marks[i][1] = away(marks[i][1])
				} else {
					marks[i][0] = nil
				}
				if c.learned {
					e.Add(marks[i], pictures[i], c.side, 0)
				}
			}
			if e.Learn(); !c.learned {
				e = helping()
			}
			require.True(t, e.Helps(), e.Gain)
			for i := range marks {
				fit, most := e.Fuse(marks[i], pictures[i], c.side), Majority(marks[i])
				require.Equal(t, area(most), area(fit), "as large as the majority")
				gained += overlap(truths[i], fit.Map) - overlap(truths[i], most.Map)
				sum := 0.
				for m, weight := range fit.Weights {
					switch {
					case marks[i][m] == nil:
						require.True(t, weight != weight, "no mark, no weight")
					case i%3 == 0 && m == 1:
						require.Zero(t, weight, "a gross mark")
					default:
						require.Positive(t, weight)
						sum += weight
					}
				}
				require.InDelta(t, 1, sum, 1e-9)
			}
			require.GreaterOrEqual(t, gained, 0.)
		})
	}
}

func area(fit *Fit) (sum float64) {
	for _, v := range fit.Map {
		sum += v
	}
	return sum
}

// Where nothing is shown to be nearer than the majority, Edges is the majority.
func TestEdgesFallBack(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	var few, one, two Edges
	for i := range metric.Fewest {
		rgb, _, wavering := pictured(random, 64, 5, 5)
		if i > 0 {
			few.Add(wavering, rgb, 64, 0)
		}
		one.Add(wavering, rgb, 64, 1)
		two.Add(wavering[:2], rgb, 64, 0)
	}
	for name, e := range map[string]*Edges{"too few images": &few, "one patient": &one, "two people": &two, "nothing": {}} {
		e.Learn()
		rgb, _, marks := pictured(random, 64, 5, 5)
		require.False(t, e.Helps(), name)
		require.Equal(t, Majority(marks).Map, e.Fuse(marks, rgb, 64).Map, name)
		require.Equal(t, []float64{.2, .2, .2, .2, .2}, e.Fuse(marks, rgb, 64).Weights, name)
	}
}

// helping are Edges that are taken to help.
func helping() *Edges { return &Edges{Gain: &metric.Interval{Low: new(1.), N: metric.Fewest}} }

// Of two lines, the one beside an edge counts more.
func TestEdgesWeighLines(t *testing.T) {
	rgb, _, marks := pictured(rand.New(rand.NewPCG(1, 2)), 128, 3, 2)
	marks[0] = fusiontest.Disc(128, fusiontest.Steady(20))
	fit := helping().Fuse(marks, rgb, 128)
	require.Less(t, 1.3*fit.Weights[0], min(fit.Weights[1], fit.Weights[2]))
}

// Pictures without edges and marks without an outline change nothing.
func TestEdgesWithoutEdges(t *testing.T) {
	rgb, _, marks := pictured(rand.New(rand.NewPCG(7, 7)), 128, 5, 5)
	vote := make([]uint8, 128*128)
	for i, v := range Majority(marks).Map {
		vote[i] = uint8(v)
	}
	require.Greater(t, overlap(vote, helping().Fuse(marks, make([]uint8, len(rgb)), 128).Map), .97)
	for _, value := range []uint8{0, 1} {
		even := slices.Repeat([]uint8{value}, 128*128)
		without := [][]uint8{even, nil, even, marks[2]}
		require.Equal(t, Majority(without).Map, helping().Fuse(without, rgb, 128).Map)
	}
	half := make([]uint8, 260*260) // fills its box, scaled down
	for i := range 260 * 127 {
		half[i] = 1
	}
	e, rgb := helping(), make([]uint8, 3*len(half))
	e.Add([][]uint8{half, half, half}, rgb, 260, 0)
	require.Equal(t, Majority([][]uint8{half}).Map, e.Fuse([][]uint8{half, half, half}, rgb, 260).Map)
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
			for i, d := range metric.Signed(mark, w, most) {
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
