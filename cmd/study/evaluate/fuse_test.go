package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/fuse"
	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/data/synthetic"
	"mrprism/internal/program/cli"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu/reference"
	"mrprism/weights/disk"

	"github.com/stretchr/testify/require"
)

// runFusion runs the program inside the test.
func runFusion(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems strings.Builder
	code = run(t.Context(), append([]string{"fuse"}, args...), &out, &problems)
	return code, out.String(), problems.String()
}

// readMap reads a grey PNG of 16 bits as 0..1.
func readMap(t *testing.T, path string) (p []float32) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	m, err := png.Decode(file)
	require.NoError(t, err)
	grey, ok := m.(*image.Gray16)
	require.True(t, ok, "%s is not grey of 16 bits", path)
	for i := 0; i < len(grey.Pix); i += 2 {
		p = append(p, float32(int(grey.Pix[i])<<8|int(grey.Pix[i+1]))/math.MaxUint16)
	}
	return p
}

// Maps and CSVs hold what package fusion makes of the marks and the network's masks. A missing mark
// has no rates in its image.
func TestFuse(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	gone := about.Raters[2]
	require.NoError(t, os.Remove(filepath.Join(dir, "raters", gone, "disc", "case0001.png")))
	about.Classes = []string{"cup", "disc"} // the model's order need not be the data set's
	file, out := studytest.WeightsFile(t, about, nil), filepath.Join(t.TempDir(), "fused")
	code, stdout, stderr := runFusion(t, "-data", dir, "-weights", file, "-device", "reference", "-out", out)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "disc, 5 images: beside the truth")
	require.Contains(t, stdout, "prior of dawid-skene-prior, and network of max-mig: "+about.Name)

	m, err := computing.Weights(file)
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	learned := statistics.Tabulate(len(data.Classes), func(k int) *fuse.Contours {
		c := fuse.NewContours(len(data.Raters))
		for _, image := range data.Cases {
			l, err := dataset.Load(image)
			require.NoError(t, err)
			c.Add(statistics.Tabulate(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] }), image.W)
		}
		c.Learn()
		return c
	})
	lines := statistics.Tabulate(len(data.Classes), func(k int) (e fusion.Edges) {
		for _, image := range data.Cases {
			l, err := dataset.Load(image)
			require.NoError(t, err)
			e.Add(statistics.Tabulate(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] }), l.Image.Pix, image.W, 0)
		}
		e.Learn()
		return e
	})
	crowds := statistics.Tabulate(len(data.Classes), func(k int) *fuse.MaxMIG {
		g := fuse.NewMaxMIG(len(data.Raters))
		for _, image := range data.Cases {
			l, err := dataset.Load(image)
			require.NoError(t, err)
			r, err := e.Segment(t.Context(), l.Image, segment.Options{Recurrences: segment.Feedbacks(&about), ROI: "none"})
			require.NoError(t, err)
			g.Add(statistics.Tabulate(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] }), r.Probability(slices.Index(about.Classes, data.Classes[k])))
		}
		g.Learn()
		return g
	})
	raters, scores := studytest.Records(t, filepath.Join(out, "raters.csv")), studytest.Records(t, filepath.Join(out, "scores.csv"))
	find := func(rows []map[string]string, want ...string) map[string]string {
		at := slices.IndexFunc(rows, func(row map[string]string) bool {
			return row["method"] == want[0] && row["image"] == want[1] && row["structure"] == want[2] && (len(want) < 4 || row["rater"] == want[3])
		})
		if at < 0 {
			return nil
		}
		return rows[at]
	}
	for _, c := range data.Cases[:2] {
		l, err := dataset.Load(c)
		require.NoError(t, err)
		r, err := e.Segment(t.Context(), l.Image, segment.Options{Recurrences: segment.Feedbacks(&about), ROI: "none"})
		require.NoError(t, err)
		for k, class := range data.Classes {
			marks := statistics.Tabulate(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] })
			prior := r.Probability(slices.Index(about.Classes, class))
			for method, fit := range map[string]*fusion.Fit{
				"mean-vote": fusion.MeanVote(marks), "staple": fusion.STAPLE(marks, nil),
				"dawid-skene": fusion.DawidSkene(marks, nil), "dawid-skene-prior": fusion.DawidSkene(marks, prior),
				"contours": learned[k].Fuse(marks, c.W), "edges": lines[k].Fuse(marks, l.Image.Pix, c.W), "majority": fusion.Majority(marks), "max-mig": crowds[k].Fuse(marks, prior),
				"mrprism": fuse.Likely(marks, statistics.Tabulate(len(marks), func(m int) []float32 { return r.Rater(m, slices.Index(about.Classes, class)) })),
			} {
				p := readMap(t, filepath.Join(out, method, class, c.Name+".png"))
				require.Len(t, p, c.W*c.H)
				for i, v := range fit.Map {
					require.InDelta(t, v, p[i], 1./math.MaxUint16)
				}
				for i, name := range data.Raters {
					row := find(raters, method, c.Name, class, name)
					if marks[i] == nil {
						require.Equal(t, gone, name)
						require.Nil(t, row)
						continue
					}
					require.InDelta(t, fit.Raters[i].Sensitivity, studytest.Parsed(t, row["sensitivity"]), 1e-5)
					require.InDelta(t, fit.Raters[i].Specificity, studytest.Parsed(t, row["specificity"]), 1e-5)
					require.InDelta(t, fusion.Count(marks[i], fit.Map).Bias(), studytest.Parsed(t, row["bias"]), 1e-5)
					if fit.Weights == nil {
						require.Empty(t, row["weight"])
						continue
					}
					require.InDelta(t, fit.Weights[i], studytest.Parsed(t, row["weight"]), 1e-5)
				}
				mask, err := c.Truth(class)
				require.NoError(t, err)
				row := find(scores, method, c.Name, class)
				exact := statistics.Tabulate(len(p), func(i int) float32 { return float32(fit.Map[i]) })
				require.InDelta(t, metric.SoftDice(exact, metric.Count(mask)), studytest.Parsed(t, row["soft_dice"]), 1e-5)
				require.InDelta(t, metric.Dice(exact, mask), studytest.Parsed(t, row["dice"]), 1e-5)
				require.Equal(t, metric.Area(exact), metric.Area(p), "rounding makes no majority of a tie")
			}
		}
	}
	for _, class := range data.Classes {
		require.NotNil(t, find(raters, "staple", "all", class, gone), "of four images, or five")
		mean, gain := 0.0, 0.0
		for _, c := range data.Cases {
			own, vote := studytest.Parsed(t, find(scores, "staple", c.Name, class)["brier"]), studytest.Parsed(t, find(scores, "mean-vote", c.Name, class)["brier"])
			mean, gain = mean+own/5, gain+(own-vote)/5
		}
		all := find(scores, "staple", "all", class)
		require.InDelta(t, mean, studytest.Parsed(t, all["brier"]), 1e-5)
		require.InDelta(t, gain, studytest.Parsed(t, all["brier_less_mean_vote"]), 1e-5)
		require.LessOrEqual(t, studytest.Parsed(t, all["brier_less_mean_vote_low"]), gain+1e-6)
		require.GreaterOrEqual(t, studytest.Parsed(t, all["brier_less_mean_vote_high"]), gain-1e-6)
		require.Empty(t, find(scores, "mean-vote", "all", class)["brier_less_mean_vote"])
	}
	require.Len(t, scores, 2*9*(5+1))
}

