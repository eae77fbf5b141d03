package dataset

import (
	"context"
	"image"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/files/imageio"
)

func sampler(t testing.TB, anchor string, o Options, dirs ...string) (*Sampler, []*Loaded) {
	d, err := Open(dirs...)
	require.NoError(t, err)
	loaded, left, err := LoadSound(t.Context(), d.Training(), nil)
	require.NoError(t, err)
	require.Empty(t, left)
	samples, left, err := LoadSamples(t.Context(), d, d.Training(), anchor, nil)
	require.NoError(t, err)
	require.Empty(t, left)
	s, err := NewSampler(d, samples, o)
	require.NoError(t, err)
	return s, loaded
}

func TestBatchDependsOnSeedAndStepAlone(t *testing.T) {
	dir := write(t, 7)
	o := Options{Size: 32, Batch: 4, Seed: 9, Augmentation: DefaultAugmentation}
	first, _ := sampler(t, "disc", o, dir)
	var batches []*Batch
	for i := range 5 {
		batches = append(batches, first.Batch(uint64(i)))
	}
	again, _ := sampler(t, "disc", o, dir)
	assert.Equal(t, batches[3], again.Batch(3), "resumed at step 3")
	ctx, cancel := context.WithCancel(context.Background())
	ahead := again.Prefetch(ctx, func(yield func(uint64) bool) {
		for step := uint64(1); yield(step); step++ {
		}
	})
	for i := 1; i < 5; i++ {
		assert.Equal(t, batches[i], <-ahead)
	}
	cancel()
	for range ahead { // closes
	}
	o.Seed++
	other, _ := sampler(t, "disc", o, dir)
	assert.NotEqual(t, batches[0].Images, other.Batch(0).Images)
	assert.NotEqual(t, batches[0].Images, batches[1].Images)
}

func TestEveryCaseOnceAnEpoch(t *testing.T) {
	s, _ := sampler(t, "", Options{Size: 8, Batch: 2, Seed: 1}, write(t, 7)) // six to train on
	var orders [][]string
	for epoch := range 4 {
		seen := map[string]int{}
		var order []string
		for i := range 3 {
			for _, n := range s.Batch(uint64(3*epoch + i)).Names {
				seen[n]++
				order = append(order, n)
			}
		}
		assert.Len(t, seen, 6)
		assert.NotContains(t, seen, "eyes/eye04", "held out")
		orders = append(orders, order)
	}
	assert.NotEqual(t, orders[0], orders[1])
}

// Without augmentation a view equals the network's input at inference: the letterboxed image, by
// imageio's rule for enlarging.
func TestPlainViewEqualsInference(t *testing.T) {
	s, loaded := sampler(t, "", Options{Size: 96, Batch: 1, Seed: 1}, write(t, 2))
	b := s.Batch(0)
	l := loaded[0]
	if b.Names[0] != "eyes/"+l.Name {
		l = loaded[1]
	}
	want := make([]float32, len(b.Images))
	l.Image.Crop(want, imageio.Letterbox(sampleW, sampleH), 96)
	assert.InDeltaSlice(t, want, b.Images, 1e-6, "float32 sums of four products")
	// 96 is twice the letterbox of 48: the rectangle's edges fall between output pixels.
	i := int(l.Name[4] - '0')
	for r := range 3 {
		disc, cup := discOf(i, r)
		for k, rect := range []image.Rectangle{disc, cup} {
			for y := range 96 {
				for x := range 96 {
					in := image.Pt(x/2, y/2-4).In(rect) && y >= 8
					corner := (x/2 == rect.Min.X || x/2 == rect.Max.X-1) && (y/2-4 == rect.Min.Y || y/2-4 == rect.Max.Y-1)
					if !corner { // interpolation rounds corners by one output pixel
						require.Equal(t, in, b.Labels[(y*96+x)*6+r*2+k] == 1, "rater %d class %d at %d,%d", r, k, x, y)
					}
				}
			}
		}
	}
	assert.Equal(t, []float32{1, 1, 1, 1, 1, 1}, b.Valid)
}

