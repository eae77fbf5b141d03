package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/display"
	"mrprism/cmd/study/internal/evaluate"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/imageio"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// asProgram is the environment variable under which this test binary is the program itself.
const asProgram = "MRPRISM_TEST_EVALUATE"

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

func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems bytes.Buffer
	cmd := process(args...)
	cmd.Stdout, cmd.Stderr = &out, &problems
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), problems.String()
}

// at is a number of an object of a JSON, under names and places in lists.
func at(t *testing.T, object any, path ...any) float64 {
	t.Helper()
	for _, step := range path {
		switch o := object.(type) {
		case display.Tree:
			object = o[step.(string)]
		case map[string]any:
			object = o[step.(string)]
		case []any:
			object = o[step.(int)]
		}
	}
	require.IsType(t, 0., object, path)
	return object.(float64)
}

// Every figure of one image equals what this test computes from the engine's maps and the metrics.
func TestFiguresOfAnImage(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	missing := filepath.Join(dir, "raters", about.Raters[2], "disc", "case0004.png")
	require.NoError(t, os.Remove(missing))
	file := studytest.WeightsFile(t, about, nil)
	out := filepath.Join(t.TempDir(), "scores.json")
	code, stdout, stderr := call(t, "-weights", file, "-data", dir, "-device", "reference", "-recurrences", "1", "-json", out)
	require.Zero(t, code, stderr)
	for _, part := range []string{"disc, 1 images: ", "Rec1 − Rec0", "each head (row) with each rater", "one rater has all the weight", "95 % Hausdorff distance", "GED", "Vertical cup/disc ratio"} {
		require.Contains(t, stdout, part)
	}
	var got evaluate.Report
	text, err := os.ReadFile(out)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &got))
	require.Len(t, got.Cases, 1, "one of five is held out")
	require.Equal(t, "case0004", got.Cases[0].Name)

	m, err := computing.Weights(file)
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	l, err := dataset.Load(data.HeldOut()[0])
	require.NoError(t, err)
	equal, err := e.Segment(t.Context(), l.Image, segment.Options{Recurrences: 1, ROI: "none"})
	require.NoError(t, err)
	for k := range data.Classes {
		c, votes := got.Cases[0].Classes[k], metric.Count(l.Given(k)...)
		require.Equal(t, 6-(1-k), votes.Raters, "one disc is missing")
		for i := range 2 {
			require.InDelta(t, metric.SoftDice(equal.Recurrence(i, k), votes), c.SoftDice[i], 1e-12)
			require.InDelta(t, c.SoftDice[i], at(t, got.Classes[k], "softDice", i, "mean"), 1e-12)
		}
		truth, err := imageio.Decode("truth", studytest.ReadFile(t, filepath.Join(dir, "truth", data.Classes[k], "case0004.png")))
		require.NoError(t, err)
		mask := make([]uint8, 48*48)
		for i := range mask {
			mask[i] = truth.Pix[3*i] / 255
		}
		require.InDelta(t, metric.Dice(equal.Probability(k), mask), c.Truth[1], 1e-12)
		require.InDelta(t, c.Truth[1], at(t, got.Classes[k], "truth", "dice", "passes", 1, "mean"), 1e-12)
		for m := range about.Raters {
			for n, marks := range l.Masks {
				if marks[k] == nil {
					require.Nil(t, c.Heads[m][n])
					continue
				}
				require.InDelta(t, metric.Dice(equal.Rater(m, k), marks[k]), *c.Heads[m][n], 1e-12)
			}
			weights := make([]float32, 6)
			weights[m] = 1
			alone, err := e.Recalculate(t.Context(), segment.Options{Recurrences: 1, RaterWeights: weights})
			require.NoError(t, err)
			if l.Masks[m][k] == nil {
				require.Nil(t, c.Response[m])
				continue
			}
			area := func(p []float32) float64 { return float64(metric.Area(p)) }
			want := evaluate.Response{
				Area: area(alone.Probability(k))/area(equal.Probability(k)) - 1, RaterArea: float64(metric.Area(l.Masks[m][k]))/area(votes.Mean()) - 1,
				Before: metric.Dice(equal.Probability(k), l.Masks[m][k]), After: metric.Dice(alone.Probability(k), l.Masks[m][k]),
			}
			require.InDeltaMapValues(t, map[string]float64{"area": want.Area, "rater": want.RaterArea, "before": want.Before, "after": want.After},
				map[string]float64{"area": c.Response[m].Area, "rater": c.Response[m].RaterArea, "before": c.Response[m].Before, "after": c.Response[m].After}, 1e-12)
		}
	}
	disc, cup := metric.Count(l.Given(0)...).Mean(), metric.Count(l.Given(1)...).Mean()
	require.InDelta(t, metric.VerticalRatio(disc, cup, 48, 48), got.Cases[0].Ratio.Reference, 1e-12)
	require.InDelta(t, metric.VerticalRatio(equal.Probability(0), equal.Probability(1), 48, 48), got.Cases[0].Ratio.Predicted, 1e-12)
	require.NotEqual(t, got.Cases[0].Classes[0].Response[0].Before, got.Cases[0].Classes[0].Response[0].After, "the weight must do something, or this test says little")
}

