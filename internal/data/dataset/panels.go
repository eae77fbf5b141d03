package dataset

import (
	"slices"

	"mrprism/internal/choice"
)

// Join makes one data set of folders whose people differ, with panels of the folders' names.
func Join(folders []*Dataset) (*Dataset, error) {
	var names []string
	for _, d := range folders {
		if slices.Contains(names, d.Name) {
			return nil, choice.Errorf("$slots panels: two folders are named %s; give one of them another name in its %s", d.Name, DescriptionFile)
		}
		names = append(names, d.Name)
	}
	for _, d := range folders[1:] {
		if err := folders[0].join(d); err != nil {
			return nil, err
		}
	}
	folders[0].AsPanels(names)
	return folders[0], nil
}

// AsPanels replaces the raters, or agreement levels, by panels of these names. A panel is all
// people of the folder of its name: it marks what the majority of them marks, and all of their
// votes teach (Sample). The other panels have not marked the folder's images. Of a folder that has
// no panel the votes alone are known.
func (d *Dataset) AsPanels(names []string) {
	for i := range d.Cases {
		d.Cases[i].panels, d.Cases[i].panel = len(names), slices.Index(names, d.Cases[i].Folder)
	}
	d.Raters, d.Levels, d.Panels = names, false, true
}

// asPanel turns the case into one with marks of panels.
func (l *Loaded) asPanel() *Loaded {
	changed := *l
	changed.people, changed.Levels, changed.Masks = l.Masks, false, make([][][]uint8, l.panels)
	for p := range changed.Masks {
		changed.Masks[p] = make([][]uint8, len(l.Masks[0]))
	}
	for k := range l.Masks[0] {
		votes, ok := l.Votes(k)
		switch {
		case !ok: // a level is missing: the others tell no votes
			for _, of := range changed.people {
				of[k] = nil
			}
		case l.panel >= 0:
			changed.Masks[l.panel][k] = votes.Majority()
		}
	}
	return &changed
}

// soften turns the panel's marks into the shares of its people who marked a pixel.
func (l *Loaded) soften() *Loaded {
	l.soft = true
	for k, mark := range l.Masks[l.panel] {
		if mark != nil {
			votes, _ := l.Votes(k)
			for i, share := range votes.Mean() {
				mark[i] = uint8(255*share + .5)
			}
		}
	}
	return l
}

// byFolder parts samples by their folders.
func byFolder(samples []*Sample) (parts [][]*Sample) {
	for _, it := range samples {
		i := slices.IndexFunc(parts, func(part []*Sample) bool { return part[0].Folder == it.Folder })
		if i < 0 {
			i, parts = len(parts), append(parts, nil)
		}
		parts[i] = append(parts[i], it)
	}
	return parts
}
