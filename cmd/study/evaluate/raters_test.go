package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"image/jpeg"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/agree"

	"github.com/stretchr/testify/require"
)

// raters runs the program inside the test.
func raters(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems strings.Builder
	code = run(t.Context(), append([]string{"raters"}, args...), &out, &problems)
	return code, out.String(), problems.String()
}

// ratersJSON runs the program and reads raters.json.
func ratersJSON(t *testing.T, dir string) (r agree.Report, out string) {
	t.Helper()
	out = filepath.Join(t.TempDir(), "out")
	code, _, stderr := raters(t, dir, "-out", out)
	require.Zero(t, code, stderr)
	data, err := os.ReadFile(filepath.Join(out, "raters.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &r))
	return r, out
}

// rows is a data set of ann, bob and eve, each with a number of marked rows of 40 pixels in each of
// two images; a negative number is a missing mask.
func rows(t *testing.T, marked [2][3]int) (dir string) {
	t.Helper()
	dir = studytest.LevelData(t)
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "raters")))
	for _, name := range []string{"i2", "i3", "i4"} {
		require.NoError(t, os.Remove(filepath.Join(dir, "images", name+".png")))
	}
	for i, name := range []string{"i0", "i1"} {
		for m, rater := range []string{"ann", "bob", "eve"} {
			if n := marked[i][m]; n >= 0 {
				studytest.WriteMask(t, filepath.Join(dir, "raters", rater, "disc", name+".png"), 40, 30, func(_, y int) bool { return y < n })
			}
		}
	}
	about := `{"name": "rows", "classes": ["disc"], "raters": ["ann", "bob", "eve"]}`
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dataset.json"), []byte(about), 0o644))
	return dir
}

// The figures of two images are those of a calculation by hand.
func TestRatersByHand(t *testing.T) {
	r, out := ratersJSON(t, rows(t, [2][3]int{{10, 10, 20}, {5, 10, 15}}))
	require.Equal(t, 2, r.Images)
	c := r.Classes[0]
	third := func(a, b, c float64) float64 { return (a + b + c) / 3 }
	first, second := third(1, 2./3, 2./3), third(2*5./15, 2*5./20, 2*10./25)
	require.InDelta(t, (first+second)/2, c.Dice.Mean, 1e-12)
	require.InDelta(t, (10./20+5./15)/2, c.Consensus.Mean, 1e-12)
	for i, want := range []agree.PairReport{
		{A: "ann", B: "bob", Images: 2, Dice: new((1 + 2./3) / 2)}, {A: "ann", B: "eve", Images: 2, Dice: new((2./3 + .5) / 2)}, {A: "bob", B: "eve", Images: 2, Dice: new((2./3 + .8) / 2)},
	} {
		require.InDelta(t, *want.Dice, *c.Pairs[i].Dice, 1e-12)
		want.Dice, want.Kappa = c.Pairs[i].Dice, c.Pairs[i].Kappa
		require.Equal(t, want, c.Pairs[i])
	}
	require.InDelta(t, metric.ICC([][]float64{{10. / 30, 10. / 30, 20. / 30}, {5. / 30, 10. / 30, 15. / 30}}, 2).Mean, *c.Area.ICC, 1e-12)
	require.Equal(t, []string{"i1", "i0"}, []string{c.Worst[0].Image, c.Worst[1].Image})
	require.Equal(t, "ann", c.Worst[0].A)
	require.Equal(t, "eve", c.Worst[0].B)
	require.InDelta(t, .5, *c.Worst[0].Least, 1e-12)
	require.Nil(t, r.Ratio, "there is no cup")

	cases := studytest.Records(t, filepath.Join(out, "cases.csv"))
	require.Len(t, cases, 2)
	require.InDelta(t, second, studytest.Parsed(t, cases[1]["mean_dice"]), 1e-5)
	require.InDelta(t, 10./20, studytest.Parsed(t, cases[0]["consensus"]), 1e-5)
	require.Len(t, studytest.Records(t, filepath.Join(out, "pairs.csv")), 3)
	require.Regexp(t, `(?s)ann.*83\.3.*58\.3`, string(studytest.ReadFile(t, filepath.Join(out, "raters.html"))))
}

