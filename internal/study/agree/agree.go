// Package agree says how far the raters of a data set agree.
package agree

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/study/picture"
	"mrprism/internal/study/report"
)

// Study gathers figures of the raters of a data set, image by image. It keeps figures, and no masks.
type Study struct {
	data  *dataset.Dataset
	units []int // by image: the number of its group
	made  *report.Origin

	images, left int             // done, and left out by their Reader
	seen         []int           // the units of those done
	classes      [][]*comparison // by class, of images that two or more have marked
	ratios       []*ratios       // by image
	again        []*rereading
}

// most is the number of images with the least agreement that the report names.
const most = 10

// New begins a study. made says how, and of what data.
func New(data *dataset.Dataset, made *report.Origin) (*Study, error) {
	if len(data.Raters) < 2 && len(data.Again) == 0 {
		return nil, fmt.Errorf("%s has one rater, %s: agreement needs two or more", data.Name, strings.Join(data.Raters, ", "))
	}
	return &Study{data: data, units: dataset.Units(data.Cases), made: made, classes: make([][]*comparison, len(data.Classes))}, nil
}

// Gather takes the images, a few at a time, and calls after with the name of each. Faulty images end
// it with a dataset.Problems that names all faults.
func (s *Study) Gather(ctx context.Context, after func(name string)) error {
	var problems dataset.Problems
	look := func(i int) (*comparedImage, error) { return s.look(i), nil }
	err := dataset.InOrder(ctx, len(s.data.Cases), runtime.GOMAXPROCS(0), look, func(l *comparedImage) error {
		if problems = append(problems, l.faults...); len(problems) == 0 {
			s.add(l)
		}
		after(s.data.Cases[l.at].Name)
		return nil
	})
	return errors.Join(problems.AsError(), err)
}

// add keeps the figures of an image.
func (s *Study) add(l *comparedImage) {
	if l.marks == nil {
		s.left++
		return
	}
	for k, c := range l.classes {
		if c != nil {
			s.classes[k] = append(s.classes[k], c)
		}
	}
	if l.ratios != nil {
		s.ratios = append(s.ratios, l.ratios)
	}
	s.again = append(s.again, l.again...)
	s.images++
	s.seen = append(s.seen, s.units[l.at])
}

// Illustrate adds the pictures of the images with the least agreement to a report.
func (s *Study) Illustrate(r *Report) error {
	for k, class := range r.Classes {
		class.worst = report.Album{Title: "The images with the least agreement"}
		for _, c := range ranked(class.cases) {
			l, err := dataset.Load(s.data.Cases[c.at])
			if err != nil {
				return err
			}
			exhibit, err := s.draw(l, k, c)
			if err != nil {
				return err
			}
			class.worst.Exhibits = append(class.worst.Exhibits, exhibit)
		}
	}
	return nil
}

// draw draws the outlines of all raters on the image.
func (s *Study) draw(l *dataset.Loaded, k int, c *comparison) (report.Exhibit, error) {
	p := picture.NewPicture(l.Image)
	for m, mark := range l.ByRater(k) {
		if mark != nil {
			values := make([]float32, len(mark))
			for i, v := range mark {
				values[i] = float32(v)
			}
			picture.Shaded(p.RGBA, picture.Whole(p.Trace(values, l.Image.W, l.Image.H, 0, 0)), picture.ResultLine, picture.RaterColour(m))
		}
	}
	figure := fmt.Sprintf("all of them marked %.0f %% of what anybody marked", 100*c.consensus)
	if !s.data.Levels {
		figure = fmt.Sprintf("mean Dice %.1f; %s and %s %.1f", 100*c.dice, s.data.Raters[c.a], s.data.Raters[c.b], 100*c.least)
	}
	shot, err := report.NewShot("", figure, p.RGBA)
	return report.Exhibit{Name: c.image, Shots: []report.Shot{shot}}, err
}
