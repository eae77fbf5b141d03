package dataset

import (
	"fmt"
	"slices"
	"strings"
)

// As gives every case the columns of other classes, in their order: what the data set lacks of them
// are missing labels. Classes of the data set that are not among them are an error.
func (d *Dataset) As(classes []string) error {
	column := make([]int, len(d.Classes))
	for k, class := range d.Classes {
		if column[k] = slices.Index(classes, class); column[k] < 0 {
			return fmt.Errorf("%s marks %s, which is none of %s", d.Name, class, strings.Join(classes, ", "))
		}
	}
	for i := range d.Cases {
		masks := make([][]string, len(d.Raters))
		for m, paths := range d.Cases[i].Masks {
			masks[m] = make([]string, len(classes))
			for k, path := range paths {
				masks[m][column[k]] = path
			}
		}
		d.Cases[i].Masks = masks
	}
	d.Classes = slices.Clone(classes)
	return nil
}

// Add adds the cases of folders that other people have marked, maybe with fewer classes. Their
// majority teaches the mask; the raters' heads learn nothing from them.
func (d *Dataset) Add(others *Dataset) error {
	if err := others.As(d.Classes); err != nil {
		return err
	}
	for _, c := range others.Cases {
		c.Others = true
		d.Cases = append(d.Cases, c)
	}
	for name, held := range others.held {
		d.held[name] = d.held[name] || held
	}
	d.Name += "+" + others.Name
	return nil
}

// shared is a case of other people as one of so many raters: each has the majority's mask of a
// class that anybody marked.
func (l *Loaded) shared(raters int) *Loaded {
	changed := *l
	changed.Masks = make([][][]uint8, raters)
	for m := range changed.Masks {
		changed.Masks[m] = make([][]uint8, len(l.Masks[0]))
	}
	for k := range l.Masks[0] {
		votes, ok := l.Votes(k)
		if !ok {
			continue
		}
		mask := make([]uint8, l.Image.W*l.Image.H)
		for i, v := range votes.Mean() {
			if v > .5 {
				mask[i] = 1
			}
		}
		for m := range changed.Masks {
			changed.Masks[m][k] = mask
		}
	}
	return &changed
}
