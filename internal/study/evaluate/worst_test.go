package evaluate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/jpeg"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/score"
	"mrprism/internal/study/studytest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// stopping is a device on which the user stops the program when ready returns true.
type stopping struct {
	gpu.Device
	ready func() bool
	stop  func()
}

func (d *stopping) Run(ctx context.Context, recordings ...gpu.Recording) error {
	if d.ready() {
		d.stop()
	}
	return d.Device.Run(ctx, recordings...)
}

// Silently wrong results come first, then wrong results with a doubt, then right results, the
// farthest first.
func TestRankOfCentres(t *testing.T) {
	doubted := judgement{Found: true, Doubted: true}
	ordered := []*centreScore{
		{Name: "absent, but found", Distance: nil, judgement: judgement{Found: true}},
		{Name: "silently wrong, far", Present: true, Distance: new(3.), Area: new(1.)},
		{Name: "silently wrong, near", Present: true, Distance: new(.2), Area: new(9.)},
		{Name: "not found", Present: true, judgement: judgement{Doubted: true}},
		{Name: "wrong and doubted", Present: true, Distance: new(8.), Area: new(1.), judgement: doubted},
		{Name: "right, far", Present: true, Distance: new(.9), Area: new(1.), Right: true},
		{Name: "right and doubted, near", Present: true, Distance: new(.1), Area: new(1.), Right: true, judgement: doubted},
		{Name: "absent, not found", Right: true, judgement: judgement{Doubted: true}},
	}
	for i, c := range ordered[1:] {
		require.Negative(t, ordered[i].rank().Compare(c.rank()), "%s, %s", ordered[i].Name, c.Name)
	}
	figures := []string{"absent, but found", "3.00 r away", "0.20 r away, area x 9.00", "not found", "8.00 r away", "0.90 r away", "0.10 r away", "absent, not found"}
	frames := []color.RGBA{red, red, red, amber, amber, grey, amber, amber}
	for i, c := range ordered {
		require.Equal(t, figures[i], c.figure())
		require.Equal(t, frames[i], frame(!c.Right, c.Doubted), c.Name)
	}
}