// Without truth there are no scores. Old maps are never mixed with new ones.
func TestFuseWithoutTruth(t *testing.T) {
	dir, _ := studytest.Synthesise(t)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "truth")))
	out := filepath.Join(t.TempDir(), "a", "fused")
	code, stdout, stderr := runFusion(t, "-data", dir, "-out", out)
	require.Zero(t, code, stderr)
	require.NotContains(t, stdout, "truth")
	require.NoFileExists(t, filepath.Join(out, "scores.csv"))
	require.FileExists(t, filepath.Join(out, "raters.csv"))
	require.FileExists(t, filepath.Join(out, "staple", "cup", "case0002.png"))

	code, _, stderr = runFusion(t, "-data", dir, "-out", out)
	require.Equal(t, cli.Failed, code)
	require.Contains(t, stderr, out+" is not empty; name a new folder as -out")
}

// Where the network finds nothing, dawid-skene-prior estimates its prior from the marks, and says
// so. The methods that need no network are as without one.
func TestFuseWhereTheNetworkFindsNothing(t *testing.T) {
	dir, _ := studytest.Synthesise(t)
	with, without := filepath.Join(t.TempDir(), "with"), filepath.Join(t.TempDir(), "without")
	code, _, stderr := runFusion(t, "-data", dir, "-weights", studytest.Biased(t, segmenttest.Fundus(), -30), "-roi", "auto", "-device", "reference", "-out", with)
	require.Zero(t, code, stderr)
	code, _, _ = runFusion(t, "-data", dir, "-out", without)
	require.Zero(t, code)
	for _, name := range []string{"case0000", "case0004"} {
		require.Contains(t, stderr, name+": the network found nothing; dawid-skene-prior estimates the prior from the marks")
		for _, method := range fuse.MarksAlone {
			path := filepath.Join(method, "disc", name+".png")
			require.Equal(t, readMap(t, filepath.Join(without, path)), readMap(t, filepath.Join(with, path)), path)
		}
	}
	own := statistics.Filter(studytest.Records(t, filepath.Join(with, "scores.csv")), func(row map[string]string) bool {
		return row["method"] != "max-mig" && row["method"] != "dawid-skene-prior"
	})
	require.Equal(t, studytest.Records(t, filepath.Join(without, "scores.csv")), own)
}

