package dataset

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Report is what Check found in folders that are to be trained on together.
type Report struct {
	Name     string    `json:"name"`
	Images   int       `json:"images"`
	HeldOut  int       `json:"heldOut"`
	Training int       `json:"training"`
	Classes  []string  `json:"classes"`
	Raters   []string  `json:"raters"`
	Levels   bool      `json:"levels"`
	Memory   int       `json:"memory"`   // bytes in which training keeps its images
	Figures  []Figure  `json:"figures"`  // by class, then rater
	Findings []Finding `json:"findings"` // errors first
}

// Finding is one thing that is wrong, or can hardly be meant.
type Finding struct {
	Error bool   `json:"error"` // training would fail
	Kind  string `json:"kind"`
	File  string `json:"file,omitempty"`
	Text  string `json:"text"`
}

// Kinds of findings; those after the first are warnings, but for KindSplit, which is an error where nothing is left to train on.
const (
	KindFault     = "fault"           // what Open, Load and LoadSamples refuse
	KindSplit     = "split"           // nothing to train on, or nothing held out
	KindDuplicate = "duplicate image" // the same pixels under two names
	KindBlank     = "blank image"     // one colour
	KindSize      = "odd size"        // tiny or long
	KindColour    = "odd colour"      // grey among coloured or the reverse
	KindScale     = "odd scale"       // of 16 bits it uses fewer than the others, or more
	KindTurned    = "turned image"    // its EXIF orientation is applied
	KindMissing   = "missing labels"
	KindEmpty     = "empty mask"
	KindInverted  = "inverted mask"
	KindNesting   = "not nested" // an agreement level is not within the one below
	KindMask      = "outlier mask"
	KindRater     = "outlier rater"
	KindSame      = "same marks" // of two raters
	KindSmall     = "small class"
)

// Failed reports whether training would fail.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Error })
}

// Check reads everything and tells what training would refuse and what it would take though it can hardly be meant. Images are not kept:
// memory is that of a few. Progress is told after each case.
func Check(ctx context.Context, dirs []string, progress func(done, total int)) *Report {
	d, problems := survey(dirs)
	r := &Report{Name: strings.Join(dirs, ", ")}
	for _, p := range problems {
		r.fault(p)
	}
	if d == nil {
		return r
	}
	train := d.Training()
	r.Name, r.Classes, r.Raters, r.Levels = d.Name, d.Classes, d.Raters, d.Levels
	r.Images, r.Training, r.HeldOut = len(d.Cases), len(train), len(d.HeldOut())
	for _, c := range train {
		r.Memory += samplePixel * c.W * c.H
	}
	switch {
	case r.Images > 0 && r.Training == 0:
		r.add(Finding{Error: true, Kind: KindSplit, Text: "no image is left to train on"})
	case r.HeldOut == 0:
		r.warn(KindSplit, "", "fewer than %d images: none is held out, so that nothing can be measured", HoldOut)
	}

	looked := make([]*caseFigures, len(d.Cases))
	var lock sync.Mutex
	done := 0
	each(len(d.Cases), func(i int) {
		if ctx.Err() != nil {
			return
		}
		looked[i] = d.look(d.Cases[i])
		lock.Lock()
		defer lock.Unlock()
		done++
		if progress != nil {
			progress(done, len(d.Cases))
		}
	})
	if ctx.Err() != nil {
		return r
	}
	for _, c := range looked {
		r.Findings = append(r.Findings, c.findings...)
	}
	r.duplicates(d, looked)
	r.colours(looked)
	r.scales(looked)
	r.figures(d, looked)
	slices.SortStableFunc(r.Findings, func(a, b Finding) int { // errors, then in the order of kinds
		return cmp.Or(btoi(b.Error)-btoi(a.Error), slices.Index(kinds, a.Kind)-slices.Index(kinds, b.Kind))
	})
	return r
}

// kinds is the order in which findings are told.
var kinds = []string{KindFault, KindSplit, KindDuplicate, KindInverted, KindEmpty, KindRater, KindSame, KindMask, KindNesting, KindMissing,
	KindBlank, KindTurned, KindSize, KindColour, KindScale, KindSmall}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (r *Report) add(f Finding) { r.Findings = append(r.Findings, f) }

func (r *Report) warn(kind, file, format string, args ...any) {
	r.add(Finding{Kind: kind, File: file, Text: fmt.Sprintf(format, args...)})
}

func (r *Report) fault(text string) { r.add(Finding{Error: true, Kind: KindFault, Text: text}) }

// duplicates finds cases of the same pixels under two names.
func (r *Report) duplicates(d *Dataset, looked []*caseFigures) {
	trained := map[string]bool{}
	for _, c := range d.Training() {
		trained[c.Image] = true
	}
	first := map[[32]byte]*caseFigures{}
	for _, c := range looked {
		if !c.read {
			continue
		}
		other, seen := first[c.hash]
		if !seen {
			first[c.hash] = c
			continue
		}
		text := fmt.Sprintf("the same pixels as %s", other.Image)
		switch a, b := trained[c.Image], trained[other.Image]; {
		case a && b:
			text += "; both are trained on, so that it counts twice"
		case (a || b) && (c.HeldOut || other.HeldOut):
			text += "; one is trained on and the other held out: scores would be too good, remove one"
		}
		r.warn(KindDuplicate, c.Image, "%s", text)
	}
}

// colours finds the few grey images among coloured ones, or the reverse.
func (r *Report) colours(looked []*caseFigures) {
	const few = 0.2 // share
	grey, all := 0, 0
	for _, c := range looked {
		if c.read {
			all++
			grey += btoi(c.grey)
		}
	}
	for _, c := range looked {
		switch share := float64(grey) / float64(all); {
		case !c.read:
		case c.grey && share <= few:
			r.warn(KindColour, c.Image, "is grey; %d of %d images are in colour", all-grey, all)
		case !c.grey && share >= 1-few:
			r.warn(KindColour, c.Image, "is in colour; %d of %d images are grey", grey, all)
		}
	}
}

