package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/compare"
	"mrprism/cmd/study/internal/metrics"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/files/npy"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// callCompare runs the program inside the test.
func callCompare(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems strings.Builder
	code = run(t.Context(), append([]string{"compare"}, args...), &out, &problems)
	return code, out.String(), problems.String()
}

// writtenBy runs the program and reads what it wrote.
func writtenBy(t *testing.T, code int, args ...string) (dir, stdout, stderr string, r compare.Comparison) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "out")
	got, stdout, stderr := callCompare(t, append(args, "-out", dir)...)
	require.Equal(t, code, got, stderr)
	require.NoError(t, json.Unmarshal(studytest.ReadFile(t, filepath.Join(dir, "report.json")), &r))
	return dir, stdout, stderr, r
}

// shifted writes the mean vote of every image, moved to the right, as predictions.
func shifted(t *testing.T, data, dir string, by int) string {
	t.Helper()
	d, err := dataset.Open(data)
	require.NoError(t, err)
	for _, c := range d.Cases {
		l, err := dataset.Load(c)
		require.NoError(t, err)
		for k, class := range d.Classes {
			votes, ok := l.Votes(k)
			require.True(t, ok)
			mean, p := votes.Mean(), make([]float32, c.W*c.H)
			for i := range p {
				if x := i%c.W - by; x >= 0 && x < c.W {
					p[i] = mean[i-by]
				}
			}
			studytest.WriteFile(t, filepath.Join(dir, class, c.Name+".npy"), npy.Encode(c.H, c.W, p))
		}
	}
	return dir
}

// A model's figures are those of evaluate, pass by pass.
func TestCompareAgreesWithEvaluate(t *testing.T) {
	data, about := studytest.Synthesise(t)
	file := studytest.WeightsFile(t, about, nil)
	scores := filepath.Join(t.TempDir(), "scores.csv")
	code, _, stderr := call(t, "-weights", file, "-data", data, "-device", "reference", "-csv", scores)
	require.Zero(t, code, stderr)
	votes := shifted(t, data, t.TempDir(), 0)
	dir, _, _, r := writtenBy(t, 0, "-data", data, "-device", "reference", "-weights", "net="+file, "-predictions", "votes="+votes)
	want := studytest.Records(t, scores)
	require.Len(t, want, 2, "disc and cup of one held-out image")
	rows := studytest.Records(t, filepath.Join(dir, "cases.csv"))
	for _, class := range want {
		passes := 0
		for _, row := range rows {
			if row["class"] != class["class"] || row["method"] != "net" {
				continue
			}
			require.Equal(t, class["soft_dice_rec"+row["pass"]], row["soft_dice"])
			passes++
			if row["pass"] != "3" {
				require.Empty(t, row["ged"])
				continue
			}
			for ours, theirs := range map[string]string{"hd95_pixels": "hausdorff95_pixels", "ged": "energy_distance", "dice_max": "dice_max", "dice_match": "dice_match"} {
				require.Equal(t, class[theirs], row[ours], ours)
			}
		}
		require.Equal(t, 4, passes)
	}
	for _, row := range rows {
		if row["method"] == "votes" {
			require.Equal(t, []string{"1", "0"}, []string{row["soft_dice"], row["hd95_pixels"]}, "the mean vote itself")
			require.InDelta(t, 0, studytest.Parsed(t, row["brier"])+studytest.Parsed(t, row["ece_band"]), 1e-7)
			require.Empty(t, row["ged"], "no maps of raters")
		}
	}
	require.True(t, r.Methods[0].Heads)
	require.Len(t, r.Classes[0].Methods[0].Passes, 4)
	require.NotNil(t, r.Classes[0].Methods[0].Raters[0].Head)
	require.Nil(t, r.Classes[0].Methods[1].Raters[0].Head)
	require.Equal(t, weights.LabelsRaters == "raters", !r.Levels)
}

// Beside people, the levels of a model are a set of possible marks, and nobody's own.
func TestCompareLevelsBesidePeople(t *testing.T) {
	data, about := studytest.Synthesise(t)
	names := make([]string, len(about.Raters))
	for j := range names {
		names[j] = fmt.Sprintf("at-least-%d", j+1)
	}
	file := studytest.WeightsFile(t, about, func(f *weights.File) {
		raters, err := json.Marshal(names)
		require.NoError(t, err)
		f.Metadata["labels"], f.Metadata["raters"] = weights.LabelsAgreementLevels, string(raters)
	})
	dir, _, _, r := writtenBy(t, 0, "-data", data, "-device", "processor", "-weights", "levels="+file, "-draws", fmt.Sprint(len(names)))
	last := 0
	for _, row := range studytest.Records(t, filepath.Join(dir, "cases.csv")) {
		if row["pass"] == "3" {
			last++
			require.NotEmpty(t, row["ged"])
			require.Equal(t, row["ged"], row["ged_drawn"], "a draw of each level is the level")
			require.LessOrEqual(t, studytest.Parsed(t, row["dice_match"]), studytest.Parsed(t, row["dice_max"]))
		}
	}
	require.Equal(t, 2, last)
	require.False(t, r.Methods[0].Heads)
	require.Nil(t, r.Classes[0].Methods[0].Raters[0].Head)
}

