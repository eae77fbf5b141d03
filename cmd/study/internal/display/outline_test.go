package display

import (
	"image"
	"image/color"
	"math"
	"slices"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/study/picture"

	"github.com/stretchr/testify/require"
)

// A picture is 220 pixels long. Outlines lie on the border of the mask, for a map of the whole
// image and of a part. Dashes leave holes.
func TestOutlines(t *testing.T) {
	ground := color.RGBA{80, 60, 40, 255}
	img := studytest.Flat(440, 330, ground)
	p := picture.NewPicture(img)
	require.Equal(t, image.Rect(0, 27, 220, 193), p.Rect, "of a letterbox; 165 pixels from 27.5 on")
	require.Equal(t, ground, p.RGBAAt(0, 27), "no edge is dark")
	require.Equal(t, ground, p.RGBAAt(219, 192))

	whole := p.Trace(studytest.Disc[float32](440, 330, 200, 165, 80), 440, 330, 0, 0)
	part := p.Trace(studytest.Disc[float32](200, 200, 100, 105, 80), 200, 200, 100, 60)
	require.Len(t, whole, 1)
	for i, at := range part[0] {
		require.InDelta(t, 40, math.Hypot(at.X-100, at.Y-110), .4)
		require.InDelta(t, whole[0][i].X, at.X, 1e-6)
		require.InDelta(t, whole[0][i].Y, at.Y, 1e-6)
	}
	require.Empty(t, p.Trace(slices.Repeat([]float32{.5}, 4), 2, 2, 0, 0), "one half is outside")

	Result(p, 1, whole)
	for angle := range 360 {
		sin, cos := math.Sincos(float64(angle) * math.Pi / 180)
		at := func(r float64) color.RGBA { return p.RGBAAt(int(100+r*cos), int(110+r*sin)) }
		require.Equal(t, ground, at(37))
		require.Equal(t, ground, at(43))
		green := slices.ContainsFunc([]float64{39, 39.5, 40, 40.5, 41}, func(r float64) bool {
			c := at(r)
			return c.G > 160 && c.G > c.B+80 && c.G > c.R+25
		})
		require.True(t, green, "at %d°: %v", angle, at(40))
	}
	Truth(p, [][]picture.Point{Circle(p, 200, 165, 120)})
	const dashes = 54 // 2π·60/7 = 53.9
	for i := range dashes {
		for share, want := range map[float64]bool{Dash / 2.: true, Dash + Hole/2.: false} {
			sin, cos := math.Sincos(2 * math.Pi * (float64(i) + share/(Dash+Hole)) / dashes)
			white := slices.ContainsFunc([]float64{59.5, 60, 60.5}, func(r float64) bool { return p.RGBAAt(int(100+r*cos), int(110+r*sin)).B > 110 })
			require.Equal(t, want, white, "dash %d, after %v pixels", i, share)
		}
	}
	require.Equal(t, ground, p.RGBAAt(100, 110))
}

// A closed line has a whole number of dashes. A line that is too short for two has none.
func TestDashed(t *testing.T) {
	square := func(side float64) [][]picture.Point {
		return [][]picture.Point{{{X: 0, Y: 0}, {X: side, Y: 0}, {X: side, Y: side}, {X: 0, Y: side}}}
	}
	length, begins := 0., 0
	pieces := dashed(square(10)) // 40 pixels: 6 dashes, as 40/7 is nearest to 6
	for i, p := range pieces {
		length += p.Length()
		if i == 0 || pieces[i-1].To != p.From {
			begins++
		}
	}
	require.InDelta(t, 40*Dash/7., length, 1e-9)
	require.Equal(t, 6, begins)
	require.Equal(t, picture.Whole(square(2)), dashed(square(2)))
}
