package dataset

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/weights"
)

// Report is the result of Check for folders that are to be trained on together.
type Report struct {
	Name     string    `json:"name"`
	Images   int       `json:"images"`
	HeldOut  int       `json:"heldOut"`
	Aside    int       `json:"validation"` // images that a split sets aside
	Training int       `json:"training"`
	Classes  []string  `json:"classes"`
	Raters   []string  `json:"raters"`
	Levels   bool      `json:"levels"`
	Memory   int       `json:"memory"`   // bytes in which training keeps its images
	Figures  []Figure  `json:"figures"`  // by class, then rater
	Findings []Finding `json:"findings"` // errors first
}

// Finding is one error, or one probable mistake.
type Finding struct {
	Error bool   `json:"error"` // training would fail
	Kind  string `json:"kind"`
	File  string `json:"file,omitempty"`
	Text  string `json:"text"`
}

// String is the file and what is said of it.
func (f Finding) String() string {
	if f.File == "" {
		return f.Text
	}
	return f.File + ": " + f.Text
}

// Kinds of findings. KindFault is an error. KindSplit is an error if nothing is left to train on.
// All others are warnings.
const (
	KindFault     = "fault"           // Open, Load or LoadSamples refuses it, or no model can be of it
	KindSplit     = "split"           // nothing to train on, nothing held out, or images that the split lacks
	KindGroup     = "groups"          // images without a group
	KindDuplicate = "duplicate image" // the same picture under two names
	KindInverted  = "inverted mask"
	KindEmpty     = "empty mask"
	KindValues    = "mask values" // 0 and 1
	KindNoMarks   = "empty class" // in every image
	KindRater     = "outlier rater"
	KindDirection = "direction"  // a rater's masks lie aside from the others'
	KindSame      = "same marks" // of two raters
	KindMask      = "outlier mask"
	KindNesting   = "not nested" // an agreement level is not within the one below
	KindMissing   = "missing labels"
	KindBlank     = "blank image"  // one colour
	KindTurned    = "turned image" // its EXIF orientation is applied
	KindSize      = "odd size"     // tiny or long
	KindColour    = "odd colour"   // grey among coloured or the reverse
	KindScale     = "odd scale"    // it uses fewer or more of 16 bits than the others
	KindSmall     = "small class"
)

// kinds is the order of the findings in a report.
var kinds = []string{KindFault, KindSplit, KindGroup, KindDuplicate, KindInverted, KindNoMarks, KindEmpty, KindValues, KindRater, KindDirection, KindSame, KindMask, KindNesting, KindMissing,
	KindBlank, KindTurned, KindSize, KindColour, KindScale, KindSmall}

func warn(to *[]Finding, kind, file, format string, args ...any) {
	*to = append(*to, Finding{Kind: kind, File: file, Text: fmt.Sprintf(format, args...)})
}

func fail(to *[]Finding, kind, text string) {
	*to = append(*to, Finding{Error: true, Kind: kind, Text: text})
}

// Failed reports whether training would fail.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Error })
}

