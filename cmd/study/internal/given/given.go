// Package given measures what given marks do to the masks of a model.
package given

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"mrprism/cmd/study/internal/input"
	"mrprism/cmd/study/internal/score"
	"mrprism/internal/command"
	"mrprism/internal/command/computing"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/segment"
	"mrprism/model"
)

const (
	mostMarks   = 2  // given at once
	mostSubsets = 12 // of raters whose marks are given of an image
)

// Request holds the flags of evaluate evidence.
type Request struct {
	Weights, Data string
	Precision     model.Precision
	Device        segment.Opener
	Figures       *command.Figures
}

// evidenceStudy measures what given marks do to the masks of a data set.
type evidenceStudy struct {
	Request
	set      *dataset.Dataset
	session  segment.Session
	progress *command.Progress
	levels   bool
	most     int                  // marks given at once
	blends   map[blendKey]float64 // λ of the best fixed blend on training images
	rows     []givenRow
}

// Run measures what given marks do to the masks of the images that are held out.
func Run(ctx context.Context, r Request, stdout, stderr io.Writer) error {
	g := evidenceStudy{Request: r}
	if err := g.open(); err != nil {
		return err
	}
	held, known := g.set.HeldOut(), g.set.Training()
	if len(held) == 0 {
		return fmt.Errorf("%s holds no image out: list some under test in %s, or give at least %d images", g.set.Name, dataset.SplitFile, dataset.HoldOut)
	}
	if err := input.CheckImages(ctx, slices.Concat(held, known), nil, g.set.Classes, stderr); err != nil {
		return err
	}
	g.progress = command.NewProgress(stderr, len(held)+len(known))
	g.session.Open, g.session.Precision = r.Device, r.Precision
	g.session.Note = func(text string) { g.progress.Note("evaluate evidence", text) }
	defer g.session.Close()
	stopped := g.all(ctx, known, held)
	g.progress.Clear()
	if len(g.rows) == 0 {
		return stopped
	}
	return errors.Join(stopped, g.Figures.Write(stdout, Report{g.Weights, g.set.Name, g.rows}, g.document().Print))
}

// open opens weights and data, and checks that they are about the same raters.
func (g *evidenceStudy) open() error {
	m, err := computing.Weights(g.Weights)
	if err != nil {
		return err
	}
	about := &m.Metadata
	if !segment.SettlesAround(about) {
		return fmt.Errorf("%s does not take marks as evidence: train it with the recipe default or evidence", about.Name)
	}
	if g.set, err = dataset.Open(g.Data); err != nil {
		return err
	}
	if err := g.set.As(about.Classes); err != nil {
		return fmt.Errorf("%w: give data of classes that %s segments", err, about.Name)
	}
	g.session.Model = m
	if !input.SameRaters(about, g.set) {
		return errors.New(input.OtherRaters(about, g.set) + ", and so is everything that this command measures")
	}
	g.levels = g.set.Levels
	g.most = min(mostMarks, len(g.set.Raters)-1)
	return nil
}

// all fits the blends on the training images and scores the images held out.
func (g *evidenceStudy) all(ctx context.Context, known, held []dataset.Case) error {
	fits := map[blendKey]*[len(lambdas)]float64{}
	for _, c := range known {
		g.progress.Begin()
		g.progress.Show("%s: fitting the blend", c.Name)
		l, err := dataset.Load(c)
		if err == nil {
			err = g.session.Do(ctx, func(e *segment.Engine) error {
				r, err := e.Segment(ctx, l.Image, segment.Options{ROI: "none"})
				if err == nil {
					g.fit(l, r, fits)
				}
				return err
			})
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Image, err)
		}
	}
	g.blends = map[blendKey]float64{}
	for key, sums := range fits {
		best := 0
		for i, sum := range sums {
			if sum > sums[best] {
				best = i
			}
		}
		g.blends[key] = lambdas[best]
	}
	var before *dataset.Loaded // the image whose marks are given wrongly
	if len(held) > 0 {
		before, _ = dataset.Load(held[len(held)-1])
	}
	units := dataset.Units(held)
	for i, c := range held {
		g.progress.Begin()
		l, err := dataset.Load(c)
		if err == nil {
			var rows []givenRow
			err = g.session.Do(ctx, func(e *segment.Engine) error {
				var err error
				rows, err = g.score(ctx, e, l, before)
				return err
			})
			for _, row := range rows {
				row.Unit = statistics.Unit(1 + units[i])
				g.rows = append(g.rows, row)
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.Image, err)
		}
		before = l
	}
	return nil
}

// lambdas are the shares of the network's mask in a blend with the mean of the given marks.
var lambdas = [...]float64{0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1}

