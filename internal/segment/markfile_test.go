package segment

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"mrprism/internal/segment/segmenttest"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One pass settles a result without marks, whatever number of passes is asked for. Around a mark all
// passes run. Every device then gives the maps of the reference, and a new mark the maps of an
// engine that has seen no other. All of this also holds of the mean with the mirror image.
func TestPassesAroundMarks(t *testing.T) {
	for _, views := range []int{1, 2} {
		t.Run(fmt.Sprint(views, " views"), func(t *testing.T) { passesAroundMarks(t, views) })
	}
}

func passesAroundMarks(t *testing.T, views int) {
	img := photograph(120, 90)
	of := []Evidence{{Rater: "bob", Mask: leftHalf(120, 90)}, {Rater: Somebody, Class: "brain", Mask: leftHalf(120, 90)}}
	about := segmenttest.Raters()
	about.Configuration, about.Mirrored = "tiny-evidence", views == 2
	m := open(t, about)
	given := Options{Recurrences: Trained, ROI: "10,5,80", Evidence: of, RaterWeights: []float32{1, 0.2, 1}}
	want, err := engine(t, reference.Open(), m).Segment(t.Context(), img, given)
	require.NoError(t, err)
	require.Equal(t, 2, want.Recurrences)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		c := &counter{Device: d}
		e := engine(t, c, m)
		for _, recurrences := range []int{Trained, 0, 3} {
			r, err := e.Segment(t.Context(), img, Options{Recurrences: recurrences, ROI: given.ROI})
			require.NoError(t, err)
			require.True(t, r.TakesMarks)
			require.Zero(t, r.Recurrences)
			require.NotContains(t, r.Timings, "rec1")
			require.Equal(t, r.Probability(0), r.Others(0), "nobody has marked")
		}
		before := c.runs
		got, err := e.Recalculate(t.Context(), given)
		require.NoError(t, err)
		require.Equal(t, 4*views, c.runs-before, "of each view a start, two passes and the raters' maps: neither the encoder nor ConP runs again")
		require.Equal(t, 2, got.Recurrences)
		for i := range 3 {
			same(t, want.Recurrence(i, 0), got.Recurrence(i, 0))
		}
		same(t, want.Others(0), got.Others(0))
		require.NotEqual(t, want.Probability(0), want.Others(0))
		for j := range got.Raters {
			same(t, want.Rater(j, 0), got.Rater(j, 0))
		}
		bob := got.Rater(1, 0)
		require.Equal(t, []float32{1, 0}, []float32{bob[40*120+30], bob[40*120+80]}, "a rater's map is the mark where it is given")
	})
}

// A mark's file has three values and the size of the photograph, in any kind of grey PNG. Errors
// name the file and what to do.
func TestMarkFile(t *testing.T) {
	img := photograph(4, 3)
	grey := image.NewGray(image.Rect(0, 0, 4, 3))
	copy(grey.Pix, []byte{0, 128, 255, 0, 255, 255})
	encode := func(m image.Image) []byte {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, m))
		return b.Bytes()
	}
	palette := image.NewPaletted(grey.Rect, color.Palette{color.Gray{}, color.Gray{128}, color.Gray{255}})
	deep, colours := image.NewGray16(grey.Rect), image.NewNRGBA(grey.Rect)
	for y := range 3 {
		for x := range 4 {
			palette.Set(x, y, grey.At(x, y))
			deep.Set(x, y, grey.At(x, y))
			colours.Set(x, y, grey.At(x, y))
		}
	}
	for _, kind := range []image.Image{grey, palette, deep, colours} {
		got, err := MarkFile{"ann", "brain", "a.png", encode(kind)}.Evidence(img)
		require.NoError(t, err, "%T", kind)
		require.Equal(t, Evidence{"ann", "brain", grey.Pix}, got, "%T", kind)
	}
	soft := image.NewGray(grey.Rect)
	soft.Pix[4*2+1] = 127
	colours.Set(3, 1, color.NRGBA{255, 0, 9, 255})
	var blurred bytes.Buffer
	require.NoError(t, jpeg.Encode(&blurred, grey, nil))
	for want, data := range map[string][]byte{
		"a.png: the pixel at 1, 2 has the value 127; draw":            encode(soft),
		"a.png: the pixel at 3, 1 has the colour 255, 0, 9; save":     encode(colours),
		"a.png: the mark has 3×4 pixels, and the photograph 4×3; dra": encode(image.NewGray(image.Rect(0, 0, 3, 4))),
		"a.png: this is a JPEG, which blurs the values of a mark; sa": blurred.Bytes(),
	} {
		_, err := MarkFile{"ann", "", "a.png", data}.Evidence(img)
		require.ErrorIs(t, err, ErrMark)
		assert.ErrorContains(t, err, want)
	}
	clear(colours.Pix)
	for want, data := range map[string][]byte{"transparent pixels": encode(colours), "a text file, not an image": []byte("mine"), "damaged": encode(grey)[:60], "empty": nil} {
		_, err := MarkFile{"ann", "", "a.png", data}.Evidence(img)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "a.png")
	}
}