// Rates are those of package fusion's STAPLE, the pixels of all images together; kappas are those
// of package metric; and a rater has no share in images that he did not mark.
func TestRatersOfGenerator(t *testing.T) {
	dir, _ := studytest.Synthesise(t)
	data, err := dataset.Open(dir)
	require.NoError(t, err)
	require.NoError(t, os.Remove(data.Cases[1].Masks[2][0]))
	r, _ := ratersJSON(t, dir)
	require.Equal(t, 5, r.Images)
	require.NotNil(t, r.Ratio)
	require.Equal(t, 4, r.Ratio.Images)
	c := r.Classes[0]
	require.Equal(t, 4, c.Raters[2].Masks)
	require.Equal(t, 4, c.Area.Images)
	counts, whole := make([]fusion.Counts, len(data.Raters)), 0.
	for i, one := range data.Cases {
		marks := make([][]uint8, len(data.Raters))
		for m := range marks {
			if i != 1 || m != 2 {
				marks[m], err = one.Mask(one.Masks[m][0])
				require.NoError(t, err)
			}
		}
		fit := fusion.STAPLE(marks, nil)
		for m, mark := range marks {
			if mark != nil {
				counts[m].Add(fusion.Count(mark, fit.Map))
			}
		}
		whole += metric.PatternsOf(statistics.Filter(marks, func(m []uint8) bool { return m != nil })...).Tally().FleissKappa() / 5
	}
	for m, want := range counts {
		require.InDelta(t, want.Rates().Sensitivity, *c.Raters[m].Sensitivity, 1e-12)
		require.InDelta(t, want.Rates().Specificity, *c.Raters[m].Specificity, 1e-12)
	}
	require.InDelta(t, whole, c.KappaWhole.Mean, 1e-12)

	require.Len(t, r.Ratio.Pairs, 15)
	require.Equal(t, []int{5, 4}, []int{r.Ratio.Pairs[0].Images, r.Ratio.Pairs[1].Images}, "rater3 lacks a disc")
	require.NoError(t, os.WriteFile(filepath.Join(dir, dataset.GroupsFile), []byte("name,group\ncase0000,p\ncase0001,p\ncase0003,p\n"), 0o644))
	grouped, out := ratersJSON(t, dir)
	require.Equal(t, []int{5, 3}, []int{grouped.Images, grouped.Units})
	pair := grouped.Ratio.Pairs[0]
	require.Equal(t, []any{"rater1", "rater2", 5, 3}, []any{pair.A, pair.B, pair.Images, pair.Bias.N})
	require.NotEqual(t, r.Ratio.Pairs[0].Limits, pair.Limits)
	limits := studytest.Records(t, filepath.Join(out, "limits.csv"))
	require.Len(t, limits, 15)
	require.InDelta(t, pair.Limits[1], studytest.Parsed(t, limits[0]["limit_high"]), 1e-5)
	require.Regexp(t, "limits of agreement, 95 %", string(studytest.ReadFile(t, filepath.Join(out, "raters.html"))))
}

var picturesOfPage = regexp.MustCompile(`data:image/jpeg;base64,([A-Za-z0-9+/=]+)`)

// The page is one file: it has the tree and pictures, and asks for nothing else.
func TestRatersPage(t *testing.T) {
	_, out := ratersJSON(t, rows(t, [2][3]int{{10, 10, 20}, {5, 10, 15}}))
	page, err := os.ReadFile(filepath.Join(out, "raters.html"))
	require.NoError(t, err)
	require.NotRegexp(t, `(?:src|href)="?(?:https?:|/|[\w-]+\.)`, string(page))
	found := picturesOfPage.FindAllStringSubmatch(html.UnescapeString(string(page)), -1)
	require.Len(t, found, 2)
	for _, f := range found {
		picture, err := jpeg.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(f[1])))
		require.NoError(t, err)
		require.Equal(t, 220, picture.Bounds().Dx())
	}
	require.Contains(t, string(page), "mean Dice 65.6; ann and eve 50.0")
}