// Levels have no weights to respond to. A result that found nothing is scored as an empty mask, as
// far as the diagonal from the marks, and the report says it. Images of a group count once.
func TestLevelsAndNotFound(t *testing.T) {
	dir := studytest.LevelData(t)
	studytest.WriteFile(t, filepath.Join(dir, "groups.csv"), []byte("name,group\ni0,p\ni1,p\n"))
	blind := func(f *weights.File) {
		bias := f.Tensor("conp.head.bias")
		*bias = weights.NewF32(bias.Name, bias.Shape, []float32{-30, -30})
	}
	good := studytest.WeightsFile(t, segmenttest.Fundus(), nil)
	code, stdout, stderr := call(t, "-weights", studytest.WeightsFile(t, segmenttest.Fundus(), blind), "-data", dir, "-device", "reference",
		"-recurrences", "1", "-roi", "auto", "-on", "all", "-json", "-")
	require.Zero(t, code, stderr)
	var got evaluate.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &got))
	require.Equal(t, []int{5, 5}, []int{got.Images, got.NotFound})
	for _, c := range got.Classes {
		require.EqualValues(t, 5, c["images"])
		require.Empty(t, c["response"])
		require.Empty(t, c["truth"])
		require.Nil(t, c["follows"])
		require.EqualValues(t, 4, at(t, c, "softDice", 1, "n"))
		require.Equal(t, []float64{50, 4}, []float64{at(t, c, "agreement", "hausdorff95", "mean"), at(t, c, "agreement", "hausdorff95", "n")})
		require.EqualValues(t, 5, c["oneEmpty"])
		require.Less(t, at(t, c, "softDice", 1, "mean"), 0.5)
	}
	require.NoError(t, os.Remove(filepath.Join(dir, "groups.csv")))
	require.Zero(t, got.Cases[0].Ratio.Predicted)
	require.Positive(t, got.Cases[0].Ratio.Reference)

	require.Contains(t, got.Device, "Go", "what computes is told where nothing was found, too")
	lost := studytest.WeightsFile(t, segmenttest.Fundus(), blind)
	code, stdout, stderr = call(t, "-weights", lost, "-data", dir, "-device", "reference",
		"-recurrences", "0", "-roi", "auto")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "nothing was found in 1 of them")

	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, os.CopyFS(again, os.DirFS(dir)))
	code, stdout, stderr = call(t, "-weights", good, "-data", dir+","+again, "-device", "reference", "-recurrences", "0", "-on", "train")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "8 images")
	require.Contains(t, stdout, "each head (row) with each level")
	require.NotContains(t, stdout, "all the weight")
}

