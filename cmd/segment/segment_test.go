package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/command/journal"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/internal/trust"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// asProgram is the environment variable under which this test binary is the program itself.
const asProgram = "MRPRISM_TEST_SEGMENT"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// process is the program with arguments, to be run.
func process(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

// outcome is the exit code and the output of a run.
type outcome struct {
	code           int
	stdout, stderr string
}

func call(t *testing.T, args ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := process(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func write(t *testing.T, path string, data []byte) string {
	t.Helper()
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func weightsFile(t *testing.T, dir string, about weights.Metadata, change func(*weights.File)) string {
	t.Helper()
	f, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	if change != nil {
		change(f)
	}
	data, err := segmenttest.Encode(f)
	require.NoError(t, err)
	return write(t, filepath.Join(dir, about.Name+".safetensors"), data)
}

func encodePNG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, m))
	return b.Bytes()
}

func encodeJPEG(t *testing.T, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, m, nil))
	return b.Bytes()
}

func readPNG(t *testing.T, path string) *image.Gray {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	m, err := png.Decode(f)
	require.NoError(t, err)
	grey, ok := m.(*image.Gray)
	require.True(t, ok, "%s is %T, not 8-bit grey", path, m)
	return grey
}

func listed(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// An image gets its files, their sizes and the summary, for levels and for raters, on every device.
func TestFilesOfAnImage(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "eye.jpg"), encodeJPEG(t, synthetic.Photograph(synthetic.SampleSeed, 240, 200)))
	levels, raters := weightsFile(t, dir, segmenttest.Fundus(), nil), weightsFile(t, dir, segmenttest.Raters(), nil)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		out := filepath.Join(t.TempDir(), "new", "folder")
		got := call(t, "-weights", levels, "-device", d.Info().Backend, "-out", out, photo, "-recurrences", "2")
		require.Zero(t, got.code, got.stderr)
		require.Empty(t, got.stderr)
		require.Contains(t, got.stdout, photo+": disc ")
		require.Equal(t, []string{
			"eye.json", "eye_cup.png", "eye_cup_atleast1.png", "eye_cup_atleast2.png", "eye_cup_atleast3.png", "eye_cup_atleast4.png",
			"eye_disc.png", "eye_disc_atleast1.png", "eye_disc_atleast2.png", "eye_disc_atleast3.png", "eye_disc_atleast4.png",
		}, listed(t, out))

		var s journal.Entry
		text, err := os.ReadFile(filepath.Join(out, "eye.json"))
		require.NoError(t, err)
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		require.NoError(t, decoder.Decode(&s))
		require.Equal(t, []int{240, 200, 2}, []int{s.Width, s.Height, s.Recurrences})
		require.Equal(t, d.Info().String(), s.Device)
		m, err := computing.Weights(levels)
		require.NoError(t, err)
		require.Equal(t, "own-"+m.SHA256[:12], s.Model)
		require.Equal(t, journal.Origin{Given: levels, Title: m.Label(), SHA256: m.SHA256, Ours: false}, s.Weights)
		require.Contains(t, s.Times, "rec2")
		require.NotContains(t, s.Times, "rec3")
		require.Contains(t, s.Times, "search")
		require.Less(t, s.Region.Side, 240)

		// the files hold what the engine computes, on the reference, and the summary measures what is in
		// the files
		img, err := imageio.Decode(photo, must(os.ReadFile(photo)))
		require.NoError(t, err)
		e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
		require.NoError(t, err)
		defer e.Close()
		want, err := e.Segment(t.Context(), img, segment.Options{Recurrences: 2})
		require.NoError(t, err)
		require.Equal(t, want.ROI, s.Region)
		for c, class := range want.Classes {
			mask := readPNG(t, filepath.Join(out, s.Files.Probability[class]))
			near(t, want.Probability(c), mask)
			area := 0
			for _, v := range mask.Pix {
				if v >= 128 {
					area++
				}
			}
			require.Equal(t, area, s.Measurements.Structures[c].Area)
			for j := range want.Raters {
				near(t, want.Rater(j, c), readPNG(t, filepath.Join(out, s.Files.Raters[class][j])))
			}
		}

		// a second model into the same folder, with a region by hand
		got = call(t, "-weights", raters, "-device", d.Info().Backend, "-out", out, "-roi", "-5,20,60", "-recurrences", "0", photo)
		require.Zero(t, got.code, got.stderr)
		require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "eye.json"))), &s))
		require.Equal(t, imageio.Square{X: -5, Y: 20, Side: 60}, s.Region)
		require.Zero(t, readPNG(t, filepath.Join(out, "eye_brain_eve.png")).GrayAt(200, 150).Y)
	})
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}

