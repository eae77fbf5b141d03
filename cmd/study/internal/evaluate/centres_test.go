package evaluate

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/command"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/require"
)

func TestReadCentres(t *testing.T) {
	file := studytest.CentresFile(t, "\ufeffname,cx,cy,r,note\r\na, .25,0.5,0.1,\"by eye, twice\"\r\nb,,,,none\r\n", "a.PNG", "b.jpeg", "c.png")
	set, err := readCentres(file)
	require.NoError(t, err)
	require.Equal(t, file, set.name)
	dir := filepath.Join(filepath.Dir(file), "images")
	require.Equal(t, []photograph{{"a", filepath.Join(dir, "a.PNG"), &circle{.25, .5, .1}}, {"b", filepath.Join(dir, "b.jpeg"), nil}}, set.photographs)
	set, err = readCentres(studytest.CentresFile(t, "a.png;0,0;1;1\n", "a.png"))
	require.NoError(t, err)
	require.Equal(t, &circle{0, 1, 1}, set.photographs[0].circle)
}

// The error names every bad line by its number, with the reason, and no good line.
func TestBadCentres(t *testing.T) {
	lines := []struct{ line, want string }{
		{"a,.1,.1,.1,", ""},
		{"nosuch,.1,.1,.1,", "there is no image images/nosuch.png"},
		{"../b;.1,.1,.1,", "there is no image"},
		{",.1,.1,.1,", "the name is empty"},
		{"images/a.PNG,.2,.2,.2,", "a is already in line 2"},
		{"b,1.1,.1,.1,", "cx is 1.1; it has to be a share"},
		{"b,.1,-.1,.1,", "cy is -.1; it has to be a share"},
		{"b,.1,NaN,.1,", "cy is NaN; it has to be a share"},
		{"b,.1,.1,left,", `r is "left" and not a number`},
		{"b,.1,.1,,", `r is "" and not a number`},
		{"b,.1,.1,0,", "r is 0"},
		{"b,.1,.1,.1,x,y", "it has 6 fields"},
		{"two,.1,.1,.1,", "several images are called two"},
		{"c,,,,", ""},
	}
	text := "name,cx,cy,r,note\n"
	for _, l := range lines {
		text += l.line + "\n"
	}
	file := studytest.CentresFile(t, text, "a.png", "b.png", "c.png", "two.png", "two.jpg")
	_, err := readCentres(file)
	var told []string
	for i, l := range lines {
		if l.want != "" {
			told = append(told, fmt.Sprintf("%s, line %d: ", file, i+2)+"|"+l.want)
		}
	}
	problems := asProblems(t, err)
	require.Len(t, problems, len(told))
	for i, want := range told {
		where, why, _ := strings.Cut(want, "|")
		require.Contains(t, problems[i], where)
		require.Contains(t, problems[i], why)
	}
	shown := strings.Split(err.Error(), "\n")
	require.Len(t, shown, 1+10+1)
	require.Contains(t, shown[11], fmt.Sprintf("and %d more", len(told)-10))
	for text, want := range map[string]string{
		"":                       "names no photograph",
		`a,.1,"."1,.1`:           `"`,
		"name,x,y,r\na,.1,.1,.1": "the first line has to be name,cx,cy,r",
		"cx,name,cy,r\n":         "there is no image images/cx.png",
		"name,cx,cy,r,note\n":    "names no photograph",
	} {
		_, err := readCentres(studytest.CentresFile(t, text, "a.png"))
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, os.RemoveAll(filepath.Join(filepath.Dir(file), "images")))
	_, err = readCentres(file)
	require.ErrorContains(t, err, filepath.Join(filepath.Dir(file), "images"))
}

// The mask of a circle has the centre and the area of the circle, for images of any shape.
func TestCompare(t *testing.T) {
	const w, h = 120, 80
	img := &imageio.Image{W: w, H: h}
	mask := make([]float32, w*h)
	for i := range mask {
		if math.Hypot(float64(i%w)+.5-30, float64(i/w)+.5-50) < 18 {
			mask[i] = .6
		} else {
			mask[i] = .5 // one half is outside
		}
	}
	distance, area := circle{30. / w, 50. / h, 18. / w}.of(img).compare(mask, w)
	require.InDelta(t, 0, distance, 1e-9)
	require.InDelta(t, 1, area, .01)
	distance, area = circle{(30. + 9) / w, (50. - 12) / h, 9. / w}.of(img).compare(mask, w)
	require.InDelta(t, 15./9, distance, 1e-9)
	require.InDelta(t, 4, area, .04)
	distance, area = circle{.5, .5, .1}.of(img).compare(make([]float32, w*h), w)
	require.True(t, math.IsNaN(distance))
	require.Zero(t, area)
}

