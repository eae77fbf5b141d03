package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/readers"
	"mrprism/cmd/study/internal/studytest"

	"github.com/stretchr/testify/require"
)

// readingStudy writes a study of three readers and twelve cases, and returns the arguments that name
// it. The model makes all surer.
func readingStudy(t *testing.T) (args []string) {
	t.Helper()
	var readings, truth strings.Builder
	readings.WriteString("reader,case,group,modality,repeat,decision,seconds,ratio,area_disc,glaucoma,stage\n")
	truth.WriteString("case,ratio,glaucoma\n")
	for i := range 12 {
		fmt.Fprintf(&truth, "eye %d,%.2f,%d\n", i, .4+.02*float64(i), i%2)
		for j, reader := range []string{"ann", `"bob, M.D."`, "cyd"} {
			for k, m := range []string{"without", "with"} {
				noise := math.Sin(float64(1 + i*5 + j*7 + k*3)) // −1 to 1
				score := 3 + float64(1+k)*(float64(i%2)-.5) + 1.5*noise
				for again := range 2 {
					if again == 0 || i < 3 {
						fmt.Fprintf(&readings, "%s,eye %d,p%d,%s,%d,accepted,%.1f,%.3f,%.0f,%.0f maybe,%d\n", reader, i, i/2, m, again, 40+10*noise-5*float64(k)+float64(j), .4+.02*float64(i)+.05*noise/float64(1+k)+.01*float64(again), 2000+300*noise, score, 1+i%4)
					}
				}
			}
		}
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"readings.csv": readings.String(), "truth.csv": truth.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return []string{filepath.Join(folder, "readings.csv"), "-truth", filepath.Join(folder, "truth.csv")}
}

// reading runs the program inside the test.
func reading(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, problems strings.Builder
	code = run(t.Context(), append([]string{"readers"}, args...), &out, &problems)
	return code, out.String(), problems.String()
}

func TestReadersWritesEverything(t *testing.T) {
	study, out := readingStudy(t), filepath.Join(t.TempDir(), "study")
	code, stdout, stderr := reading(t, append(study, "-out", out)...)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	require.Regexp(t, `(?m)^glaucoma: AUC, 12 of 12 images, 6 patients, 6 images with the truth 1$`, stdout)
	require.Regexp(t, `(?m)^ratio: mean absolute error, 12 of 12 images, 6 patients$`, stdout)
	require.Regexp(t, `(?m)^seconds: mean, 12 of 12 images, 6 patients$`, stdout)
	require.Regexp(t, `random readers and cases +0\.\d{3} \[.*\] +0\.\d{3} \[.*\] +\+0\.\d{3} \[.*\] +[\d.]+ +[\d.]+ \(1, [\d.]+\) +[\d.]+`, stdout)
	require.Regexp(t, `(?m)^area_disc: modalities +ann +12 `, stdout)
	require.Regexp(t, `(?m)^ratio: readings +cyd, with +3 .* \+0\.010 \[n = 2\] `, stdout)
	require.NotRegexp(t, "stage|NaN|%!", stdout)

	var r readers.Report
	require.NoError(t, json.Unmarshal(studytest.ReadFile(t, filepath.Join(out, "report.json")), &r))
	code, stdout, _ = reading(t, append(study, "-json", "-")...)
	require.Zero(t, code)
	var same readers.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &same))
	require.Equal(t, r.Figures, same.Figures)
	require.Equal(t, "readings.csv", r.Made.Data[0].Name)
	require.Len(t, r.Made.Data, 2)
	require.Equal(t, []string{"ratio", "glaucoma", "seconds"}, []string{r.Figures[0].Figure, r.Figures[1].Figure, r.Figures[2].Figure})

	rows := studytest.Records(t, filepath.Join(out, "figures.csv"))
	require.Len(t, rows, 3*(3*3+3*3))
	for _, a := range r.Figures {
		for _, e := range a.Estimates {
			row := rows[0]
			rows = rows[1:]
			require.Equal(t, []string{a.Figure, e.Reader, e.View, e.Modality}, []string{row["figure"], row["reader"], row["view"], row["modality"]})
			require.InEpsilon(t, e.Mean, studytest.Parsed(t, row["mean"]), 1e-5)
			require.Equal(t, e.P == nil, row["p"] == "")
		}
	}
	html := string(studytest.ReadFile(t, filepath.Join(out, "report.html")))
	require.Equal(t, 3, strings.Count(html, "<svg "), "a forest plot for each figure")
	for _, text := range []string{"better with the model", "worse with the model", "Obuchowski and Rockette", "bob, M.D.", "How this was made", "Random readers and cases: "} {
		require.Contains(t, html, text)
	}
	require.NotContains(t, html, "NaN")
}