// Image and labels move together: an image whose pixels are its own mask still equals its mask
// after every transform. Every view is smaller than the output; a larger view would average the
// image.
func TestImageAndLabelsMoveTogether(t *testing.T) {
	dir := write(t, 2)
	for i := range 2 {
		data, err := os.ReadFile(maskPath(dir, "b", "disc", i))
		require.NoError(t, err)
		put(t, filepath.Join(dir, "images", name(i)+".png"), data)
	}
	geometry := Augmentation{Tight: .4, Between: .3, FlipX: .5, FlipY: .5, Rotation: 40, Scale: .3, Shift: .1, Wide: .2, Elastic: .05}
	s, _ := sampler(t, "disc", Options{Size: 80, Batch: 2, Seed: 4, Augmentation: geometry}, dir)
	shares := map[float32]bool{}
	for step := range uint64(20) {
		b := s.Batch(step)
		var marked float32
		for p := range 2 * 80 * 80 {
			v, label := b.Images[3*p], b.Labels[6*p+2]
			marked += label
			if math.Abs(float64(v)-.5) > .01 {
				require.Equal(t, v > .5, label == 1, "step %d pixel %d", step, p)
			}
			require.True(t, label == 0 || label == 1)
			if b.Labels[6*p+3] == 1 { // the cup lies in the disc
				require.Equal(t, float32(1), label)
			}
		}
		require.NotZero(t, marked)
		shares[marked] = true
	}
	assert.Greater(t, len(shares), 15, "views differ in scale")
}

// Outside counts the pixels marked as a class but not as the class before it, of raters who have
// marked both.
func TestOutside(t *testing.T) {
	dir := write(t, 1)
	sum := func() (outside, all float64) {
		s, _ := sampler(t, "", Options{Size: 16, Batch: 1}, dir)
		return s.samples[0].Outside(1, 2)
	}
	outside, nested := sum()
	assert.Zero(t, outside)
	assert.Positive(t, nested)
	cup, err := os.ReadFile(maskPath(dir, "b", "cup", 0))
	require.NoError(t, err)
	disc, err := os.ReadFile(maskPath(dir, "b", "disc", 0))
	require.NoError(t, err)
	put(t, maskPath(dir, "b", "cup", 0), disc) // exchanged
	put(t, maskPath(dir, "b", "disc", 0), cup)
	outside, all := sum()
	assert.Equal(t, all-nested, outside)
	assert.Positive(t, outside)
	require.NoError(t, os.Remove(maskPath(dir, "b", "disc", 0)))
	outside, fewer := sum()
	assert.Zero(t, outside)
	assert.Less(t, fewer, nested)
}

func TestTightViewIsTheSearchedRegion(t *testing.T) {
	s, loaded := sampler(t, "disc", Options{Size: 40, Batch: 2, Seed: 4, Augmentation: Augmentation{Tight: 1}}, write(t, 2))
	b := s.Batch(0)
	i := 0
	if b.Names[0] == "eyes/eye01" {
		i = 1
	}
	// More than half of the three raters marked up to row 29 = 28 + 1: 20×21 pixels. The square has a
	// side of 42 around (20 + i, 18.5), rounded.
	want := make([]float32, 3*40*40)
	loaded[i].Image.Crop(want, imageio.Square{X: 20 + i - 21, Y: -3, Side: 42}, 40)
	// Shrinking by 1.05 averages over slightly different neighbourhoods; the ramp of 6 levels a pixel
	// moves by less than one.
	assert.InDeltaSlice(t, want, b.Images[:3*40*40], 6./255)
	b = s.Batch(1)
	assert.NotEqual(t, b.Names[0], b.Names[1])
}

// A missing label is invalid; the rater's other labels are valid.
func TestMissingLabelIsInvalid(t *testing.T) {
	dir := write(t, 1)
	require.NoError(t, os.Remove(maskPath(dir, "b", "cup", 0)))
	s, _ := sampler(t, "", Options{Size: 16, Batch: 1}, dir)
	b := s.Batch(0)
	assert.Equal(t, []float32{1, 1, 1, 0, 1, 1}, b.Valid)
	disc := float32(0)
	for p := range 16 * 16 {
		disc += b.Labels[6*p+2]
		assert.Zero(t, b.Labels[6*p+3])
	}
	assert.Positive(t, disc)
}

func TestToneKeepsGreyAndRange(t *testing.T) {
	s, _ := sampler(t, "", Options{Size: 16, Batch: 1, Augmentation: Augmentation{Brightness: .5, Contrast: .5, Gamma: .5, Colour: .5, Saturation: .5, Blur: .1}}, write(t, 1))
	colour := s.Batch(0).Images
	s.samples[0].grey = true
	grey := s.Batch(0).Images
	assert.NotEqual(t, colour, grey)
	for step := range uint64(10) {
		for _, v := range s.Batch(step).Images {
			require.True(t, v >= 0 && v <= 1)
		}
	}
}

func TestNewSamplerRefuses(t *testing.T) {
	d, err := Open(write(t, 2))
	require.NoError(t, err)
	_, err = NewSampler(d, nil, Options{Size: 8, Batch: 1})
	assert.ErrorContains(t, err, "no cases")
	_, _, err = LoadSamples(t.Context(), d, d.Cases, "macula", nil)
	assert.ErrorContains(t, err, `"macula" is not a class`)
}

