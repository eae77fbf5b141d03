package importer

import (
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
		from, _, err := g.find()
		if err != nil {
			s.skip(Skip{g.name, err.Error()})
			continue
		}
		promised := make([][][]uint8, len(l.raters)) // masks that are not read yet
		for m, rater := range l.raters {
			promised[m] = make([][]uint8, len(l.classes))
			for k, class := range l.structures {
				if work := g.by[rater]; work != nil && work.origin(class) != "" {
					promised[m][k] = []uint8{}
				}
			}
		}
		if reason := unmarked(promised, l.classes); reason != "" {
			s.skip(Skip{from, reason})
			continue
		}
		s.images = append(s.images, g)
		for m, rater := range l.raters {
			if slices.ContainsFunc(promised[m], func(mask []uint8) bool { return mask != nil }) && !slices.Contains(s.Data.Raters, rater) {
				s.Data.Raters = append(s.Data.Raters, rater)
			}
		}
	}
	slices.Sort(s.Data.Raters)
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

// Read is the SHA-256 of a case's image, and what the raters who have it decided: accepted, rejected,
// or nothing yet.
func (s *Sessions) Read(i int) (sum string, reviews map[string]string) {
	reviews = map[string]string{}
	for rater, work := range s.images[i].by {
		reviews[rater] = work.Review
	}
	return s.images[i].sum, reviews
}

// sessionCase reads one image of sessions.
type sessionCase struct {
	*Sessions
	*graded
	longest int
}

// Masks reads the masks, and of the image its sum and its size.
func (c *sessionCase) Masks() (masks [][][]uint8, w, h int, ok bool) {
	data, from, err := c.image()
	var about *imageio.Info
	if err == nil {
		about, err = imageio.HeaderSlice(from, data, c.slice)
	}
	if err != nil {
		c.skip(Skip{c.name, err.Error()})
		return nil, 0, 0, false
	}
	all, _, left := c.marks(about.W, about.H)
	c.skip(left...)
	if reason := unmarked(all, c.classes); reason != "" {
		c.skip(Skip{from, reason})
		return nil, 0, 0, false
	}
	w, h = shrunkSize(about.W, about.H, c.longest)
	for _, rater := range c.Data.Raters {
		row := all[slices.Index(c.raters, rater)]
		for k, mask := range row {
			if mask != nil && w != about.W {
				row[k] = shrunkMask(mask, about.W, about.H, w, h)
			}
		}
		masks = append(masks, row)
	}
	return masks, w, h, true
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