// iMRMC takes what the FDA's program reads: a truth for each case, and first readings.
func TestReadersForIMRMC(t *testing.T) {
	study := readingStudy(t)
	code, stdout, stderr := reading(t, append(study, "-format", "imrmc")...)
	require.Zero(t, code, stderr)
	lines := strings.Split(stdout, "\n")
	require.Equal(t, []string{"glaucoma, by MrPrism", "BEGIN DATA:", "truth,eye 0,truth,0", "ann,eye 0,without,4", "bob; M.D.,eye 0,without,4"}, lines[:5])
	require.Len(t, lines, 2+12+12*6+1, "no second readings")
	for _, line := range lines[2 : len(lines)-1] {
		require.Len(t, strings.Split(line, ","), 4)
	}
	// The truth of two figures is 0 or 1.
	truth := filepath.Join(t.TempDir(), "truth.csv")
	require.NoError(t, os.WriteFile(truth, []byte("case,glaucoma,ratio\neye 0,0,0\neye 1,1,1\neye 2,0,0\neye 3,1,1\neye 4,0,0\neye 5,1,1"), 0o644))
	code, stdout, stderr = reading(t, study[0], "-truth", truth, "-format", "imrmc")
	require.Equal(t, 1, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "truth.csv: iMRMC takes one figure whose truth is 0 or 1, and here are 2; leave one")
}

func TestReadersFailures(t *testing.T) {
	study, folder := readingStudy(t), t.TempDir()
	empty, full := filepath.Join(folder, "empty.csv"), filepath.Join(folder, "few.csv")
	require.NoError(t, os.WriteFile(empty, nil, 0o644))
	require.NoError(t, os.WriteFile(full, []byte("case,ratio,glaucoma,grade\neye 0,.5,1\n"), 0o644))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "give one file of readings: evaluate readers readings.csv", nil},
		{2, "give one file of readings", []string{study[0], study[2]}},
		{2, "-format xml: choose table or imrmc", []string{study[0], "-format", "xml"}},
		{2, "-format imrmc needs -truth", []string{study[0], "-format", "imrmc"}},
		{1, "nowhere.csv", []string{filepath.Join(folder, "nowhere.csv")}},
		{1, "empty.csv: it is empty", []string{empty}},
		{1, "empty.csv: it is empty", []string{study[0], "-truth", empty}},
		{1, "few.csv: record on line 2: wrong number of fields", []string{study[0], "-truth", full}},
		{1, "is not empty; name a new folder as -out", append(study, "-out", folder)},
	} {
		code, stdout, stderr := reading(t, c.args...)
		require.Equal(t, c.code, code, stderr)
		require.Contains(t, stderr, c.want)
		require.Empty(t, stdout)
	}
	// What cannot be computed is named, beside all that can.
	require.NoError(t, os.WriteFile(full, []byte("case,ratio,glaucoma,grade\neye 0,.5,1,2\neye 1,.5,0,2\neye 2,.5,1,2\neye 3,.5,1,2\n"), 0o644))
	code, stdout, stderr := reading(t, study[0], "-truth", full)
	require.Equal(t, 1, code)
	require.Contains(t, stdout, "ratio: mean absolute error, 4 of 4 images, 2 patients")
	require.Contains(t, stdout, "ratio: images without a truth, left out: 8, as eye 10, eye 11, eye 4, eye 5, eye 6, eye 7, eye 8, eye 9\n")
	for _, text := range []string{"glaucoma: an AUC takes 2 patients with the truth 0 and 2 with 1", "There are 1 and 2. ", "grade: readings.csv lacks this column of few.csv"} {
		require.Contains(t, stdout, text)
		require.Contains(t, stderr, text)
	}
	require.NotContains(t, stdout, "glaucoma: AUC")
}

func TestReadersHelp(t *testing.T) {
	code, stdout, _ := reading(t, "-h")
	require.Zero(t, code)
	for _, text := range []string{"-truth FILE", "-out DIR", "-format imrmc", "reader and case", "Obuchowski"} {
		require.Contains(t, stdout, text)
	}
	for line := range strings.Lines(stdout) {
		require.LessOrEqual(t, len([]rune(line)), 170, line)
	}
}
