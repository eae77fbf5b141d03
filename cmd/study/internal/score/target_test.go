package score

import (
	"math"
	"testing"

	"mrprism/cmd/study/internal/metrics"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/require"
)

// targetOf is the mean vote of marks (H, W) by rater.
func targetOf(marks [][]uint8, w, h int) *Target {
	l := &dataset.Loaded{Case: dataset.Case{W: w, H: h}}
	for _, mark := range marks {
		l.Masks = append(l.Masks, [][]uint8{mark})
	}
	return TargetOf(l, 0, nil)
}

// The figures of a map of six pixels, by hand.
func TestFiguresByHand(t *testing.T) {
	marks := [][]uint8{{1, 1, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}}
	target := targetOf(marks, 6, 1)
	p := []float32{1, .75, .75, 0, 0, 0}
	v := target.Of(p, nil, nil, Band(p)).Values()
	f := func(key string) float64 { return v[place(key)] }
	// Votes are 1 and ½. Above .1 and .3: 3 pixels against 2; above .5 and .7: 3 against 1; above
	// .9: equal.
	require.InDelta(t, (2*(4./5)+2*(2./4)+1)/5, f("soft_dice"), 1e-4)
	require.InDelta(t, 2./4, f("dice"), 1e-12)
	require.InDelta(t, (.0625+.5625)/6, f("brier"), 1e-12)
	// The band is the two pixels of .75, which have votes of ½ and 0.
	require.InDelta(t, (.0625+.5625)/2, f("brier_band"), 1e-12)
	require.True(t, math.IsNaN(f("soft_dice_perfect")), "two raters say too little")
	require.InDelta(t, .25, f("reliability_band"), 1e-12)
	require.Zero(t, f("resolution_band"))
	require.InDelta(t, (.25+.75)/6, f("ece"), 1e-12)
	require.InDelta(t, .5, f("ece_band"), 1e-12)
	require.InDelta(t, 1.9, f("hd95_pixels"), 1e-9, "distances 0, 1, 2 at the 95th percentile")
	require.True(t, math.IsNaN(f("ged")))
	require.InDeltaSlice(t, []float64{.8, .5}, target.Dices(metrics.Pack([]uint8{1, 1, 1, 0, 0, 0})), 1e-12)
}

// A perfect model has the figures of the marks, whatever the map; in the band of the map its ECE is
// that of the disputed pixels in it, over all of them. Levels have none.
func TestPerfectModel(t *testing.T) {
	marks := [][]uint8{{1, 1, 1, 0, 0, 0}, {1, 1, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}, {1, 0, 0, 0, 0, 0}}
	target, c := targetOf(marks, 6, 1), metric.PatternsOf(marks...).Ceiling()
	p := []float32{.9, .9, .9, .9, .9, 0}
	v := target.Of(p, nil, nil, Band(p)).Values()
	for key, want := range map[string]float64{"soft_dice": c.SoftDice, "ece_band": c.ECE, "brier_band": c.Brier, "ged": c.Energy, "ece_same_band": c.Apart / 5} {
		require.InDelta(t, want, v[place(key+"_perfect")], 1e-12, key)
	}
	require.Less(t, v[place(SameBand)], c.ECE)
	l := &dataset.Loaded{Case: dataset.Case{W: 6, H: 1, Levels: true}, Masks: [][][]uint8{{marks[0]}, {marks[1]}, {marks[2]}, {marks[3]}}}
	require.True(t, math.IsNaN(TargetOf(l, 0, nil).Ceiling().SoftDice))
}