// The limits of a right result: the distance, the area below and above, and absent structures.
func TestRight(t *testing.T) {
	for _, c := range []struct {
		distance, area float64
		want           bool
	}{
		{.99, 1, true}, {1.01, 1, false}, {0, .41, true}, {0, .39, false}, {0, 2.49, true}, {0, 2.51, false}, {math.NaN(), 1, false},
	} {
		require.Equal(t, c.want, right(c.distance, c.area), "%v", c)
	}
	absent := &centreScore{}
	absent.judge(&segment.Result{Found: true}, 0, nil)
	require.False(t, absent.Right)
	require.True(t, absent.silent())
	absent.judge(&segment.Result{Doubts: []segment.Doubt{{Code: "not-found"}}}, 0, nil)
	require.True(t, absent.Right && absent.Doubted && !absent.Present)
}

// A bright pixel stays at the centre of the circle after every turn. Four turns change nothing.
func TestQuarter(t *testing.T) {
	img := &imageio.Image{W: 7, H: 4, Pix: make([]uint8, 3*7*4), Format: "png"}
	for i := range img.Pix {
		img.Pix[i] = uint8(i)
	}
	img.Pix[3*(1*7+5)+1] = 255 // x 5, y 1, green
	at, turned := circle{5.5, 1.5, 2}, img
	for i, size := range [][2]int{{4, 7}, {7, 4}, {4, 7}, {7, 4}} {
		at, turned = at.quarter(turned.H), quarter(turned)
		require.Equal(t, size, [2]int{turned.W, turned.H})
		require.Equal(t, uint8(255), turned.Pix[3*(int(at.y)*turned.W+int(at.x))+1], "turn %d", i+1)
		if i == 0 {
			require.Equal(t, circle{4 - 1.5, 5.5, 2}, at, "clockwise: what was above is to the right")
		}
	}
	require.Equal(t, img, turned)
	require.Equal(t, circle{5.5, 1.5, 2}, at)
}

// Rows and names depend on right and doubted alone.
func TestTallies(t *testing.T) {
	doubt := []segment.Doubt{{Code: "odd"}}
	of := func(set, name string, right, doubted bool) *centreScore {
		c := &centreScore{Set: set, Name: name, Present: true, Distance: new(1.5), Area: new(1.), Right: right, judgement: judgement{Found: true, Doubted: doubted}}
		if doubted {
			c.Doubts = doubt
		}
		return c
	}
	s := &study{centred: []*centreScore{
		of("a", "p", true, false), of("a", "q", true, true), of("a", "r", false, true), of("b", "s", false, false), of("b", "t", false, true),
	}}
	rows := s.tallies("")
	require.Equal(t, []tally{{"", guise{}, 5, statistics.Share{Images: 2, Share: .4}, statistics.Share{Images: 1, Share: .2}, statistics.Share{Images: 2, Share: .4}, statistics.Share{Images: 1, Share: .2}}}, rows)
	var out bytes.Buffer
	require.NoError(t, (&Report{Centres: &centresReport{Anchor: "disc", Sets: append(s.tallies("a"), s.tallies("b")...), Together: rows, Pictures: s.centred}}).Document().Print(&out))
	require.Contains(t, out.String(), "together  5       2 (40.0 %)  1 (20.0 %)         2 (40.0 %)         1 (20.0 %)")
	require.Regexp(t, "s of b +the centroid lies 1.50 radii from the centre, and the area is 1.00 times the circle's", out.String())
	require.Equal(t, 1, strings.Count(out.String(), " radii from the centre"))
}

// runHere evaluates on the reference with one recurrence.
func runHere(t *testing.T, r Request) (got Report, table string) {
	t.Helper()
	var stdout, stderr strings.Builder
	file := filepath.Join(t.TempDir(), "scores.json")
	r.Recurrences, r.Precision, r.Figures = 1, model.F32, figuresTo(t, file)
	r.Device = func(context.Context, func(string)) (gpu.Device, error) { return reference.Open(), nil }
	require.NoError(t, Run(t.Context(), r, &stdout, &stderr), stderr.String())
	require.NoError(t, json.Unmarshal(studytest.ReadFile(t, file), &got))
	return got, stdout.String()
}

