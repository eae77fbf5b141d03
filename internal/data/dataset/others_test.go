package dataset

import (
	"image"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writeOthers makes a folder of discs alone that three other people have marked. In all n images
// two of them mark the left half and one the right half.
func writeOthers(t testing.TB, n int) string {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "dataset.json"), []byte(`{"name":"others","classes":["disc"],"raters":["x","y","z"]}`))
	for i := range n {
		put(t, filepath.Join(dir, "images", "other"+name(i)+".png"), pngOf(t, image.NewGray(image.Rect(0, 0, sampleW, sampleH))))
		for r, rater := range []string{"x", "y", "z"} {
			half := image.Rect(r/2*sampleW/2, 0, (r/2+1)*sampleW/2, sampleH)
			put(t, filepath.Join(dir, "raters", rater, "disc", "other"+name(i)+".png"), pngOf(t, maskOf(half)))
		}
	}
	return dir
}

func TestOthers(t *testing.T) {
	d, err := Open(write(t, 7))
	require.NoError(t, err)
	others, err := Open(writeOthers(t, 6))
	require.NoError(t, err)
	require.NoError(t, d.Add(others))
	assert.Equal(t, "eyes+others", d.Name)
	assert.Len(t, d.Training(), 6+5)
	assert.Len(t, d.HeldOut(), 2)
	last := d.Cases[len(d.Cases)-1]
	assert.True(t, last.Others)
	assert.Equal(t, []string{"disc", "cup"}, d.Classes)
	require.Len(t, last.Masks, 3)
	assert.Empty(t, last.Masks[0][1], "a class that is lacking is a missing label")

	samples, _, err := LoadSamples(t.Context(), d, d.Training(), "disc", nil)
	require.NoError(t, err)
	s, err := NewSampler(d, samples, Options{Size: 16, Batch: 4, Seed: 3})
	require.NoError(t, err)
	seen := map[string]int{}
	for step := range uint64(30) {
		b := s.Batch(step)
		for i := range 4 {
			valid, own := b.Valid[6*i:6*i+6], b.Own[6*i:6*i+6]
			seen[b.Names[i]]++
			if step%2 == 0 {
				assert.Contains(t, b.Names[i], "eyes/")
				assert.Equal(t, valid, own)
				continue
			}
			assert.Contains(t, b.Names[i], "others/")
			assert.Equal(t, []float32{1, 0, 1, 0, 1, 0}, valid, "the disc for every rater, no cup")
			assert.Equal(t, make([]float32, 6), own)
			labels := b.Labels[i*256*6:][:256*6]
			for pixel := range 256 {
				inside := float32(0)
				if pixel%16 < 8 {
					inside = 1
				}
				if y := pixel / 16; y < 2 || y >= 14 {
					continue // the border of the letterbox
				}
				require.Equal(t, []float32{1, 0, inside, 0, 0, 0}, labels[6*pixel:6*pixel+6], "the mean vote is 2/3 on the left, 1/3 on the right")
			}
		}
	}
	for name, n := range seen {
		want := 10
		if name[:4] == "othe" {
			want = 12
		}
		assert.Equal(t, want, n, name)
	}

	strange, err := Open(write(t, 5))
	require.NoError(t, err)
	others, err = Open(writeOthers(t, 6))
	require.NoError(t, err)
	assert.ErrorContains(t, others.Add(strange), "marks cup, which is none of disc")
}

// Views away from the anchor show nothing of it, however they are turned, and are as frequent as
// Away says. A crop has no room for such views and gets none.
func TestViewsAway(t *testing.T) {
	it := &Sample{anchored: true, image: &imageio.Image{W: 600, H: 400}, whole: imageio.Letterbox(600, 400), tight: imageio.Square{X: 60, Y: 110, Side: 80}, disc: disc{100, 150, 20}}
	a := DefaultAugmentation
	a.Away, a.Turns = .3, true
	rng := rand.New(rand.NewPCG(1, 2))
	away, turned := 0, 0
	for range 1000 {
		v := a.view(it, rng)
		du, dv := it.disc.x-v.cx, it.disc.y-v.cy
		u, w := (v.xu*du+v.yu*dv)/v.side/v.side, (v.xv*du+v.yv*dv)/v.side/v.side
		if math.Abs(u) > .5 || math.Abs(w) > .5 {
			away++
			require.Greater(t, math.Hypot(du, dv), v.side*math.Sqrt2/2+it.disc.radius)
		}
		if math.Abs(v.xu) < math.Abs(v.xv) {
			turned++
		}
	}
	assert.InDelta(t, 300, away, 45)
	assert.InDelta(t, 500, turned, 60, "half of them lie on their side")
	crop := *it
	crop.image, crop.whole = &imageio.Image{W: 80, H: 80}, imageio.Letterbox(80, 80)
	crop.tight, crop.disc = crop.whole, disc{40, 40, 20}
	for range 100 {
		v := a.view(&crop, rng)
		require.Less(t, math.Hypot(v.cx-40, v.cy-40), v.side*math.Sqrt2/2)
	}

	a = DefaultAugmentation
	before, after := rand.NewPCG(1, 2), rand.NewPCG(1, 2)
	_, take := a.away(it, rand.New(after))
	assert.False(t, take)
	assert.Equal(t, before, after, "nothing is drawn")
}

// Patches keep away from marked pixels; veils and flares change the whole picture. Without Distract
// nothing is drawn.
func TestDistract(t *testing.T) {
	const s = 64
	labels := make([]float32, s*s*2)
	for i := range s * s {
		if math.Hypot(float64(i%s)-20, float64(i/s)-40) < 6 {
			labels[2*i] = 1
		}
	}
	circle := markedCircle(labels, s)
	assert.InDeltaSlice(t, []float64{20, 40, 6}, []float64{circle.x, circle.y, circle.radius}, .2)
	picture := make([]float32, 3*s*s)
	for i := range picture {
		picture[i] = [3]float32{.5, .3, .1}[i%3] + .001*float32(i%7)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	changed, beside := 0, 0
	for range 400 {
		pixels := slices.Clone(picture)
		Augmentation{Distract: .5}.distract(pixels, labels, s, rng)
		if !slices.Equal(pixels, picture) {
			changed++
		}
		pixels = slices.Clone(picture)
		patches(pixels, s, circle, brightest(pixels), rng)
		for i := range s * s {
			if pixels[3*i] != picture[3*i] {
				beside++
				require.Zero(t, labels[2*i], "a lesion on the disc")
			}
		}
		veil(pixels, [3]float32{1, .5, .2}, rng)
		flare(pixels, s, rng)
		for _, v := range pixels {
			require.True(t, v >= 0 && v <= 1.001, v)
		}
	}
	assert.InDelta(t, 200, changed, 45)
	assert.Greater(t, beside, 1000)

	before, after := rand.NewPCG(1, 2), rand.NewPCG(1, 2)
	Augmentation{}.distract(picture, labels, s, rand.New(after))
	assert.Equal(t, before, after)
}

func TestFolds(t *testing.T) {
	cases := []Case{{Name: "c"}, {Name: "a"}, {Name: "b"}, {Name: "a"}, {Name: "d"}}
	assert.Equal(t, []int{2, 0, 1, 0, 0}, Folds(cases, 3))
}
