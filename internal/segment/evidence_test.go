package segment

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"mrprism/internal/data/roi"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/raster"
	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/trust"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// drawn is a map (S, S) of an ellipse around (x, y) with half axes a and b and probability p.
func drawn(side int, x, y, a, b float64, p float32) []float32 {
	out := make([]float32, side*side)
	for i := range out {
		u, v := (float64(i%side)+.5-x)/a, (float64(i/side)+.5-y)/b
		if u*u+v*v < 1 {
			out[i] = p
		}
	}
	return out
}

func TestShape(t *testing.T) {
	s := shapeOf(drawn(128, 50, 70, 30, 15, .9), 128)
	assert.InDelta(t, math.Pi*30*15, s.area, 20)
	assert.InDeltaSlice(t, []float64{50, 70, .9, math.Log(2), 0}, []float64{s.x, s.y, s.mean, s.stretch, s.gap}, .02)
	ring := drawn(128, 50, 70, 30, 30, 1)
	for i, v := range drawn(128, 50, 70, 25, 25, 1) {
		ring[i] -= v
	}
	assert.Greater(t, shapeOf(ring, 128).gap, .5, "far from an ellipse")
	assert.Zero(t, shapeOf(ring, 128).blur)
	assert.Greater(t, shapeOf(drawn(128, 50, 70, 30, 15, .6), 128).blur, s.blur)
	assert.Equal(t, shape{}, shapeOf(make([]float32, 16), 4))
}

// Blur takes fine detail and leaves coarse detail: sharpness falls. Contrast and the border of the
// field change it little.
func TestSharpness(t *testing.T) {
	const side = 64
	of := func(change func(x, y int, v float64) float64, blur int) float64 {
		pixels := make([]float32, side*side*3)
		for y := range side {
			for x := range side {
				sum, n := 0., 0.
				for dy := -blur; dy <= blur; dy++ {
					for dx := -blur; dx <= blur; dx++ {
						u, w := uint32(x+dx+9), uint32(y+dy+9)
						sum, n = sum+float64((u*2654435761^w*40503*2246822519)>>16&255)/255, n+1
					}
				}
				pixels[3*(y*side+x)] = float32(change(x, y, sum/n))
			}
		}
		return sharpness(pixels, side)
	}
	as := func(_, _ int, v float64) float64 { return v }
	sharp := of(as, 0)
	assert.Greater(t, sharp, of(as, 1)+.3)
	assert.Greater(t, of(as, 1), of(as, 3)+.1)
	assert.InDelta(t, sharp-math.Log(2)/2, of(func(_, _ int, v float64) float64 { return v / 2 }, 0), .01, "half the contrast")
	assert.InDelta(t, sharp, of(func(x, y int, v float64) float64 {
		if math.Hypot(float64(x)-31.5, float64(y)-31.5) > .45*side {
			return 0
		}
		return v
	}, 0), 2e-3, "what is outside of the field")
	assert.False(t, math.IsInf(of(func(int, int, float64) float64 { return 0 }, 0), 0))
}

func TestApart(t *testing.T) {
	a, b := drawn(64, 20, 20, 10, 10, 1), drawn(64, 20, 20, 10, 10, 1)
	assert.Zero(t, apart(a, b))
	assert.Equal(t, 1., apart(a, drawn(64, 50, 50, 10, 10, 1)))
	assert.Zero(t, apart(make([]float32, 9), make([]float32, 9)))
}

// known is a model's Trust with the given evidence.
func known(codes ...string) *weights.Trust {
	k := &weights.Trust{Images: 20, Threshold: 1, FoldsOf: trust.FoldsToDoubtBy, Evidence: map[string]weights.Evidence{trust.Quality: {Middle: 0, Far: 1e9, Weight: 1}}}
	for _, code := range codes {
		k.Evidence[code] = weights.Evidence{Middle: -1e6, Far: 1, Weight: 1}
	}
	return k
}

func trusting(t *testing.T, about weights.Metadata, k *weights.Trust) *Engine {
	t.Helper()
	about.Trust = k
	return engine(t, reference.Open(), open(t, about))
}

