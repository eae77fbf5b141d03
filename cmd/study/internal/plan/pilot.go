package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"mrprism/cmd/study/internal/readers"
	"mrprism/internal/choice"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/cells"
)

// OfComponents is the study of components as NAME=NUMBER,NAME=NUMBER.
func OfComponents(text string) (*Study, error) {
	v := map[string]float64{}
	for one := range strings.SplitSeq(text, ",") {
		name, number, _ := strings.Cut(strings.TrimSpace(one), "=")
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(value) || name == "cases" && !(value >= 2 && value < 1e9) {
			return nil, fmt.Errorf("%q is no component: write it as var=0.0012, and two cases or more", one)
		}
		v[name] = value
	}
	names := slices.Sorted(maps.Keys(v))
	switch strings.Join(statistics.Filter(names, func(name string) bool { return name != "reader" && name != "within" }), " ") {
	case "cases cov1 cov2 cov3 reader-modality var":
		return study("readers", "readers", readers.Components{ReaderModality: v["reader-modality"], Var: v["var"], Cov1: v["cov1"], Cov2: v["cov2"], Cov3: v["cov3"], Cases: int(v["cases"])}, v["within"])
	case "both image seed": // of a difference, which has twice the variance of a figure, and of one image
		return study("two models", "seeds", readers.Components{ReaderModality: v["seed"] / 2, Var: (v["image"] + v["both"]) / 2, Cov2: v["image"] / 2, Cases: 1}, 0)
	}
	return nil, fmt.Errorf("there are %s: give reader-modality, var, cov1, cov2, cov3 and cases, or of models seed, image and both", strings.Join(names, ", "))
}

// study is the study that components expect. within is the part of Var that is of a single reading;
// 0: not known. A component that no variances give becomes the nearest that they do (Hillis 2014);
// the mean square of readers × modalities stays as the pilot has it.
func study(about, units string, c readers.Components, within float64) (*Study, error) {
	s, unit := &Study{About: about, Units: units, Cases: "cases"}, "reader × modality"
	if units == "seeds" {
		s.Cases, unit = "images", "seed"
	}
	raise := func(name string, v *float64, least float64) {
		if *v < least {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: %s is %.3g, less than variances can make: %.3g takes its place (Hillis 2014).", about, name, *v, least))
			*v = least
		}
	}
	c.ReaderModality += max(0, c.Cov3-c.Cov1)
	raise(unit, &c.ReaderModality, 0)
	raise("cov1", &c.Cov1, c.Cov3)
	raise("cov2", &c.Cov2, c.Cov3)
	raise("var", &c.Var, max(0, c.Cov1+c.Cov2-c.Cov3))
	n := 2 * float64(c.Cases) // of a difference, of one case
	s.Unit, s.Case, s.Both = 2*c.ReaderModality, n*(c.Cov2-c.Cov3), max(0, n*(c.Var-c.Cov1-c.Cov2+c.Cov3))
	if sum := s.Unit + s.Case + s.Both; !(sum > 0) || math.IsInf(sum, 1) {
		return nil, fmt.Errorf("%s: a difference that does not vary takes no plan; are components and cases right?", about)
	}
	if s.Within = min(s.Both, max(0, n*within)); s.Within > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("A second reading halves the error of the single reading (by second readings of the pilot: %.0f %% of what readers and cases do not explain), and nothing else, if a reader's figure is the mean over his readings.", 100*s.Within/s.Both))
	} else if units == "readers" {
		s.Notes = append(s.Notes, "Without second readings of four cases or more by all readers of the pilot, nothing is known of what reading twice gains.")
	}
	if c.Readers > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s: the pilot has %d %s and %d %s. Where these are few, the plan is rough. The study needs the same mix of %[5]s.", about, c.Readers, units, c.Cases, s.Cases))
	}
	return s, nil
}

