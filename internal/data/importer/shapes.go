package importer

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/files/text"
	"mrprism/weights"
)

// entry is what a file says of one image.
type entry struct {
	image         string // path or name
	w, h          int    // of the image; 0: the file does not say
	person, group string // who drew, if the file says so, and else what may stand for a person
	part          string // of a split, if partNamed knows it
	shapes        []shape
	absent        []string // labels that the image has not
	listed        bool     // labels of neither shapes nor absent were not looked for
	read          bool     // somebody read the image, also if there is no shape

	from, path string // of the file that says it, and of the image
}

// shape is an area under a label.
type shape struct {
	label      string
	attributes map[string]any
	region     region // nil: it is no area
	kind       string // if it is no area
}

// by is who drew a shape, if one of its attributes says so.
func (s *shape) by(o *Options) string {
	for _, name := range []string{o.Rater, "rater", "annotator", "reader", "grader"} {
		if v := s.attributes[name]; v != nil && v != "" {
			return asRater(fmt.Sprint(v))
		}
	}
	return ""
}

// asRater is a person's name as a data set can have it.
func asRater(text string) string {
	return cmp.Or(asName(text), "person-"+sumOf([]byte(text))[:8]) // in other letters
}

// annotated is an image with what each rater says of it.
type annotated struct {
	name, path string
	part       dataset.Part
	by         map[string]*entry
}

// parser reads a file of a labelling tool, which says which shapes people drew in which images.
type parser func(path string, data []byte) ([]entry, error)

// listShapes lists the images of which a tool's files of an ending speak.
func listShapes(o *Options, ending string, parse parser) (*listing, error) {
	l := &listing{
		name: filepath.Base(o.Destination), source: "annotations in " + filepath.Base(o.Source), split: "as the annotations say", outerFirst: len(o.Classes) == 0,
	}
	entries, err := readShapes(o, l, ending, parse)
	if err != nil {
		return nil, err
	}
	tellRaters(o, entries)
	images, labels := map[string]*annotated{}, []string(nil)
	for _, e := range entries {
		a := caseOf(images, e.path)
		if a.by == nil {
			*a = annotated{asName(imageio.Stem(e.path)), e.path, 0, map[string]*entry{}}
		}
		a.part = max(a.part, partNamed(e.part))
		a.take(e, o, l)
		for _, s := range e.shapes {
			if s.region != nil {
				labels = append(labels, s.label)
			}
		}
	}
	kinds, err := classesOf(o, distinct(labels))
	for _, k := range kinds {
		l.classes = append(l.classes, k.name)
	}
	taken := map[string]bool{"": true}
	for _, path := range slices.Sorted(maps.Keys(images)) {
		a := images[path]
		if taken[a.name] {
			a.name += "-" + sumOf([]byte(path))[:8]
		}
		taken[a.name] = true
		l.raters = append(l.raters, slices.Collect(maps.Keys(a.by))...)
		l.jobs = append(l.jobs, job{a.name, a.part, func() ([]picture, []Skip) { return a.picture(l.raters, kinds) }})
	}
	l.raters = distinct(l.raters)
	return l, err
}

// readShapes reads the files in a folder and finds the entries' images. It names what it does not
// use.
func readShapes(o *Options, l *listing, ending string, parse parser) (found []entry, err error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, err
	}
	var entries []entry
	images, used := map[string][]string{}, map[string]bool{}
	for _, path := range paths {
		if !strings.EqualFold(filepath.Ext(path), ending) {
			name := strings.ToLower(filepath.Base(path))
			same := func(other string) bool { return sameContent(path, other) } // each rater may have a copy
			if used[path] = slices.ContainsFunc(images[name], same); !used[path] {
				images[name] = append(images[name], path)
			}
			continue
		}
		used[path] = true
		data, err := readFile(path)
		if err == nil {
			data, err = text.Decode(data)
		}
		var more []entry
		if err == nil {
			more, err = parse(path, data)
		}
		if wrong, is := errors.AsType[*json.UnmarshalTypeError](err); is {
			err = fmt.Errorf("is of another form: %s %s", cmp.Or(wrong.Field, "it is"), wrong.Value)
		}
		if err != nil {
			l.skip(path, err.Error())
		}
		for i := range more {
			more[i].from = path
		}
		entries = append(entries, more...)
	}
	for _, e := range entries {
		if e.path, err = e.find(images); err != nil {
			l.skip(e.from, err.Error())
			continue
		}
		used[e.path] = true
		found = append(found, e)
	}
	for _, path := range paths {
		if !used[path] {
			l.skip(path, "no "+ending+" file speaks of it")
		}
	}
	return found, nil
}

func sameContent(path, other string) bool {
	a, err := readFile(path)
	b, failed := readFile(other)
	return err == nil && failed == nil && slices.Equal(a, b)
}