func TestUsageAndFailures(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	file := studytest.WeightsFile(t, about, nil)
	code, stdout, stderr := call(t, "-h")
	require.Zero(t, code)
	require.Empty(t, stderr)
	for _, word := range []string{"usage:", "examples:", "exit codes:", "-split", "-roi", "95 % intervals"} {
		require.Contains(t, stdout, word)
	}
	bad := filepath.Join(t.TempDir(), "bad")
	require.NoError(t, os.CopyFS(bad, os.DirFS(dir)))
	studytest.WriteMask(t, filepath.Join(bad, "raters", about.Raters[0], "disc", "case0001.png"), 7, 7, func(x, y int) bool { return true })
	few := filepath.Join(t.TempDir(), "few")
	scenario, err := synthetic.FindScenario("unbiased")
	require.NoError(t, err)
	require.NoError(t, synthetic.WriteDataset(t.Context(), few, scenario, 3, 48, 1))
	cut := filepath.Join(t.TempDir(), "cut")
	require.NoError(t, os.CopyFS(cut, os.DirFS(dir)))
	image := filepath.Join(cut, "images", "case0004.png")
	require.NoError(t, os.Truncate(image, int64(len(studytest.ReadFile(t, image))/2)))
	damaged := slices.Clone(studytest.ReadFile(t, file))
	damaged[len(damaged)/2] ^= 4
	broken := filepath.Join(t.TempDir(), "broken.safetensors")
	require.NoError(t, os.WriteFile(broken, damaged, 0o644))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "which weights", []string{"-data", dir}},
		{2, "which data", []string{"-weights", file}},
		{2, "-on most", []string{"-weights", file, "-data", dir, "-on", "most"}},
		{2, "-split train: -split names a file", []string{"-weights", file, "-data", dir, "-split", "train"}},
		{2, "-roi 1,2,3", []string{"-weights", file, "-data", dir, "-roi", "1,2,3"}},
		{2, `unexpected argument "more"`, []string{"-weights", file, "-data", dir, "more"}},
		{2, "-device abacus", []string{"-weights", file, "-data", dir, "-device", "abacus"}},
		{2, "there are f32, f16 and int8", []string{"-weights", file, "-data", dir, "-precision", "f64"}},
		{2, "-csv -: name a file", []string{"-weights", file, "-data", dir, "-csv", "-"}},
		{1, "there is no folder", []string{"-weights", file, "-data", dir, "-json", filepath.Join(dir, "nowhere", "a.json")}},
		{1, "written twice", []string{"-weights", file, "-data", dir, "-json", filepath.Join(few, "a"), "-csv", filepath.Join(few, "a")}},
		{1, "damaged", []string{"-weights", broken, "-data", dir}},
		{1, "it lacks shader-f16); use f32", []string{"-weights", file, "-data", dir, "-precision", "f16", "-device", "processor"}},
		{1, "nowhere", []string{"-weights", file, "-data", filepath.Join(dir, "nowhere")}},
		{1, "case0001.png", []string{"-weights", file, "-data", bad}},
		{1, "evaluate: " + image + ": this PNG is damaged", []string{"-weights", file, "-data", cut}},
		{1, "no images for test; every fifth image is held out", []string{"-weights", file, "-data", few}},
		{1, "does not search photographs", []string{"-weights", file, "-data", dir, "-roi", "auto"}},
		{1, "synthetic-unbiased marks disc, which is none of brain: give data of classes that untrained-raters segments", []string{"-weights", studytest.WeightsFile(t, segmenttest.Raters(), nil), "-data", dir}},
	} {
		code, stdout, stderr := call(t, append(c.args, "-recurrences", "0")...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.want)
		require.Empty(t, stdout)
	}
}

// Weights that learned no feedback are scored without, unless it is asked for.
func TestFeedbacksOfBaselines(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	file := studytest.WeightsFile(t, about, func(f *weights.File) { f.Metadata["recipe"] = "baseline" })
	for recurrences, args := range map[int][]string{0: nil, 1: {"-recurrences", "1"}} {
		code, stdout, stderr := call(t, append(args, "-weights", file, "-data", dir, "-device", "processor", "-json", "-")...)
		require.Zero(t, code, stderr)
		var r evaluate.Report
		require.NoError(t, json.Unmarshal([]byte(stdout), &r))
		require.Equal(t, recurrences, r.Recurrences)
		c := r.Classes[0]
		require.Len(t, c["softDice"], recurrences+1)
		require.True(t, c["heads"] == nil && c["set"] == nil && c["marks"] == nil && c["response"] == nil, "of heads that were not trained")
	}
}

// Weights that learned to follow raters, but no heads, are asked how far they follow.
func TestFollowsWithoutHeads(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	file := studytest.WeightsFile(t, about, func(f *weights.File) {
		f.Metadata["recipe"], f.Metadata["configuration"] = "one-pass", f.Metadata["configuration"]+"-steered"
	})
	code, stdout, stderr := call(t, "-weights", file, "-data", dir, "-device", "processor", "-json", "-")
	require.Zero(t, code, stderr)
	var r evaluate.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	c := r.Classes[0]
	require.Len(t, c["response"], len(about.Raters))
	require.NotNil(t, c["follows"])
	require.True(t, c["heads"] == nil && c["set"] == nil && c["marks"] == nil)
}