func BenchmarkBatch(b *testing.B) {
	root := filepath.Join("..", "..", "..", "..", "shared", "data", "drishti-gs1-full")
	if _, err := os.Stat(root); err != nil {
		b.Skipf("no real data: %v", err)
	}
	s, _ := sampler(b, "disc", Options{Size: 256, Batch: 4, Seed: 1, Augmentation: DefaultAugmentation}, root)
	for i := uint64(0); b.Loop(); i++ {
		s.Batch(i)
	}
}

// A sample is small, and Marked still equals the sums over the masks, without the missing ones.
func TestSample(t *testing.T) {
	dir := write(t, 1)
	require.NoError(t, os.Remove(maskPath(dir, "b", "cup", 0)))
	s, loaded := sampler(t, "", Options{Size: 8, Batch: 1}, dir)
	assert.Less(t, cap(s.samples[0].image.Pix), 7*sampleW*sampleH/2, "three bytes a pixel, rounded by the allocator")
	require.Equal(t, 4*sampleW*sampleH, cap(loaded[0].Image.Pix), "as it was decoded, or this tests nothing")
	for k := range 2 {
		inside, all := 0, 0
		for _, mask := range loaded[0].Given(k) {
			for _, v := range mask {
				inside += int(v)
			}
			all += len(mask)
		}
		gotInside, gotAll := s.samples[0].Marked(k, 2)
		assert.Equal(t, []float64{float64(inside), float64(all)}, []float64{gotInside, gotAll})
	}
}

// With Balance each third of the range of relative sizes is drawn equally often, and every sample
// of a third as often as the next.
func TestBalance(t *testing.T) {
	dir := write(t, 9)
	for i := range 9 { // cups of side 4, 4, 5, 10, 10, 10, 10, 15, 16 in discs of side 20
		side := []int{4, 4, 5, 10, 10, 10, 10, 15, 16}[i]
		for _, rater := range []string{"a", "b", "c"} {
			put(t, maskPath(dir, rater, "disc", i), pngOf(t, maskOf(image.Rect(10, 10, 30, 30))))
			put(t, maskPath(dir, rater, "cup", i), pngOf(t, maskOf(image.Rect(11, 11, 11+side, 11+side))))
		}
	}
	d, err := Open(dir)
	require.NoError(t, err)
	samples, _, err := LoadSamples(t.Context(), d, d.Cases, "disc", nil)
	require.NoError(t, err)
	o := Options{Size: 8, Batch: 6, Balance: "cup"}
	s, err := NewSampler(d, samples, o)
	require.NoError(t, err)
	seen := map[string]int{}
	for step := range uint64(6) {
		for _, name := range s.Batch(step).Names {
			seen[name]++
		}
	}
	assert.Equal(t, map[string]int{"eyes/eye00": 4, "eyes/eye01": 4, "eyes/eye02": 4, "eyes/eye03": 3, "eyes/eye04": 3, "eyes/eye05": 3,
		"eyes/eye06": 3, "eyes/eye07": 6, "eyes/eye08": 6}, seen)

	o.Balance = "disc"
	_, err = NewSampler(d, samples, o)
	assert.ErrorContains(t, err, "name a class behind another one")
	samples[3].valid = make([]float32, 6)
	o.Balance = "cup"
	_, err = NewSampler(d, samples, o)
	assert.ErrorContains(t, err, "eyes/eye03 has no marks of the cup or the disc")
}

// With Drawn, the raters of a view stand in a drawn order, their missing marks with them. The view
// is the same.
func TestSlotsAreDrawn(t *testing.T) {
	dir := write(t, 5)
	require.NoError(t, os.Remove(maskPath(dir, "b", "cup", 0)))
	o := Options{Size: 32, Batch: 4, Seed: 9, Augmentation: DefaultAugmentation}
	fixed, _ := sampler(t, "", o, dir)
	o.Drawn = true
	drawn, _ := sampler(t, "", o, dir)
	const raters, labels, pixels = 3, 3 * 2, 32 * 32
	orders := map[string]bool{}
	slot := func(b *Batch, i, m int) (all []float32) { // (validity, labels) of slot m of case i
		all = append(all, b.Valid[i*labels+2*m:][:2]...)
		for p := range pixels {
			all = append(all, b.Labels[(i*pixels+p)*labels+2*m:][:2]...)
		}
		return all
	}
	for step := range uint64(8) {
		a, b := fixed.Batch(step), drawn.Batch(step)
		require.Equal(t, a.Images, b.Images)
		require.Equal(t, b.Valid, b.Own)
		for i := range 4 {
			order := ""
			for m := range raters {
				for from := range raters {
					if slices.Equal(slot(a, i, from), slot(b, i, m)) {
						order += string('a' + rune(from))
						break
					}
				}
			}
			require.Len(t, order, raters, "each slot is one of the raters'")
			orders[order] = true
		}
	}
	assert.Greater(t, len(orders), 4)
}
