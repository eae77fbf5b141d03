package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mrprism/cmd/study/internal/studytest"
	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files of TestGoldens anew")

// The table, and every CSV and JSON file of every subcommand, are those of
// testdata/NAME.golden.
func TestGoldens(t *testing.T) {
	data, about := studytest.Synthesise(t)
	require.NoError(t, os.Remove(filepath.Join(data, "raters", about.Raters[2], "disc", "case0003.png")))
	model := studytest.WeightsFile(t, about, nil)
	other := studytest.WeightsFile(t, about, func(f *weights.File) { f.Metadata["recipe"], f.Metadata["name"] = "baseline", "other" })
	about.Configuration = "tiny-evidence"
	settling := studytest.WeightsFile(t, about, nil)
	fundus, levels := studytest.WeightsFile(t, segmenttest.Fundus(), nil), studytest.LevelData(t)
	centres := studytest.CentresFile(t, "name,cx,cy,r\na,.5,.5,.2\nb,,,\n", "a.png", "b.png")
	foreign := filepath.Join(t.TempDir(), "foreign")
	studytest.WritePicture(t, filepath.Join(foreign, "cat.png"), 30, 40)
	predictions := shifted(t, data, t.TempDir(), 3)
	require.NoError(t, os.Remove(filepath.Join(predictions, "cup", "case0004.npy")))
	out := t.TempDir()
	at := func(name string) string { return filepath.Join(out, name) }
	places := strings.NewReplacer(data, "DATA", model, "MODEL", other, "OTHER", fundus, "FUNDUS", levels, "LEVELS", centres, "CENTRES",
		foreign, "FOREIGN", predictions, "PREDICTIONS", settling, "SETTLING", out, "OUT")
	for _, c := range []struct {
		name, files string // files: what is written, as a pattern
		code        int
		args        []string
	}{
		{"data", "data.*", 0, []string{"-weights", model, "-data", data, "-on", "all", "-recurrences", "1", "-csv", at("data.csv"), "-json", at("data.json")}},
		{"centres", "centres.*", 0, []string{"-weights", fundus, "-centres", centres, "-turned", "-foreign", foreign, "-recurrences", "0", "-csv", at("centres.csv"), "-json", at("centres.json")}},
		{"levels", "levels.*", 0, []string{"-weights", fundus, "-data", levels, "-roi", "auto", "-changed", "-csv", at("levels.csv"), "-json", at("levels.json")}},
		{"compare", "compared/*", 1, []string{"compare", "-weights", "one=" + model + ",two=" + other, "-predictions", "moved=" + predictions, "-data", data, "-on", "all", "-out", at("compared")}},
		{"truth", "truth/*", 0, []string{"compare", "-weights", other, "-data", data, "-on", "all", "-reference", "truth", "-out", at("truth")}},
		{"fuse", "fused/*.csv", 0, []string{"fuse", "-data", data, "-weights", model, "-out", at("fused")}},
		{"evidence", "given.json", 0, []string{"evidence", "-weights", settling, "-data", data, "-json", at("given.json")}},
		{"raters", "agreed/*", 0, []string{"raters", data, "-out", at("agreed")}},
		{"ratersOfLevels", "levels/*", 0, []string{"raters", levels, "-out", at("levels")}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name != "raters" && c.name != "ratersOfLevels" {
				c.args = append(c.args, "-device", "processor")
			}
			var stdout, stderr, all bytes.Buffer
			code := run(t.Context(), c.args, &stdout, &stderr)
			require.Equal(t, c.code, code, "%s: %s", c.name, stderr.String())
			fmt.Fprintf(&all, "-- stdout --\n%s", stdout.String())
			files, err := filepath.Glob(at(c.files))
			require.NoError(t, err)
			for _, file := range files {
				if slices.Contains([]string{".csv", ".json"}, filepath.Ext(file)) {
					fmt.Fprintf(&all, "-- %s --\n%s", filepath.Base(file), shortened(t, file))
				}
			}
			got, path := spaces.ReplaceAllString(places.Replace(made.ReplaceAllString(all.String(), "")), "  "), filepath.Join("testdata", c.name+".golden")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
			}
			want := strings.Split(string(studytest.ReadFile(t, path)), "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(want) || !sameFigures(want[i], line) {
					assert.Equal(t, strings.Join(want[min(i, len(want)):min(i+1, len(want))], ""), line, "%s, line %d", path, i+1)
					break
				}
			}
			assert.Len(t, strings.Split(got, "\n"), len(want), path)
		})
	}
}

// shortened is a file's text. Of many lines it has the first and the last. A JSON has a line for
// each of its values, numbers of six digits, and the first three items of long arrays alone.
func shortened(t *testing.T, file string) []byte {
	data := studytest.ReadFile(t, file)
	if filepath.Ext(file) != ".json" {
		data = made.ReplaceAll(bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\ufeff")), []byte("\r\n"), []byte("\n")), nil)
		if lines := bytes.SplitAfter(data, []byte("\n")); len(lines) > 60 {
			data = bytes.Join(append(lines[:30:30], lines[len(lines)-30:]...), nil)
		}
		return data
	}
	var fields map[string]any
	require.NoError(t, json.Unmarshal(data, &fields))
	var order []string // of the fields
	for _, m := range regexp.MustCompile(`(?m)^ {2}"(\w+)":`).FindAllSubmatch(data, -1) {
		order = append(order, string(m[1]))
	}
	require.Len(t, order, len(fields), file)
	var out bytes.Buffer
	for _, name := range order {
		line, err := json.Marshal(cut(fields[name]))
		require.NoError(t, err)
		fmt.Fprintf(&out, "%s: %s\n", name, line)
	}
	return out.Bytes()
}

func cut(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = cut(v[name])
		}
	case []any:
		short := []any{}
		for _, item := range v[:min(len(v), 3)] {
			short = append(short, cut(item))
		}
		return short
	case float64:
		digits, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		return digits
	}
	return v
}

// made is what a report says of how it was made; TestOrigin has it.
var made = regexp.MustCompile(`(?m)(^\n)?^([-%] )?(MrPrism|SHA-256 of) .*\n|^made: .*\n`)

// spaces are those between columns, which are as wide as the names of folders, and what computed.
var spaces = regexp.MustCompile(`   +|Go float32[^\[]*\[[^\]]*\]`)

var numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?`)

// sameFigures compares lines: numbers within 2e-5, a ten thousandth or their last digit, as
// processors round differently.
func sameFigures(want, got string) bool {
	if want == got {
		return true
	}
	if numbers.ReplaceAllString(want, "0") != numbers.ReplaceAllString(got, "0") {
		return false
	}
	b := numbers.FindAllString(got, -1)
	for i, text := range numbers.FindAllString(want, -1) {
		x, _ := strconv.ParseFloat(text, 64)
		y, _ := strconv.ParseFloat(b[i], 64)
		last := 0.
		if _, after, found := strings.Cut(text, "."); found {
			last = math.Pow10(-len(after))
		}
		if math.Abs(x-y) > max(2e-5, 1e-4*math.Abs(x), 1.01*last) {
			return false
		}
	}
	return true
}