// Masks drawn of a map are what lies above evenly spaced levels of it: of the mean vote, what so many
// raters marked. PADL draws its own.
func TestCompareDraws(t *testing.T) {
	data, about := studytest.Synthesise(t)
	about.Configuration = "tiny-padl"
	dir, _, _, _ := writtenBy(t, 0, "-data", data, "-device", "processor", "-on", "all", "-draws", fmt.Sprint(len(about.Raters)),
		"-predictions", "votes="+shifted(t, data, t.TempDir(), 0), "-weights", "padl="+studytest.WeightsFile(t, about, nil))
	d, err := dataset.Open(data)
	require.NoError(t, err)
	for _, row := range studytest.Records(t, filepath.Join(dir, "cases.csv")) {
		if row["method"] == "padl" {
			require.NotEmpty(t, row["ged_drawn"])
			require.NotEqual(t, row["ged"], row["ged_drawn"])
			continue
		}
		i := slices.IndexFunc(d.Cases, func(c dataset.Case) bool { return c.Name == row["image"] })
		l, err := dataset.Load(d.Cases[i])
		require.NoError(t, err)
		k := slices.Index(d.Classes, row["class"])
		votes, _ := l.Votes(k)
		var levels, marks []metrics.Bits
		for m := range about.Raters {
			mask := make([]uint8, len(votes.Count))
			for at, n := range votes.Count {
				if int(n) > m {
					mask[at] = 1
				}
			}
			levels, marks = append(levels, metrics.Pack(mask)), append(marks, metrics.Pack(l.Masks[m][k]))
		}
		require.InDelta(t, metrics.Energy(levels, marks), studytest.Parsed(t, row["ged_drawn"]), 1e-5)
	}
}

// What cannot be scored is named and counted, and changes no figure of what can.
func TestCompareLeavesOutBadPredictions(t *testing.T) {
	data, _ := studytest.Synthesise(t)
	good, bad := shifted(t, data, t.TempDir(), 1), shifted(t, data, t.TempDir(), 2)
	_, _, _, clean := writtenBy(t, 0, "-data", data, "-on", "all", "-predictions", "good="+good+",bad="+bad)
	require.Equal(t, 5, clean.Classes[0].Paired)

	require.NoError(t, os.Remove(filepath.Join(bad, "disc", "case0000.npy")))
	studytest.WriteFile(t, filepath.Join(bad, "disc", "case0001.npy"), npy.Encode(1, 2, []float32{0, 0}))
	studytest.WriteFile(t, filepath.Join(bad, "disc", "case0002.npy"), npy.Encode(48, 48, slices.Repeat([]float32{float32(math.NaN())}, 48*48)))
	studytest.WriteFile(t, filepath.Join(bad, "disc", "case0003.npy"), npy.Encode(48, 48, slices.Repeat([]float32{2}, 48*48)))
	studytest.WriteFile(t, filepath.Join(bad, "vessels", "case0000.npy"), nil)
	studytest.WriteFile(t, filepath.Join(bad, "cup", "case0005.npy"), nil)
	studytest.WriteFile(t, filepath.Join(bad, "cup", "case0000.png"), nil)
	studytest.WriteFile(t, filepath.Join(bad, "cup", "notes.txt"), nil)
	studytest.WriteFile(t, filepath.Join(bad, "raters", "nobody", "cup", "case0000.png"), nil)
	dir, stdout, stderr, r := writtenBy(t, 1, "-data", data, "-on", "all", "-predictions", "good="+good+",bad="+bad)
	for _, name := range []string{"there is no prediction for case0000", "case0001.npy", "case0002.npy", "case0003.npy", "vessels", "case0005", "case0000.png", "notes.txt", "nobody"} {
		require.Contains(t, stderr, name)
	}
	counts := map[string]int{}
	for _, n := range r.Counted() {
		require.Equal(t, "bad", n.Method)
		counts[n.Kind] = n.Count
	}
	require.Equal(t, map[string]int{compare.Missing: 1, compare.WrongSize: 1, compare.NotANumber: 1, compare.OutOfRange: 1, compare.UnknownClass: 1, compare.UnknownImage: 1, compare.Twice: 1, compare.Unreadable: 1, compare.UnknownRater: 1}, counts)
	disc, cup := r.Classes[0], r.Classes[1]
	require.Equal(t, []int{5, 5, 1, 1}, []int{disc.Images, disc.Methods[0].Images, disc.Methods[1].Images, disc.Paired})
	require.Contains(t, stdout, "disc: 4 of 5 images lack a prediction of some method; paired comparisons leave them out")
	require.Contains(t, stdout, "bad: 1 left out (not a number), in no figure")
	require.Equal(t, clean.Classes[0].Methods[0].Passes[0]["soft_dice"], disc.Methods[0].Passes[0]["soft_dice"])
	require.Equal(t, clean.Classes[1].Methods[1].Passes[0]["soft_dice"], cup.Methods[1].Passes[0]["soft_dice"])
	rows := studytest.Records(t, filepath.Join(dir, "cases.csv"))
	require.Len(t, rows, 5+5+5+1, "good has all, bad one disc and all cups")
	require.Equal(t, rows[len(rows)-3]["soft_dice"], fmt.Sprintf("%.6g", disc.Methods[1].Passes[0]["soft_dice"].Mean), "the only disc of bad")
}

