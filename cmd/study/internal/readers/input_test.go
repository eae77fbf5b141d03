package readers

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// small is a study of two readers and eight cases in both modalities.
func small() (rows []string) {
	rows = []string{"reader,case,modality,repeat,seconds,ratio,ill"}
	for i := range 8 {
		for j, reader := range []string{"ann", "bob"} {
			for k, m := range []string{"without", "with"} {
				rows = append(rows, fmt.Sprintf("%s,i%d,%s,0,%d,.%d,%d no or yes", reader, i, m, 30+i-5*k, 50+i+3*j+(i*j*(k+2))%5, 1+(i*7+j*3+k)%4))
			}
		}
	}
	return rows
}

func smallTruth() string {
	var truth strings.Builder
	truth.WriteString("case,ratio,ill\n")
	for i := range 8 {
		fmt.Fprintf(&truth, "i%d,.%d,%d\n", i, 50+2*i, i%2)
	}
	return truth.String()
}

// analysed analyses rows; change replaces one, or adds it if at is beyond the last.
func analysed(t *testing.T, truth string, at int, change string) *Report {
	t.Helper()
	rows := small()
	if at < len(rows) {
		rows[at] = change
	} else {
		rows = append(rows, change)
	}
	readings, err := Read("readings.csv", strings.NewReader(strings.Join(rows, "\n")))
	require.NoError(t, err)
	known, err := ReadTruth("truth.csv", strings.NewReader(truth))
	require.NoError(t, err)
	return New(readings, known, nil)
}

// main is the first view of the difference of a figure.
func main(t *testing.T, r *Report, figure string) Estimate {
	t.Helper()
	for _, a := range r.Figures {
		for _, e := range a.Estimates {
			if a.Figure == figure && e.Reader == "" && e.View == Views[0] && e.Modality == Difference {
				return e
			}
		}
	}
	require.Fail(t, "no "+figure, "%v", r.Failed)
	return Estimate{}
}

func TestFilesThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "it is empty",
		"\n\n":                               "it is empty",
		"ann,i0,with\nann,i1,with\n":         "row 1 lacks the column case",
		"case,modality\ni0,with\n":           "row 1 lacks the column reader",
		"reader,modality\nann,with\n":        "row 1 lacks the column case",
		"reader;case\nann;i0\n":              "with commas between cells and the names of the columns in row 1",
		"reader,case\n":                      "readings.csv has no row that counts below row 1",
		"reader,case\n,i0\nann,\n":           "rows without case or reader, left out: 2, as row 2 (i0), row 3 (ann)",
		"reader,case\nann,i0,3\n":            "line 2: wrong number of fields",
		"reader,case\nann,\"i0\nbob,i1\n":    "a quotation mark near its end has no second one",
		"reader,case,modality\nann,i0,cine":  "neither without nor with, left out: 1, as row 2 (ann, i0, cine)",
		"reader,case\n\xff\xfe\x00,\x00\n\"": "readings.csv: ",
	} {
		_, err := Read("readings.csv", strings.NewReader(text))
		require.ErrorContains(t, err, want, "%q", text)
		require.ErrorContains(t, err, "readings.csv")
	}
	_, err := ReadTruth("truth.csv", strings.NewReader("image,ill\ni0,1\n"))
	require.ErrorContains(t, err, "truth.csv: row 1 lacks the column case")
}

