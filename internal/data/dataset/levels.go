package dataset

import (
	"fmt"
	"slices"

	"mrprism/internal/data/metric"
)

// enter adapts the cases of a further folder, dir, to the first folder. If the first has agreement
// levels, people become the nearest levels. refusal is the reason why this is impossible, or empty.
func (d *Dataset) enter(first *Dataset, dir string) (refusal string) {
	classes := slices.Equal(d.Classes, first.Classes)
	switch {
	case classes && slices.Equal(d.Raters, first.Raters) && d.Levels == first.Levels:
	case classes && first.Levels && !d.Levels && len(d.Raters) < leastPeople:
		return fmt.Sprintf("one person marked it, and one mask tells no agreement levels such as those of %s; train takes the folder by its option also", dir)
	case classes && first.Levels && !d.Levels:
		for i := range d.Cases {
			d.Cases[i].nearest = len(first.Raters)
		}
	default:
		return fmt.Sprintf("its classes, raters or labels differ from those of %s; only data sets with equal classes, raters and labels can be mixed, "+
			"or agreement levels first and people of the same classes after them", dir)
	}
	return ""
}

// BecomeLevels makes agreement levels of the raters, as many as there are: level j is what at least
// j of those who marked the class agree on, or the nearest share where some did not mark it.
func (d *Dataset) BecomeLevels() error {
	switch {
	case d.Levels:
		return fmt.Errorf("%s already has agreement levels", d.Name)
	case len(d.Raters) < leastPeople:
		return fmt.Errorf("%s: one person marked it, and one mask tells no agreement levels", d.Name)
	}
	d.Levels = true
	names := make([]string, len(d.Raters))
	for j := range names {
		names[j] = fmt.Sprintf("at-least-%d", j+1)
	}
	for i := range d.Cases {
		d.Cases[i].nearest = len(names)
	}
	d.Raters = names
	return nil
}

// AsLevels reports whether people enter as the nearest agreement levels, beside folders of levels.
func (d *Dataset) AsLevels() bool {
	return slices.ContainsFunc(d.Cases, func(c Case) bool { return c.nearest > 0 })
}

// labelled reports whether the case has a label of rater or level m for class k.
func (c *Case) labelled(m, k int) bool {
	if c.nearest == 0 {
		return c.Masks[m][k] != ""
	}
	people := 0
	for _, paths := range c.Masks {
		if paths[k] != "" {
			people++
		}
	}
	return people >= leastPeople
}

// leastPeople is the least number of masks of a class that defines agreement levels.
const leastPeople = 2

// levels turns the case into one with n agreement levels, those nearest to the votes. A class with
// fewer than least masks is missing in all levels.
func (l *Loaded) levels(n, least int) *Loaded {
	changed := *l
	changed.Masks = make([][][]uint8, n)
	for j := range changed.Masks {
		changed.Masks[j] = make([][]uint8, len(l.Masks[0]))
	}
	for k := range l.Masks[0] {
		if votes, ok := l.Votes(k); ok && votes.Raters >= least {
			for j := range changed.Masks {
				changed.Masks[j][k] = level(votes, j+1, n)
			}
		}
	}
	return &changed
}

// level is level j, from 1, of n levels (H·W): the pixels that at least ⌈(j - ½)·R/n⌉ of R people
// marked. The mean of all levels is then the multiple of 1/n that is nearest to the share of
// people, rounded up at ties. It is exactly the share if R divides n.
func level(votes metric.Votes, j, n int) []uint8 {
	least := ((2*j-1)*votes.Raters + 2*n - 1) / (2 * n)
	mask := make([]uint8, len(votes.Count))
	for i, count := range votes.Count {
		if int(count) >= least {
			mask[i] = 1
		}
	}
	return mask
}