// near holds 8 bits to probabilities: 2e-3 between devices and half a step of rounding.
func near(t *testing.T, want []float32, got *image.Gray) {
	t.Helper()
	require.Len(t, got.Pix, len(want))
	for i, v := range got.Pix {
		require.InDelta(t, want[i], float64(v)/255, 2e-3+0.5/255+1e-6)
	}
}

// With -outlines there are masks of the inner and the outer outline of each structure that has
// them. One of an earlier run goes.
func TestFilesOfOutlines(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "eye.jpg"), encodeJPEG(t, synthetic.Photograph(synthetic.SampleSeed, 240, 200)))
	about := segmenttest.Fundus()
	about.Trust = &weights.Trust{Threshold: 1, Outlines: map[string]weights.Spread{"disc": {Low: -.2, High: .2, Coverage: .9}}}
	out := filepath.Join(dir, "out")
	require.NoError(t, os.Mkdir(out, 0o755))
	write(t, filepath.Join(out, "eye_cup_inner_mask.png"), nil)
	args := []string{"-weights", weightsFile(t, dir, about, nil), "-device", "processor", "-format", "png-mask,outlines", "-out", out, "-csv", filepath.Join(out, "all.csv"), photo}
	got := call(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, call(t, args...).stderr, "1 of 1 images are done", "what is withheld is not looked for")
	names := listed(t, out)
	require.NotContains(t, names, "eye_cup_inner_mask.png")
	var s journal.Entry
	require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "eye.json"))), &s))
	require.Len(t, s.Files.All, len(names)-2)
	require.Equal(t, .9, s.Measurements.Structures[0].Outlines.Coverage)
	require.Nil(t, s.Measurements.Structures[1].Outlines)
	area := func(name string) (n int) { return bytes.Count(readPNG(t, filepath.Join(out, name)).Pix, []byte{255}) }
	require.Less(t, area("eye_disc_inner_mask.png"), area("eye_disc_mask.png"))
	require.Less(t, area("eye_disc_mask.png"), area("eye_disc_outer_mask.png"))
}

// Wrong usage exits with 2. One message says what is wrong and names -h.
func TestUsage(t *testing.T) {
	dir := t.TempDir()
	w := weightsFile(t, dir, segmenttest.Raters(), nil)
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	mask := write(t, filepath.Join(dir, "a_brain.png"), encodePNG(t, image.NewGray(image.Rect(0, 0, 40, 40))))
	help := call(t, "-h")
	require.Zero(t, help.code)
	require.Empty(t, help.stderr)
	for _, word := range []string{"usage:", "examples:", "exit codes:", "-evidence", "-recurrences", "-roi", "-weights", "-device", "-out",
		"\n  found ", "\n  doubts ", "\n  doubt ", "\n  90 %  ", `"interval"`, `"coverage"`} {
		require.Contains(t, help.stdout, word)
	}
	for want, args := range map[string][]string{
		"which weights":                {"-out", dir, photo},
		"where to":                     {"-weights", w, photo},
		"no images":                    {"-weights", w, "-out", dir},
		"-recurrences 33":              {"-weights", w, "-out", dir, "-recurrences", "33", photo},
		`invalid value "x"`:            {"-weights", w, "-out", dir, "-recurrences", "x", photo},
		"-roi: region":                 {"-weights", w, "-out", dir, "-roi", "here", photo},
		"-device abacus: choose":       {"-weights", w, "-out", dir, "-device", "abacus", photo},
		"there is no flag -colour":     {"-weights", w, "-out", dir, "-colour", photo},
		"has learned no outlines":      {"-weights", w, "-out", dir, "-format", "outlines", photo},
		"a_brain.png would be overwri": {"-weights", w, "-out", dir, mask, photo},
	} {
		got := call(t, args...)
		require.Equal(t, 2, got.code, got.stderr)
		require.Contains(t, got.stderr, want)
		require.Contains(t, got.stderr, "segment -h")
		require.Empty(t, got.stdout)
	}
	require.Equal(t, must(os.ReadFile(mask)), encodePNG(t, image.NewGray(image.Rect(0, 0, 40, 40))))
}