// A result is doubted for its odd figures. Weights without evidence do not doubt, and say so.
func TestDoubts(t *testing.T) {
	img := photograph(120, 90)
	segment := func(k *weights.Trust) *Result {
		r, err := trusting(t, segmenttest.Fundus(), k).Segment(t.Context(), img, Options{Recurrences: 1})
		require.NoError(t, err)
		require.True(t, r.Found, "or this test says little")
		return r
	}
	without := segment(nil)
	assert.Nil(t, without.Doubt)
	assert.Equal(t, []Doubt{}, without.Doubts)
	assert.Len(t, without.Looks, 2)
	for _, code := range []string{trust.Faint, trust.Blurred, trust.Shape, trust.Size, trust.Several, trust.Unstable, trust.Inner, trust.Quality} {
		assert.Contains(t, without.Figures, code)
	}
	calm := segment(known())
	assert.Empty(t, calm.Doubts)
	require.NotNil(t, calm.Doubt)
	assert.Less(t, *calm.Doubt, 1.)
	odd := segment(known(trust.Shape, trust.Faint))
	assert.Greater(t, *odd.Doubt, 1.)
	require.Len(t, odd.Doubts, 2)
	for _, d := range odd.Doubts {
		assert.Equal(t, trust.Sentence(d.Code, "disc"), d.Text)
	}
	img.Cut = raster.Span{Low: -40, High: 80}
	assert.Empty(t, segment(known()).Doubts, "the file's range is no reason alone")
	doubts := segment(known(trust.Shape)).Doubts
	assert.Equal(t, Doubt{trust.Range, "The file shows only its values from -40 to 80; with a wider range the picture may look otherwise."}, doubts[len(doubts)-1])
	img.Cut = raster.Span{}
	word := func(r *Result, c int) string {
		if v := r.Measurements.Structures[c].Trust; v.Reason != "The disc is cut by the edge of the photograph." {
			return v.Word
		}
		return trust.Trusted // but for the mask of an untrained network, which fills the picture
	}
	assert.Equal(t, trust.Trusted, word(calm, 0))
	assert.Equal(t, &trust.Verdict{Word: trust.DoNotUse, Reason: odd.Doubts[0].Text}, odd.Measurements.Structures[0].Trust)
	assert.Equal(t, trust.Check, word(without, 0), "such weights cannot tell")
	own := calm.Looks["whole"]
	cups := known()
	cups.Cameras = []weights.Camera{{Classes: []string{"cup"}, Look: weights.Features{Mean: own, Scale: slices.Repeat([]float32{1}, len(own)), Rest: 1}, Far: 1e3}}
	assert.Equal(t, trust.Trusted, word(segment(cups), 1))
	cups.Cameras[0].Others = []weights.Direction{{Away: slices.Repeat([]float32{1}, len(own)), Far: 1}}
	cups.Cameras[0].Look.Mean = make([]float32, len(own))
	assert.Equal(t, trust.Check, word(segment(cups), 1), "another camera")
	assert.Equal(t, trust.Trusted, word(segment(cups), 0), "every data set taught the disc")
	cups.Cameras[0].Look.Mean = own
	crop, err := trusting(t, segmenttest.Fundus(), cups).Segment(t.Context(), img, Options{Recurrences: 1, ROI: "0,28,40"})
	require.NoError(t, err)
	assert.NotEqual(t, trust.Trusted, word(crop, 1), "a region alone does not show its camera")
	far := known()
	far.Looks = map[string]weights.Features{"close": {Mean: make([]float32, 3), Scale: []float32{1, 1, 1}, Rest: 1}}
	far.Evidence[trust.Strange] = weights.Evidence{Middle: 1, Far: 1, Weight: 1}
	assert.Equal(t, trust.Strange, segment(far).Doubts[0].Code, "features of another network are not taken for known ones")
}

