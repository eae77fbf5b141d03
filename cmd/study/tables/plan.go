//go:build !js

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mrprism/model"
	_ "mrprism/model/rivals" // fills model.Methods
)

// entry is a row of the tables: a way to train the same encoder and decoder.
type entry struct {
	name     string
	title    string
	args     []string // of train; one with a colon is a line of its file of -with
	networks int      // of an ensemble, which shows the mean of their maps; 0: none
	longer   int      // times as many steps as others take; 0: as many
	fused    string   // the label fusion of "evaluate fuse" that teaches it; empty: the raters' own marks
}

// Rows of several tables.
var (
	meanVote = entry{name: "mean-vote", title: "mean vote, cross-entropy", args: []string{"-recipe", "bce"}}
	sharp    = entry{name: "dice", title: "mean vote, cross-entropy and Dice loss", args: []string{"-recipe", "bce", "-dice", "1"}}
	ensemble = entry{name: "ensemble", title: "five networks on the mean vote", args: meanVote.args, networks: 5}
	ours     = entry{name: "default-dice", title: "**MrPrism, default recipe**"}
	undiced  = entry{name: "default", title: "**MrPrism, default recipe** without its Dice loss", args: []string{"-dice", "0"}}
	paper    = entry{name: "paper", title: "**MrPrism, the paper's recipe**", args: []string{"-recipe", "paper"}}
	prism    = entry{name: "prism", title: "**MrPrism, its mask by cross-entropy**", args: byEntropy}
)

// byEntropy is the paper's alternation under the optimiser of the other rows. The mask learns y_fuse
// by cross-entropy: 1 − SSIM alone first empties a small structure, and then often leaves it empty.
var byEntropy = []string{"-recipe", "paper+cross-entropy", "-rate", "0.002", "schedule: cosine", "ema: 0.98"}

// rival is the row of a method.
func rival(m *model.Method) entry {
	title, _, _ := strings.Cut(m.Title, ": ")
	return entry{name: m.Name, title: title, args: []string{"-method", m.Name}}
}

// method is the row of the rival with a name.
func method(name string) entry {
	m, err := model.FindMethod(name)
	if err != nil {
		panic(err)
	}
	return rival(m)
}

// withDice is a row whose mask has a Dice loss beside the row's own.
func withDice(e entry) entry {
	return entry{name: e.name + diced, title: e.title + ", and a Dice loss", args: slices.Concat(e.args, []string{"-dice", "1"})}
}

// diced ends the name of such a row.
const diced = "-dice"

// fuser is the row whose network a label fusion takes, if it takes one.
func fuser(fusion string) entry {
	if m, err := model.FindMethod(fusion); err == nil {
		return rival(m)
	}
	return ours
}

// table is one of the paper's tables, or one of ours. Its first row is what the others are tested
// against.
type table struct {
	name, title string
	rows        []entry
	sets        []data
	figures     []figure // the first is primary
}

// covers says whether a table has the data set.
func (t table) covers(d data) bool {
	return slices.ContainsFunc(t.sets, func(one data) bool { return one.name == d.name })
}

// everyData is the data of all tables, and of the confirmation.
func everyData() []data { return slices.Concat(dataSets, readers, confirmation().sets) }

// plain are the methods of the paper's Table 2, which have no model of single raters.
var plain = []string{"uecnn", "luw", "agnet", "posal", "beal"}