// An image in which nothing is found gets its files too: its masks are empty, and line and summary
// say so.
func TestNothingFound(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	w := weightsFile(t, dir, segmenttest.Fundus(), func(f *weights.File) {
		bias := f.Tensor("conp.head.bias")
		*bias = weights.NewF32(bias.Name, bias.Shape, []float32{-30, -30})
	})
	photo := write(t, filepath.Join(dir, "eye.png"), encodePNG(t, synthetic.Photograph(1, 60, 40)))
	got := call(t, "-weights", w, "-device", "reference", "-recurrences", "1", "-out", out, photo)
	require.Zero(t, got.code, got.stderr)
	require.Empty(t, got.stderr)
	require.Contains(t, got.stdout, photo+": no disc found, no cup found; ")
	require.Contains(t, got.stdout, filepath.Join(out, "eye.json"))
	require.NotContains(t, got.stdout, "DOUBTED", "once is enough")
	require.Len(t, listed(t, out), 11)
	for _, name := range listed(t, out) {
		if filepath.Ext(name) == ".png" {
			mask := readPNG(t, filepath.Join(out, name))
			require.Equal(t, image.Pt(60, 40), mask.Rect.Size())
			require.Equal(t, make([]byte, 60*40), mask.Pix)
		}
	}
	var s map[string]any
	require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "eye.json"))), &s))
	require.Equal(t, false, s["found"])
	require.Equal(t, []any{map[string]any{"code": "not-found", "text": "No disc was found in this picture."}}, s["doubts"])
}