// Maps change probabilities before they are measured, and structures stay nested. Intervals are
// around the measurements.
func TestCalibrationAndIntervals(t *testing.T) {
	img := photograph(120, 90)
	plain, err := trusting(t, segmenttest.Fundus(), nil).Segment(t.Context(), img, Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	assert.Nil(t, plain.Measurements.Structures[0].Interval)
	assert.Equal(t, "These weights have learned no interval.", plain.Measurements.Structures[0].Withheld)
	k := known()
	k.Maps = map[string]weights.Map{"disc": {From: []float32{0, .5, 1}, To: []float32{0, .8, 1}}}
	k.Areas = map[string]weights.Spread{"disc": {Low: -.1, High: .2, Coverage: .9}}
	k.Ratio = &weights.Spread{Low: -.1, High: .05, Coverage: .9}
	mapped, err := trusting(t, segmenttest.Fundus(), k).Segment(t.Context(), img, Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	for i, v := range plain.masks[1] {
		want := v
		if i%2 == 0 {
			want = trust.At(k.Maps["disc"], v)
		}
		require.InDelta(t, want, mapped.masks[1][i], 1e-6)
		if i%2 == 1 {
			require.LessOrEqual(t, mapped.masks[1][i], mapped.masks[1][i-1])
		}
	}
	assert.Equal(t, plain.Figures, mapped.Figures, "evidence is learned of results without maps")
	disc, own := mapped.Measurements.Structures[0], plain.Measurements.Structures[0]
	assert.Greater(t, disc.Area, own.Area)
	require.NotNil(t, disc.Interval)
	assert.InDelta(t, min(120*90, max(float64(disc.Area), float64(*own.High)*math.Exp(.2))), disc.Interval.High, 1e-6, "and so are ranges")
	assert.InDelta(t, float64(*own.Low)*math.Exp(-.1), disc.Interval.Low, 1e-6)
	assert.Equal(t, .9, disc.Interval.Coverage)
	assert.Empty(t, disc.Withheld)
	assert.Nil(t, mapped.Measurements.Structures[1].Interval, "of the cup nothing is known")
	assert.Equal(t, "These weights have learned no interval.", mapped.Measurements.Structures[1].Withheld)

	for _, c := range []struct {
		low, high float64
		want      Interval
	}{{.5, .6, Interval{Low: .4, High: .65, Coverage: .9}}, {.05, .2, Interval{High: .6, Coverage: .9}}, {.9, .98, Interval{Low: .6, High: 1, Coverage: .9}}} {
		want := c.want
		mapped.Measurements.VerticalRatio = &Ratio{Value: new(.6), Trust: &trust.Verdict{Word: trust.Trusted}} // in the first case alone it is inside
		before := &Measurements{Structures: make([]Structure, 2), VerticalRatio: &Ratio{Value: new(c.low), Low: new(c.low), High: new(c.high)}}
		m, _ := trusting(t, segmenttest.Fundus(), k).intervals(mapped.Measurements, before, mapped)
		got := m.VerticalRatio.Interval
		assert.Empty(t, m.VerticalRatio.Withheld)
		assert.InDeltaSlice(t, []float64{want.Low, want.High, want.Coverage}, []float64{got.Low, got.High, got.Coverage}, 1e-9)
	}
}

// Intervals are for masks with equal rater weights, and JSON can hold their numbers.
func TestIntervalsThatAreNotKnown(t *testing.T) {
	k := known()
	k.Areas = map[string]weights.Spread{"brain": {Low: 1000, High: 1001, Coverage: .9}}
	k.Outlines = map[string]weights.Spread{"brain": {Low: -.1, High: .1, Coverage: .9}}
	e := trusting(t, segmenttest.Raters(), k)
	for _, c := range []struct {
		raters []float32
		known  bool
	}{{nil, true}, {[]float32{.5, .5, .5}, true}, {[]float32{1, .5, 1}, false}} {
		r, err := e.Segment(t.Context(), photograph(60, 50), Options{RaterWeights: c.raters})
		require.NoError(t, err)
		require.True(t, r.Found, "or this test says little")
		assert.Equal(t, c.known, r.Measurements.Structures[0].Interval != nil, c.raters)
		assert.Equal(t, c.known, r.Measurements.Structures[0].Withheld == "", c.raters)
		assert.Equal(t, c.known, r.HasOutlines(0), c.raters)
		_, err = json.Marshal(r.Measurements)
		require.NoError(t, err)
	}
}

// A structure that exceeds one half only after the weights' map is doubted, with numbers that JSON
// can hold.
func TestFoundByCalibrationAlone(t *testing.T) {
	k := known()
	k.Evidence[trust.Faint] = weights.Evidence{Middle: -.9, Far: .05, Weight: 1}
	k.Evidence[trust.Unstable] = weights.Evidence{Middle: 0, Far: 1, Weight: 1}
	k.Maps = map[string]weights.Map{"disc": {From: []float32{0, 1e-9, 1}, To: []float32{0, .6, 1}}}
	k.Areas, k.Ratio = map[string]weights.Spread{"disc": {Low: -1, High: 1, Coverage: .9}}, &weights.Spread{Low: -1, High: 1, Coverage: .9}
	about := segmenttest.Fundus()
	about.Trust = k
	r, err := engine(t, reference.Open(), biased(t, about, -5, -5)).Segment(t.Context(), photograph(60, 50), Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	require.True(t, r.Found)
	assert.Equal(t, trust.Faint, r.Doubts[0].Code)
	assert.Nil(t, r.Measurements.Structures[0].Interval)
	assert.NotEmpty(t, r.Measurements.Structures[0].Withheld)
	_, err = json.Marshal([]any{r.Measurements, r.Doubt, r.Figures})
	require.NoError(t, err)
}

// Of independent structures each one alone counts as found.
func TestFoundOfSeparateStructures(t *testing.T) {
	about := segmenttest.Raters()
	about.Classes, about.Independent, about.Trust = []string{"liver", "spleen"}, true, known(trust.Shape)
	found := func(about weights.Metadata, liver, spleen float32) *Result {
		r, err := engine(t, reference.Open(), biased(t, about, liver, spleen)).Segment(t.Context(), photograph(60, 50), Options{Recurrences: 1})
		require.NoError(t, err)
		return r
	}
	r := found(about, -20, 5)
	assert.True(t, r.Found)
	assert.Empty(t, r.Doubts, "nothing is known of the form of what is there")
	assert.False(t, found(about, -20, -20).Found)
	assert.Equal(t, trust.Shape, found(about, 0, -20).Doubts[0].Code)
	about.Anchor = "liver"
	assert.False(t, found(about, -20, 5).Found, "all hangs on the anchor")
}

// biased is an untrained model whose head has the given biases.
func biased(t *testing.T, about weights.Metadata, biases ...float32) *weights.Model {
	t.Helper()
	f, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	bias := f.Tensor("conp.head.bias")
	*bias = weights.NewF32(bias.Name, bias.Shape, biases)
	return seal(t, f)
}

// A map cannot bring a cup beyond its disc.
func TestCalibratedStructuresStayNested(t *testing.T) {
	k := known()
	k.Maps = map[string]weights.Map{"cup": {From: []float32{0, .01, 1}, To: []float32{0, 1, 1}}}
	r, err := trusting(t, segmenttest.Fundus(), k).Segment(t.Context(), photograph(120, 90), Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	for i := 0; i < len(r.masks[1]); i += 2 {
		require.LessOrEqual(t, r.masks[1][i+1], r.masks[1][i])
	}
}

// The search looks only at the lit field, if that is smaller than the photograph.
func TestSearchOfTheField(t *testing.T) {
	small := photograph(60, 60)
	img := &imageio.Image{W: 300, H: 200, Pix: make([]uint8, 3*300*200)}
	for y := range 60 {
		copy(img.Pix[3*((y+100)*300+200):][:180], small.Pix[180*y:])
	}
	e := trusting(t, segmenttest.Fundus(), nil)
	inside, err := e.Segment(t.Context(), img, Options{Recurrences: 1})
	require.NoError(t, err)
	alone, err := e.Segment(t.Context(), small, Options{Recurrences: 1})
	require.NoError(t, err)
	field := roi.Field(img)
	require.Less(t, field.Side, 80)
	assert.InDelta(t, alone.ROI.X+200, inside.ROI.X, 6)
	assert.InDelta(t, alone.ROI.Y+100, inside.ROI.Y, 6)
	assert.InDelta(t, alone.ROI.Side, inside.ROI.Side, 8)

	given, err := e.Segment(t.Context(), img, Options{Recurrences: 1, ROI: "200,100,60"})
	require.NoError(t, err)
	assert.Equal(t, inside.Figures[trust.Quality], given.Figures[trust.Quality], "the picture has the detail that it has, however the region is found")
}

// A search with quarter turns finds the places of a search of the turned image, in pixels of the
// image that is not turned.
func TestTurnedSearch(t *testing.T) {
	e := trusting(t, segmenttest.Fundus(), nil)
	img := photograph(90, 90)
	pixels := make([]float32, len(img.Pix))
	for i, v := range img.Pix {
		pixels[i] = float32(v)
	}
	for quarters := range 4 {
		lying := &imageio.Image{W: 90, H: 90, Pix: make([]uint8, len(img.Pix))}
		for i, v := range turned(pixels, 90, quarters) {
			lying.Pix[i] = uint8(v)
		}
		whole := imageio.Letterbox(90, 90)
		want, err := e.candidates(t.Context(), lying, whole, e.crop(lying, whole), 0, 0)
		require.NoError(t, err)
		require.NotEmpty(t, want)
		got, err := e.candidates(t.Context(), img, whole, turned(e.crop(img, whole), e.about.Side, quarters), quarters, 0)
		require.NoError(t, err)
		x, y := got[0].X, got[0].Y
		for range quarters {
			x, y = 90-y, x
		}
		assert.InDeltaSlice(t, []float64{want[0].X, want[0].Y, want[0].Area}, []float64{x, y, got[0].Area}, .5, "%d quarters", quarters)
	}
}

// If nothing is found, the engine looks in even light too, and models of images in any orientation
// look at the turned images: five looks.
func TestSearchGoesOnTurned(t *testing.T) {
	for turns, looks := range map[bool]int{false: 2, true: 5} {
		about := segmenttest.Fundus()
		about.Turned = turns
		d := &counter{Device: reference.Open()}
		e := engine(t, d, biased(t, about, -20, -20))
		before := d.runs
		r, err := e.Segment(t.Context(), photograph(60, 60), Options{})
		require.NoError(t, err)
		require.False(t, r.Found)
		assert.Equal(t, 2*looks, d.runs-before, "an encoding and a pass each")
		assert.Len(t, r.Looks, 1)
	}
}
