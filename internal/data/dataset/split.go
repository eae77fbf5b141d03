package dataset

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/files/text"
	"mrprism/weights/disk"
)

// SplitFile is the file of a data set's folder that says which images are for training, validation
// and test. Without it every fifth image, or group of images, is held out.
const SplitFile = "split.json"

// Part says what an image is for.
type Part int

const (
	ForTraining   Part = iota
	ForValidation      // training scores by it, and does not learn from it
	ForTest            // held out: only for measuring
	Unlisted           // in no list of the split: not used
)

// Split is split.json: the names of images.
type Split struct {
	Train      []string `json:"train"`
	Validation []string `json:"validation,omitempty"`
	Test       []string `json:"test"`
	Note       string   `json:"note,omitempty"` // for people
}

// lists are the split's lists with their names in the file.
func (s *Split) lists() []splitList {
	return []splitList{{"train", ForTraining, s.Train}, {"validation", ForValidation, s.Validation}, {"test", ForTest, s.Test}}
}

type splitList struct {
	name  string
	part  Part
	names []string
}

// String names the split: the sizes of its lists, and a sum over their names in sorted order.
func (s *Split) String() string {
	sum, sizes := crc32.NewIEEE(), make([]string, 0, 3)
	for _, l := range s.lists() {
		fmt.Fprintln(sum, "/"+l.name) // no image has a slash in its name
		for _, name := range slices.Sorted(slices.Values(l.names)) {
			fmt.Fprintln(sum, name)
		}
		sizes = append(sizes, fmt.Sprintf("%d %s", len(l.names), l.name))
	}
	return fmt.Sprintf("%s, %08x", strings.Join(sizes, ", "), sum.Sum32())
}

// Write writes the split into a folder.
func (s *Split) Write(folder string) error {
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(folder, SplitFile, append(text, '\n'))
}

// readSplit reads a split.
func readSplit(path string) (*Split, error) {
	text, err := text.Read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: cannot be read (%w); it is a JSON file with the lists train, validation and test of names of images", path, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	s := &Split{}
	err = decoder.Decode(s)
	if err == nil && decoder.Decode(new(json.RawMessage)) != io.EOF {
		err = errors.New("text follows the closing brace")
	}
	if err != nil {
		return nil, fmt.Errorf(`%s: %w; write {"train": ["NAME", …], "validation": ["NAME", …], "test": ["NAME", …]}`, path, err)
	}
	return s, nil
}

// Divide applies the split in a file, which replaces the folders' own splits or the holding out of
// every fifth image. Names are those of images in any of the folders. The error is a Problems that
// names every image that is named twice or does not exist.
func (d *Dataset) Divide(path string) error {
	s, err := readSplit(path)
	if err != nil {
		return Problems{err.Error()}
	}
	parts, problems := d.apply(s, path, d.names)
	if len(problems) > 0 {
		return problems
	}
	d.strictest = map[string]Part{}
	for name := range d.names {
		d.strictest[name] = partOf(parts, name)
	}
	return nil
}

// apply sets the parts of the cases by a split of these images.
func (d *Dataset) apply(s *Split, path string, images map[string]bool) (parts map[string]Part, problems Problems) {
	parts, problems = s.assign(path, images)
	s.checkGroups(path, d.Cases, parts, &problems)
	d.Splits = []string{s.String()}
	for i := range d.Cases {
		d.Cases[i].Part = partOf(parts, d.Cases[i].Name)
	}
	return parts, problems
}

// partOf is the part of a name; Unlisted for a name in no list.
func partOf(parts map[string]Part, name string) Part {
	if part, listed := parts[name]; listed {
		return part
	}
	return Unlisted
}

// assign returns the part of each listed image. In the lists it replaces what is said by its name.
func (s *Split) assign(path string, images map[string]bool) (parts map[string]Part, problems Problems) {
	parts, in := map[string]Part{}, map[string]string{}
	for _, l := range s.lists() {
		for i, said := range l.names {
			name, found := Meant(images, said)
			switch first, twice := in[name]; {
			case twice && first == l.name:
				problems.add("%s: %s names %q twice; name it once", path, l.name, name)
			case twice:
				problems.add("%s: %q is in %s and in %s; an image has one part", path, name, first, l.name)
			case !found:
				problems.add("%s: %s names %q, and there is no image of this name; add it or remove the name", path, l.name, said)
			default:
				parts[name], in[name], l.names[i] = l.part, l.name, name
			}
		}
	}
	if len(parts) == 0 && len(problems) == 0 {
		problems.add("%s: names no image; list the images of train, validation and test", path)
	}
	return parts, problems
}