// OfPilot are the studies that a pilot expects: one of readings.csv, with truth.csv or nil, or of each
// class and each model beside the first one of scores: a CSV of model, seed, image and score, or
// cases.csv of evaluate compare. Errors have the name of the file.
func OfPilot(name string, data []byte, truth *readers.Table, figure string) ([]*Study, error) {
	t, _, err := cells.Read(append(bytes.TrimSuffix(data, []byte("\n")), '\n')) // the last line may lack its end
	if err != nil {
		return nil, fmt.Errorf("%s: %w; save it as CSV with commas", name, err)
	}
	if !slices.Contains(t.Columns, "reader") {
		return ofScores(name, &t, cmp.Or(figure, "soft_dice"))
	}
	if err := choice.Known("figure of "+name, figure, t.Columns); err != nil {
		return nil, err
	}
	c, kind, err := components(name, &t, truth, figure)
	if err != nil {
		return nil, err
	}
	// The variance of single readings is that of first ones less their covariance with second ones,
	// which stand for another modality.
	var within []float64
	for _, m := range []string{"without", "with"} {
		one := cells.Table{Columns: t.Columns}
		of, repeat := slices.Index(t.Columns, "modality"), slices.Index(t.Columns, "repeat")
		for _, line := range t.Lines {
			if line = slices.Clone(line); repeat >= 0 && strings.TrimSpace(line[of]) == m {
				line[of], line[repeat] = map[bool]string{true: "without", false: "with"}[strings.Trim(line[repeat], " 0") == ""], ""
				one.Lines = append(one.Lines, line)
			}
		}
		if again, _, err := components(name, &one, truth, figure); err == nil {
			within = append(within, (again.Var-again.Cov1)*float64(again.Cases)/float64(c.Cases))
		}
	}
	s, err := study(fmt.Sprintf("%s (%s)", figure, kind), "readers", c, metric.Mean(append(within, 0)[:max(1, len(within))]))
	if err == nil && kind == readers.AUC {
		s.Notes = append(s.Notes, "An AUC is hard to plan above .9, or with fewer than 60 cases of either truth: in simulations 6 fewer to 12 more studies of 100 found the difference than the power says.")
	}
	return []*Study{s}, err
}

// components are those of two readers or more in two modalities.
func components(name string, t *cells.Table, truth *readers.Table, figure string) (c readers.Components, kind string, err error) {
	text, _ := t.Bytes() // of what cells.Read has read
	readings, err := readers.Read(name, bytes.NewReader(text))
	if err != nil {
		return c, "", err
	}
	a, err := readers.Analyse(readings, truth, figure)
	if err != nil {
		return c, "", fmt.Errorf("%s: %w", name, err)
	}
	if c = a.Components; c.Readers < 2 || c.Modalities < 2 {
		err = fmt.Errorf("%s: a plan takes two readers (or seeds) or more, each without and with the model (or of either model); here are %d, and %d modality", name, c.Readers, c.Modalities)
	}
	return c, a.Kind, err
}

// ofScores takes seeds for readers, in the order of the file, and two models for modalities. Of each
// model the last pass counts.
func ofScores(name string, t *cells.Table, figure string) (studies []*Study, err error) {
	for i, c := range t.Columns {
		t.Columns[i] = cmp.Or(map[string]string{"method": "model", "run": "seed", figure: "score"}[c], c)
	}
	last, seen := map[string]string{}, map[string][]string{}
	number := func(kind, name string) string {
		if !slices.Contains(seen[kind], name) {
			seen[kind] = append(seen[kind], name)
		}
		return fmt.Sprint(slices.Index(seen[kind], name))
	}
	for i := range t.Lines {
		last[t.Text(i, "model")] = t.Text(i, "pass")
		number("class", t.Text(i, "class"))
		number("model", t.Text(i, "model"))
	}
	if len(seen["model"]) < 2 || !slices.Contains(t.Columns, "score") {
		return nil, fmt.Errorf("%s: a plan takes the columns reader, case, modality and a figure of readings, or model, seed, image and score of two models; -figure names the score", name)
	}
	for at := range len(seen["class"]) * (len(seen["model"]) - 1) {
		class, first, other := seen["class"][at%len(seen["class"])], seen["model"][0], seen["model"][1+at/len(seen["class"])]
		one := &cells.Table{Columns: []string{"reader", "case", "group", "modality", "score"}}
		for i := range t.Lines {
			model := t.Text(i, "model")
			if modality := map[string]string{first: "without", other: "with"}[model]; modality != "" && t.Text(i, "class") == class && t.Text(i, "pass") == last[model] {
				one.Lines = append(one.Lines, []string{number("seed of "+model, t.Text(i, "seed")), t.Text(i, "folder") + "/" + t.Text(i, "image"), t.Text(i, "group"), modality, t.Text(i, "score")})
			}
		}
		about := strings.TrimSpace(fmt.Sprintf("%s %s against %s", class, other, first))
		c, _, err := components(name+", "+about, one, nil, "score")
		if err != nil {
			return nil, err
		}
		s, err := study(about, "seeds", c, 0)
		if err != nil {
			return nil, err
		}
		studies = append(studies, s)
	}
	return studies, nil
}