// tables are the paper's four.
func tables() []table {
	multi, calibrated := []entry{meanVote}, []entry{meanVote}
	for _, m := range model.Methods {
		row := rival(m)
		if slices.Contains(plain, m.Name) {
			calibrated = append(calibrated, row)
		} else {
			multi = append(multi, row)
		}
	}
	long := func(e entry) entry {
		return entry{name: e.name + "-long", title: e.title + ", three times the steps", args: e.args, longer: 3}
	}
	sharpened := []entry{sharp, long(sharp), method("posal"), withDice(method("padl")), withDice(method("tab")), recurrent, ours}
	fusions := []entry{meanVote}
	for _, f := range []struct{ name, title string }{
		{"majority", "majority vote"}, {"staple", "STAPLE (Warfield 2004)"}, {"dawid-skene", "Dawid & Skene (1979)"}, {"max-mig", "Max-MIG's fusion"},
		{"diag", "Diag's fusion"}, {"contours", "mean outline less biases (ours)"}, {"mrprism", "**MrPrism's fusion**, by likelihood"},
	} {
		fusions = append(fusions, entry{name: "on-" + f.name, title: f.title, args: meanVote.args, fused: f.name})
	}
	ablation := []entry{prism}
	ablation[0].title = "attention, L_sff"
	for _, e := range []entry{
		{name: "concat", title: "concatenation, L_sff", args: []string{"integration: concat"}},
		{name: "convlstm", title: "ConvLSTM, L_sff", args: []string{"integration: convlstm"}},
		{name: "mh", title: "attention, L_MH", args: []string{"multi-head: 1", "shuffle: 0"}},
		{name: "both", title: "attention, L_MH and L_sff", args: []string{"multi-head: 1"}},
		{name: "neither", title: "attention, neither", args: []string{"shuffle: 0"}},
		{name: "once", title: "attention, L_sff, one pass", args: []string{"recurrences: 1"}},
		{name: "likelihood", title: "attention, L_sff, marks weighed by their likelihood", args: []string{"rule: likelihood"}},
		{name: "mean", title: "attention, L_sff, marks weighed alike", args: []string{"rule: mean"}},
	} {
		ablation = append(ablation, entry{name: "prism-" + e.name, title: e.title, args: slices.Concat(byEntropy, e.args)})
	}
	several := append(multi, sharp, withDice(method("cl")), withDice(method("padl")), withDice(method("tab")), ensemble, paper, prism, favoured, recurrent, ours, undiced)
	return []table{
		{name: "table1", title: "Table 1: learning from several raters", rows: several, sets: dataSets, figures: masks},
		{name: "table2", title: "Table 2: segmentation without a model of raters", rows: append(calibrated, sharp, ensemble, ours, undiced), sets: dataSets, figures: masks},
		{name: "table3", title: "Table 3: the same network on fused labels", rows: append(fusions, ours, undiced), sets: dataSets, figures: masks},
		{name: "table4", title: "Table 4: parts of MrPrism", rows: ablation, sets: dataSets, figures: masks},
		{name: "table5", title: "Table 5: readers who are exchangeable", rows: exchangeable(), sets: readers, figures: slices.Concat(masks, samples)},
		{name: "table6", title: "Table 6: beside a Dice loss", rows: sharpened, sets: slices.Concat(dataSets, readers), figures: masks},
		{name: "table7", title: "Table 7: the paper's recurrence with a third of the steps", rows: []entry{long(sharp), recurrent, long(recurrent)}, sets: slices.Concat(dataSets, readers), figures: masks},
	}
}

// favoured is the recipe that Table 4 favours, without its Dice loss.
var favoured = entry{
	name: "recurrent", title: "**MrPrism, recurrent** without its Dice loss", args: []string{"-recipe", "recurrent", "-dice", "0"},
}

// recurrent is that recipe.
var recurrent = entry{name: favoured.name + diced, title: "**MrPrism, recurrent**", args: favoured.args[:2]}

// exchangeable are the rows where a slot is not a person. Methods that learn who errs how learn
// nothing there, and are left out; PADL and TAB are not, since they also model what readers share.
func exchangeable() []entry {
	rows := []entry{meanVote}
	for _, name := range []string{"majority", "staple"} {
		rows = append(rows, entry{name: "on-" + name, title: "labels of " + name, args: meanVote.args, fused: name})
	}
	for _, name := range []string{"luw", "padl", "tab", "posal"} {
		rows = append(rows, method(name))
	}
	return append(rows, sharp, withDice(method("padl")), withDice(method("tab")), ensemble, prism, favoured, recurrent, levels(prism), levels(favoured), ours, levels(ours), undiced, levels(undiced))
}

// levels is a row that learns agreement levels.
func levels(e entry) entry {
	return entry{name: e.name + "-levels", title: e.title + ", levels", args: slices.Concat(e.args, []string{"-slots", "levels"})}
}