// checkGroups adds a problem for each group with images in two lists of the split.
func (s *Split) checkGroups(path string, cases []Case, parts map[string]Part, problems *Problems) {
	first, told := map[string]Case{}, map[string]bool{}
	for _, c := range cases {
		part, listed := parts[c.Name]
		other, seen := first[c.unit]
		switch {
		case !listed || told[c.unit]:
		case !seen:
			first[c.unit] = c
		case parts[other.Name] != part:
			told[c.unit] = true
			problems.add("%s: the group %q is on two sides: %q is in %s and %q in %s; list all of its images in one", path, cmp.Or(c.Group, other.Group),
				other.Name, s.lists()[parts[other.Name]].name, c.Name, s.lists()[part].name)
		}
	}
}

// divide sets the parts of a folder's cases: by its split, or else every fifth group is held out.
func (d *Dataset) divide(dir string, problems *Problems) {
	path := filepath.Join(dir, SplitFile)
	if !exists(path) {
		d.holdOut()
		return
	}
	s, err := readSplit(path)
	if err != nil {
		problems.add("%v", err)
		return
	}
	images := map[string]bool{}
	for _, c := range d.Cases {
		images[c.Name] = true
	}
	_, faults := d.apply(s, path, images)
	*problems = append(*problems, faults...)
}

// holdOut holds out every fifth image, or every fifth group if there are groups, in the order of
// their names.
func (d *Dataset) holdOut() {
	split, groups := &Split{}, 0
	for i, n := range ranks(d.Cases, func(c Case) string { return cmp.Or(c.Group, c.Name) }) {
		c := &d.Cases[i]
		if groups = max(groups, n+1); n%HoldOut == HoldOut-1 {
			c.Part = ForTest
			split.Test = append(split.Test, c.Name)
		} else {
			split.Train = append(split.Train, c.Name)
		}
	}
	if groups < len(d.Cases) {
		d.Splits = []string{fmt.Sprintf("every fifth of %d groups held out: %s", groups, split)}
	}
}

// settle records the names of all images and, for each name, the most restricted part that the
// image has in any folder.
func (d *Dataset) settle() {
	d.names, d.strictest = map[string]bool{}, map[string]Part{}
	for _, c := range d.Cases {
		d.names[c.Name] = true
		d.restrict(c.Name, c.Part)
	}
	d.spread()
}

// spread restricts all images of a unit as much as the most restricted of them.
func (d *Dataset) spread() {
	d.unite()
	most := map[string]Part{}
	for _, c := range d.Cases {
		if part := d.strictest[c.Name]; part != Unlisted {
			most[c.unit] = max(most[c.unit], part)
		}
	}
	for _, c := range d.Cases {
		d.strictest[c.Name] = max(d.strictest[c.Name], most[c.unit])
	}
}

// restrict records a part for an image's name, if it is stricter than the part so far. If a split
// does not list an image, this restricts nothing in other folders.
func (d *Dataset) restrict(name string, part Part) {
	if part != Unlisted {
		d.strictest[name] = max(d.strictest[name], part)
	}
}

// filter lists the cases that satisfy a condition.
func (d *Dataset) filter(keep func(c Case) bool) []Case {
	return slices.DeleteFunc(slices.Clone(d.Cases), func(c Case) bool { return !keep(c) })
}

// TeachAll makes every case one to learn from: none is held out, set aside or unlisted.
func (d *Dataset) TeachAll() {
	d.Splits = nil
	for i := range d.Cases {
		d.Cases[i].Part = ForTraining
	}
	for name := range d.strictest {
		d.strictest[name] = ForTraining
	}
}

// HeldOut lists the cases that are only for measuring.
func (d *Dataset) HeldOut() []Case { return d.filter(func(c Case) bool { return c.Part == ForTest }) }

// Training lists the cases to learn from. If several data sets are mixed, Training leaves out a
// case whose name or group is held out or set aside in any of them, even if the held-out files have
// faults: one eye may be in two data sets, as a crop and as a photograph.
func (d *Dataset) Training() []Case {
	return d.filter(func(c Case) bool { return c.Part == ForTraining && d.strictest[c.Name] == ForTraining })
}

// Validation lists the cases that a split sets aside for scores during training. It leaves out
// those that another folder holds out.
func (d *Dataset) Validation() []Case {
	return d.filter(func(c Case) bool { return c.Part == ForValidation && d.strictest[c.Name] == ForValidation })
}

// Unlisted lists the cases that a split does not name.
func (d *Dataset) Unlisted() []Case { return d.filter(func(c Case) bool { return c.Part == Unlisted }) }

// Notes say how many images a split or groups.csv does not name.
func (d *Dataset) Notes() (notes []Finding) {
	notes = slices.Clone(d.findings)
	if left := d.Unlisted(); len(left) > 0 {
		warn(&notes, KindSplit, "", "%d of %d images are in no list of the split, such as %s: they are neither trained on nor scored", len(left), len(d.Cases), left[0].Image)
	}
	return notes
}