// again gives ann second readings: n of rows in each of two images.
func again(t *testing.T, dir string, people string, n ...int) {
	for i, n := range n {
		studytest.WriteMask(t, filepath.Join(dir, "raters", "ann-again", "disc", fmt.Sprintf("i%d.png", i)), 40, 30, func(_, y int) bool { return y < n })
	}
	about := fmt.Sprintf(`{"name": "rows", "classes": ["disc"], "raters": [%s, "ann-again"]}`, people)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dataset.json"), []byte(about), 0o644))
}

// Second readings say how far a rater agrees with the own first ones. Every other figure, and every
// fused mark, is as if they were not there.
func TestSecondReadingsStandApart(t *testing.T) {
	dir := rows(t, [2][3]int{{10, 10, 20}, {5, 10, 15}})
	studytest.WriteMask(t, filepath.Join(dir, "truth", "disc", "i0.png"), 40, 30, func(_, y int) bool { return y < 9 })
	before, _ := ratersJSON(t, dir)
	fused := func() (all []string) {
		out := filepath.Join(t.TempDir(), "fused")
		code, _, stderr := call(t, "fuse", "-data", dir, "-on", "all", "-out", out)
		require.Zero(t, code, stderr)
		for _, name := range []string{"raters.csv", "scores.csv", "majority/disc/i1.png", "staple/disc/i1.png", "edges/disc/i1.png"} {
			all = append(all, string(studytest.ReadFile(t, filepath.Join(out, name))))
		}
		return all
	}
	one := fused()
	again(t, dir, `"ann", "bob", "eve"`, 20, 5)
	r, out := ratersJSON(t, dir)
	require.Equal(t, one, fused())
	require.Len(t, r.Again, 1)
	a := r.Again[0]
	require.Equal(t, []any{"disc", "ann", 2}, []any{a.Figure, a.Rater, a.Images})
	require.InDelta(t, (2./3+1)/2, a.Dice.Mean, 1e-12)
	require.InDelta(t, metric.ICC([][]float64{{10, 20}, {5, 5}}, 2).Mean, *a.ICC, 1e-12)
	require.InDelta(t, math.Sqrt(100./2/2)/30, a.Error.Mean, 1e-12, "of 10 rows and of none")
	lines := studytest.Records(t, filepath.Join(out, "again.csv"))
	require.Len(t, lines, 1)
	require.InDelta(t, 5./6, studytest.Parsed(t, lines[0]["mean_dice"]), 1e-5)
	require.Contains(t, string(studytest.ReadFile(t, filepath.Join(out, "raters.html"))), "Second readings")
	r.Again, r.Made, before.Made = nil, nil, nil
	require.Equal(t, before, r)

	data, err := dataset.Open(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"ann", "bob", "eve"}, data.Raters, "nor does training see them")
	require.Len(t, data.Cases[0].Masks, 3)

	for _, other := range []string{"bob", "eve"} {
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "raters", other)))
	}
	again(t, dir, `"ann"`, 20, 5)
	alone, _ := ratersJSON(t, dir)
	require.Equal(t, a, alone.Again[0])
	require.Nil(t, alone.Classes[0].Dice)
}