// Bad masks and truths are told all together before a device is opened: here one that would be
// refused.
func TestBadFilesAreToldFirst(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	mask, truth := filepath.Join(dir, "raters", about.Raters[0], "disc", "case0001.png"), filepath.Join(dir, "truth", "cup", "case0004.png")
	grey := image.NewGray(image.Rect(0, 0, 48, 48))
	grey.Pix[7] = 77
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, grey))
	require.NoError(t, os.WriteFile(mask, b.Bytes(), 0o644))
	studytest.WriteMask(t, truth, 7, 7, func(x, y int) bool { return true })
	args := []string{"-weights", studytest.WeightsFile(t, about, nil), "-data", dir, "-precision", "f16", "-device", "processor"}
	code, stdout, stderr := call(t, append(args, "-on", "all")...)
	require.Equal(t, cli.Failed, code)
	require.Empty(t, stdout)
	for _, want := range []string{"2 problems", mask + ": holds 0, 77 (77 at x 7, y 0)", truth + ": the mask is 7×7 pixels"} {
		require.Contains(t, stderr, want)
	}
	_, _, stderr = call(t, args...)
	require.NotContains(t, stderr, mask, "it is not in the split")
	require.Contains(t, stderr, truth)
	_, _, stderr = call(t, append(args, "-on", "train")...)
	require.NotContains(t, stderr, truth)
}

// Where every mark is empty, an empty mask counts 100. The report counts these images and has the
// figure without them; a class without any mark does not lift the mean over structures.
func TestEmptyAgainstEmpty(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	empty := func(x, y int) bool { return false }
	for i := range 5 {
		for _, rater := range about.Raters {
			studytest.WriteMask(t, filepath.Join(dir, "raters", rater, "cup", fmt.Sprintf("case%04d.png", i)), 48, 48, empty)
			if i == 3 {
				studytest.WriteMask(t, filepath.Join(dir, "raters", rater, "disc", "case0003.png"), 48, 48, empty)
			}
		}
	}
	file := studytest.WeightsFile(t, about, func(f *weights.File) {
		bias := f.Tensor("conp.head.bias")
		*bias = weights.NewF32(bias.Name, bias.Shape, []float32{0, -30})
	})
	table := filepath.Join(t.TempDir(), "cases.csv")
	code, stdout, stderr := call(t, "-weights", file, "-data", dir, "-device", "processor", "-recurrences", "0", "-on", "all", "-csv", table, "-json", "-")
	require.Equal(t, cli.Done, code, stderr)
	var r evaluate.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	disc, cup := r.Classes[0], r.Classes[1]
	require.Equal(t, []any{5., 1., 0., 5., 5.}, []any{disc["images"], disc["unmarked"], disc["bothEmpty"], cup["unmarked"], cup["bothEmpty"]})
	require.Equal(t, 1., at(t, cup, "softDice", 0, "mean"))
	require.Nil(t, cup["softDiceMarked"])
	require.InDelta(t, (5*at(t, disc, "softDice", 0, "mean")-r.Cases[3].Classes[0].SoftDice[0])/4, at(t, disc, "softDiceMarked", "mean"), 1e-9)
	require.InDelta(t, at(t, disc, "softDice", 0, "mean"), r.Risk.All.Mean, 0.11, "the empty cups are left out where there is a disc")
	lines, err := os.ReadFile(table)
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(string(lines), ",both,"))
	require.Equal(t, 1, strings.Count(string(lines), ",marks,"))
	_, stdout, _ = call(t, "-weights", file, "-data", dir, "-device", "processor", "-recurrences", "0", "-on", "all")
	require.Regexp(t, `images in which every mark is empty: a threshold that the mask does not reach counts 100 +5`, stdout)
	require.Regexp(t, `of these, those whose mask is empty above one half +5`, stdout)
	code, stdout, stderr = call(t, "compare", "-weights", file, "-data", dir, "-device", "processor", "-on", "all")
	require.Equal(t, cli.Done, code, stderr)
	require.Contains(t, stdout, "cup: every mark is empty in 5 of 5 images")
}