// find is the path of the entry's image: in the folders that the entry says, or below its own
// folder, if several files have the name.
func (e *entry) find(images map[string][]string) (string, error) {
	stated := strings.ToLower("/" + strings.ReplaceAll(e.image, `\`, "/"))
	name := stated[strings.LastIndex(stated, "/")+1:]
	all := images[name]
	if _, rest, uploaded := strings.Cut(name, "-"); len(all) == 0 && uploaded { // Label Studio's 1a2b3c4d-NAME
		all = images[rest]
	}
	for _, likelier := range []func(path string) bool{
		func(path string) bool { return strings.HasSuffix(strings.ToLower(filepath.ToSlash(path)), stated) },
		func(path string) bool { return path == filepath.Join(filepath.Dir(e.from), e.image) },
		func(path string) bool {
			return strings.HasPrefix(path, filepath.Dir(e.from)+string(filepath.Separator))
		},
	} {
		if some := slices.DeleteFunc(slices.Clone(all), func(path string) bool { return !likelier(path) }); len(some) > 0 {
			all = some
		}
	}
	switch len(all) {
	case 0:
		return "", fmt.Errorf("its image %s is not there; put it beside this file", e.image)
	case 1:
		return all[0], nil
	}
	return "", fmt.Errorf("its image %s may be %s; move the others away", e.image, strings.Join(all, " or "))
}

// tellRaters gives entries without a person one: their groups, if an image is in several of them.
// If attributes say who drew, nobody else did.
func tellRaters(o *Options, entries []entry) {
	group, several, attributes := map[string]string{}, false, false
	for _, e := range entries {
		if e.person == "" {
			several = several || group[e.path] != "" && group[e.path] != e.group
			group[e.path] = e.group
		}
		attributes = attributes || slices.ContainsFunc(e.shapes, func(s shape) bool { return s.by(o) != "" })
	}
	for i := range entries {
		switch e := &entries[i]; {
		case attributes:
			e.person = ""
		case e.person != "":
			e.person = asRater(e.person)
		case several:
			within := strings.TrimPrefix(e.group, o.Source) // if it is a file or a folder
			e.person = asRater(strings.TrimSuffix(within, filepath.Ext(within)))
		default:
			e.person = "rater1"
		}
	}
}

// take parts an entry by who drew its shapes.
func (a *annotated) take(e entry, o *Options, l *listing) {
	e.from = fmt.Sprintf("%s, %s", e.from, filepath.Base(a.path))
	said := map[string][]shape{}
	for _, s := range e.shapes {
		rater := cmp.Or(s.by(o), e.person)
		said[rater] = append(said[rater], s)
	}
	if len(e.shapes) == 0 && (e.read || e.listed || o.Empty) {
		said[e.person] = nil
	} else if len(e.shapes) == 0 {
		l.skip(e.from, "nothing is drawn in it, and nothing says that somebody read it")
	}
	for rater, drawn := range said {
		if e.read && a.by[rater] != nil {
			rater = dataset.Second(rater)
		}
		one := e
		one.shapes = drawn
		switch before := a.by[rater]; {
		case strings.TrimSuffix(rater, dataset.Second("")) == "":
			l.skip(e.from, "no attribute says who drew in it, as in other images")
			continue
		case before != nil && e.read:
			l.skip(e.from, "a third reading by the same person")
			continue
		case before != nil:
			one.shapes, one.absent = append(before.shapes, drawn...), append(before.absent, e.absent...)
		}
		a.by[rater] = &one
	}
}

// kind is a class of the data set, and the labels that belong to it.
type kind struct {
	name   string
	labels []string
}

// classesOf are the classes of labels: as o says, NAME or NAME=LABEL+LABEL, or one for each label.
func classesOf(o *Options, labels []string) (kinds []kind, err error) {
	for _, text := range o.Classes {
		name, of, _ := strings.Cut(text, "=")
		kinds = append(kinds, kind{name, strings.Split(cmp.Or(of, name), "+")})
	}
	if len(kinds) == 0 {
		for _, label := range labels {
			kinds = append(kinds, kind{asName(label), []string{label}})
		}
	}
	for i, k := range kinds {
		for _, label := range k.labels {
			if !slices.Contains(labels, label) {
				return nil, choice.Errorf("$classes: no area has the label %q; there are %s", label, strings.Join(labels, ", "))
			}
		}
		if !weights.IsName(k.name) || slices.ContainsFunc(kinds[:i], func(other kind) bool { return other.name == k.name }) {
			return nil, choice.Errorf("the label %q has no name of its own in letters (a to z) and digits; give it one with $classes, as NAME=LABEL", k.labels[0])
		}
	}
	return kinds, nil
}

// picture reads the image and draws the masks.
func (a *annotated) picture(raters []string, kinds []kind) ([]picture, []Skip) {
	m, err := readImage(a.path)
	if err != nil {
		return nil, []Skip{{a.path, err.Error()}}
	}
	p, left := picture{name: a.name, file: a.path, image: m}, []Skip(nil)
	for _, rater := range raters {
		row := make([][]uint8, len(kinds))
		for i, k := range kinds {
			if e := a.by[rater]; e != nil {
				if row[i], err = e.mask(k, m.W, m.H); err != nil {
					left = append(left, Skip{e.from, fmt.Sprintf("%s of %s: %v", k.name, rater, err)})
				}
			}
		}
		p.masks = append(p.masks, row)
	}
	return []picture{p}, left
}

// mask draws the mask (h, w) of a class; nil if nobody looked for it.
func (e *entry) mask(k kind, w, h int) ([]uint8, error) {
	if e.w != 0 && (e.w != w || e.h != h) {
		return nil, fmt.Errorf("is drawn in an image of %d×%d pixels, and as displayed it has %d×%d", e.w, e.h, w, h)
	}
	mask, known := make([]uint8, w*h), !e.listed
	for _, label := range k.labels {
		known = known || slices.Contains(e.absent, label)
	}
	for _, s := range e.shapes {
		if !slices.Contains(k.labels, s.label) {
			continue
		}
		if known = true; s.region == nil {
			return nil, errors.New("of " + s.kind + " no mask can be made")
		}
		if err := s.region(mask, w, h); err != nil {
			return nil, err
		}
	}
	if !known {
		mask = nil
	}
	return mask, nil
}