// data is a data set of the tables.
type data struct {
	name     string
	folder   string // of the data set; empty: drawn by "train synthetic NAME"
	side     int    // of the images in pixels
	truth    bool   // scored against the truth, and not against the mean vote
	levels   bool   // agreement levels: nothing is known of single raters
	training []string
	steps    int    // of each training; 0: as many as the runner's
	patients bool   // folds and scores are of patients (groups.csv), not of images
	drawn    string // the generator's scenario whose raters each seed draws anew; empty: a data set of its own
	// Raters of folder that teach and that judge, by how their names begin; empty: all do both.
	teachers, judges string
	held             int // the fold that every seed holds out; 0: see fold
}

// title is the data set's name, without the side.
func (d data) title() string {
	if d.held > 0 || d.teachers != "" {
		return d.name
	}
	return cmp.Or(d.folder, d.name)
}

// dataSets are those that the tables report.
var dataSets = []data{
	{name: "qubiq-brain-growth", folder: "qubiq-brain-growth", side: 128},
	{name: "qubiq-brain-growth-256", folder: "qubiq-brain-growth", side: 256},
	{name: "drishti-gs1-crop", folder: "drishti-gs1-crop", side: 128, levels: true},
	{name: "bubil-cells", folder: "bubil-cells", side: 128, training: []string{"standardise: true", "-orientation", "any"}},
	{name: "bubil-cells-2b", folder: "bubil-cells-2b", side: 128, training: []string{"standardise: true", "-orientation", "any"}},
	{name: "one-expert", side: 64, truth: true},
	{name: "sectoral", side: 64, truth: true, training: []string{"-orientation", "upright"}},
	{name: "random-errors", side: 64, truth: true},
	{name: "changing-panels", side: 64, truth: true},
}

// readers are data whose slots of raters are drawn anew for each view.
var readers = []data{
	{name: "lidc", folder: "lidc", side: 64, training: []string{"-slots", "drawn", "-orientation", "any"}, steps: 1200, patients: true},
	{name: "bubil-crowd", folder: "bubil-crowd", side: 128, truth: true, training: []string{"-slots", "drawn", "standardise: true", "-orientation", "any"}},
}

// confirmation is what weights/shipped/tables/PLAN.md asks for. It is in no family of the tables.
func confirmation() (t table) {
	t.rows = []entry{meanVote, sharp, recurrent}
	for _, fusion := range []string{"majority", "dawid-skene", "contours"} {
		t.rows = append(t.rows, withDice(entry{name: "on-" + fusion, title: "labels of " + fusion, args: meanVote.args, fused: fusion}))
	}
	for _, scenario := range dataSets[len(dataSets)-4:] {
		scenario.drawn, scenario.name = scenario.name, scenario.name+"-panels"
		t.sets = append(t.sets, scenario)
	}
	for _, real := range dataSets {
		if real.name == "bubil-cells" || real.name == "qubiq-brain-growth" {
			for _, real.held = range []int{4, 5} {
				one := real
				one.name += fmt.Sprintf("-fold%d", one.held)
				t.sets = append(t.sets, one)
			}
		}
	}
	t.sets = append(t.sets, data{
		name: "bubil-fluo-crowd", folder: "bubil-fluo", side: 128, teachers: "crowd", judges: "expert",
		training: []string{"-slots", "drawn", "standardise: true", "-orientation", "any"},
	})
	return t
}

// suits says whether a row can be trained on the data.
func (d data) suits(e entry) bool {
	m, err := model.FindMethod(strings.TrimSuffix(cmp.Or(e.fused, e.name), diced))
	if err == nil && (m.Diagnosed && !d.truth || d.levels && m.NeedsRaters()) { // generated data has a diagnosis
		return false
	}
	return !d.levels || e.fused == "" && !slices.ContainsFunc(e.args, func(arg string) bool { field, _, _ := strings.Cut(arg, ": "); return slices.Contains(ofRaters, field) })
}

// ofRaters are fields that change nothing where only levels of agreement are known.
var ofRaters = []string{"shuffle", "multi-head", "rule"}
