package segment

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"testing"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

func open(t testing.TB, about weights.Metadata) *weights.Model {
	t.Helper()
	f, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	return seal(t, f)
}

func seal(t testing.TB, f *weights.File) *weights.Model {
	t.Helper()
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	m, err := weights.Shipped().Open("untrained", data)
	require.NoError(t, err)
	return m
}

func engine(t testing.TB, d gpu.Device, m *weights.Model) *Engine {
	t.Helper()
	e, err := New(context.Background(), d, m, model.F32)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func photograph(w, h int) *imageio.Image {
	p := synthetic.Photograph(synthetic.SampleSeed, w, h)
	img := &imageio.Image{W: w, H: h, Pix: make([]uint8, 3*w*h)}
	for i := range w * h {
		copy(img.Pix[3*i:3*i+3], p.Pix[4*i:4*i+3])
	}
	return img
}

// Every device gives the probabilities and masks of the float64 reference, for raters and levels,
// on a region, on a whole image, and with a search.
func TestDevicesAgree(t *testing.T) {
	img := photograph(240, 200)
	for _, c := range []struct {
		about  weights.Metadata
		region string
	}{
		{segmenttest.Fundus(), "auto"}, {segmenttest.Fundus(), "-20,120,70"}, {segmenttest.Raters(), "none"}, {segmenttest.Raters(), "60,50,90"},
	} {
		t.Run(c.about.Labels+" "+c.region, func(t *testing.T) {
			m := open(t, c.about)
			want, err := engine(t, reference.Open(), m).Segment(t.Context(), img, Options{Recurrences: 3, ROI: c.region})
			require.NoError(t, err)
			require.Positive(t, above(want.Probability(0)), "the mask must not be empty, or this test says little")
			if c.region == "auto" {
				require.Less(t, want.ROI.Side, img.W, "the search must find less than the whole image, or this test says little")
			}
			gputest.Each(t, func(t *testing.T, d gpu.Device) {
				got, err := engine(t, d, m).Segment(t.Context(), img, Options{Recurrences: 3, ROI: c.region})
				require.NoError(t, err)
				require.Equal(t, want.ROI, got.ROI)
				require.Equal(t, d.Info().String(), got.Adapter)
				for look, features := range want.Looks { // float32 beside float64, of figures of order one
					require.InDeltaSlice(t, features, got.Looks[look], 5e-3, look)
				}
				for k := range got.Classes {
					for i := range 4 {
						same(t, want.Recurrence(i, k), got.Recurrence(i, k))
					}
					for j := range got.Raters {
						same(t, want.Rater(j, k), got.Rater(j, k))
					}
					same(t, want.Disagreement(k), got.Disagreement(k))
				}
			})
		})
	}
}

// same requires that probabilities of two maps agree within 2e-3, and 99.9 % of the mask's pixels.
func same(t *testing.T, want, got []float32) {
	t.Helper()
	require.Len(t, got, len(want))
	differ := 0
	for i := range want {
		require.InDelta(t, want[i], got[i], 2e-3)
		if (want[i] > 0.5) != (got[i] > 0.5) {
			differ++
		}
	}
	require.LessOrEqual(t, float64(differ), 0.001*float64(len(want)))
}

func TestLevelsAndStructuresAreNested(t *testing.T) {
	r, err := engine(t, reference.Open(), open(t, segmenttest.Fundus())).Segment(t.Context(), photograph(120, 90), Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	for j := range r.Raters {
		disc, cup := r.Rater(j, 0), r.Rater(j, 1)
		for i := range disc {
			require.LessOrEqual(t, cup[i], disc[i])
		}
		if j > 0 {
			for c := range r.Classes {
				more, fewer := r.Rater(j, c), r.Rater(j-1, c)
				for i := range more {
					require.LessOrEqual(t, more[i], fewer[i])
				}
			}
		}
	}
}

// Outside the region every map is 0.
func TestMapsAreOfTheImageAndOfTheRegion(t *testing.T) {
	r, err := engine(t, reference.Open(), open(t, segmenttest.Raters())).Segment(t.Context(), photograph(120, 90), Options{ROI: "100,-10,40"})
	require.NoError(t, err)
	require.Equal(t, imageio.Square{X: 100, Y: -10, Side: 40}, r.ROI)
	for _, p := range [][]float32{r.Probability(0), r.Rater(2, 0), r.Disagreement(0)} {
		require.Len(t, p, 120*90)
		inside := 0
		for i, v := range p {
			if i%120 < 100 || i/120 >= 30 {
				require.Zero(t, v)
			} else if v > 0 {
				inside++
			}
		}
		require.Equal(t, 20*30, inside)
	}

	// Within has the same values, without the outside.
	part, x, y := r.Within()
	require.Equal(t, []int{100, 0, 20, 30}, []int{x, y, part.Width, part.Height})
	for _, maps := range [][2][]float32{{r.Probability(0), part.Probability(0)}, {r.Rater(2, 0), part.Rater(2, 0)}, {r.Disagreement(0), part.Disagreement(0)}} {
		for i, v := range maps[1] {
			require.Equal(t, maps[0][(y+i/20)*120+x+i%20], v)
		}
	}
}

// The measured window is the map's part in the region.
func TestMeasurements(t *testing.T) {
	for _, region := range []string{"none", "100,-10,40", "10,20,50"} {
		r, err := engine(t, reference.Open(), open(t, segmenttest.Fundus())).Segment(t.Context(), photograph(120, 90), Options{Recurrences: 1, ROI: region})
		require.NoError(t, err)
		for c, s := range r.Measurements.Structures {
			low, high := above(r.Probability(c)), above(r.Probability(c))
			for j := range r.Raters {
				n := above(r.Rater(j, c))
				low, high = min(low, n), max(high, n)
			}
			require.Equal(t, r.Classes[c], s.Class)
			require.Equal(t, []int{above(r.Probability(c)), low, high}, []int{s.Area, *s.Low, *s.High}, region)
			require.InDelta(t, float64(s.Area)/(120*90), s.Share, 1e-9)
			sum := 0.0
			for _, p := range r.Disagreement(c) {
				sum += float64(p)
			}
			require.InDelta(t, sum, *s.Disagreement, 1e-6*(1+sum))
		}
		_, err = json.Marshal(r.Measurements)
		require.NoError(t, err)
	}
}

func above(p []float32) (n int) {
	for _, v := range p {
		if v > 0.5 {
			n++
		}
	}
	return n
}

// The ratio and its interval come from the columns of known masks. A level without disc is ignored.
func TestVerticalRatio(t *testing.T) {
	const s, m, k = 8, 3, 2
	r := &Maps{
		Width: s, Height: s, Classes: []string{"disc", "cup"}, Raters: []string{"1", "2", "3"}, Labels: weights.LabelsAgreementLevels,
		ROI: imageio.Square{Side: s}, side: s, masks: [][]float32{make([]float32, s*s*k)}, raters: make([]float32, s*s*m*k),
	}
	column := func(maps []float32, channels, c, x, height int) {
		for y := range height {
			maps[(y*s+x)*channels+c] = 1
		}
	}
	require.Nil(t, settled{Maps: r}.measure().VerticalRatio)
	column(r.masks[0], k, 0, 3, 6)
	require.Nil(t, settled{Maps: r}.measure().VerticalRatio, "no level has a disc")
	column(r.masks[0], k, 1, 3, 2)
	require.Nil(t, settled{Maps: r}.measure().Rim, "the page names its structures as the ratio does")
	for y := range s {
		r.masks[0][(y*s+3)*k+1] = 0
	}
	column(r.raters, m*k, 0, 2, 8)
	column(r.raters, m*k, 1, 2, 6)
	column(r.raters, m*k, k, 2, 5)
	column(r.raters, m*k, k+1, 4, 1)
	column(r.raters, m*k, 2*k, 2, 4) // the third has a disc and no cup, which is no ratio of 0
	encoded, err := json.Marshal(settled{Maps: r}.measure().VerticalRatio)
	require.NoError(t, err)
	require.JSONEq(t, `{"inner": "cup", "outer": "disc", "value": null, "low": null, "high": null}`, string(encoded), "a cup that was not found has no ratio of 0")
	column(r.masks[0], k, 1, 3, 3)
	measured := settled{Maps: r}.measure()
	require.Equal(t, &Ratio{Inner: "cup", Outer: "disc", Value: new(.5), Low: new(.2), High: new(.75)}, measured.VerticalRatio)
	require.Equal(t, 4, *measured.Structures[0].Low)
	require.Equal(t, 8, *measured.Structures[0].High)
	require.Equal(t, 6, measured.Structures[0].Height)
	require.Equal(t, 1, measured.Structures[0].Width)
	require.Equal(t, 1, measured.Structures[0].Pieces)
	require.Equal(t, &Ratio{Inner: "cup", Outer: "disc", Value: new(1.), Low: new(1.), High: new(1.)}, measured.HorizontalRatio)
	require.InDelta(t, 3, measured.Rim[6], 0.5, "the lower half of the column is rim")
	require.Zero(t, measured.Rim[0])
	require.Nil(t, measured.Spacing)
	r.Picture = imageio.Image{Format: "nifti", Spacing: [2]float64{.5, .25}}
	require.Equal(t, &[2]float64{.5, .25}, settled{Maps: r}.measure().Spacing)
	column(r.masks[0], k, 0, 6, 2)
	measured = settled{Maps: r}.measure()
	require.Equal(t, 2, measured.Structures[0].Width)
	require.Equal(t, 2, measured.Structures[0].Pieces)
	column(r.masks[0], k, 1, 3, 6)
	require.Equal(t, &Ratio{Inner: "cup", Outer: "disc", Value: new(1.), Low: new(.2), High: new(1.)}, settled{Maps: r}.measure().VerticalRatio, "the mask's own ratio lies in its interval")
}

// Both formulas agree with an enumeration by definition.
func TestDisagreement(t *testing.T) {
	z := []float64{.9, .6, .1, 0} // levels, with the closing 0
	pairs := 0.0
	for a := range 3 {
		for b := range 3 {
			if a != b {
				pairs += z[a] * (1 - z[b]) / 3 // 6 ordered pairs, each disagreeing with half its pair's probability
			}
		}
	}
	require.InDelta(t, pairs, pairwise(z[:3]), 1e-12)
	count := []float64{.1, .3, .5, .1} // P(c experts mark the pixel)
	want := count[1]*2./3 + count[2]*2./3
	require.InDelta(t, want, counted(z), 1e-12)
	require.InDelta(t, 1, pairwise([]float64{1, 0}), 1e-12)
	require.InDelta(t, 0, pairwise([]float64{1, 1, 1}), 1e-12)
	require.InDelta(t, 1, counted([]float64{1, 0, 0}), 1e-12)
}

func TestRaterWeightsReplayTheRecurrences(t *testing.T) {
	img := photograph(120, 90)
	m := open(t, segmenttest.Raters())
	counting := &counter{Device: reference.Open()}
	e := engine(t, counting, m)
	counting.runs = 0 // of loading the weights
	equal, err := e.Segment(t.Context(), img, Options{Recurrences: 2, ROI: "10,10,60"})
	require.NoError(t, err)
	whole := counting.runs
	one, err := e.Recalculate(t.Context(), Options{Recurrences: 2, RaterWeights: []float32{1, 0, 0}})
	require.NoError(t, err)
	require.Equal(t, whole-1, counting.runs-whole, "the encoder must not run again")
	require.NotEqual(t, equal.Probability(0), one.Probability(0))
	require.Equal(t, equal.ROI, one.ROI)
	again, err := e.Segment(t.Context(), img, Options{Recurrences: 2, ROI: "10,10,60"})
	require.NoError(t, err)
	require.Equal(t, 3*(whole-1), counting.runs-1, "the same image and region are not encoded again")
	require.Equal(t, equal.Probability(0), again.Probability(0), "equal weights again give the same mask")
	fresh, err := engine(t, reference.Open(), m).Segment(t.Context(), img, Options{Recurrences: 2, ROI: "10,10,60", RaterWeights: []float32{1, 0, 0}})
	require.NoError(t, err)
	require.Equal(t, fresh.Probability(0), one.Probability(0))
	other, err := e.Segment(t.Context(), photograph(90, 120), Options{Recurrences: 2, ROI: "10,10,60"})
	require.NoError(t, err)
	require.Equal(t, 120, other.Height)
}

func TestSmallAndGreyImages(t *testing.T) {
	e := engine(t, reference.Open(), open(t, segmenttest.Raters()))
	for _, size := range [][2]int{{1, 1}, {1, 300}, {3, 2}} {
		img := &imageio.Image{W: size[0], H: size[1], Pix: slices.Repeat([]uint8{90}, 3*size[0]*size[1])}
		r, err := e.Segment(t.Context(), img, Options{Recurrences: 1})
		require.NoError(t, err)
		require.Len(t, r.Probability(0), size[0]*size[1])
		require.InDelta(t, float64(r.Measurements.Structures[0].Area)/float64(size[0]*size[1]), r.Measurements.Structures[0].Share, 1e-12)
	}
}

// A model of standardised images does not see brightness and contrast. Other models do.
func TestStandardised(t *testing.T) {
	img, paler := photograph(100, 80), photograph(100, 80)
	for i, v := range img.Pix {
		img.Pix[i], paler.Pix[i] = v&^3, 60+v>>2 // a quarter of the contrast, rounding nothing away
	}
	for _, standardise := range []bool{true, false} {
		about := segmenttest.Raters()
		about.Standardise = standardise
		e := engine(t, reference.Open(), open(t, about))
		a, err := e.Segment(t.Context(), img, Options{Recurrences: 1})
		require.NoError(t, err)
		b, err := e.Segment(t.Context(), paler, Options{Recurrences: 1})
		require.NoError(t, err)
		worst := 0.
		for i, p := range a.Probability(0) {
			worst = max(worst, math.Abs(float64(p-b.Probability(0)[i])))
		}
		if standardise {
			require.Less(t, worst, 1e-4)
		} else {
			require.Greater(t, worst, 0.01)
		}
	}
}

// A result says whether its model has learned to follow raters' weights.
func TestSteered(t *testing.T) {
	for configuration, want := range map[string]bool{"tiny": false, "tiny-steered": true} {
		about := segmenttest.Raters()
		about.Configuration = configuration
		r, err := engine(t, reference.Open(), open(t, about)).Segment(t.Context(), photograph(64, 64), Options{ROI: "none"})
		require.NoError(t, err)
		require.Equal(t, want, r.Steered, configuration)
	}
}

func TestTimings(t *testing.T) {
	e := engine(t, reference.Open(), open(t, segmenttest.Fundus()))
	r, err := e.Segment(t.Context(), photograph(120, 90), Options{Recurrences: 2})
	require.NoError(t, err)
	sum := 0.0
	for _, stage := range []string{"search", "encode", "rec0", "rec1", "rec2"} {
		require.Positive(t, r.Timings[stage], stage)
		sum += r.Timings[stage]
	}
	require.Len(t, r.Timings, 6)
	require.GreaterOrEqual(t, r.Timings["total"], sum-0.01)
}

// What Begin leaves to finish is the same later, beside others, while the engine has gone on.
func TestFinishLater(t *testing.T) {
	about := segmenttest.Fundus()
	about.Trust = known()
	about.Trust.Areas = map[string]weights.Spread{"disc": {Low: -1, High: 1, Coverage: 0.9}}
	m, o := open(t, about), Options{Recurrences: 1, ROI: "none"}
	e, finishes, results := engine(t, reference.Open(), m), []func() *Result{}, make([]*Result, 3)
	for i := range results {
		finish, err := e.Begin(t.Context(), photograph(120+10*i, 90), o)
		require.NoError(t, err)
		finishes = append(finishes, finish)
	}
	var done sync.WaitGroup
	for i, finish := range finishes {
		done.Go(func() { results[i] = finish() })
	}
	done.Wait()
	for i, got := range results {
		want, err := engine(t, reference.Open(), m).Segment(t.Context(), photograph(120+10*i, 90), o)
		require.NoError(t, err)
		require.Equal(t, want.Measurements, got.Measurements)
		require.NotNil(t, got.Measurements.Structures[0].Interval, "an interval is of the masks before calibrate")
	}
}

// Heads are there where a recipe teaches raters' marks.
func TestHeadsOfRecipes(t *testing.T) {
	for _, c := range []struct {
		recipe, configuration, labels string
		heads                         bool
		passes                        int
	}{
		{"recurrent", "tiny-concat", weights.LabelsRaters, false, DefaultRecurrences},
		{"recurrent", "tiny-concat", weights.LabelsAgreementLevels, true, DefaultRecurrences},
		{"steered", "tiny-steered", weights.LabelsRaters, true, DefaultRecurrences},
		{"paper", "tiny", weights.LabelsRaters, true, DefaultRecurrences},
		{"one-pass", "tiny-steered", weights.LabelsRaters, false, 0},
		{"bce", "tiny", weights.LabelsAgreementLevels, false, 0},
		{"of tomorrow", "tiny", weights.LabelsRaters, true, DefaultRecurrences},
		{"default", "tiny-evidence", weights.LabelsRaters, true, model.Settles},
	} {
		about := weights.Metadata{Recipe: c.recipe, Configuration: c.configuration, Labels: c.labels, Raters: []string{"ann", "bob"}, Classes: []string{"disc"}}
		require.Equal(t, c.heads, HasHeads(&about), c)
		require.Equal(t, c.passes, Feedbacks(&about), c)
	}
}