// blendKey says what a blend is for.
type blendKey struct {
	class, given int
	all          bool // against the mean vote of all raters, and not of those who are not given
}

// subsets lists which raters' marks are given, k of those who marked a structure. If there are more
// than mostSubsets, they are drawn; equal images get equal subsets.
func subsets(l *dataset.Loaded, class, k int) (all [][]int) {
	var present []int
	for m, row := range l.Masks {
		if row[class] != nil {
			present = append(present, m)
		}
	}
	if k >= len(present) {
		return nil
	}
	var grow func(from int, chosen []int)
	grow = func(from int, chosen []int) {
		if len(chosen) == k {
			all = append(all, slices.Clone(chosen))
			return
		}
		for i := from; i < len(present); i++ {
			grow(i+1, append(chosen, present[i]))
		}
	}
	grow(0, nil)
	if len(all) > mostSubsets {
		random := rand.New(rand.NewPCG(uint64(k), uint64(class)))
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:mostSubsets]
	}
	return all
}

// divided are the marks of a class that are given and those that are not.
func divided(l *dataset.Loaded, class int, chosen []int) (given, hidden [][]uint8) {
	for m, row := range l.Masks {
		switch {
		case row[class] == nil:
		case slices.Contains(chosen, m):
			given = append(given, row[class])
		default:
			hidden = append(hidden, row[class])
		}
	}
	return given, hidden
}

// mixed is λ·network + (1 − λ)·mean of the marks.
func mixed(network []float32, marks metric.Votes, lambda float64) []float32 {
	out := marks.Mean()
	for i, v := range network {
		out[i] = float32(lambda)*v + float32(1-lambda)*out[i]
	}
	return out
}

// fit adds an image to the scores of the blends.
func (g *evidenceStudy) fit(l *dataset.Loaded, r *segment.Result, fits map[blendKey]*[len(lambdas)]float64) {
	for class := range g.set.Classes {
		network := r.Probability(class)
		for k := 1; k <= g.most; k++ {
			chosen := subsets(l, class, k)
			for _, subset := range chosen[:min(3, len(chosen))] { // training images are many
				given, hidden := divided(l, class, subset)
				marks := metric.Count(given...)
				for _, all := range []bool{false, true} {
					key := blendKey{class, k, all}
					if fits[key] == nil {
						fits[key] = new([len(lambdas)]float64)
					}
					target := metric.Count(hidden...)
					if all {
						target = metric.Count(l.Given(class)...)
					}
					for i, lambda := range lambdas {
						fits[key][i] += metric.SoftDice(mixed(network, marks, lambda), target)
					}
				}
			}
		}
	}
}

// evidence makes marks of raters' masks, maybe of another image.
func (g *evidenceStudy) evidence(l *dataset.Loaded, class int, chosen []int) (all []segment.Evidence) {
	for _, m := range chosen {
		mask := make([]byte, len(l.Masks[m][class]))
		for i, v := range l.Masks[m][class] {
			mask[i] = 255 * v
		}
		all = append(all, segment.Evidence{Rater: g.rater(m), Class: g.set.Classes[class], Mask: mask})
	}
	return all
}

// rater is the name under which the marks of rater m are given.
func (g *evidenceStudy) rater(m int) string {
	if g.levels {
		return segment.Somebody
	}
	return g.set.Raters[m]
}

// figure is a score, 0..1, of an answer: with whom it is compared, and whose it is.
type figure struct {
	With   string `json:"with"`
	Answer string `json:"answer"`
}

// With whom or what answers are compared.
const (
	notGiven   = "raters not given"
	everyRater = "all raters"
	ownMarks   = "own marks of raters not given" // the head of each
	ownRest    = "rest of the corrected rater's outline"
	othersRest = "rest of the others' outline"
)

// Answers, beside the settled network's.
const (
	ours       = "ours"
	without    = "network without"
	theMarks   = "the marks"
	staple     = "STAPLE"
	fixedBlend = "fixed blend"
	bestBlend  = "best blend, chosen here"
	onePass    = "after one pass"
	otherImage = "another image's marks"
)

// scores are figures with their values. JSON has a list of them.
type scores map[figure]float64

// over divides all values.
func (s scores) over(n float64) scores {
	for f := range s {
		s[f] /= n
	}
	return s
}

// MarshalJSON implements json.Marshaler.
func (s scores) MarshalJSON() ([]byte, error) {
	type scored struct {
		figure
		Value float64 `json:"value"`
	}
	var list []scored
	for f, v := range s {
		list = append(list, scored{f, v})
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(a.With, b.With), cmp.Compare(a.Answer, b.Answer)) })
	return json.Marshal(list)
}

// Report is what the JSON has.
type Report struct {
	Weights string     `json:"weights"`
	Data    string     `json:"data"`
	Scores  []givenRow `json:"scores"`
}

