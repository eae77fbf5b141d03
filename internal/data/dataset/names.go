package dataset

import (
	"path/filepath"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/text"
)

// NameOf is the name of an image whose file, or whose mask's file, is called so. A Mac decomposes
// letters (NFD) and other systems compose them: both are one name.
func NameOf(file string) string { return text.Composed(imageio.Stem(file)) }

// Meant is the name of the image that a person means by a text: its name or that of its file, with
// a path or without. found is false if there is no such image.
func Meant[T any](images map[string]T, said string) (name string, found bool) {
	said = text.Composed(strings.TrimSpace(said))
	if _, found = images[said]; found {
		return said, true
	}
	name = NameOf(said[strings.LastIndexAny(said, `/\`)+1:])
	_, found = images[name]
	return name, found
}

// misnamed adds a problem for each file that is not read because of its name, such as Groups.CSV or
// groups.tsv: patients would be on both sides of the split.
func misnamed(dir string, problems *Problems) {
	for _, e := range entries(dir, "a data set belongs there", problems) {
		stem, _, _ := strings.Cut(strings.ToLower(e.Name()), ".")
		for _, name := range []string{GroupsFile, DiagnosisFile, AffinesFile, SplitFile} {
			if is, _, _ := strings.Cut(name, "."); stem == is && !e.IsDir() && !exists(filepath.Join(dir, name)) {
				problems.add("%s: is not read; call it %s, or move it away", filepath.Join(dir, e.Name()), name)
			}
		}
	}
}

// table reads a table that gives a value to each of its images, if there is such a file. set takes a
// value. Problems are values that it refuses, two values of an image, and names of no image.
func (d *Dataset) table(path, example string, problems *Problems, set func(c *Case, value string) error) (found bool) {
	if !exists(path) {
		return false
	}
	data, err := text.Read(path)
	if err != nil {
		problems.add("%s: cannot be read (%v)", path, err)
		return true
	}
	lines, err := text.Table(data, 2, 2)
	if err != nil {
		problems.add("%s: %v; give lines such as %s", path, err, example)
	}
	cases, seen, strange := map[string]*Case{}, map[string]text.Line{}, []text.Line(nil)
	for i := range d.Cases {
		cases[d.Cases[i].Name] = &d.Cases[i]
	}
	for i, line := range lines {
		name, known := Meant(cases, line.Fields[0])
		before, twice := seen[name]
		switch {
		case !known && i == 0 && line.IsHead():
		case len(line.Fields) != 2:
			problems.add("%s, line %d: has %d fields; give lines such as %s", path, line.Number, len(line.Fields), example)
		case !known:
			strange = append(strange, line)
		case twice && before.Fields[1] != line.Fields[1]:
			problems.add("%s, line %d: says %q of %q, and line %d says %q; remove one of the lines", path, line.Number, line.Fields[1], name, before.Number, before.Fields[1])
		default:
			seen[name] = line
			if err := set(cases[name], line.Fields[1]); err != nil {
				problems.add("%s, line %d: says %q of %q: %v", path, line.Number, line.Fields[1], name, err)
			}
		}
	}
	if len(strange) > 0 {
		problems.add("%s: names images that are not there (%d), such as %q in line %d; correct the names, or remove the lines",
			path, len(strange), strange[0].Fields[0], strange[0].Number)
	}
	return true
}