// Check reads all files. It reports data that training would refuse, and data that training would
// take but that is probably a mistake. It keeps no images, and needs memory for a few at a time. It
// calls progress after each case.
func Check(ctx context.Context, dirs []string, progress func(done, total int)) *Report {
	d, problems := survey(dirs)
	r := &Report{Name: strings.Join(dirs, ", ")}
	for _, p := range problems {
		fail(&r.Findings, KindFault, p)
	}
	if d == nil {
		return r
	}
	if k, m := len(d.Classes), len(d.Raters); k > weights.MaxClasses || m > weights.MaxRaters {
		fail(&r.Findings, KindFault, fmt.Sprintf("raters: %d, classes: %d; a model has at most %d and %d", m, k, weights.MaxRaters, weights.MaxClasses))
	}
	train := d.Training()
	r.Name, r.Classes, r.Raters, r.Levels = d.Name, d.Classes, d.Raters, d.Levels
	r.Images, r.Training, r.HeldOut, r.Aside = len(d.Cases), len(train), len(d.HeldOut()), len(d.Validation())
	for _, c := range train {
		r.Memory += samplePixel * c.W * c.H
	}
	switch {
	case r.Images > 0 && r.Training == 0:
		fail(&r.Findings, KindSplit, "no image is left to train on")
	case r.HeldOut == 0 && len(d.Splits) > 0:
		warn(&r.Findings, KindSplit, "", "the split has no image under test: nothing can be measured")
	case r.HeldOut == 0:
		warn(&r.Findings, KindSplit, "", "fewer than %d images: none is held out, and nothing can be measured", HoldOut)
	}
	r.Findings = append(r.Findings, d.Notes()...)
	r.families(d)
	cases := make([]*caseFigures, len(d.Cases))
	err := Each(ctx, len(d.Cases), progress, func(i int) error {
		cases[i] = d.look(d.Cases[i])
		return nil
	})
	if err != nil {
		return r
	}
	for _, c := range cases {
		r.Findings = append(r.Findings, c.findings...)
	}
	sound := slices.DeleteFunc(slices.Clone(cases), func(c *caseFigures) bool { return !c.read })
	r.duplicates(ctx, train, sound)
	r.colours(sound)
	r.scales(sound)
	r.figures(d, cases)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(btoi(b.Error)-btoi(a.Error), slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
	})
	return r
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// duplicates finds cases of the same pixels under two names, and copies that were changed and of
// which one is learned from and one is not.
func (r *Report) duplicates(ctx context.Context, train []Case, cases []*caseFigures) {
	trained := map[string]bool{}
	for _, c := range train {
		trained[c.Image] = true
	}
	first := map[[32]byte]*caseFigures{}
	for _, c := range cases {
		other, seen := first[c.hash]
		if !seen {
			first[c.hash] = c
			continue
		}
		consequence := ""
		switch a, b := trained[c.Image], trained[other.Image]; {
		case a && b:
			consequence = "; both are trained on: the image counts twice"
		case (a || b) && (c.Part == ForTest || other.Part == ForTest):
			consequence = "; one is trained on and the other held out: scores would be too good, remove one"
		}
		warn(&r.Findings, KindDuplicate, c.Image, "the same pixels as %s%s", other.Image, consequence)
	}
	for _, p := range nearCopies(ctx, cases, func(c *caseFigures) bool { return trained[c.Image] }) {
		warn(&r.Findings, KindDuplicate, p.held.Image, "shows the same picture as %s, saved again, changed, or taken twice; that one is trained on and this one held out or set aside: "+
			"scores would be too good, remove one", p.trained.Image)
	}
}

// family is what the names of images of a person begin with, up to the number of a series or the
// side of an eye: p1 of p1_slice5, hy100 of hy100_0, RET002 of RET002OD; empty: it cannot be told.
// Package regexp would be a tenth of the page's program.
func family(name string) string {
	const digits, between = "0123456789", "-_. "
	for _, eye := range []string{"OD", "OS", "L", "R"} {
		start, found := strings.CutSuffix(name, eye)
		if start = strings.TrimRight(start, between); found && strings.TrimRight(start, digits) != start {
			return start
		}
	}
	series := strings.TrimRight(name, digits)
	word := strings.TrimRightFunc(series, func(r rune) bool { return 'a' <= r|0x20 && r|0x20 <= 'z' })
	start := strings.TrimRight(word, between)
	if series == name || start == word || !strings.ContainsAny(start[strings.LastIndexAny(start, between)+1:], digits) {
		return ""
	}
	return start
}

// families warns if images without a group are called as if they showed one person. Few families
// may be kinds of images, but slices are of somebody.
func (r *Report) families(d *Dataset) {
	first, several := map[string]Case{}, map[string]bool{}
	var across, alike []string
	slice := false
	for _, c := range d.Cases {
		start := family(c.Name)
		if start == "" || c.Group != "" || c.Part == Unlisted {
			continue
		}
		start = c.Folder + "/" + start
		other, seen := first[start]
		if !seen {
			first[start] = c
			continue
		}
		several[start], alike = true, append(alike, other.Name, c.Name)
		slice = slice || strings.Contains(strings.ToLower(c.Name), "slice")
		if c.Part != other.Part {
			across = append(across, other.Name, c.Name)
		}
	}
	switch {
	case !slice && len(several) < HoldOut:
	case len(across) > 0:
		warn(&r.Findings, KindGroup, "", "%q and %q are on two sides of the split, and their names look like those of one patient: if they are, write %s", across[0], across[1], GroupsFile)
	case len(alike) > 0:
		warn(&r.Findings, KindGroup, "", "the names of %q and %q look like those of one patient: if they are, write %s; without it intervals count each image as a patient", alike[0], alike[1], GroupsFile)
	}
}

