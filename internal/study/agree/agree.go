// Package agree says how far the raters of a data set agree.
package agree

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/fusion"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
)

// agreementStudy gathers figures of the raters of a data set, image by image. It keeps figures, and
// no masks.
type agreementStudy struct {
	out      string
	data     *dataset.Dataset
	progress *command.Progress

	images  int // done
	classes []*structureSums
	ratios  [][]float64 // vertical cup/disc ratios by image and rater, of images that all raters marked
}

// most is the number of images with the least agreement.
const most = 10

// structureSums is what is known of a structure until now.
type structureSums struct {
	cases  []*disagreement
	single int           // images that fewer than two raters have marked
	areas  [][]float64   // by image and rater, of images that all raters marked
	pairs  [][]pairSum   // by rater and earlier rater
	raters []raterCounts // by rater
	worst  report.Gallery
}

// pairSum is the Dice of two raters over their common images.
type pairSum struct {
	dice   float64 // sum
	images int
}

// raterCounts are a rater's pixels beside the STAPLE map, over all images.
type raterCounts struct {
	masks, compared int // compared: beside at least one other rater
	area            float64
	fusion.Counts
}

// disagreement is how far the raters of an image agree about a structure. Figures are NaN where
// they are not defined, and Dice also for agreement levels.
type disagreement struct {
	image        string
	raters       int
	dice         float64 // mean over the pairs of raters
	least        float64 // of a pair
	a, b         int     // that pair
	union, whole float64 // Fleiss' kappa inside the union of the marks, and over the whole image
	consensus    float64 // pixels that all marked over pixels that anybody marked
}

// Run measures the agreement of the raters of a data set and delivers it, also to a folder
// unless its name is empty.
func Run(ctx context.Context, dir, out string, stdout, stderr io.Writer) error {
	g := agreementStudy{out: out}
	if err := g.open(dir); err != nil {
		return err
	}
	g.progress = command.NewProgress(stderr, len(g.data.Cases))
	stopped := g.gatherAll(ctx)
	g.progress.Clear()
	if problems := (dataset.Problems)(nil); g.images == 0 || errors.As(stopped, &problems) {
		return stopped // figures without the faulty images would look like those of all
	}
	return errors.Join(stopped, g.report().deliver(g.out, stdout))
}

// open opens the data set and checks that the files can be written.
func (g *agreementStudy) open(dir string) (err error) {
	if err := report.CheckVacant(g.out); g.out != "" && err != nil {
		return err
	}
	if g.data, err = dataset.Open(dir); err != nil {
		return err
	}
	n := len(g.data.Raters)
	if n < 2 {
		return fmt.Errorf("%s has one rater, %s: agreement needs two or more", dir, g.data.Raters[0])
	}
	for range g.data.Classes {
		pairs := make([][]pairSum, n)
		for m := range pairs {
			pairs[m] = make([]pairSum, m)
		}
		of := &structureSums{pairs: pairs, raters: make([]raterCounts, n)}
		if g.out != "" {
			of.worst.Most = most
		}
		g.classes = append(g.classes, of)
	}
	return nil
}

// gatherAll takes the images, a few at a time. Faulty images end it with a dataset.Problems that
// names all faults.
func (g *agreementStudy) gatherAll(ctx context.Context) error {
	var problems dataset.Problems
	look := func(i int) (*comparedImage, error) { return g.look(g.data.Cases[i]), nil }
	err := score.InOrder(ctx, len(g.data.Cases), runtime.GOMAXPROCS(0), look, func(l *comparedImage) error {
		g.progress.Begin()
		g.progress.Show("%s: comparing the raters", l.Name)
		if problems = append(problems, l.faults...); len(problems) > 0 {
			return nil
		}
		return g.add(l)
	})
	return errors.Join(score.AsError(problems), err)
}

// add keeps the figures of an image, and its pictures if it is among the worst.
func (g *agreementStudy) add(l *comparedImage) error {
	var bare *picture.Picture // of the image without outlines, once it is needed
	for k, c := range l.classes {
		of := g.classes[k]
		if c == nil {
			of.single++
			continue
		}
		of.add(c, g.data.Levels)
		if math.IsNaN(c.rank().Figure) {
			continue
		}
		err := of.worst.Offer(c.rank(), func() (_ report.Exhibit, err error) {
			if bare == nil {
				if bare, err = g.picture(l); err != nil {
					return report.Exhibit{}, err
				}
			}
			return g.draw(bare, l, k, c)
		})
		if err != nil {
			return err
		}
	}
	if l.ratios != nil {
		g.ratios = append(g.ratios, l.ratios)
	}
	g.images++
	return nil
}

// add adds the figures of an image.
func (of *structureSums) add(c *comparedMarks, levels bool) {
	kept := c.disagreement // a pointer into c would keep all of it
	of.cases = append(of.cases, &kept)
	var areas []float64
	for m, r := range c.rows {
		sum := &of.raters[m]
		sum.masks, sum.compared, sum.area = sum.masks+r.masks, sum.compared+r.compared, sum.area+r.area
		sum.Counts.Add(r.Counts)
		areas = append(areas, r.area)
	}
	if levels {
		return
	}
	if c.raters == len(c.rows) {
		of.areas = append(of.areas, areas)
	}
	for b, row := range c.dice {
		for a, d := range row {
			if !math.IsNaN(d) {
				of.pairs[b][a].dice += d
				of.pairs[b][a].images++
			}
		}
	}
}

// rank puts the image first whose raters agree least: by the mean Dice of their pairs, and of
// agreement levels by the consensus.
func (d *disagreement) rank() report.Rank {
	if math.IsNaN(d.dice) {
		return report.Rank{Figure: -d.consensus}
	}
	return report.Rank{Figure: -d.dice}
}
