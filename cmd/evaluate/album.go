package main

import (
	"context"
	"fmt"

	"mrprism/internal/app/command"
	"mrprism/internal/app/segment"
	"mrprism/internal/data/imageio"
)

// album is one CSV of -centres or one folder of -foreign.
type album struct {
	name        string // of the file or folder
	photographs []photograph
}

// photograph is one picture of an album.
type photograph struct {
	name   string
	path   string
	circle *circle // of -centres, in shares; nil if the structure is absent
}

// photographs is the number of photographs of the albums.
func photographs(albums []*album) (n int) {
	for _, a := range albums {
		n += len(a.photographs)
	}
	return n
}

// view is a photograph as it is or turned. Its circle is in pixels of the image.
type view struct {
	album  *album
	name   string
	turned int // degrees, clockwise
	image  *imageio.Image
	circle *circle
}

// judge segments the photographs of all albums, each in a number of turns, until one fails. The
// error names that photograph. A model with an anchor searches the photographs.
func (s *scorer) judge(ctx context.Context, albums []*album, turns int, keep func(view, *segment.Result)) error {
	for _, a := range albums {
		for _, p := range a.photographs {
			img, err := command.ReadImage(p.path)
			if err != nil {
				return err
			}
			v := view{album: a, name: p.name, image: img}
			if p.circle != nil {
				v.circle = new(p.circle.of(img))
			}
			for i := range turns {
				if i > 0 {
					v = v.quarter()
				}
				s.progress.Begin()
				s.progress.Show("%s: segmenting", turnedName(p.name, v.turned))
				err := s.session.Do(ctx, func(e *segment.Engine) error {
					r, err := e.Segment(ctx, v.image, segment.Options{Recurrences: s.recurrences, ROI: "auto"})
					if err == nil {
						s.adapter = e.Adapter()
						keep(v, r)
					}
					return err
				})
				if err != nil {
					return fmt.Errorf("%s: %w", p.path, err)
				}
			}
		}
	}
	return nil
}

// quarter turns a view clockwise by 90 degrees.
func (v view) quarter() view {
	if v.circle != nil {
		v.circle = new(v.circle.quarter(v.image.H))
	}
	v.image, v.turned = quarter(v.image), v.turned+90
	return v
}

// turnedName adds the turn to the name of a photograph or of a row.
func turnedName(name string, degrees int) string {
	if degrees == 0 {
		return name
	}
	return fmt.Sprintf("%s, turned by %d°", name, degrees)
}

// unfinished is the number of all pictures if fewer are done, else 0.
func unfinished(done, all int) int {
	if done < all {
		return all
	}
	return 0
}

// stopped says that the program was stopped before it judged a number of pictures; nothing for 0.
func (t *table) stopped(all int) {
	if all > 0 {
		t.Line("stopped before all %d were judged", all)
		t.Break()
	}
}