// Whole raters may be missing from an image.
func TestFuseChangingPanels(t *testing.T) {
	dir, out := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "out")
	scenario, err := synthetic.FindScenario("changing-panels")
	require.NoError(t, err)
	require.NoError(t, synthetic.WriteDataset(t.Context(), dir, scenario, 12, 48, 3))
	code, stdout, stderr := runFusion(t, "-data", dir, "-out", out)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "contours     rater8")
	panels := map[string]int{}
	for _, row := range studytest.Records(t, filepath.Join(out, "raters.csv")) {
		if row["method"] == "contours" && row["structure"] == "cup" && row["image"] != "all" {
			panels[row["image"]]++
		}
	}
	require.Len(t, panels, 12)
	for _, size := range panels {
		require.True(t, size >= 3 && size <= 5)
	}
}

// A full disk leaves no part of a file, and the error names the file.
func TestFuseOnAFullDisk(t *testing.T) {
	dir, _ := studytest.Synthesise(t)
	out := filepath.Join(t.TempDir(), "fused")
	disk.Fault = func(operation, path string) error {
		if operation == disk.Write && strings.Contains(path, filepath.Join("staple", "cup")) {
			return errors.New("no space left on device")
		}
		return nil
	}
	defer func() { disk.Fault = nil }()
	code, _, stderr := runFusion(t, "-data", dir, "-out", out)
	require.Equal(t, cli.Failed, code)
	require.Contains(t, stderr, filepath.Join(out, "staple", "cup", "case0000.png"))
	require.Contains(t, stderr, "no space left on device")
	left, err := os.ReadDir(filepath.Join(out, "staple", "cup"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.NoFileExists(t, filepath.Join(out, "raters.csv"))
}

func TestFuseMisused(t *testing.T) {
	dir, levels, out := studytest.CupsOnly(t), studytest.LevelData(t), filepath.Join(t.TempDir(), "out")
	named, about := studytest.Synthesise(t)
	brain := studytest.WeightsFile(t, segmenttest.Raters(), nil)
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "which data? give -data DIR; see evaluate fuse -h", []string{"-out", out}},
		{2, "where to? give -out DIR", []string{"-data", named}},
		{2, "fuse one data set at a time", []string{"-data", named + "," + dir, "-out", out}},
		{2, `unexpected argument "stray"`, []string{"-data", named, "-out", out, "stray"}},
		{2, "-roi disc: choose none or auto", []string{"-data", named, "-out", out, "-roi", "disc"}},
		{2, "-roi needs -weights", []string{"-data", named, "-out", out, "-roi", "auto"}},
		{2, "-device needs -weights", []string{"-data", named, "-out", out, "-device", "reference"}},
		{1, levels + ": the labels are agreement levels", []string{"-data", levels, "-out", out}},
		{1, "untrained-raters does not segment the disc, but brain", []string{"-data", named, "-out", out, "-weights", brain}},
		{1, "leave -roi auto out", []string{"-data", named, "-out", out, "-weights", studytest.WeightsFile(t, about, nil), "-roi", "auto"}},
		{1, "not a directory", []string{"-data", named, "-out", brain}},
		{1, "nowhere", []string{"-data", filepath.Join(dir, "nowhere"), "-out", out}},
	} {
		code, stdout, stderr := runFusion(t, c.args...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.want)
		require.Empty(t, stdout)
	}
	require.NoDirExists(t, out)
}

