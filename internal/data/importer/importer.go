// Package importer turns published sets of annotated images into data set folders (package
// dataset): RIGA, REFUGE and QUBIQ, each as unpacked from the published archive, and sessions of
// the page. The terms of the source also hold for the written data set.
package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/dicom"
	"mrprism/internal/files/imageio"
)

// Layout is the form in which a set is published.
type Layout struct {
	Name        string
	Description string // of the set and its folders, for people
	list        func(o *Options) (*listing, error)
}

// Layouts are the forms that Run can import. Since it is a function, the page's program, which
// reads sessions alone, does not link the tools' readers.
func Layouts() []Layout {
	return []Layout{riga, refuge, refugeRaters, qubiq, FromSessions, cocoFiles, labelme, cvat, labelStudio, nnunet}
}

// FindLayout returns the layout with a name.
func FindLayout(name string) (Layout, error) {
	return choice.Find("layout", name, Layouts(), func(l Layout) string { return l.Name })
}

// Options are the choices of an import.
type Options struct {
	Source      string // folder as it was unpacked
	Destination string // folder of the data set to write
	Force       bool   // replace an existing data set
	Longest     int    // of a written image, pixels: larger images are reduced; 0: any
	Progress    func(done, total int)

	Lenient bool              // of sessions: one that cannot be read, or is of other structures, is skipped
	Objects string            // of sessions: Crops or Fields; empty: whole images and masks
	Sums    map[string]string // of sessions: SHA-256 of files beside them, by path within Source; others are computed

	Rater string // of labelling tools: the attribute that says who drew a shape
	Empty bool   // of labelling tools: a rater who drew nothing in an image saw nothing there

	// Classes are in order: NAME or NAME=LABEL+LABEL of a labelling tool's labels (none: each
	// label), and names of the tasks of QUBIQ (none: the organ's, or task01, …).
	Classes []string

	// of volumes
	Channels  []int       // one or three modalities, from 1 on, if an image has several
	Window    *[2]float64 // intensities of black and white; nil: each image's 0.5 and 99.5 percentiles
	AllSlices bool        // take every marked slice of a volume, not only the one with the most marks
}

// Summary lists what an import has written and skipped.
type Summary struct {
	Name    string
	Images  int
	Classes []string
	Raters  []string
	Masks   [][]int // (M, K)
	Skipped []Skip
	Split   dataset.Split // the published one, of the written images; empty if there is none

	origins, affines, groups [][]string // lines of marks.csv, affines.csv and groups.csv
	areas                    []int      // by class: pixels of all masks
}

// Skip is a file, or a folder of files, that was not taken.
type Skip struct{ File, Reason string }

// listing is the content that a layout finds in a folder before it reads any image.
type listing struct {
	name, source    string
	classes, raters []string
	structures      []string // of sessions: the classes by their own names
	jobs            []job
	split           string // what the published split is; empty if there is none
	skipped         []Skip
	holders         map[string][]*session // of sessions: those with an image, by its SHA-256
	closers         []io.Closer           // of sessions: their files
	sessions        []*session            // the latest of each person first
	questions       []string              // of a reading study
	lock            sync.Mutex            // of readings
	readings        [][]string            // lines of readings.csv
	outerFirst      bool                  // the classes have no order yet: larger ones come first
}

// Close closes the files that the jobs read.
func (l *listing) Close() error {
	var failed []error
	for _, c := range l.closers {
		failed = append(failed, c.Close())
	}
	return errors.Join(failed...)
}

func (l *listing) skip(file, reason string) { l.skipped = append(l.skipped, Skip{file, reason}) }

// claim sets *place to path. If another path is there already, claim skips path.
func (l *listing) claim(place *string, path string) {
	if *place != "" {
		l.skip(path, "there is also "+*place)
		return
	}
	*place = path
}

// caseOf returns the case of a key, and makes it if there is none.
func caseOf[T any](cases map[string]*T, key string) *T {
	if cases[key] == nil {
		cases[key] = new(T)
	}
	return cases[key]
}