// colours finds a few grey images among coloured ones, or the reverse.
func (r *Report) colours(cases []*caseFigures) {
	const few = 0.2 // share
	grey, all := 0, len(cases)
	for _, c := range cases {
		grey += btoi(c.grey)
	}
	share := float64(grey) / float64(all)
	for _, c := range cases {
		switch {
		case c.grey && share <= few:
			warn(&r.Findings, KindColour, c.Image, "is grey; %d of %d images are in colour", all-grey, all)
		case !c.grey && share >= 1-few:
			warn(&r.Findings, KindColour, c.Image, "is in colour; %d of %d images are grey", grey, all)
		}
	}
}

// scales finds images of 16-bit samples that are shown brighter or darker than most images of their
// folder: the decoder decides for each image how many of the bits it uses.
func (r *Report) scales(cases []*caseFigures) {
	counts := map[string]*[17]int{} // by folder and bits: the number of images that use so many
	for _, c := range cases {
		folder := filepath.Dir(c.Image)
		if counts[folder] == nil {
			counts[folder] = &[17]int{}
		}
		counts[folder][c.bits]++
	}
	for _, c := range cases {
		usual := 1
		count := counts[filepath.Dir(c.Image)]
		for bits := range count[1:] { // count[0] is for images of other samples
			if count[bits+1] >= count[usual] {
				usual = bits + 1
			}
		}
		how, by := "bright", usual-c.bits
		if by < 0 {
			how, by = "dark", -by
		}
		if c.bits > 0 && by > 0 {
			warn(&r.Findings, KindScale, c.Image, "uses %d bits, most others %d: it is shown %d times as %s as they are; store all in 8 bits with the same scaling",
				c.bits, usual, 1<<by, how)
		}
	}
}

// Figure compares a rater's masks of a class with the other raters'.
type Figure struct {
	Class   string  `json:"class"`
	Rater   string  `json:"rater"`
	Masks   int     `json:"masks"`
	Missing int     `json:"missing"`
	Empty   int     `json:"empty"`
	Share   float64 `json:"share"` // mean share of the image that is marked

	Compared int     `json:"compared"` // masks of images that another rater has marked too
	Dice     float64 `json:"dice"`     // mean over these masks of the mean Dice with the others
	Area     float64 `json:"area"`     // geometric mean over them of area / the others' mean area
	Worst    string  `json:"worst"`    // the case of the lowest Dice
	Least    float64 `json:"least"`    // the lowest Dice

	Displaced statistics.Displaced `json:"displacement"` // from the others
}

// A rater is an outlier if his mean Dice is farDice below the median rater's, or if his areas are
// at least farArea times those of the others, or at most 1/farArea of them.
const (
	farDice = 0.1
	farArea = 1.5
)

// figures compares the raters, class by class.
func (r *Report) figures(d *Dataset, cases []*caseFigures) {
	units := Units(d.Cases)
	for k, class := range d.Classes {
		var figures []Figure
		share := 0.
		for m, rater := range d.Raters {
			f := figure(cases, units, m, k)
			f.Class, f.Rater = class, rater
			figures = append(figures, f)
			share += f.Share / float64(len(d.Raters))
			if f.Missing > 0 {
				warn(&r.Findings, KindMissing, "", "rater %s has not marked the %s in %d of %d images; these labels are missing",
					rater, class, f.Missing, len(cases))
			}
		}
		r.Figures = append(r.Figures, figures...)
		masks, empty := 0, 0
		for _, f := range figures {
			masks, empty = masks+f.Masks, empty+f.Empty
		}
		if masks > 0 && empty == masks {
			warn(&r.Findings, KindNoMarks, "", "all %d masks of the %s are empty: a network learns to mark nothing, and scores say only whether it does; "+
				"unless that is meant, as in a folder of other people, bring the marks, or take the class out of dataset.json and move its folders away", masks, class)
		}
		if !d.Levels {
			for _, f := range figures {
				if text := Direction(f.Rater, class, f.Displaced); text != "" {
					warn(&r.Findings, KindDirection, "", "%s", text)
				}
			}
			r.outliers(figures)
			r.copies(d, cases, k)
		}
		const side, least = 128, 16
		if pixels := share * side * side; pixels > 0 && pixels < least {
			warn(&r.Findings, KindSmall, "", "the %s covers %.2g %% of an image, %.1f pixels at %d²: crop the images, or train with a larger side or an anchor",
				class, 100*share, pixels, side)
		}
	}
}