// Heads that draw as the raters did are an equal set, in any order. The head of a rater without a
// mark does not count.
func TestSet(t *testing.T) {
	marks := [][]uint8{{1, 1, 0, 0}, nil, {0, 1, 1, 0}}
	swapped := []metrics.Bits{metrics.Pack([]float32{0, .9, .8, .1}), metrics.Pack([]float32{1, 1, 1, 1}), metrics.Pack([]float32{.7, .6, .5, 0})}
	target := targetOf(marks, 4, 1)
	s := target.Set(swapped, nil)
	require.InDelta(t, 0, s.Energy, 1e-12)
	require.InDelta(t, 1, s.Max, 1e-12)
	require.InDelta(t, 1, s.Match, 1e-12)
	same := target.Set([]metrics.Bits{swapped[0], swapped[1], swapped[0]}, nil)
	require.InDelta(t, .75, same.Max, 1e-12)
	require.InDelta(t, .75, same.Match, 1e-12)
	require.Positive(t, same.Energy)
	require.True(t, math.IsNaN(same.Drawn))
	drawn := target.Set(nil, []metrics.Bits{swapped[0], swapped[0], swapped[2], swapped[2]})
	require.InDelta(t, 0, drawn.Drawn, 1e-12, "as often as the raters")
	require.True(t, math.IsNaN(drawn.Energy))
	require.True(t, math.IsNaN(targetOf([][]uint8{marks[0], nil, nil}, 4, 1).Set(swapped, nil).Energy))
}

// Levels say nothing without one of them. A reference stands beside what anybody marked.
func TestTargetOf(t *testing.T) {
	l := &dataset.Loaded{Case: dataset.Case{W: 3, H: 1, Levels: true}, Masks: [][][]uint8{{{1, 1, 0}}, {{1, 0, 0}}}}
	require.Equal(t, []float32{1, .5, 0}, TargetOf(l, 0, nil).Votes.Mean())
	right := TargetOf(l, 0, []uint8{0, 0, 1})
	require.Equal(t, []uint8{1, 1, 1}, right.Union)
	require.Equal(t, []uint8{0, 0, 1}, right.Majority)
	l.Masks[1][0] = nil
	require.Nil(t, TargetOf(l, 0, nil))
	require.Equal(t, []uint8{0, 0, 1}, TargetOf(l, 0, []uint8{0, 0, 1}).Union)
}

// Figures of a map on 40×30 pixels are those of SciPy 1.10.1 (distance_transform_edt between
// outlines by binary_erosion) and scikit-learn 1.2.1 (jaccard_score, recall_score,
// precision_score).
func TestFiguresOfSciPy(t *testing.T) {
	const w, h = 40, 30
	mark, p := make([]uint8, w*h), make([]float32, w*h)
	for i := range mark {
		x, y := float64(i%w), float64(i/w)
		if math.Pow((x-20)/9, 2)+math.Pow((y-14)/7, 2) < 1 && !(y >= 12 && y < 15 && x >= 24) {
			mark[i] = 1
		}
		if math.Pow((x-23)/10, 2)+math.Pow((y-15)/6, 2) < 1 {
			p[i] = .9
		}
	}
	values := func(mark []uint8, p []float32) map[string]float64 {
		out := map[string]float64{}
		for i, v := range targetOf([][]uint8{mark}, w, h).Of(p, nil, nil, Band(p)).Values() {
			out[Figures[i].Key] = v
		}
		return out
	}
	got := values(mark, p)
	for key, want := range map[string]float64{
		"iou": 0.5541125541125541, "sensitivity": 0.7191011235955056, "precision": 0.7071823204419889,
		"hd95_pixels": 4.709674775249766, "assd_pixels": 1.802882750455305, "surface_dice_2px": 0.6979166666666666,
	} {
		require.InDelta(t, want, got[key], 1e-12, key)
	}
	lost, right := values(mark, make([]float32, w*h)), values(make([]uint8, w*h), make([]float32, w*h))
	require.Equal(t, []float64{0, 0, 0}, []float64{lost["iou"], lost["sensitivity"], lost["surface_dice_2px"]})
	require.True(t, math.IsNaN(lost["precision"]))
	require.Equal(t, []float64{50, 50, 1}, []float64{lost["hd95_pixels"], lost["assd_pixels"], lost["one_empty"]}, "an empty map is as far as the diagonal")
	require.Equal(t, []float64{1, 0, 1}, []float64{right["iou"], right["assd_pixels"], right["surface_dice_2px"]}, "nothing where nothing is")
}