// job reads one image with its masks, or several slices of a volume.
type job struct {
	name string
	part dataset.Part // in the published split
	read func() ([]picture, []Skip)
}

// picture is an image with its masks in memory.
type picture struct {
	name  string
	file  string // of the image in the source
	image *imageio.Image
	group string      // images of one person, such as slices, have the same; or empty
	masks [][][]uint8 // (M, K) of (H, W), 0 or 1; nil if the label is missing

	origins [][]string // lines of marks.csv
	affine  string     // of the image, or empty
}

// Run imports a source. The folder appears at the end as a whole, or not at all. Run replaces a
// folder with content only if Force is set and the folder is a data set.
func (l Layout) Run(ctx context.Context, o Options) (*Summary, error) {
	var err error
	if o.Source, err = filepath.Abs(o.Source); err != nil { // "." could not name cases
		return nil, err
	}
	t, err := newTarget(&o)
	if err != nil {
		return nil, err
	}
	found, err := l.list(&o)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	if len(found.jobs) == 0 {
		return nil, fmt.Errorf("%s holds nothing of the form of %s%s; -h shows this form", o.Source, l.Name, examples(found.skipped))
	}
	slices.SortFunc(found.jobs, func(a, b job) int { return cmp.Compare(a.name, b.name) })
	if err := t.begin(); err != nil {
		return nil, err
	}
	defer os.RemoveAll(t.temporary) // finish has moved it
	s := &Summary{Name: found.name, Classes: found.classes, Raters: found.raters, Skipped: found.skipped, areas: make([]int, len(found.classes))}
	s.Masks = make([][]int, len(s.Raters))
	for m := range s.Masks {
		s.Masks[m] = make([]int, len(s.Classes))
	}
	if err := s.run(ctx, t, found.jobs, &o); err != nil {
		return nil, err
	}
	if s.Images == 0 {
		return nil, fmt.Errorf("%s: none of its images could be used%s", o.Source, examples(s.Skipped))
	}
	s.withoutIdle()
	if found.outerFirst {
		s.sortClasses()
	}
	s.settleSplit(found.split)
	if err := t.finish(s, found); err != nil {
		return nil, err
	}
	return s, nil
}

// examples are a few skipped files, for a message.
func examples(skipped []Skip) string {
	var text strings.Builder
	for _, s := range skipped[:min(3, len(skipped))] {
		fmt.Fprintf(&text, "\n  %s: %s", s.File, s.Reason)
	}
	return text.String()
}

// run does the jobs on all processors. It lists skipped files in the jobs' order.
func (s *Summary) run(ctx context.Context, t *target, jobs []job, o *Options) error {
	skipped := make([][]Skip, len(jobs))
	var lock sync.Mutex // of the counts in s
	err := dataset.Each(ctx, len(jobs), o.Progress, func(i int) error {
		pictures, left := jobs[i].read()
		for _, p := range pictures {
			if reason := unmarked(p.masks, s.Raters, s.Classes); reason != "" {
				left = append(left, Skip{p.file, reason})
				continue
			}
			if h, _ := p.image.Header.(*dicom.Header); h.Patient() != "" {
				p.group = patientOf + h.Patient()
			}
			p.shrink(o.Longest)
			if err := t.write(p, s.Raters, s.Classes); err != nil {
				return err
			}
			lock.Lock()
			s.count(p, jobs[i].part)
			lock.Unlock()
		}
		skipped[i] = left
		return nil
	})
	s.Skipped = slices.Concat(append([][]Skip{s.Skipped}, skipped...)...)
	return err
}

