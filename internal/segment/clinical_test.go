package segment

import (
	"bytes"
	"math"
	"testing"

	"mrprism/internal/data/metric"
	"mrprism/internal/files/dicom/dicomtest"
	"mrprism/internal/files/imageio"
	"mrprism/internal/trust"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// round is a disc and a cup at the given height of their middle, of a result of one level that has
// a larger cup. Its region is the right half of a photograph of 240 × 120 pixels.
func round(cupY float64) *Result {
	const s, k = 120, 2
	r := Maps{
		Width: 2 * s, Height: s, Classes: []string{"disc", "cup"}, Raters: []string{"atleast1"}, Labels: weights.LabelsAgreementLevels,
		ROI: imageio.Square{X: s, Side: s}, side: s, masks: [][]float32{make([]float32, s*s*k)}, raters: make([]float32, s*s*k),
		eyeBy: signs{field: imageio.Square{Y: -s / 2, Side: 2 * s}, upright: true},
	}
	fill := func(maps []float32, c int, cy, radius float64) {
		for i := range s * s {
			if math.Hypot(float64(i%s)+.5-60, float64(i/s)+.5-cy) <= radius {
				maps[i*k+c] = 1
			}
		}
	}
	for _, maps := range [][]float32{r.masks[0], r.raters} {
		fill(maps, 0, 60, 25)
	}
	fill(r.masks[0], 1, cupY, 10)
	fill(r.raters, 1, cupY, 13)
	m := settled{Maps: &r}.measure()
	return &Result{Maps: r, Measurements: m.Measurements, readings: m.readings}
}

// Figures of circles are those that geometry knows, and their ranges reach to the level's.
func TestClinicalFigures(t *testing.T) {
	r := round(63)
	m := r.Measurements
	require.InDelta(t, 12, m.Rim[6], 0.7)
	require.InDelta(t, 18, m.Rim[0], 0.7)
	require.Equal(t, m.Rim, m.RimHigh)
	require.InDelta(t, 9, m.RimLow[6], 0.7)
	require.InDelta(t, 12./50, m.NarrowestRim.Value, 0.015)
	require.InDelta(t, 9./50, *m.NarrowestRim.Low, 0.015)
	require.Equal(t, []float64{6, m.NarrowestRim.Value, 0}, []float64{float64(m.NarrowestRim.Hour), *m.NarrowestRim.High, m.NarrowestRim.Absent})
	require.Equal(t, Eye{Side: Right, By: "picture"}, *m.Eye)
	require.False(t, m.ISNT.Holds)
	require.Equal(t, []int{1, 1}, []int{m.ISNT.Agree, m.ISNT.Of})
	require.Equal(t, DDLS{Withheld: NoScale}, *m.DDLS)

	left := r.Clinical(Known{Eye: Left, Spacing: &[2]float64{0.05, 0.045}}) // 50 pixels are 2.25 mm
	require.Equal(t, Eye{Left, "user", []string{"picture"}}, *left.Eye)
	require.Equal(t, []float64{m.Rim[9], m.Rim[3]}, []float64{left.ISNT.Nasal, left.ISNT.Temporal}, "where the nose is")
	require.Equal(t, []float64{m.Rim[3], m.Rim[9]}, []float64{m.ISNT.Nasal, m.ISNT.Temporal})
	require.Equal(t, DDLS{Stage: new(2), Low: new(2), High: new(3), Size: "large"}, *left.DDLS)

	r.Picture = imageio.Image{Format: "nifti", Spacing: [2]float64{0.05, 0.035}} // 1.75 mm
	require.Equal(t, &DDLS{Stage: new(3), Low: new(3), High: new(4), Size: "average"}, settled{Maps: &r.Maps}.measure().DDLS)

	above := round(57).Measurements
	require.Equal(t, 12, above.NarrowestRim.Hour)
	wide := bytes.Repeat([]byte{Unsaid}, r.Width*r.Height) // half the cup is drawn away: its rim is the widest below
	for y := 60; y < r.Height; y++ {
		for x := range r.Width {
			wide[y*r.Width+x] = 0
		}
	}
	corrected := r.Clinical(Known{Drawn: map[int][]byte{1: wide}})
	require.Greater(t, corrected.Rim[6], 20.)
	require.Equal(t, m.RimLow, corrected.RimLow, "ranges stay the model's")
	require.Equal(t, m.Rim[0], corrected.Rim[0])

	for c := range m.Structures {
		m.Structures[c].Trust = &trust.Verdict{Word: trust.Check, Reason: m.Structures[c].Class}
	}
	r.Measurements.VerticalRatio.Trust = &trust.Verdict{Word: trust.DoNotUse}
	known := r.Corrected(Known{Eye: Left})
	require.Equal(t, Left, known.Eye.Side)
	require.Equal(t, r.Measurements.Structures, known.Structures)
	require.Equal(t, trust.DoNotUse, known.VerticalRatio.Trust.Word)
	known = r.Corrected(Known{Drawn: map[int][]byte{1: wide}})
	cup := known.Structures[1]
	require.Less(t, cup.Area, m.Structures[1].Area)
	require.Equal(t, Structure{Class: "cup", Area: cup.Area, Height: cup.Height, Width: cup.Width, Share: float64(cup.Area) / (240 * 120)}, cup, "nobody predicted it")
	require.Equal(t, m.Structures[0], known.Structures[0])
	require.Equal(t, Ratio{Inner: "cup", Outer: "disc", Value: new(float64(cup.Height) / float64(m.Structures[0].Height)), Trust: m.Structures[0].Trust}, *known.VerticalRatio, "the disc is the model's")
	require.Equal(t, float64(cup.Width)/float64(m.Structures[0].Width), *known.HorizontalRatio.Value)
	known = r.Corrected(Known{Drawn: map[int][]byte{0: wide, 1: wide}})
	require.Nil(t, known.VerticalRatio.Trust, "a person drew all of it")
	known = r.Corrected(Known{Drawn: map[int][]byte{0: bytes.Repeat([]byte{0}, len(wide))}})
	require.Nil(t, known.VerticalRatio, "there is no disc")
	require.NotNil(t, r.Measurements.VerticalRatio)

	r.Raters, r.raters = nil, nil
	headless := settled{Maps: &r.Maps}.measure()
	require.Nil(t, headless.RimLow)
	require.Nil(t, headless.NarrowestRim.Low)
	require.Zero(t, headless.ISNT.Of)
	require.Nil(t, headless.DDLS.Low)
}

func TestISNT(t *testing.T) {
	rim := metric.Rim{}
	rim.Hours[6], rim.Hours[0], rim.Hours[3], rim.Hours[9] = 4, 3, 2, 1
	require.True(t, isnt(rim, Right).Holds)
	require.False(t, isnt(rim, Left).Holds)
}

// The stages are those of the table in Henderer 2006.
func TestDamageStages(t *testing.T) {
	for size, stages := range [][]int{{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10}, {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		for i, rim := range []metric.Rim{{Narrowest: .5}, {Narrowest: .49}, {Narrowest: .3}, {Narrowest: .29}, {Narrowest: .1}, {Narrowest: .01},
			{Absent: 45}, {Absent: 46}, {Absent: 180}, {Absent: 270}, {Absent: 360}} {
			require.Equal(t, stages[i], ddls(rim, size), "%+v, a %s disc", rim, sizes[size])
		}
	}
	require.Equal(t, []int{0, 1, 1, 2}, []int{sizeOf(1.49), sizeOf(1.5), sizeOf(2), sizeOf(2.01)})
}

func TestWhichEye(t *testing.T) {
	for name, want := range map[string]string{
		"RET002OD.jpg": Right, "ret_os_12.png": Left, "Left eye.tif": Left, "a/OS/12-right.jpg": Right, "0012_R.jpg": Right, "l.dcm": Left,
		"todos.jpg": "", "doctor.png": "", "model.jpg": "", "R2.jpg": "", "OD and OS.jpg": "", "IMG_2041.jpg": "",
	} {
		require.Equal(t, want, EyeInName(name), name)
	}
	r := round(63)
	r.eyeBy.name = "a_OS.jpg"
	require.Equal(t, Eye{Left, "name", []string{"picture"}}, *r.eye("", r.readings[0]))
	data := dicomtest.Grey(4, 3, make([]uint8, 12))
	at := bytes.Index(data, []byte{0x28, 0, 2, 0})
	m, err := imageio.Decode("a.dcm", bytes.Join([][]byte{data[:at], []byte("\x20\x00\x62\x00CS\x02\x00L "), data[at:]}, nil))
	require.NoError(t, err)
	r.Picture.Header = m.Header
	require.Equal(t, Eye{Left, "dicom", []string{"picture"}}, *r.eye("", r.readings[0]))
	require.Equal(t, Eye{Right, "user", []string{"dicom", "name"}}, *r.eye(Right, r.readings[0]))

	plain := func(change func(*Result)) string {
		r := round(63)
		change(r)
		return r.eye("", r.readings[0]).Side
	}
	require.Equal(t, Left, plain(func(r *Result) { r.eyeBy.field.X = 160 }))
	require.Empty(t, plain(func(r *Result) { r.eyeBy.field.X = 60 }), "in the middle")
	require.Empty(t, plain(func(r *Result) { r.eyeBy.field.Side = 180 }), "a crop")
	require.Empty(t, plain(func(r *Result) { r.eyeBy.field.Y = 20 }), "above")
	require.Empty(t, plain(func(r *Result) { r.eyeBy.upright = false }))
	require.Empty(t, plain(func(r *Result) { r.Picture.Turn = 2 }))
	require.ErrorContains(t, CheckEye("both"), `"both"`)
}
