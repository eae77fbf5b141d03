package compare

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/text"
	"mrprism/internal/output/masks"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// lister lists the files of a folder of predictions, which lie in one of two ways:
//
//	CLASS/NAME.png    and optionally raters/RATER/CLASS/NAME.png
//	NAME_CLASS.png    as segment names its files, and NAME_CLASS_RATER.png; or NAME.png, a label map
//
// In data of one class NAME.png is the map of the class. Endings are those of formats.
type lister struct {
	*folder
	troubles []trouble

	stems map[string]place    // of files beside each other: what they hold
	twice map[string]bool     // stems that two images share
	told  map[string]*summary // by stem; nil without one
}

// summary is the part of segment's STEM.json that tells whose maps lie beside it.
type summary struct {
	Classes, Raters []string
	Labels          string
	Files           struct{ All []struct{ File, By string } }
}

func (l *lister) add(kind, format string, args ...any) {
	l.troubles = append(l.troubles, *troubled(kind, format, args...))
}

func (l *lister) list() error {
	inside, err := os.ReadDir(l.dir)
	if err != nil {
		return fmt.Errorf("%s: cannot be read (%w)", l.dir, disk.Cause(err))
	}
	inside = slices.DeleteFunc(inside, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	if slices.ContainsFunc(inside, func(e os.DirEntry) bool { return e.IsDir() && slices.Contains(l.data.Classes, e.Name()) }) {
		l.classFolders(l.dir, inside, -1)
		l.raterFolders(filepath.Join(l.dir, "raters"))
		return nil
	}
	l.expect()
	for _, e := range inside {
		if stem, known := cutFormat(e.Name()); known && !e.IsDir() {
			l.flat(filepath.Join(l.dir, e.Name()), stem)
		}
	}
	if len(l.files) == 0 {
		return l.nothing(inside)
	}
	return nil
}

// nothing is the error of a folder without any prediction.
func (l *lister) nothing(inside []os.DirEntry) error {
	holds := "is empty"
	for i, e := range inside[:min(len(inside), 4)] {
		holds = []string{"holds ", holds + ", "}[min(i, 1)] + strconv.Quote(e.Name())
	}
	if more := len(inside) - 4; more > 0 {
		holds += fmt.Sprintf(" and %d more", more)
	}
	first, one := l.data.Classes[0], "a map of it"
	if len(l.data.Classes) > 1 {
		one = fmt.Sprintf("a label map with 1 to %d for %s", len(l.data.Classes), strings.Join(l.data.Classes, ", "))
	}
	return fmt.Errorf("%s: it has no prediction of an image of %s, such as %s. Looked for: a folder for each class, as %s; NAME_%s.png, as segment names its files; and NAME.png, %s. "+
		"In place of .png a name may end in %s. The folder %s", l.dir, l.data.Name, l.data.Cases[0].Name, filepath.Join(l.dir, first, "NAME.png"), first, one, strings.Join(endings(), ", "), holds)
}

// raterFolders lists the folders of raters, if there are any.
func (l *lister) raterFolders(dir string) {
	inside, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range inside {
		path := filepath.Join(dir, e.Name())
		m := slices.Index(l.data.Raters, e.Name())
		switch within, err := os.ReadDir(path); {
		case strings.HasPrefix(e.Name(), "."):
		case m < 0:
			l.add(UnknownRater, "%s: the data set has no such rater (%s)", path, strings.Join(l.data.Raters, ", "))
		case err != nil:
			l.add(Unreadable, "%s: cannot be read (%v)", path, disk.Cause(err))
		default:
			l.classFolders(path, within, m)
		}
	}
}

// classFolders lists the files of each class's folder.
func (l *lister) classFolders(dir string, inside []os.DirEntry, rater int) {
	for _, e := range inside {
		k := slices.Index(l.data.Classes, e.Name())
		switch {
		case !e.IsDir() || strings.HasPrefix(e.Name(), ".") || rater < 0 && e.Name() == "raters":
		case k < 0:
			l.add(UnknownClass, "%s: the data set has no such class (%s)", filepath.Join(dir, e.Name()), strings.Join(l.data.Classes, ", "))
		default:
			l.has[[2]int{rater, k}] = true
			l.classFolder(filepath.Join(dir, e.Name()), rater, k)
		}
	}
}

func (l *lister) classFolder(dir string, rater, class int) {
	inside, err := os.ReadDir(dir)
	if err != nil {
		l.add(Unreadable, "%s: cannot be read (%v)", dir, disk.Cause(err))
	}
	for _, e := range inside {
		path := filepath.Join(dir, e.Name())
		name, known := cutFormat(e.Name())
		switch _, there := l.sizes[name]; {
		case strings.HasPrefix(e.Name(), "."):
		case !known:
			l.add(Unreadable, "%s: predictions end in %s", path, strings.Join(endings(), ", "))
		case !there:
			l.add(UnknownImage, "%s: the data set has no image of this name", path)
		default:
			l.take(place{name, rater, class}, path, 0)
		}
	}
}

// take keeps the finest file of a place.
func (l *lister) take(at place, path string, fine int) {
	other, there := l.files[at]
	if there && other.fine == fine {
		l.add(Twice, "%s: there is also %s; remove one", path, filepath.Base(other.path))
	} else if !there || other.fine < fine {
		l.files[at] = file{path, fine}
	}
	l.has[[2]int{at.rater, at.class}] = true
}

// expect notes how the files of each image may be called.
func (l *lister) expect() {
	l.stems, l.twice, l.told = map[string]place{}, map[string]bool{}, map[string]*summary{}
	whole := labels
	if len(l.data.Classes) == 1 {
		whole = 0
	}
	for _, c := range l.data.Cases {
		for _, stem := range []string{c.Name, text.Composed(imageio.OutputStem(c.Image))} {
			l.name(stem, place{c.Name, -1, whole})
			for k, class := range l.data.Classes {
				l.name(stem+"_"+class, place{c.Name, -1, k})
			}
		}
	}
}

func (l *lister) name(stem string, at place) {
	other, there := l.stems[stem]
	l.twice[stem] = l.twice[stem] || there && other != at
	l.stems[stem] = at
}

// flat takes a file that lies beside those of other classes.
func (l *lister) flat(path, stem string) {
	fine := 1
	if ending(path) == ".npy" {
		fine = 3
	}
	at, known := l.stems[stem]
	if base, cut := strings.CutSuffix(stem, "_mask"); cut && !known {
		stem, fine = base, 0
	} else if base, cut := strings.CutSuffix(stem, "_float"); cut && !known {
		stem, fine = base, 2
	}
	at, known = l.stems[stem]
	if end := strings.LastIndex(stem, "_"); end > 0 && !known {
		if of, there := l.stems[stem[:end]]; there {
			rater, named := l.raterOf(path, stem[:end], stem[end:])
			if named && rater < 0 {
				return
			}
			at, known = place{of.image, rater, of.class}, named
		}
	}
	switch {
	case l.twice[stem]:
		l.add(Twice, "%s: it may be of two images, since one's name continues the other's; move the maps into a folder for each class", path)
	case known:
		l.take(at, path, fine)
	case !l.beside(stem):
		l.add(UnknownImage, "%s: the data set has no image of this name, nor one before _CLASS", path)
	}
}

// raterOf is the rater of the data set whose map a file is, of whose name segment made the end; -1
// if the data set has none. named is false if the end is no rater's.
func (l *lister) raterOf(path, stem, end string) (rater int, named bool) {
	for _, class := range l.data.Classes {
		stem = strings.TrimSuffix(stem, "_"+class)
	}
	s := l.summary(stem)
	if s == nil {
		s = &summary{Classes: l.data.Classes, Raters: l.data.Raters}
	}
	readers := masks.Readers(s.Raters, s.Classes, s.Labels, false, false)
	m := slices.IndexFunc(readers, func(r masks.Reader) bool { return r.Suffix == end })
	for _, one := range s.Files.All {
		if one.File == filepath.Base(path) { // an earlier version numbered the raters
			m = slices.IndexFunc(readers, func(r masks.Reader) bool { return r.By == one.By })
		}
	}
	switch {
	case m < 1:
		return -1, false
	case s.Labels != "" && (s.Labels == weights.LabelsAgreementLevels) != l.data.Levels: // it means something else
		return -1, true
	}
	return slices.Index(l.data.Raters, s.Raters[m-1]), true
}

// beside reports whether a file is one of segment's that is compared with nothing: an outline, or
// of a class that the data lacks.
func (l *lister) beside(stem string) bool {
	for i, letter := range stem {
		if letter != '_' {
			continue
		}
		if _, known := l.stems[stem[:i]]; !known {
			continue
		}
		if s := l.summary(stem[:i]); s != nil && slices.ContainsFunc(s.Classes, func(class string) bool { return strings.HasPrefix(stem[i+1:]+"_", class+"_") }) {
			return true
		}
	}
	return false
}

// summary is what segment says of its files of a stem; nil if it says nothing.
func (l *lister) summary(stem string) *summary {
	s, known := l.told[stem]
	if !known {
		data, err := disk.ReadFile(filepath.Join(l.dir, stem+".json"))
		if read := new(summary); err == nil && json.Unmarshal(data, read) == nil && len(read.Classes) > 0 {
			s = read
		}
		l.told[stem] = s
	}
	return s
}