// Under -changed the circle goes with the photograph. An eye's deviation is over the photograph and
// the changes of exposure, not over turns and other changes.
func TestChangedCentres(t *testing.T) {
	lines := filepath.Join(t.TempDir(), "lines.csv")
	file := studytest.CentresFile(t, "name,cx,cy,r\na,.7,.5,.5\n", "a.png")
	got, table := runHere(t, Request{Weights: studytest.Biased(t, segmenttest.Fundus(), 30), Centres: file, Changed: true, Outputs: Outputs{CSV: lines}})
	pictures := got.Centres.Pictures
	require.Len(t, pictures, 1+len(Changes))
	require.Len(t, got.Centres.Together, 1+len(Changes))
	for i, c := range pictures {
		distance, area := 8./20, 1200/(math.Pi*400) // .2 of 40 pixels, with a radius of 20
		if strings.HasPrefix(c.Change, "from farther") {
			distance, area = math.Hypot(28+6-32, 15+13.5-24)/20, 64*48/(math.Pi*400)
		}
		require.InDelta(t, distance, *c.Distance, 1e-9, c.Change)
		require.InDelta(t, area, *c.Area, 1e-9, c.Change)
		if i > 0 {
			require.Equal(t, Changes[i-1].Name, c.Change)
			require.Contains(t, table, "disc.csv, "+c.Change+" ")
		}
	}
	rows, err := csv.NewReader(bytes.NewReader(studytest.ReadFile(t, lines))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+len(pictures))
	require.Equal(t, []string{file, "a", "0", "gamma 0.6", "true", "true"}, rows[2][:6])

	of := func(name string, turned int, change string, ratio float64) *centreScore {
		return &centreScore{Name: name, guise: guise{turned, change}, Ratio: &ratio}
	}
	s := &study{centred: []*centreScore{
		of("a", 0, "", .4), of("a", 90, "", .9), of("a", 0, "gamma 0.6", .6), of("a", 0, "mirrored left-right", .9), of("a", 0, "gamma 1.6", .5),
		of("b", 0, "", .5), of("b", 0, "gamma 0.6", .5), of("c", 0, "", .7), {Name: "c", guise: guise{0, "gamma 0.6"}},
	}}
	r := steadyRatios(s.centredEyes())
	require.Equal(t, []any{2, "a of "}, []any{r.Eyes, r.Eye}, "c has one ratio")
	require.InDelta(t, .1, r.Worst, 1e-12)
	require.InDelta(t, .05, r.Mean.Mean, 1e-12)
}

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

// The report has everything that was judged until the user stopped, and says how much is missing.
func TestStopped(t *testing.T) {
	centres, foreign := studytest.CentresFile(t, "name,cx,cy,r\na,.5,.5,.5\nb,.5,.5,.5\n", "a.png", "b.png"), t.TempDir()
	for i := range 3 {
		studytest.WritePicture(t, filepath.Join(foreign, fmt.Sprintf("f%d.png", i)), 30, 20)
	}
	file := studytest.Biased(t, segmenttest.Fundus(), 30)
	for _, c := range []struct{ centred, foreign int }{{1, 0}, {2, 1}} {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := (&Request{Weights: file, Precision: model.F32, Centres: centres, Foreign: foreign}).open()
		require.NoError(t, err)
		ready := func() bool { return len(s.centred) == c.centred && len(s.strange) == c.foreign }
		s.progress, s.session.Open = command.NewProgress(io.Discard, 5), func(context.Context, func(string)) (gpu.Device, error) {
			return &stopping{reference.Open(), ready, cancel}, nil
		}
		require.ErrorIs(t, s.scoreAll(ctx), context.Canceled)
		s.session.Close()
		r, err := s.report()
		require.NoError(t, err)
		require.Equal(t, c.centred, r.Centres.Together[0].Images)
		require.Equal(t, c.foreign, r.Foreign.Together.Images)
		require.Equal(t, 3, r.Foreign.Of)
		var table bytes.Buffer
		require.NoError(t, r.Document().Print(&table))
		require.Equal(t, c.centred < 2, strings.Contains(table.String(), "stopped before all 2 were judged"))
		require.Contains(t, table.String(), "stopped before all 3 were judged")
	}
}