// scales finds images of 16-bit samples that are shown brighter or darker than most of their folder, since it is decided image by image how
// many of the bits are used.
func (r *Report) scales(looked []*caseFigures) {
	counts := map[string]*[17]int{} // by folder: how many images use so many bits
	of := func(c *caseFigures) *[17]int {
		folder := filepath.Dir(c.Image)
		if counts[folder] == nil {
			counts[folder] = &[17]int{}
		}
		return counts[folder]
	}
	for _, c := range looked {
		if c.bits > 0 {
			of(c)[c.bits]++
		}
	}
	for _, c := range looked {
		if c.bits == 0 {
			continue
		}
		usual := 0
		for bits, n := range of(c) {
			if n >= of(c)[usual] {
				usual = bits
			}
		}
		how, by := "bright", usual-c.bits
		if by < 0 {
			how, by = "dark", -by
		}
		if by > 0 {
			r.warn(KindScale, c.Image, "uses %d bits, most others %d: it is shown %d times as %s as they are; store all in 8 bits with the same scaling", c.bits,
				usual, 1<<by, how)
		}
	}
}

// Figure is how a rater marks a class beside the others.
type Figure struct {
	Class   string  `json:"class"`
	Rater   string  `json:"rater"`
	Masks   int     `json:"masks"`
	Missing int     `json:"missing"`
	Empty   int     `json:"empty"`
	Share   float64 `json:"share"` // mean share of the image that is marked

	Compared int     `json:"compared"` // masks beside which there is another rater's
	Dice     float64 `json:"dice"`     // mean over those of the mean Dice with the others
	Area     float64 `json:"area"`     // geometric mean over those of the area to the others' mean
	Worst    string  `json:"worst"`    // the case of the lowest Dice
	Least    float64 `json:"least"`    // that Dice
}

// A rater stands out whose mean Dice is lower than the median rater's by farDice, or whose areas are farArea times the others' or more,
// or less by as much.
const (
	farDice = 0.1
	farArea = 1.5
)

// figures compares the raters, class by class.
func (r *Report) figures(d *Dataset, looked []*caseFigures) {
	for k, class := range d.Classes {
		begin := len(r.Figures)
		for m, rater := range d.Raters {
			f := figure(looked, m, k)
			f.Class, f.Rater = class, rater
			r.Figures = append(r.Figures, f)
			if f.Missing > 0 {
				r.warn(KindMissing, "", "rater %s has not marked the %s in %d of %d images; they count as labels that nobody gave", rater, class, f.Missing,
					len(looked))
			}
		}
		figures := r.Figures[begin:]
		if !d.Levels {
			r.outliers(figures)
			r.copies(d, looked, k)
		}
		share := 0.
		for _, f := range figures {
			share += f.Share / float64(len(figures))
		}
		const side, least = 128, 16
		if pixels := share * side * side; pixels > 0 && pixels < least {
			r.warn(KindSmall, "", "the %s covers %.2g %% of an image, %.1f pixels at %d²: crop the images, or train with a larger -side or an -anchor",
				class, 100*share, pixels, side)
		}
	}
}

func figure(looked []*caseFigures, m, k int) (f Figure) {
	f.Least = math.Inf(1)
	area := 0.
	areas := 0
	for _, c := range looked {
		if c.Masks[m][k] == "" {
			f.Missing++
			continue
		}
		if !c.read {
			continue
		}
		mark := c.marks[k][m]
		f.Masks++
		f.Share += mark.share
		f.Empty += btoi(mark.area == 0)
		if !mark.compared {
			continue
		}
		f.Compared++
		f.Dice += mark.dice
		if mark.ratio > 0 {
			area += math.Log(mark.ratio)
			areas++
		}
		if mark.dice < f.Least {
			f.Worst, f.Least = c.Folder+"/"+c.Name, mark.dice
		}
	}
	f.Share /= float64(max(f.Masks, 1))
	f.Dice /= float64(max(f.Compared, 1))
	f.Area = math.Exp(area / float64(max(areas, 1)))
	if f.Compared == 0 {
		f.Least = 0
	}
	return f
}

// outliers tells who stands out among the raters of a class; among two nobody does.
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
	slices.Sort(dice)
	median := (dice[(len(dice)-1)/2] + dice[len(dice)/2]) / 2
	for _, f := range figures {
		if f.Compared > 0 && (f.Dice < median-farDice || f.Area > farArea || f.Area < 1/farArea) {
			r.warn(KindRater, "", "rater %s, %s: mean Dice %.3f with the others (median rater %.3f), areas %.2f times theirs, over %d images", f.Rater,
				f.Class, f.Dice, median, f.Area, f.Compared)
		}
	}
}

// copies tells of raters whose masks are equal too often to be two people's.
func (r *Report) copies(d *Dataset, looked []*caseFigures, k int) {
	const least = 5 // images
	for a := range d.Raters {
		for b := range a {
			same, both := 0, 0
			for _, c := range looked {
				if c.read && c.marks[k][a].area > 0 && c.marks[k][b].area > 0 {
					both++
					same += btoi(c.pairs[k][a][b] == 1)
				}
			}
			if both >= least && 2*same > both {
				r.warn(KindSame, "", "raters %s and %s marked exactly the same %s in %d of %d images; is one a copy?", d.Raters[b], d.Raters[a], d.Classes[k],
					same, both)
			}
		}
	}
}