// The line has the experts' range and the interval, what was not found, and why the result is
// doubted.
func TestDescribe(t *testing.T) {
	r := &segment.Result{Adapter: "a GPU", Timings: map[string]float64{"total": 1500}, Found: true}
	good, unread := &trust.Verdict{Word: trust.Trusted}, &trust.Verdict{Word: trust.Check, Reason: "The cup of this camera was not learned."}
	gone, never := &trust.Verdict{Word: trust.DoNotUse, Reason: "No cup was found in this picture."}, &trust.Verdict{Word: trust.DoNotUse, Reason: "Never seen."}
	r.Measurements.Structures = []segment.Structure{{Class: "disc", Area: 50, Low: new(40), High: new(60), Trust: good}, {Class: "cup", Low: new(0), High: new(7), Trust: gone}}
	r.Measurements.VerticalRatio = &segment.Ratio{Inner: "cup", Outer: "disc", Trust: gone}
	b := &batch{Run: journal.Run{Session: segment.Session{Model: &weights.Model{}}}}
	eye := journal.Item{Image: "a.png", Entry: "out/a.json"}
	require.Equal(t, "a.png: disc 50 px (experts 40–60), no cup found (experts 0–7 px); "+
		"trust: disc trusted, cup do not use, ratio do not use (No cup was found in this picture); 1.5 s on a GPU; out/a.json", b.describe(eye, r))

	r.Measurements.Structures[0].Interval = &segment.Interval{Low: 37.6, High: 66.3, Coverage: 0.9}
	r.Measurements.Structures[1] = segment.Structure{Class: "cup", Area: 6, Low: new(5), High: new(7), Trust: never, Withheld: "Never seen."}
	r.Measurements.VerticalRatio = &segment.Ratio{Inner: "cup", Outer: "disc", Value: new(0.52), Low: new(0.48), High: new(0.61), Trust: never,
		Interval: &segment.Interval{Low: 0.416, High: 0.66, Coverage: 0.9}}
	r.Measurements.Clinical = segment.Clinical{NarrowestRim: &segment.NarrowestRim{Value: 0.12, Low: new(0.1), High: new(0.15), Hour: 7},
		Eye: &segment.Eye{Side: segment.Right, By: "name", Against: []string{"picture"}}}
	r.Doubts = []segment.Doubt{{Code: "unfamiliar", Text: "Never seen."}, {Code: "blurred", Text: "The border cannot be made out."}}
	require.Equal(t, "a.png: disc 50 px (experts 40–60, 90 % 38–66), cup 6 px (experts 5–7), vertical cup/disc 0.52 (experts 0.48–0.61, 90 % 0.42–0.66), "+
		"narrowest rim/disc 0.12 at 7 o'clock (experts 0.10–0.15), right eye (by name, not by picture); trust: disc trusted, cup do not use, ratio do not use; "+
		"no interval of cup: Never seen; DOUBTED: Never seen; DOUBTED: The border cannot be made out; 1.5 s on a GPU; out/a.json", b.describe(eye, r))

	b.Session.Model.Metadata.Recipe = "bce"
	r.Doubts, r.Measurements = nil, segment.Measurements{Structures: []segment.Structure{{Class: "cup", Area: 6, Trust: unread}}}
	require.Equal(t, "a.png: cup 6 px; trust: cup check (The cup of this camera was not learned); no raters and no disagreement: the weights were trained without heads (recipe bce); 1.5 s on a GPU; out/a.json", b.describe(eye, r))
	b.Session.Model.Metadata.Recipe = ""

	none := &segment.Result{Adapter: "a GPU", Timings: map[string]float64{"total": 1500}}
	none.Measurements.Structures = []segment.Structure{{Class: "disc", Trust: never}, {Class: "cup", Trust: never}}
	none.Doubts = []segment.Doubt{{Code: "not-found", Text: "No disc was found in this picture."}, {Code: "unfamiliar", Text: "Never seen."}}
	require.Equal(t, "a.png: no disc found, no cup found; trust: disc do not use, cup do not use; DOUBTED: Never seen; 1.5 s on a GPU; out/a.json", b.describe(eye, none))
}

// Of weights without heads there is the mask alone. Line and JSON say why, and no further pass is
// made of what was never trained. The recipe recurrent trains passes, and no heads.
func TestWithoutHeads(t *testing.T) {
	dir := t.TempDir()
	w := weightsFile(t, dir, segmenttest.Raters(), func(f *weights.File) { f.Metadata["recipe"] = "bce" })
	photo := write(t, filepath.Join(dir, "a.png"), encodePNG(t, synthetic.Photograph(1, 40, 40)))
	args := []string{"-weights", w, "-device", "reference", "-out", filepath.Join(dir, "out"), photo}
	got := call(t, args...)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "no raters and no disagreement: the weights were trained without heads (recipe bce)")
	require.NotContains(t, got.stdout, "experts")
	entries, err := os.ReadDir(filepath.Join(dir, "out"))
	require.NoError(t, err)
	require.Len(t, entries, 2)
	text := string(must(os.ReadFile(filepath.Join(dir, "out", "a.json"))))
	for _, want := range []string{`"raters": []`, `"no_raters": "no raters and no disagreement: `, `"low": null`, `"disagreement": null`} {
		require.Contains(t, text, want)
	}
	got = call(t, append([]string{"-recurrences", "1"}, args...)...)
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "trained for one pass (recipe bce)")
	w = weightsFile(t, t.TempDir(), segmenttest.Raters(), func(f *weights.File) { f.Metadata["recipe"] = "recurrent" })
	got = call(t, "-recurrences", "1", "-weights", w, "-device", "reference", "-out", filepath.Join(dir, "recurrent"), photo)
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "the weights were trained without heads (recipe recurrent)")
}

