package importer

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
)

// Sessions are people's sessions of the same images as a data set, which Run would write of them.
// It is read piece by piece, as it is asked for, and nothing of it is kept.
type Sessions struct {
	Data    *dataset.Dataset
	Sums    map[string]string // SHA-256 of each session.json, by the session's path
	listing *listing
	images  []*graded // of the cases

	lock    sync.Mutex
	skipped []Skip
}

// OpenSessions reads what the sessions in a folder say.
func OpenSessions(o Options) (*Sessions, error) {
	l, images, err := gradedImages(&o)
	if err != nil {
		return nil, err
	}
	s := &Sessions{Data: &dataset.Dataset{Name: l.name, Classes: l.classes}, Sums: map[string]string{}, listing: l, skipped: l.skipped}
	for _, g := range images {
		from, err := g.find()
		if err != nil {
			s.skip(Skip{g.name, err.Error()})
			continue
		}
		promised := make([][]*drawing, len(l.raters)) // masks that are not read yet
		for m, rater := range l.raters {
			promised[m] = make([]*drawing, len(l.classes))
			for k, class := range l.structures {
				if work := g.by[rater]; work != nil && work.origin(class) != "" {
					promised[m][k] = &drawing{}
				}
			}
		}
		if reason := unmarked(promised, l.raters, l.classes); reason != "" {
			s.skip(Skip{from, reason})
			continue
		}
		s.images = append(s.images, g)
		for m, rater := range l.raters {
			if slices.ContainsFunc(promised[m], func(d *drawing) bool { return d != nil }) && !slices.Contains(s.Data.Raters, rater) {
				s.Data.Raters = append(s.Data.Raters, rater)
			}
		}
	}
	if len(s.images) == 0 {
		return nil, errors.Join(fmt.Errorf("none of the images could be used: add those that people read, or the file of their study, which has them%s", examples(s.skipped)), s.Close())
	}
	slices.Sort(s.Data.Raters)
	s.Data.Apart()
	for _, g := range s.images {
		for _, w := range g.by {
			s.Sums[w.session.path] = w.session.sum
		}
		s.Data.Cases = append(s.Data.Cases, dataset.Case{Name: g.name, Folder: l.name, Reader: &sessionCase{s, g, o.Longest}})
	}
	return s, nil
}

// Close closes the sessions' files.
func (s *Sessions) Close() error { return s.listing.Close() }

// Skipped is what was not taken until now.
func (s *Sessions) Skipped() []Skip {
	s.lock.Lock()
	defer s.lock.Unlock()
	return slices.Clone(s.skipped)
}

func (s *Sessions) skip(all ...Skip) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, one := range all {
		if !slices.Contains(s.skipped, one) {
			s.skipped = append(s.skipped, one)
		}
	}
}

// Read is the SHA-256 of a case's image, and what the raters who have it decided when they first
// read it: accepted, rejected, or nothing yet.
func (s *Sessions) Read(i int) (sum string, reviews map[string]string) {
	reviews = map[string]string{}
	for rater, work := range s.images[i].by {
		if !dataset.IsSecond(rater, s.listing.raters) {
			reviews[rater] = work.Review
		}
	}
	return s.images[i].sum, reviews
}

// sessionCase reads one image of sessions.
type sessionCase struct {
	*Sessions
	*graded
	longest int
}

// Marks reads the masks, and of the image its sum and its size.
func (c *sessionCase) Marks() *dataset.Marks {
	data, from, err := c.image()
	var about *imageio.Info
	if err == nil {
		about, err = imageio.HeaderSlice(from, data, c.slice)
	}
	if err != nil {
		c.skip(Skip{c.name, err.Error()})
		return nil
	}
	drawings, _, left := c.drawings(about.W, about.H)
	c.skip(left...)
	if reason := unmarked(drawings, c.raters, c.classes); reason != "" {
		c.skip(Skip{from, reason})
		return nil
	}
	all := &dataset.Marks{}
	all.W, all.H = shrunkSize(about.W, about.H, c.longest)
	shrunk := map[*drawing]*drawing{} // people who accept share the model's
	for _, row := range drawings {
		for k, d := range row {
			if d != nil {
				if shrunk[d] == nil {
					shrunk[d] = d.shrunk(about.W, about.H, all.W, all.H)
				}
				row[k] = shrunk[d]
				all.Window = all.Window.Union(row[k].Rectangle)
			}
		}
	}
	of := func(rater string) [][]uint8 {
		masks := make([][]uint8, len(c.classes))
		for k, d := range drawings[slices.Index(c.raters, rater)] {
			if d != nil {
				masks[k] = d.cut(all.Window)
			}
		}
		return masks
	}
	for _, rater := range c.Data.Raters {
		all.Masks = append(all.Masks, of(rater))
	}
	for _, rater := range c.Data.Again {
		all.Again = append(all.Again, of(dataset.Second(rater)))
	}
	return all
}

// Image reads the image.
func (c *sessionCase) Image() (*imageio.Image, error) {
	data, from, err := c.image()
	if err != nil {
		return nil, err
	}
	img, err := imageio.DecodeSlice(from, data, c.slice)
	if err != nil {
		return nil, err
	}
	return shrunkImage(img, c.longest), nil
}