// A case is a file's name without its ending.
func TestCasesAreFiles(t *testing.T) {
	truth, err := ReadTruth("truth.csv", strings.NewReader("case,ill\neye.1.jpg,1\nCT.1.2,0\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"CT.1.2", "eye.1"}, truth.Cases)
}

// Bad rows are named and left out, and all else is computed.
func TestBadRows(t *testing.T) {
	whole := analysed(t, smallTruth(), 0, small()[0])
	require.Empty(t, whole.Notes)
	require.Empty(t, whole.Failed)
	require.Equal(t, []int{8, 8, 8, 4}, []int{whole.Figures[1].Images, whole.Figures[1].Of, whole.Figures[1].Patients, whole.Figures[1].Positives})
	require.Len(t, whole.Figures, 3)
	require.NotNil(t, main(t, whole, "ill").P)
	require.Nil(t, main(t, whole, "seconds").P, "all take 5 seconds less")
	require.InDelta(t, -5, main(t, whole, "seconds").Mean, 1e-9)
	const bad = "readings.csv, column ratio: no numbers, left out; write numbers as 0.5, and choices with their number in front, as 1 no"
	for _, c := range []struct {
		change, figure, why, item string
		images                    int // of 8 that the figure is then of
	}{
		{"ann,i0,without,0,30,.9,4 no", "ratio", "readings.csv: second rows of the same reading, of which the first one counts", "row 34 (ann, i0, without)", 8},
		{"ann,i0,cine,0,30,.9,4 no", "ratio", "readings.csv: rows whose modality is neither without nor with, left out", "row 34 (ann, i0, cine)", 8},
		{"ann,i0,,0,30,.9,4 no", "ratio", "readings.csv: rows whose modality is neither without nor with, left out", "row 34 (ann, i0)", 8},
		{"ann,i9,with,0,30,.9,4 no", "ratio", "ratio: images without a truth, left out", "i9", 8},
		{"cyd,i0,with,0,30,.9,4 no", "ratio", "ratio: readers without a figure in a modality, left out", "cyd 0 without 1 with", 8},
		{"ann,i0,with,1,-3,.5,1 no", "seconds", "readings.csv, column seconds: below 0 or more than a day, left out", "row 34 (ann, i0, with) -3", 8},
		{"ann,i0,with,1,30,n/a,1 no", "ratio", bad, `row 34 (ann, i0, with) "n/a"`, 8},
		{"ann,i0,without,0,86401,.5,1 no", "seconds", "readings.csv, column seconds: below 0 or more than a day, left out", "row 2 (ann, i0, without) 86401", 7},
		{"ann,i0,without,0,30,NaN,1 no", "ratio", bad, `row 2 (ann, i0, without) "NaN"`, 7},
		{"ann,i0,without,0,30,-Inf,1 no", "ratio", bad, `row 2 (ann, i0, without) "-Inf"`, 7},
		{`ann,i0,without,0,30,"0,5",1 no`, "ratio", bad, `row 2 (ann, i0, without) "0,5"`, 7},
		{"ann,i0,without,0,30,.5,sure", "ill", strings.Replace(bad, "ratio", "ill", 1), `row 2 (ann, i0, without) "sure"`, 7},
		{"ann,i0,without,0,30,.5,1.no", "ill", strings.Replace(bad, "ratio", "ill", 1), `row 2 (ann, i0, without) "1.no"`, 7},
		{"ann,,without,0,30,.5,1 no", "ratio", "readings.csv: rows without case or reader, left out", "row 2 (ann, without)", 7},
	} {
		at := 1
		if strings.Contains(c.item, "34") || c.images == 8 {
			at = 100
		}
		r := analysed(t, smallTruth(), at, c.change)
		require.Empty(t, r.Failed)
		require.Equal(t, []string{c.item}, r.Notes[c.why], "%s: %v", c.change, r.Notes)
		require.Contains(t, r.Notes.Lines(), c.why+": 1, as "+c.item)
		for _, a := range r.Figures {
			if a.Figure == c.figure {
				require.Equal(t, c.images, a.Images, c.change)
			}
		}
		if e := main(t, r, c.figure); c.images == 8 {
			require.Equal(t, main(t, whole, c.figure), e, "%s changes no other figure", c.change)
		} else if c.figure != "seconds" {
			require.NotEqual(t, main(t, whole, c.figure).Mean, e.Mean)
		}
	}
}

// A figure that the readings are too few for is named, with what each reader has. The others are
// there.
func TestTooFew(t *testing.T) {
	truth := strings.NewReplacer(",1\n", ",0\n").Replace(smallTruth())
	r := analysed(t, truth, 100, "ann,i0,with,1,30,.5,1 no")
	require.Len(t, r.Failed, 1)
	require.Contains(t, r.Failed[0], "ill: an AUC takes 2 patients with the truth 0 and 2 with 1")
	require.Contains(t, r.Failed[0], "There are 8 and 0. Images with a truth that each has judged: ann 8 without 8 with; bob 8 without 8 with")
	require.NotNil(t, main(t, r, "ratio").P)

	r = analysed(t, "case,ratio,stage\ni0,.5,1\ni1,.6,2\ni2,.7,3\n", 0, small()[0])
	require.Len(t, r.Failed, 2)
	require.Contains(t, r.Failed[0], "ratio: it takes 4 images, of 2 patients, that all readers have judged in all modalities. There are 3, of 3. ")
	require.Equal(t, "stage: readings.csv lacks this column of truth.csv", r.Failed[1])
	require.Len(t, r.Notes["ratio: images without a truth, left out"], 5)

	// All images of one patient.
	rows := small()
	for i := range rows {
		rows[i] += map[bool]string{true: ",group", false: ",p"}[i == 0]
	}
	readings, err := Read("r", strings.NewReader(strings.Join(rows, "\n")))
	require.NoError(t, err)
	_, err = Analyse(readings, nil, "ratio")
	require.ErrorContains(t, err, "There are 8, of 1.")
	known, err := ReadTruth("t", strings.NewReader(smallTruth()))
	require.NoError(t, err)
	_, err = Analyse(readings, known, "ill")
	require.ErrorContains(t, err, "There are 1 and 1.")
}

// One reader has the view of fixed readers alone; readers without any spread have no interval.
func TestOneReader(t *testing.T) {
	var rows []string
	for i, row := range small() {
		if i == 0 || strings.HasPrefix(row, "ann") {
			rows = append(rows, row)
		}
	}
	readings, err := Read("r", strings.NewReader(strings.Join(rows, "\n")))
	require.NoError(t, err)
	known, err := ReadTruth("t", strings.NewReader(smallTruth()))
	require.NoError(t, err)
	r := New(readings, known, nil)
	require.Len(t, r.Figures, 3)
	for _, a := range r.Figures {
		require.Len(t, a.Estimates, 6, "of ann and of all")
		require.Equal(t, a.Estimates[5].Interval, a.Estimates[2].Interval)
		require.Equal(t, Views[1], a.Estimates[5].View)
		require.Equal(t, 1, a.Components.Readers)
	}
	seconds := r.Figures[len(r.Figures)-1]
	require.Equal(t, "seconds", seconds.Figure)
	require.Nil(t, seconds.Estimates[5].P, "each takes 5 seconds less")
	require.InDelta(t, -5, seconds.Estimates[5].Mean, 1e-12)
	require.Nil(t, seconds.Estimates[5].Low)
	require.NotContains(t, printed(t, r), "NaN")
}

func printed(t *testing.T, r *Report) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, r.Document().Print(&out))
	require.NoError(t, r.Document().HTML(&out))
	return out.String()
}