// A name that is given several times has runs. Differences and p of the report are those over the
// lines of cases.csv, by runs and by the groups of groups.csv; one run has no p in any format.
func TestCompareRuns(t *testing.T) {
	data, _ := studytest.Synthesise(t)
	studytest.WriteFile(t, filepath.Join(data, "groups.csv"), []byte("name,group\ncase0000,a\ncase0001,a\ncase0002,b\ncase0003,c\ncase0004,c\n"))
	var methods []string
	for _, m := range []struct {
		name string
		by   int
	}{{"near", 1}, {"near", 2}, {"near", 1}, {"far", 7}, {"far", 8}, {"far", 8}, {"other", 8}} {
		methods = append(methods, m.name+"="+shifted(t, data, t.TempDir(), m.by))
	}
	dir, stdout, _, r := writtenBy(t, 0, "-data", data, "-on", "all", "-predictions", strings.Join(methods, ","))
	require.Equal(t, []int{5, 3, 7}, []int{r.Images, r.Units, len(r.Methods)})
	sums, counts := map[string]float64{}, map[string]float64{} // by class, method, run and group
	for _, row := range studytest.Records(t, filepath.Join(dir, "cases.csv")) {
		key := row["class"] + row["method"] + row["run"] + row["group"]
		sums[key] += studytest.Parsed(t, row["soft_dice"])
		counts[key]++
	}
	var p []float64
	for i, class := range []string{"disc", "cup"} {
		var differences [][]float64
		for _, run := range []string{"1", "2", "3"} {
			var units []float64
			for _, group := range []string{"a", "b", "c"} {
				far, near := class+"far"+run+group, class+"near"+run+group
				units = append(units, sums[far]/counts[far]-sums[near]/counts[near])
			}
			differences = append(differences, units)
		}
		want, test := metrics.OverRuns(differences), r.Classes[i].Test("far", "soft_dice")
		require.InDelta(t, want.Mean, test.Difference.Mean, 1e-5)
		require.InDelta(t, *want.High, *test.Difference.High, 1e-4)
		require.InDelta(t, want.Effect, *test.Effect, 1e-3)
		require.InEpsilon(t, want.P, *test.P, 1e-3)
		require.Equal(t, [2]int{3, 3}, [2]int{test.Difference.Runs, test.Difference.N})
		require.Empty(t, r.Classes[i].Best, "other has one run, and no method leads it")
		p = append(p, want.P)

		one := r.Classes[i].Test("other", "soft_dice")
		require.Nil(t, one.P)
		require.Nil(t, one.Holm)
		require.NotNil(t, one.Difference.Low)
	}
	for i, adjusted := range metrics.Holm(p) {
		require.InEpsilon(t, adjusted, *r.Classes[i].Test("far", "soft_dice").Holm, 1e-3)
	}
	summary := studytest.Records(t, filepath.Join(dir, "summary.csv"))
	at := func(method string) map[string]string {
		return summary[slices.IndexFunc(summary, func(row map[string]string) bool { return row["method"] == method && row["figure"] == "soft_dice" })]
	}
	require.Equal(t, []string{"3", "near", "3", "3"}, []string{at("far")["runs"], at("far")["against"], at("far")["difference_runs"], at("far")["difference_units"]})
	require.Equal(t, []string{"one run", "", ""}, []string{at("other")["difference_runs"], at("other")["p"], at("other")["p_holm"]})
	for name, text := range map[string]string{"stdout": stdout, "report.html": ""} {
		if text == "" {
			text = string(studytest.ReadFile(t, filepath.Join(dir, name)))
		}
		require.Contains(t, text, "one run", name)
		require.Contains(t, text, "5 images of 3 groups", name)
	}
	require.Contains(t, stdout, "disc: less near")

	_, stdout, _, _ = writtenBy(t, 0, "-data", data, "-on", "all", "-predictions", strings.Join(methods[:5], ","))
	require.Contains(t, stdout, "near has 3 runs and far 2: their difference is over the first 2 of each")
}