func figure(cases []*caseFigures, units []int, m, k int) (f Figure) {
	var placed []statistics.Placed
	var shares, dice, areas []float64
	for i, c := range cases {
		if !c.labelled(m, k) {
			f.Missing++
		}
		if !c.labelled(m, k) || !c.read {
			continue
		}
		mark := c.marks[k][m]
		shares = append(shares, mark.share)
		f.Empty += btoi(mark.area == 0)
		if mark.others == 0 {
			continue
		}
		dice, placed = append(dice, mark.dice), append(placed, statistics.Placed{Unit: statistics.Unit(1 + units[i]), Displacement: mark.Displacement})
		if mark.ratio > 0 {
			areas = append(areas, math.Log(mark.ratio))
		}
		if len(dice) == 1 || mark.dice < f.Least {
			f.Worst, f.Least = c.Folder+"/"+c.Name, mark.dice
		}
	}
	mean := func(values []float64) float64 {
		if len(values) == 0 {
			return 0 // JSON has no NaN
		}
		return metric.Mean(values)
	}
	f.Masks, f.Share = len(shares), mean(shares)
	f.Compared, f.Dice, f.Area, f.Displaced = len(dice), mean(dice), math.Exp(mean(areas)), statistics.DisplacedOver(placed)
	return f
}

// Direction says how a rater's masks of a class lie aside from the others', and which orientation
// of views keeps that; empty: they do not.
func Direction(rater, class string, d statistics.Displaced) string {
	x, y := d.Aside()
	keeps := "training keeps that with orientation tilted, the default, or upright"
	if x {
		keeps = "train with orientation upright; otherwise views are mirrored, and left is right"
	} else if !y {
		return ""
	}
	return fmt.Sprintf("rater %s, %s: %s pixels to the right and down from the others' majority, in %% of its diameter %s and %s: %s",
		rater, class, d.Moved(), d.X.Text("%+.*f", 100, 1), d.Y.Text("%+.*f", 100, 1), keeps)
}

// outliers warns of outliers, if a class has at least three raters.
func (r *Report) outliers(figures []Figure) {
	var dice []float64
	for _, f := range figures {
		if f.Compared > 0 {
			dice = append(dice, f.Dice)
		}
	}
	if len(dice) < 3 {
		return
	}
	median := metric.Median(dice)
	for _, f := range figures {
		if f.Compared > 0 && (f.Dice < median-farDice || f.Area > farArea || f.Area < 1/farArea) {
			warn(&r.Findings, KindRater, "", "rater %s, %s: mean Dice %.3f with the others (median rater %.3f), areas %.2f times theirs, over %d images",
				f.Rater, f.Class, f.Dice, median, f.Area, f.Compared)
		}
	}
}

// copies warns of two raters whose masks are equal too often for two people.
func (r *Report) copies(d *Dataset, cases []*caseFigures, k int) {
	const least = 5 // images
	for a := range d.Raters {
		for b := range a {
			same, both := 0, 0
			for _, c := range cases {
				if c.read && c.marks[k][a].area > 0 && c.marks[k][b].area > 0 {
					both++
					same += btoi(c.pairs[k][a][b] == 1)
				}
			}
			if both >= least && 2*same > both {
				warn(&r.Findings, KindSame, "", "raters %s and %s marked exactly the same %s in %d of %d images; is one a copy?",
					d.Raters[b], d.Raters[a], d.Classes[k], same, both)
			}
		}
	}
}