// places are the frames on a sheet with a number of cells in each block, for pictures of 40×30
// pixels. It draws the sheet with frames in colours that nothing else has.
func places(classes []string, data, centres int) (frames []image.Rectangle) {
	s := &contactSheet{model: "untrained-fundus", classes: classes, data: picture.Worst{Offered: 1}, centres: picture.Worst{Offered: 1}}
	for i := range data + centres {
		c := &picture.Cell{Frame: color.RGBA{1, uint8(200 + i), 3, 255}, Picture: picture.NewPicture(studytest.Flat(40, 30, color.RGBA{9, 9, 9, 255})).RGBA}
		if i < data {
			s.data.Cells = append(s.data.Cells, c)
		} else {
			s.centres.Cells = append(s.centres.Cells, c)
		}
	}
	drawn := s.draw(s.blocks())
	frames = make([]image.Rectangle, data+centres)
	for y := range drawn.Rect.Dy() {
		for x := range drawn.Rect.Dx() {
			if c := drawn.RGBAAt(x, y); c.R == 1 && c.B == 3 {
				frames[c.G-200] = frames[c.G-200].Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	return frames
}

// A row has five cells, and each block begins a new row.
func TestPlaces(t *testing.T) {
	frames := places([]string{"disc", "cup"}, 7, 6)
	for i, f := range frames {
		require.Equal(t, image.Pt(picture.Longest+2*border, 166+2*border), f.Size())
		at := i
		if i >= 7 {
			at = i - 7
		}
		require.Equal(t, gap+at%columns*(cellWide+gap), f.Min.X, "cell %d", i)
		if at%columns > 0 {
			require.Equal(t, frames[i-1].Min.Y, f.Min.Y)
		} else if i > 0 {
			require.GreaterOrEqual(t, f.Min.Y, frames[i-1].Max.Y+2*lineTall, "captions lie between")
		}
	}
	many := places([]string{"a long name of a structure", "another long name of a structure", "a third name of a structure", "a fourth name"}, 1, 0)
	require.Greater(t, many[0].Min.Y, frames[0].Min.Y, "the legend has a second line")
}

// Captions are not wider than their cells.
func TestFit(t *testing.T) {
	require.Equal(t, "short", fit("short", 70))
	require.Equal(t, "exactlyten", fit("exactlyten", 70))
	require.Equal(t, "pat...0017", fit("patient_eye_0017", 70))
	require.LessOrEqual(t, textWidth(fit("patient_eye_0017", 76)), 76)
	require.Equal(t, "ä...ß", fit("äöüöüöß", 35))
}

// readSheet reads a sheet.
func readSheet(t *testing.T, path string) image.Image {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(studytest.ReadFile(t, path)))
	require.NoError(t, err)
	return img
}

// colourAt is a colour of the sheet, which JPEG has changed a little.
func colourAt(img image.Image, x, y int) color.RGBA {
	return color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)
}

// paint draws a picture of 40×30 pixels of one colour.
func paint(t *testing.T, path string, ink color.RGBA) {
	t.Helper()
	img := image.NewRGBA(image.Rect(0, 0, 40, 30))
	draw.Draw(img, img.Rect, image.NewUniform(ink), image.Point{}, draw.Src)
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
}

// inks are colours that JPEG does not make alike.
var inks = []color.RGBA{{40, 40, 40, 255}, {150, 40, 40, 255}, {40, 150, 40, 255}, {40, 40, 150, 255}, {150, 150, 40, 255}}

// The sheet shows the images of -data by soft Dice, and the results of -centres by rank, in frames
// that agree with the JSON.
func TestSheet(t *testing.T) {
	dir := studytest.LevelData(t)
	for i, r := range []int{9, 5, 15, 7, 11} {
		paint(t, filepath.Join(dir, "images", fmt.Sprintf("i%d.png", i)), inks[i])
		for j := range 4 {
			studytest.WriteMask(t, filepath.Join(dir, "raters", fmt.Sprintf("atleast%d", j+1), "disc", fmt.Sprintf("i%d.png", i)), 40, 30, func(x, y int) bool {
				return (x-20)*(x-20)+(y-15)*(y-15) < r*r
			})
		}
	}
	centres := studytest.CentresFile(t, "name,cx,cy,r\nright,.7,.5,.4\nelsewhere,.1,.1,.4\nabsent,,,\nsmall,.5,.5,.1\n", "right.png", "elsewhere.png", "absent.png", "small.png")
	for i, name := range []string{"right", "elsewhere", "absent", "small"} {
		paint(t, filepath.Join(filepath.Dir(centres), "images", name+".png"), inks[i])
	}
	file, path := studytest.Biased(t, segmenttest.Fundus(), 30), filepath.Join(t.TempDir(), "worst.JPG")
	got, _ := runHere(t, Request{Weights: file, Images: score.Images{Data: dir, On: "all", Region: "none"}, Centres: centres, Outputs: Outputs{Worst: path}})

	var want []color.RGBA // the inks, in order
	var frames []color.RGBA
	for _, i := range []int{1, 3, 0, 4, 2} {
		want = append(want, inks[i])
		c := got.Cases[i]
		frames = append(frames, frame(c.Classes[0].SoftDice[1] < .5, c.Doubted))
	}
	require.True(t, slices.IsSortedFunc([]int{1, 3, 0, 4, 2}, func(a, b int) int {
		return cmp.Compare(got.Cases[a].Classes[0].SoftDice[1], got.Cases[b].Classes[0].SoftDice[1])
	}), "or this test is wrong")
	pictures := got.Centres.Pictures
	order := []int{2, 1, 3, 0}
	slices.SortStableFunc(order, func(a, b int) int { // all that are silent first
		return cmp.Compare(pictures[b].rank().Group, pictures[a].rank().Group)
	})
	require.Equal(t, 0, order[3])
	for _, i := range order {
		want = append(want, inks[i])
		frames = append(frames, frame(!pictures[i].Right, pictures[i].Doubted))
	}
	require.Contains(t, frames, red, "or this test says little")

	img := readSheet(t, path)
	at := places(segmenttest.Fundus().Classes, 5, 4)
	require.Greater(t, img.Bounds().Dy(), at[8].Max.Y)
	for i, f := range at {
		require.True(t, studytest.Alike(frames[i], colourAt(img, f.Min.X+2, f.Min.Y+60), 25), "frame %d: %v", i, colourAt(img, f.Min.X+2, f.Min.Y+60))
		inner := f.Inset(border)
		require.True(t, studytest.Alike(want[i], colourAt(img, inner.Min.X+20, inner.Min.Y+20), 12), "picture %d: %v", i, colourAt(img, inner.Min.X+20, inner.Min.Y+20))
		brightest := func(r float64) (v uint8) { // right of the middle, where a circle has a dash
			for y := -20; y <= 20; y++ {
				for x := -3; x <= 2; x++ {
					c := colourAt(img, inner.Min.X+picture.Longest/2+int(math.Sqrt(r*r-float64(y*y)))+x, inner.Min.Y+83+y)
					v = max(v, min(c.R, c.G, c.B))
				}
			}
			return v
		}
		if i < 5 {
			require.Greater(t, brightest([]float64{5, 7, 9, 11, 15}[i]*picture.Longest/40), uint8(170), "the majority's disc, picture %d", i)
		} else {
			small := order[i-5] == 3
			require.Equal(t, small, brightest(4*picture.Longest/40.) > 170, "the CSV's circle, picture %d", i)
		}
	}
	last := colourAt(img, at[4].Min.X+2, at[8].Min.Y+60)
	require.True(t, studytest.Alike(ground, last, 12), "the second block has four cells: %v", last)
}

// The sheet leaves out images without marks of the ranked class. The anchor ranks the images, by
// the last recurrence.
func TestOfferCase(t *testing.T) {
	about := weights.Metadata{Classes: []string{"rim", "disc"}, Anchor: "disc"}
	require.Equal(t, 1, rankedClass(&about))
	about.Anchor = ""
	require.Equal(t, 0, rankedClass(&about))

	s := &contactSheet{classes: []string{"rim", "disc"}, ranked: 1}
	mask := studytest.Disc[uint8](40, 30, 20, 15, 8)
	l := &dataset.Loaded{Image: studytest.Flat(40, 30, color.RGBA{70, 70, 70, 255}), Masks: [][][]uint8{{nil, mask}}}
	found := [][]float32{make([]float32, 1200), studytest.Disc[float32](40, 30, 20, 15, 4)}
	m := maps{recurrences: 1, recurrence: func(i, k int) []float32 {
		if i == 0 {
			return make([]float32, 1200)
		}
		return found[k]
	}}
	offer := func(name string, t judgement, dice ...float64) {
		offerCase(s, l, m, &caseScore{Name: name, judgement: t, Classes: []*classScore{{SoftDice: []float64{1, 0}}, {SoftDice: dice}}})
	}
	offer("good", judgement{Found: true}, .1, .9)
	offer("bad", judgement{Found: true}, .9, .4)
	offer("doubted", judgement{Found: true, Doubted: true}, .9, .3)
	offer("nothing", judgement{Doubted: true}, .9, 0)
	offerCase(s, l, m, &caseScore{Name: "unmarked", Classes: []*classScore{{SoftDice: []float64{0, 0}}, nil}})
	var told []string
	for _, c := range s.data.Cells {
		told = append(told, fmt.Sprint(c.Name, ": ", c.Figure, " ", c.Frame == red, c.Frame == amber, c.Frame == grey))
	}
	require.Equal(t, []string{"nothing: not found false true false", "doubted: soft Dice 30.0 false true false", "bad: soft Dice 40.0 true false false",
		"good: soft Dice 90.0 false false true"}, told)
	require.Equal(t, 4, s.data.Offered)
	p := s.data.Cells[0].Picture
	require.True(t, studytest.Alike(picture.Structures[1], p.RGBAAt(110+21, 110), 60) || studytest.Alike(picture.Structures[1], p.RGBAAt(110+22, 110), 60), "the last recurrence's outline, 22 pixels from the middle")

	require.ErrorContains(t, (&contactSheet{classes: []string{"disc"}}).JPEG(nil), "somebody has marked the disc")
}

// A turned photograph has a turned circle and a caption with the turn.
func TestOfferCentre(t *testing.T) {
	s := &contactSheet{classes: nil}
	ground := color.RGBA{70, 70, 70, 255}
	offerCentre(s, studytest.Flat(30, 40, ground), &segment.Result{Maps: segment.Maps{Width: 30, Height: 40}}, &centreScore{Name: "a", guise: guise{Turned: 90}, Present: true}, &circle{10, 30, 4})
	c := s.centres.Cells[0]
	require.Equal(t, 90, c.Turned)
	require.Equal(t, image.Rect(27, 0, 193, 220), c.Picture.Rect)
	x, y, r := 27.5+10*5.5, 30*5.5, 4*5.5
	require.NotEqual(t, ground, c.Picture.RGBAAt(int(x+r), int(y)), "the first dash begins at the right")
	require.Equal(t, ground, c.Picture.RGBAAt(int(x), int(y)))
	drawn := func(turned int) *image.RGBA {
		on := image.NewRGBA(image.Rect(0, 0, 300, 300))
		drawCell(&picture.Cell{Name: "a", Figure: "b", Turned: turned, Frame: red, Picture: c.Picture}, on, image.Rect(0, 0, 174, 228), 0, 240)
		return on
	}
	require.NotEqual(t, drawn(0).Pix, drawn(90).Pix)
	require.NotEqual(t, drawn(180).Pix, drawn(90).Pix)
	captions := drawn(0)
	inked := func(ink color.RGBA) (pixels int) {
		for y := 240; y < 300; y++ {
			for x := range 300 {
				if captions.RGBAAt(x, y) == ink {
					pixels++
				}
			}
		}
		return pixels
	}
	require.Positive(t, inked(bright), "the name")
	require.Positive(t, inked(red), "the figure has the frame's colour")
}

// Outlines of a result in a part of the photograph lie where those of the whole maps lie.
func TestOfferPart(t *testing.T) {
	m, err := command.Weights(studytest.Biased(t, segmenttest.Fundus(), 30))
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	img := studytest.Flat(90, 70, color.RGBA{70, 70, 70, 255})
	r, err := e.Segment(t.Context(), img, segment.Options{ROI: "30,20,36"})
	require.NoError(t, err)
	s := &contactSheet{classes: m.Metadata.Classes}
	offerCentre(s, img, r, &centreScore{Present: true}, nil)
	want := picture.NewPicture(img)
	for k := range s.classes {
		loops := want.Trace(r.Probability(k), r.Width, r.Height, 0, 0)
		require.NotEmpty(t, loops)
		want.Result(k, loops)
	}
	got := s.centres.Cells[0].Picture
	for y := got.Rect.Min.Y; y < got.Rect.Max.Y; y++ {
		for x := range picture.Longest {
			require.True(t, studytest.Alike(want.RGBAAt(x, y), got.RGBAAt(x, y), 2), "%d, %d", x, y)
		}
	}
}