// givenRow has the figures of an image, a structure and a number of given marks.
type givenRow struct {
	statistics.Unit `json:"-"`
	Image           string `json:"image"`
	Class           string `json:"structure"`
	Given           int    `json:"given"` // 0: a corrected patch
	Figures         scores `json:"figures"`
}

// score measures an image. The marks of `other` are what must not help.
func (g *evidenceStudy) score(ctx context.Context, e *segment.Engine, l, other *dataset.Loaded) (rows []givenRow, err error) {
	g.progress.Show("%s: without evidence", l.Name)
	plain, err := e.Segment(ctx, l.Image, segment.Options{ROI: "none"})
	if err != nil {
		return nil, err
	}
	for class, name := range g.set.Classes {
		for k := 1; k <= g.most; k++ {
			chosen := subsets(l, class, k)
			if len(chosen) == 0 {
				continue
			}
			sums := scores{}
			for i, subset := range chosen {
				g.progress.Show("%s: %s, %d of %d, marks of %d", l.Name, name, i+1, len(chosen), k)
				if err := g.given(ctx, e, l, other, plain, class, subset, sums); err != nil {
					return nil, err
				}
			}
			rows = append(rows, givenRow{Image: l.Name, Class: name, Given: k, Figures: sums.over(float64(len(chosen)))})
		}
		corrected, err := g.corrections(ctx, e, l, plain, class)
		if err != nil {
			return nil, err
		}
		if corrected != nil {
			rows = append(rows, givenRow{Image: l.Name, Class: name, Figures: corrected})
		}
	}
	return rows, nil
}

// given adds to sums the figures of one subset of raters.
func (g *evidenceStudy) given(ctx context.Context, e *segment.Engine, l, other *dataset.Loaded, plain *segment.Result, class int, chosen []int, sums scores) error {
	marks, hiddenMarks := divided(l, class, chosen)
	hidden, all, votes := metric.Count(hiddenMarks...), metric.Count(l.Given(class)...), metric.Count(marks...)
	network := plain.Probability(class)
	r, err := e.Recalculate(ctx, segment.Options{Recurrences: model.Settles, Evidence: g.evidence(l, class, chosen)})
	if err != nil {
		return err
	}
	one, err := e.Recalculate(ctx, segment.Options{Recurrences: 1, Evidence: g.evidence(l, class, chosen)})
	if err != nil {
		return err
	}
	fused := fusion.STAPLE(marks, nil).Map
	k := len(chosen)
	best, bestAll := 0., 0.
	for _, lambda := range lambdas {
		best, bestAll = max(best, metric.SoftDice(mixed(network, votes, lambda), hidden)), max(bestAll, metric.SoftDice(mixed(network, votes, lambda), all))
	}
	for f, v := range (scores{
		{notGiven, ours}:         metric.SoftDice(r.Others(class), hidden),
		{notGiven, onePass}:      metric.SoftDice(one.Others(class), hidden),
		{notGiven, without}:      metric.SoftDice(network, hidden),
		{notGiven, theMarks}:     metric.SoftDice(votes.Mean(), hidden),
		{notGiven, staple}:       metric.SoftDice(score.Single(fused), hidden),
		{notGiven, fixedBlend}:   metric.SoftDice(mixed(network, votes, g.blends[blendKey{class, k, false}]), hidden),
		{notGiven, bestBlend}:    best,
		{everyRater, ours}:       metric.SoftDice(r.Probability(class), all),
		{everyRater, without}:    metric.SoftDice(network, all),
		{everyRater, fixedBlend}: metric.SoftDice(mixed(network, votes, g.blends[blendKey{class, k, true}]), all),
		{everyRater, bestBlend}:  bestAll,
	}) {
		sums[f] += v
	}
	if other != nil && len(other.Image.Pix) == len(l.Image.Pix) && other.Image.W == l.Image.W && !slices.ContainsFunc(chosen, func(m int) bool { return other.Masks[m][class] == nil }) {
		wrong, err := e.Recalculate(ctx, segment.Options{Recurrences: model.Settles, Evidence: g.evidence(other, class, chosen)})
		if err != nil {
			return err
		}
		sums[figure{notGiven, otherImage}] += metric.SoftDice(wrong.Others(class), hidden)
	}
	heads := 0.
	var before, after float64
	for m, row := range l.Masks {
		if row[class] != nil && !slices.Contains(chosen, m) {
			heads++
			before += metric.Dice(plain.Rater(m, class), row[class])
			after += metric.Dice(r.Rater(m, class), row[class])
		}
	}
	sums[figure{ownMarks, without}] += before / heads
	sums[figure{ownMarks, ours}] += after / heads
	return nil
}
