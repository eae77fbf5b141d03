package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/plan"
	"mrprism/cmd/study/internal/studytest"

	"github.com/stretchr/testify/require"
)

// planning runs the program inside the test.
func planning(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems strings.Builder
	code = run(t.Context(), append([]string{"plan"}, args...), &out, &problems)
	return code, out.String(), problems.String()
}

const planned = "-components=reader-modality=.0002,var=.0012,cov1=.0005,cov2=.0004,cov3=.0003,cases=100"

func TestPlanOfComponents(t *testing.T) {
	code, stdout, stderr := planning(t, planned, "-difference", ".05")
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "readers: power 0.8 at a difference of 0.05 takes 4 readers or more: 4 readers need ")
	require.Regexp(t, `(?m)^readers +cases each +readings +half-width +power +Hillis 2011$`, stdout)
	require.Regexp(t, `(?m)^3 +\d+, too few +\d+ `, stdout)
	require.Regexp(t, `(?m)^8 +14\d +\d+ +0.03\d* +0.80\d +0.80\d$`, stdout)

	code, stdout, stderr = planning(t, "-components", "seed=1e-4,image=.001,both=.002", "-width", ".01", "-json", "-")
	require.Zero(t, code, stderr)
	var r plan.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, "seeds", r.Plans[0].Units)
	require.LessOrEqual(t, r.Plans[0].Best.HalfWidth, .01)
	code, stdout, _ = planning(t, "-components", "seed=1e-4,image=.001,both=.002", "-width", ".01")
	require.Zero(t, code)
	require.Regexp(t, `(?m)^seeds +images each +scores +half-width$`, stdout)
}

// A pilot with second readings, and a folder of page and JSON that says how it was made.
func TestPlanOfPilot(t *testing.T) {
	study, out := readingStudy(t), filepath.Join(t.TempDir(), "plan")
	code, stdout, stderr := planning(t, append(study, "-figure", "ratio", "-difference", ".01", "-out", out)...)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "ratio (mean absolute error): power 0.8 at a difference of 0.01 takes ")
	require.Contains(t, stdout, "the pilot has 3 readers and 6 cases")
	require.NotContains(t, stdout, "An AUC varies less")
	for _, name := range []string{"readings.csv", "truth.csv"} {
		require.Contains(t, stdout, "SHA-256 of "+name)
	}
	page := string(studytest.ReadFile(t, filepath.Join(out, "report.html")))
	require.Contains(t, page, "<svg role=\"img\"")
	require.NotContains(t, page, "NaN")
	_, stdout, _ = planning(t, append(study, "-figure", "glaucoma", "-difference", ".1")...)
	require.Contains(t, stdout, "An AUC is hard to plan above .9")
}

func TestWrongUsageOfPlan(t *testing.T) {
	study, empty := readingStudy(t), filepath.Join(t.TempDir(), "one.csv")
	require.NoError(t, os.WriteFile(empty, []byte("model,seed,image,score\nold,1,a,.5\nnew,1,a,.6\nold,1,b,.5\nnew,1,b,.6\nold,1,c,.5\nnew,1,c,.7\nold,1,d,.5\nnew,1,d,.6\n"), 0o644))
	for _, c := range []struct {
		code int
		said string
		args []string
	}{
		{2, "give one pilot", []string{"-difference", ".1"}},
		{2, "give one pilot", []string{"a", "b", "-difference", ".1"}},
		{2, "give one pilot", []string{"a", planned, "-difference", ".1"}},
		{2, "which goal?", []string{planned}},
		{2, "which goal?", []string{planned, "-difference", ".1", "-width", ".1"}},
		{2, "which goal?", []string{planned, "-width", ".1", "-power", ".9"}},
		{2, "-difference and -width are above 0", []string{planned, "-difference", "0"}},
		{2, "-difference and -width are above 0", []string{planned, "-difference", "-.1"}},
		{2, "-difference and -width are above 0", []string{planned, "-width", "NaN"}},
		{2, "-difference and -width are above 0", []string{planned, "-difference", "Inf"}},
		{2, "-power 1: give a share above .05", []string{planned, "-difference", ".1", "-power", "1"}},
		{2, "-power 0.05: give a share above .05", []string{planned, "-difference", ".1", "-power", ".05"}},
		{2, "is no component", []string{"-components", "var=many", "-difference", ".1"}},
		{1, "nowhere.csv", []string{"nowhere.csv", "-difference", ".1"}},
		{1, `no figure of readings.csv is named "ratoi" (did you mean ratio?)`, append(study, "-figure", "ratoi", "-difference", ".1")},
		{1, "without and with the model (or of either model); here are 1", []string{empty, "-figure", "score", "-difference", ".1"}},
		{1, "is not empty; name a new folder as -out", append(study, "-figure", "ratio", "-difference", ".1", "-out", filepath.Dir(study[0]))},
	} {
		code, stdout, stderr := planning(t, c.args...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.said)
		require.Empty(t, stdout)
	}
}

func TestHelpOfPlan(t *testing.T) {
	_, stdout, _ := planning(t, "-h")
	for _, word := range []string{"-difference DIFFERENCE", "-width HALF-WIDTH", "-components NAME=NUMBER", "noncentral F", "evaluate plan comparison/cases.csv"} {
		require.Contains(t, stdout, word)
	}
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(line)), 170, line)
	}
}