// Images of a group, such as a patient's, count as their mean in fuse and in evidence.
func TestGroupsCountOnce(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	about.Configuration = "tiny-evidence"
	for name, text := range map[string]string{
		dataset.GroupsFile: "name,group\ncase0000,p\ncase0001,p\n", dataset.SplitFile: `{"train": ["case0003", "case0004"], "test": ["case0000", "case0001", "case0002"]}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	out := filepath.Join(t.TempDir(), "fused")
	code, stdout, stderr := runFusion(t, "-data", dir, "-on", "test", "-out", out)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "3 images of 2 groups")
	of := map[string][2]float64{} // by image
	for _, row := range studytest.Records(t, filepath.Join(out, "scores.csv")) {
		if row["structure"] == "cup" && row["method"] == "majority" {
			of[row["image"]] = [2]float64{studytest.Parsed(t, row["soft_dice"]), studytest.Parsed(t, row["soft_dice_less_mean_vote"])}
		}
	}
	grouped := func(a, b, c float64) float64 { return (a+b)/4 + c/2 }
	for i, want := range of["all"] {
		require.InDelta(t, grouped(of["case0000"][i], of["case0001"][i], of["case0002"][i]), want, 2e-6)
	}

	path := filepath.Join(t.TempDir(), "given.json")
	code, stdout, stderr = call(t, "evidence", "-weights", studytest.WeightsFile(t, about, nil), "-data", dir, "-device", "processor", "-json", path)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "3 images of 2 groups")
	var report givenReport
	require.NoError(t, json.Unmarshal(studytest.ReadFile(t, path), &report))
	var values []float64
	for _, row := range report.Scores {
		for _, f := range row.Figures {
			if row.Structure == "disc" && row.Given == 1 && f.With == "raters not given" && f.Answer == "the marks" {
				values = append(values, 100*f.Value)
			}
		}
	}
	require.Regexp(t, fmt.Sprintf(`the marks +%.1f \[`, grouped(values[0], values[1], values[2])), stdout)
}

func TestFuseHelp(t *testing.T) {
	code, stdout, stderr := runFusion(t, "-h")
	require.Zero(t, code, stderr)
	for _, word := range []string{"usage: evaluate fuse -data DIR -out DIR", "mean-vote", "majority", "staple", "dawid-skene", "dawid-skene-prior", "contours", "edges", "max-mig", "mrprism", "raters.csv", "scores.csv", "agreement levels", "-weights NAME"} {
		require.Contains(t, stdout, word)
	}
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(line)), 170, line)
	}
}

// A network of the method diag fuses the marks as it trusts the raters, and none as their masks.
// -on train fuses the training images alone.
func TestFuseByDiagnosis(t *testing.T) {
	dir, about := studytest.Synthesise(t)
	about.Configuration, about.Recipe = "tiny-diag", model.MaskAlone
	file, out := studytest.WeightsFile(t, about, nil), filepath.Join(t.TempDir(), "fused")
	code, _, stderr := runFusion(t, "-data", dir, "-weights", file, "-device", "reference", "-on", "train", "-out", out)
	require.Zero(t, code, stderr)
	require.NoDirExists(t, filepath.Join(out, "mrprism"))
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(out, "diag", "disc", data.HeldOut()[0].Name+".png"))

	m, err := computing.Weights(file)
	require.NoError(t, err)
	e, err := segment.New(t.Context(), reference.Open(), m, model.F32)
	require.NoError(t, err)
	defer e.Close()
	l, err := dataset.Load(data.Training()[0])
	require.NoError(t, err)
	r, err := e.Segment(t.Context(), l.Image, segment.Options{ROI: "none"})
	require.NoError(t, err)
	k := slices.Index(data.Classes, "disc")
	marks := statistics.Tabulate(len(l.Masks), func(m int) []uint8 { return l.Masks[m][k] })
	want := fuse.Trusted(marks, statistics.Tabulate(len(marks), func(m int) []float32 { return r.Rater(m, slices.Index(about.Classes, "disc")) })).Map
	got, differ := readMap(t, filepath.Join(out, "diag", "disc", l.Name+".png")), 0
	for i, vote := range fusion.MeanVote(marks).Map {
		require.InDelta(t, want[i], got[i], 1e-4)
		if math.Abs(vote-want[i]) > 1e-3 {
			differ++
		}
	}
	require.NotZero(t, differ, "all raters are trusted alike")
}