// The reference is the mean vote, the truth or a rater.
func TestCompareReferences(t *testing.T) {
	data, about := studytest.Synthesise(t)
	rater := about.Raters[1]
	for reference, masks := range map[string]string{"truth": "truth", "rater:" + rater: filepath.Join("raters", rater)} {
		_, stdout, _, r := writtenBy(t, 0, "-data", data, "-on", "all", "-reference", reference, "-predictions", "itself="+filepath.Join(data, masks))
		for _, class := range r.Classes {
			require.Equal(t, 1., class.Methods[0].Passes[0]["soft_dice"].Mean, reference)
			require.Zero(t, class.Methods[0].Passes[0]["brier"].Mean, reference)
			require.Less(t, class.Methods[0].Raters[0].Mask.Mean, 1., reference)
		}
		require.Contains(t, stdout, strings.TrimPrefix(reference, "rater:"))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(data, "truth")))
	code, _, stderr := callCompare(t, "-data", data, "-reference", "truth", "-predictions", "votes="+shifted(t, data, t.TempDir(), 0))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "no image has the reference truth")
}

func TestCompareMisused(t *testing.T) {
	data, _ := studytest.Synthesise(t)
	votes, out := shifted(t, data, t.TempDir(), 0), filepath.Join(t.TempDir(), "out")
	empty, half := t.TempDir(), shifted(t, data, t.TempDir(), 0)
	require.NoError(t, os.RemoveAll(filepath.Join(half, "cup")))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "which data? give -data DIR; see evaluate compare -h", []string{"-predictions", "a=" + votes}},
		{2, "which methods?", []string{"-data", data}},
		{2, "name the method, as in -predictions ours=" + votes, []string{"-data", data, "-predictions", votes}},
		{2, "a name is empty", []string{"-data", data, "-predictions", "a=" + votes + ","}},
		{2, `unexpected argument "stray"`, []string{"-data", data, "-predictions", "a=" + votes, "stray"}},
		{2, "-reference best: choose mean, truth or rater:NAME", []string{"-data", data, "-predictions", "a=" + votes, "-reference", "best"}},
		{2, "-draws 65: give 0 to 64", []string{"-data", data, "-predictions", "a=" + votes, "-draws", "65"}},
		{2, "-on most: choose", []string{"-data", data, "-predictions", "a=" + votes, "-on", "most"}},
		{2, "-roi needs -weights", []string{"-data", data, "-predictions", "a=" + votes, "-roi", "auto"}},
		{1, "has the raters " + "rater1", []string{"-data", data, "-predictions", "a=" + votes, "-reference", "rater:nobody"}},
		{1, "is given twice; the runs of a method are different files", []string{"-data", data, "-predictions", "a=" + votes + ",a=" + votes}},
		{1, "cannot be runs of one method, a: their passes", []string{"-data", data, "-predictions", "a=" + votes + ",a=" + half}},
		{1, "it has no prediction of an image of ", []string{"-data", data, "-predictions", "a=" + empty}},
		{1, "is not empty; name a new folder as -out", []string{"-data", data, "-predictions", "a=" + votes, "-out", votes}},
		{1, "nowhere", []string{"-data", data, "-predictions", "a=" + filepath.Join(data, "nowhere")}},
	} {
		code, stdout, stderr := callCompare(t, c.args...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.want)
		require.Empty(t, stdout)
	}
	require.NoDirExists(t, out)
}

func TestCompareHelp(t *testing.T) {
	code, stdout, stderr := callCompare(t, "-h")
	require.Zero(t, code, stderr)
	for _, word := range []string{"usage: evaluate compare -data DIR", "report.html", "cases.csv", "Holm", "rater:NAME", ".npy", "raters/RATER/CLASS"} {
		require.Contains(t, stdout, word)
	}
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(line)), 170, line)
	}
}

// Ctrl-C leaves the images that were scored until then.
func TestCompareStopped(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	scenario, err := synthetic.FindScenario("unbiased")
	require.NoError(t, err)
	require.NoError(t, synthetic.WriteDataset(t.Context(), data, scenario, 5, 48, 3))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var out, problems strings.Builder
	code := run(ctx, []string{"compare", "-data", data, "-predictions", "a=" + shifted(t, data, t.TempDir(), 0)}, &out, &problems)
	require.Equal(t, 130, code)
	require.Empty(t, out.String())
}
