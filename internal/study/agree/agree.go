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
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
	"mrprism/internal/study/score"
)

// study gathers figures of the raters of a data set, image by image. It keeps figures, and no
// masks.
type study struct {
	out      string
	data     *dataset.Dataset
	units    []int // by image: the number of its group
	progress *command.Progress
	made     *report.Origin

	images  int             // done
	classes [][]*comparison // by class, of images that two or more have marked
	worst   []report.Gallery
	ratios  []*ratios // by image
}

// most is the number of images with the least agreement that the report names.
const most = 10

// Run measures the agreement of the raters of a data set and delivers it, also to a folder
// unless its name is empty. made says how, but for the data.
func Run(ctx context.Context, dir, out string, made *report.Origin, stdout, stderr io.Writer) error {
	s := study{out: out, made: made}
	if err := s.open(dir); err != nil {
		return err
	}
	if err := made.AddData(ctx, s.data.Cases, s.data.Classes); err != nil {
		return err
	}
	s.progress = command.NewProgress(stderr, len(s.data.Cases))
	stopped := s.gatherAll(ctx)
	s.progress.Clear()
	if problems := (dataset.Problems)(nil); s.images == 0 || errors.As(stopped, &problems) {
		return stopped // figures without the faulty images would look like those of all
	}
	return errors.Join(stopped, s.report().deliver(out, stdout))
}

// open opens the data set and checks that the files can be written.
func (s *study) open(dir string) (err error) {
	if err := report.CheckVacant(s.out); s.out != "" && err != nil {
		return err
	}
	if s.data, err = dataset.Open(dir); err != nil {
		return err
	}
	s.units = dataset.Units(s.data.Cases)
	if len(s.data.Raters) < 2 {
		return fmt.Errorf("%s has one rater, %s: agreement needs two or more", dir, s.data.Raters[0])
	}
	s.classes, s.worst = make([][]*comparison, len(s.data.Classes)), make([]report.Gallery, len(s.data.Classes))
	for k := range s.worst {
		s.worst[k].Title = "The images with the least agreement"
		if s.out != "" {
			s.worst[k].Most = most
		}
	}
	return nil
}

// gatherAll takes the images, a few at a time. Faulty images end it with a dataset.Problems that
// names all faults.
func (s *study) gatherAll(ctx context.Context) error {
	var problems dataset.Problems
	look := func(i int) (*comparedImage, error) { return s.look(i), nil }
	err := score.InOrder(ctx, len(s.data.Cases), runtime.GOMAXPROCS(0), look, func(l *comparedImage) error {
		s.progress.Begin()
		s.progress.Show("%s: comparing the raters", l.Name)
		if problems = append(problems, l.faults...); len(problems) > 0 {
			return nil
		}
		return s.add(l)
	})
	return errors.Join(score.AsError(problems), err)
}

// add keeps the figures of an image, and its pictures if it is among the worst.
func (s *study) add(l *comparedImage) error {
	var bare *picture.Picture // of the image without outlines, once it is needed
	for k, c := range l.classes {
		if c == nil {
			continue
		}
		s.classes[k] = append(s.classes[k], c)
		if math.IsNaN(c.rank().Figure) {
			continue
		}
		err := s.worst[k].Offer(c.rank(), func() (report.Exhibit, error) {
			if bare == nil {
				img, err := command.ReadImage(l.Image)
				if err != nil {
					return report.Exhibit{}, err
				}
				bare = picture.NewPicture(img)
			}
			return s.draw(bare.Copy(), l, k, c)
		})
		if err != nil {
			return err
		}
	}
	if l.ratios != nil {
		s.ratios = append(s.ratios, l.ratios)
	}
	s.images++
	return nil
}

// draw draws the outlines of all raters on the picture.
func (s *study) draw(p *picture.Picture, l *comparedImage, k int, c *comparison) (report.Exhibit, error) {
	for m, mark := range l.marks[k] {
		if mark != nil {
			values := make([]float32, len(mark))
			for i, v := range mark {
				values[i] = float32(v)
			}
			picture.Shaded(p.RGBA, picture.Whole(p.Trace(values, l.W, l.H, 0, 0)), picture.ResultLine, picture.RaterColour(m))
		}
	}
	figure := fmt.Sprintf("all of them marked %.0f %% of what anybody marked", 100*c.consensus)
	if !s.data.Levels {
		figure = fmt.Sprintf("mean Dice %.1f; %s and %s %.1f", 100*c.dice, s.data.Raters[c.a], s.data.Raters[c.b], 100*c.least)
	}
	shot, err := report.NewShot("", figure, p.RGBA)
	return report.Exhibit{Name: c.image, Shots: []report.Shot{shot}}, err
}