// Second readings of four of eight images that are far from the first ones. As those of a person
// they would take the ICC from .48 to .08.
func TestSecondReadingsLeaveTheICC(t *testing.T) {
	dir := studytest.LevelData(t)
	picture := studytest.ReadFile(t, filepath.Join(dir, "images", "i0.png"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "raters")))
	firsts := [][]int{{7, 11, 11}, {13, 13, 14}, {13, 9, 17}, {11, 10, 12}, {7, 5, 10}, {5, 6, 9}, {9, 14, 14}, {15, 10, 14}}
	for i, marked := range firsts {
		studytest.WriteFile(t, filepath.Join(dir, "images", fmt.Sprintf("i%d.png", i)), picture)
		for m, n := range append(marked, []int{4, 7, 5, 9}[i%4]) {
			if rater := []string{"ann", "bob", "eve", "ann-again"}[m]; m < 3 || i < 4 {
				studytest.WriteMask(t, filepath.Join(dir, "raters", rater, "disc", fmt.Sprintf("i%d.png", i)), 40, 30, func(_, y int) bool { return y < n })
			}
		}
	}
	icc := func(name string) *agree.Report {
		about := fmt.Sprintf(`{"name": "rows", "classes": ["disc"], "raters": ["ann", "bob", "eve", %q]}`, name)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "dataset.json"), []byte(about), 0o644))
		r, _ := ratersJSON(t, dir)
		return &r
	}
	apart := icc("ann-again")
	require.InDelta(t, .48, *apart.Classes[0].Area.ICC, .005)
	require.Less(t, *apart.Again[0].ICC, .3)
	require.NotNil(t, apart.Again[0].Error.Low)
	require.NoError(t, os.WriteFile(filepath.Join(dir, dataset.GroupsFile), []byte("name,group\ni0,p\ni1,p\ni2,q\ni3,q\ni4,r\ni5,r\ni6,s\ni7,s\n"), 0o644))
	grouped := icc("ann-again").Classes[0]
	require.Equal(t, []int{8, 4, 4}, []int{grouped.Area.Images, grouped.Area.Units, grouped.AlphaIn.N})
	require.Greater(t, *grouped.Area.High-*grouped.Area.Low, *apart.Classes[0].Area.High-*apart.Classes[0].Area.Low)
	require.NoError(t, os.Rename(filepath.Join(dir, "raters", "ann-again"), filepath.Join(dir, "raters", "dan")))
	require.InDelta(t, .08, *icc("dan").Classes[0].Area.ICC, .005)
}

// Of agreement levels no rater is known.
func TestRatersOfLevels(t *testing.T) {
	dir := studytest.LevelData(t)
	code, stdout, stderr := raters(t, dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "the raters are not known")
	require.NotContains(t, stdout, "STAPLE")
	r, _ := ratersJSON(t, dir)
	c := r.Classes[0]
	require.Nil(t, c.Dice)
	require.Nil(t, c.Area)
	require.Empty(t, c.Pairs)
	require.NotNil(t, c.KappaWhole.Interval)
	require.NoError(t, os.Remove(filepath.Join(dir, "raters", "atleast2", "disc", "i1.png")))
	r, _ = ratersJSON(t, dir)
	require.Equal(t, 4, r.Classes[0].Images, "levels without one of them do not say how many marked")
	require.Equal(t, 1, r.Classes[0].Skipped)
}

// Every faulty mask is named, and there are no figures of the others.
func TestRatersRefuses(t *testing.T) {
	dir := rows(t, [2][3]int{{10, 10, 20}, {5, 10, -1}})
	bad := []string{filepath.Join(dir, "raters", "ann", "disc", "i0.png"), filepath.Join(dir, "raters", "bob", "disc", "i1.png")}
	for _, path := range bad {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, text[:len(text)-20], 0o644))
	}
	out := filepath.Join(t.TempDir(), "out")
	code, stdout, stderr := raters(t, dir, "-out", out)
	require.Equal(t, 1, code)
	for _, path := range bad {
		require.Contains(t, stderr, path)
	}
	require.Empty(t, stdout)
	require.NoDirExists(t, out)

	alone := rows(t, [2][3]int{{10, 10, 20}, {5, 10, 1}})
	require.NoError(t, os.WriteFile(filepath.Join(alone, "dataset.json"), []byte(`{"name": "a", "classes": ["disc"], "raters": ["ann"]}`), 0o644))
	for _, rater := range []string{"bob", "eve"} {
		require.NoError(t, os.RemoveAll(filepath.Join(alone, "raters", rater)))
	}
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "give one data set", nil},
		{2, "give one data set", []string{"a", "b"}},
		{1, "agreement needs two or more", []string{alone}},
		{1, "is not empty", []string{dir, "-out", dir}},
		{1, "dataset.json: cannot be read", []string{t.TempDir()}},
	} {
		code, stdout, stderr := raters(t, c.args...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.want)
		require.Empty(t, stdout)
	}
}

func TestRatersHelp(t *testing.T) {
	code, stdout, _ := raters(t, "-h")
	require.Zero(t, code)
	require.Contains(t, stdout, "raters.html")
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(line)), 130, line)
	}
}