// A word that each reader writes for the same case is a figure of no report without a truth.
func TestWithoutTruth(t *testing.T) {
	readings, err := Read("r", strings.NewReader(strings.Join(small(), "\n")))
	require.NoError(t, err)
	r := New(readings, nil, nil)
	require.Len(t, r.Figures, 1)
	require.Equal(t, "seconds", r.Figures[0].Figure)
	require.Equal(t, Mean, r.Figures[0].Kind)
	require.Len(t, r.Agreement, 4)
	for _, a := range r.Agreement {
		require.Equal(t, "ratio", a.Figure)
	}
	require.Equal(t, []Count{
		{Modality: "without", Readings: 16, Timed: 16, Mean: new(33.5), Median: new(33.5)}, {Modality: "with", Readings: 16, Timed: 16, Mean: new(28.5), Median: new(28.5)},
	}, r.Counts)
}

// Files with whatever in some cells end in an error or a report.
func TestNothingCrashes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	spoilt := func(rows []string) io.Reader {
		rows = append([]string(nil), rows[:1+rng.IntN(len(rows))]...)
		for range rng.IntN(12) {
			i := rng.IntN(len(rows))
			cells := strings.Split(rows[i], ",")
			if junk := []string{"", "NaN", "1e400", "1e308", "-1", "x", "0", "1", "2 maybe", "without", "with", "i1", "\"", "'=1", ";", "\xff"}; i > 0 || rng.IntN(5) == 0 {
				cells[rng.IntN(len(cells))] = junk[rng.IntN(len(junk))]
			}
			rows[i] = strings.Join(cells, ",")
		}
		return strings.NewReader(strings.Join(rows, "\n"))
	}
	reports := 0
	for range 1000 {
		readings, err := Read("r", spoilt(small()))
		if err != nil {
			continue
		}
		truth, err := ReadTruth("t", spoilt(strings.Split(strings.TrimSpace(smallTruth()), "\n")))
		if err != nil {
			truth = nil
		}
		r := New(readings, truth, nil)
		_, err = json.Marshal(r)
		require.NoError(t, err)
		require.NotContains(t, printed(t, r), "Inf")
		require.NoError(t, r.figuresCSV(io.Discard))
		if truth != nil && len(r.Figures) > 0 {
			_ = r.IMRMC(io.Discard) // there may be no AUC
		}
		reports++
	}
	require.Greater(t, reports, 500)
}