func (s *Summary) count(p picture, part dataset.Part) {
	s.Images++
	list := map[dataset.Part]*[]string{dataset.ForTraining: &s.Split.Train, dataset.ForValidation: &s.Split.Validation, dataset.ForTest: &s.Split.Test}[part]
	*list = append(*list, p.name)
	s.origins = append(s.origins, p.origins...)
	if p.group != "" {
		s.groups = append(s.groups, []string{p.name, p.group})
	}
	if p.affine != "" {
		s.affines = append(s.affines, []string{p.name, p.affine})
	}
	for m, masks := range p.masks {
		for k, mask := range masks {
			if mask != nil {
				s.Masks[m][k]++
				s.areas[k] += metric.Area(mask)
			}
		}
	}
}

// settleSplit sorts the lists of the published split. If all images are of one part, there is no
// split.
func (s *Summary) settleSplit(note string) {
	if note == "" || len(s.Split.Train) == 0 || len(s.Split.Validation)+len(s.Split.Test) == 0 {
		s.Split = dataset.Split{}
		return
	}
	s.Split.Note = note
	for _, list := range [][]string{s.Split.Train, s.Split.Validation, s.Split.Test} {
		slices.Sort(list)
	}
}

// sortClasses brings larger classes before smaller ones: a class may lie in the one before it.
func (s *Summary) sortClasses() {
	order := descending(len(s.areas), func(k int) int { return s.areas[k] })
	s.Classes = picked(s.Classes, order)
	for m, masks := range s.Masks {
		s.Masks[m] = picked(masks, order)
	}
}

func picked[T any](all []T, order []int) []T {
	return statistics.Tabulate(len(all), func(i int) T { return all[order[i]] })
}

// withoutIdle leaves out raters without masks: a data set must not have them.
func (s *Summary) withoutIdle() {
	kept := 0
	for m, masks := range s.Masks {
		if slices.Max(masks) > 0 {
			s.Raters[kept], s.Masks[kept] = s.Raters[m], masks
			kept++
		}
	}
	s.Raters, s.Masks = s.Raters[:kept], s.Masks[:kept]
}

// unmarked is the reason to skip a picture with these masks (M, K): nobody marked one of the
// classes, and training cannot use it.
func unmarked[Mask []uint8 | *drawing](masks [][]Mask, raters, classes []string) string {
classes:
	for k, class := range classes {
		for m, row := range masks {
			if row[k] != nil && !dataset.IsSecond(raters[m], raters) {
				continue classes
			}
		}
		return fmt.Sprintf("no rater's mask of the %s could be used", class)
	}
	return ""
}

// shrink reduces the longer side to longest pixels. Image pixels become means over their area.
func (p *picture) shrink(longest int) {
	w, h := p.image.W, p.image.H
	newW, newH := shrunkSize(w, h, longest)
	if newW == w {
		return
	}
	p.affine = "" // of larger pixels
	p.image = shrunkImage(p.image, longest)
	for _, masks := range p.masks {
		for k, mask := range masks {
			if mask != nil {
				whole := &drawing{image.Rect(0, 0, w, h), mask}
				masks[k] = whole.shrunk(w, h, newW, newH).cut(image.Rect(0, 0, newW, newH))
			}
		}
	}
}

// shrunkSize is the size of a picture whose longer side is longest pixels at most; 0: any.
func shrunkSize(w, h, longest int) (newW, newH int) {
	side := max(w, h)
	if longest <= 0 || side <= longest {
		return w, h
	}
	return max(1, (w*longest+side/2)/side), max(1, (h*longest+side/2)/side)
}

func shrunkImage(m *imageio.Image, longest int) *imageio.Image {
	newW, newH := shrunkSize(m.W, m.H, longest)
	if newW == m.W {
		return m
	}
	buffer := make([]float32, 3*longest*longest)
	m.Crop(buffer, imageio.Square{Side: max(m.W, m.H)}, longest) // from the left upper corner
	out := &imageio.Image{W: newW, H: newH, Pix: make([]uint8, 3*newW*newH)}
	for y := range newH {
		for x, v := range buffer[3*longest*y:][:3*newW] {
			out.Pix[3*newW*y+x] = uint8(255*v + .5)
		}
	}
	return out
}