// marked describes an untrained model that takes marks.
func marked(about weights.Metadata) weights.Metadata {
	about.Name, about.Configuration = about.Name+"-evidence", "tiny-evidence"
	return about
}

// markOf is the PNG of a mark: the left half is inside, the right half outside, and nothing is said of
// the lower half.
func markOf(t *testing.T, w, h int) []byte {
	t.Helper()
	m := image.NewGray(image.Rect(0, 0, w, h))
	for i := range m.Pix {
		if i%w < w/2 {
			m.Pix[i] = 255
		}
		if i/w >= h/2 {
			m.Pix[i] = segment.Unsaid
		}
	}
	return encodePNG(t, m)
}

// Around marks two passes run, and the files hold the consensus, the raters and the others, as the
// engine computes them. Without marks one pass gives the result.
func TestEvidence(t *testing.T) {
	dir := t.TempDir()
	photo := write(t, filepath.Join(dir, "scan.png"), encodePNG(t, synthetic.Photograph(1, 60, 50)))
	ann, you := write(t, filepath.Join(dir, "ann.png"), markOf(t, 60, 50)), write(t, filepath.Join(dir, "mine.png"), markOf(t, 60, 50))
	w := weightsFile(t, dir, marked(segmenttest.Raters()), nil)
	base := []string{"-weights", w, "-device", "reference", "-roi", "none"}
	summaryOf := func(args ...string) (s journal.Entry, out, line string) {
		t.Helper()
		out = t.TempDir()
		got := call(t, slices.Concat(base, []string{"-out", out}, args, []string{photo})...)
		require.Zero(t, got.code, got.stderr)
		require.NoError(t, json.Unmarshal(must(os.ReadFile(filepath.Join(out, "scan.json"))), &s))
		return s, out, got.stdout
	}
	s, out, line := summaryOf("-evidence", "ann="+ann, "-evidence", "you/brain="+you)
	require.Equal(t, 2, s.Recurrences)
	require.Equal(t, []journal.Mark{{Rater: "ann", Class: "brain", File: ann}, {Rater: "you", Class: "brain", File: you}}, s.Evidence)
	require.Contains(t, line, "; around marks of ann, you; ")
	m, err := computing.Weights(w)
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	mask := readPNG(t, ann).Pix
	img, err := imageio.Decode(photo, must(os.ReadFile(photo)))
	require.NoError(t, err)
	want, err := e.Segment(t.Context(), img, segment.Options{Recurrences: 2, ROI: "none", Evidence: []segment.Evidence{{Rater: "ann", Mask: mask}, {Rater: "you", Mask: mask}}})
	require.NoError(t, err)
	near(t, want.Probability(0), readPNG(t, filepath.Join(out, s.Files.Probability["brain"])))
	near(t, want.Others(0), readPNG(t, filepath.Join(out, s.Files.Others["brain"])))
	near(t, want.Rater(0, 0), readPNG(t, filepath.Join(out, s.Files.Raters["brain"][0])))
	require.Len(t, listed(t, out), 6)

	s, _, _ = summaryOf("-evidence", "ann="+ann, "-recurrences", "1")
	require.Equal(t, 1, s.Recurrences)
	s, out, line = summaryOf("-recurrences", "3")
	require.Zero(t, s.Recurrences)
	require.Empty(t, s.Evidence)
	require.NotContains(t, line, "around")
	require.Len(t, listed(t, out), 5)
}
