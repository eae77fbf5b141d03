package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
)

// FromSessions is the layout of what people did with the same images in the page, as
// site/guide/sessions.md describes it.
var FromSessions = Layout{
	Name: "sessions",
	Description: `sessions of the page, one or more of each person, with the images in them or beside them (found by SHA-256)
           ann.mrprism, ben.mrprism, …, IMAGE.jpg, …: a rater is a person. A mask counts if it was drawn on, or if its image
           was accepted; marks.csv says which, and when. A second reading of an image becomes NAME-again,
           which only "evaluate raters" uses. readings.csv has a line for each reading, for "evaluate readers";
           where people read with the model too, the masks are those drawn without it`,
	list: listSessions,
}

// reading is what a person did with one image.
type reading struct {
	Image struct {
		SHA256        string `json:"sha256"`
		Name          string `json:"name"`
		Slice, Slices int
	} `json:"image"`
	Review                      string `json:"review"`
	Reason                      string `json:"reason"`
	Decided                     string `json:"decided"`
	Seconds, Drawing, Answering float64
	Sitting                     int            `json:"sitting"` // 1 or 2, of a study in which each image is read both ways
	Aided                       bool           `json:"aided"`   // the model's outline was there
	Answers                     map[string]any `json:"answers"`
	VersionOf                   *int           `json:"versionOf"`
	Drawn                       []file         `json:"drawn"`
	Masks                       []file         `json:"masks"`
	Field                       *field         `json:"field"`
	Result                      *struct {
		Classes      []string `json:"classes"`
		Measurements struct {
			VerticalRatio told
			Structures    []told
		}
	} `json:"result"`
}

// file is a PNG in a session: a mask of the model, or what was drawn on it at x, y.
type file struct {
	Rater, Class, File string
	X, Y               int
	Filled             bool // between two slices: a person's once its image is accepted
}

var isSum = regexp.MustCompile(`^[0-9a-f]{64}$`)

// you is the rater of strokes on the consensus.
const you = "you"

const (
	sessionFormat  = "MrPrism session"
	sessionVersion = 1
	sessionEnding  = ".mrprism"
	maxImageEntry  = 512 << 20 // bytes of an image in a session
	maxMaskEntry   = 64 << 20  // bytes of a mask
	longestName    = 56        // characters of a data set's name, less -again
)

func listSessions(o *Options) (*listing, error) {
	l, images, err := gradedImages(o)
	if err != nil {
		return nil, err
	}
	if o.Objects != "" {
		l.ofObjects(o.Objects, images)
		return l, l.distinctJobs()
	}
	for _, g := range images {
		l.jobs = append(l.jobs, job{name: g.name, read: g.read})
	}
	return l, l.distinctJobs()
}

// gradedImages reads what sessions say, and lists their images by name.
func gradedImages(o *Options) (*listing, []*graded, error) {
	paths, err := files(o.Source)
	if err != nil {
		return nil, nil, err
	}
	l := &listing{name: filepath.Base(o.Destination)}
	var all []*session
	beside := map[string]string{} // path by SHA-256
	for _, path := range paths {
		if strings.ToLower(filepath.Ext(path)) != sessionEnding {
			within, _ := filepath.Rel(o.Source, path)
			if sum := o.Sums[filepath.ToSlash(within)]; sum != "" {
				beside[sum] = path
			} else if data, err := readFile(path); err == nil {
				beside[sumOf(data)] = path
			}
			continue
		}
		s, err := openSession(path)
		switch {
		case err == nil:
			all = append(all, s)
			l.closers = append(l.closers, s.open)
		case o.Lenient:
			l.skip(path, err.Error())
		default:
			return nil, nil, errors.Join(fmt.Errorf("%s: %w", path, err), l.Close())
		}
	}
	slices.SortStableFunc(all, func(a, b *session) int { return cmp.Compare(b.Saved, a.Saved) }) // of one person the last counts
	if all, err = l.agree(all, o.Lenient); err != nil {
		return nil, nil, errors.Join(err, l.Close())
	}
	images := map[string]*graded{}
	l.holders = map[string][]*session{}
	l.returned(all)
	for _, s := range all {
		for sum := range s.images {
			l.holders[sum] = append(l.holders[sum], s)
		}
		if s.rater == "" {
			continue
		}
		l.raters = append(l.raters, s.rater, dataset.Second(s.rater))
		l.take(s, images)
	}
	slices.Sort(l.raters)
	l.raters = slices.Compact(l.raters)
	names := map[string]string{} // SHA-256 and slice by name
	var list []*graded
	for _, key := range slices.Sorted(maps.Keys(images)) {
		g := images[key]
		g.beside, g.listing = beside[g.sum], l
		g.name = g.called()
		if other, taken := names[g.name]; taken && other != key {
			g.name += "-" + g.sum[:8]
		}
		names[g.name] = key
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *graded) int { return cmp.Compare(a.name, b.name) })
	return l, list, nil
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// unnamed are the characters that names of raters and classes cannot have.
var unnamed = regexp.MustCompile(`[^A-Za-z0-9_]+`)

// asName is a name as a data set can have it; empty if nothing is left of it.
func asName(text string) string {
	name := unnamed.ReplaceAllString(text, "-")
	return strings.Trim(name[:min(len(name), longestName)], "-")
}

// agree finds the structures, which are the same in all sessions. If lenient, it skips sessions
// that do not go with those before them, and returns the others.
func (l *listing) agree(all []*session, lenient bool) (kept []*session, err error) {
	people, study := map[string]string{}, "" // people by rater
	var from string                          // the session of l.classes
	join := func(s *session) error {
		if other, taken := people[s.rater]; taken && other != s.Grader {
			return fmt.Errorf("%q and %q would both be called %s: write another name or code into the sessions of one", other, s.Grader, s.rater)
		}
		common := l.classes
		for _, classes := range s.classes() {
			if common == nil {
				common, from = classes, s.path
			} else if !slices.Equal(common, classes) {
				return fmt.Errorf("%s has %s, and %s has %s: import sessions of the same structures", from, strings.Join(common, ", "), s.path, strings.Join(classes, ", "))
			}
		}
		if s.Study != nil && study != "" && study != s.Study.ID {
			return fmt.Errorf("%s is of another study than the sessions before it: import each study alone", s.path)
		}
		if s.Study != nil {
			study, l.questions = s.Study.ID, nil
			for _, q := range s.Study.Questions {
				l.questions = append(l.questions, q.Name)
			}
		}
		people[s.rater], l.classes = s.Grader, common
		l.source += cmp.Or(strings.Repeat(", ", min(1, len(l.source))), "sessions: ") + filepath.Base(s.path)
		return nil
	}
	for _, s := range all {
		if err := join(s); err == nil {
			kept = append(kept, s)
		} else if lenient {
			l.skip(s.path, err.Error())
		} else {
			return nil, err
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("it has no session that can be used: NAME.mrprism, as the page's \"Save session\" makes it%s", examples(l.skipped))
	}
	if l.classes == nil {
		return nil, errors.New("its sessions have no result: nobody has marked anything")
	}
	l.structures, l.classes = l.classes, nil
	for _, structure := range l.structures {
		name := asName(structure)
		if name == "" || slices.Contains(l.classes, name) {
			return nil, fmt.Errorf("the structure %q has no name of its own in letters (a to z) and digits: give it one in the study", structure)
		}
		l.classes = append(l.classes, name)
	}
	return kept, nil
}

// classes are the lists of structures in a session.
func (s *session) classes() (lists [][]string) {
	add := func(names []string) {
		if len(names) > 0 {
			lists = append(lists, names)
		}
	}
	if s.Study != nil {
		add(s.Study.Structures)
	}
	for _, r := range s.Readings {
		if r.Result != nil {
			add(r.Result.Classes)
		} else if r.Field != nil {
			add([]string{r.Field.Class})
		}
	}
	return lists
}

// graded is an image and who read it.
type graded struct {
	*listing
	sum, stated, name, beside string
	slice                     int              // of a file with several; 0: it has one
	by                        map[string]*work // by rater
	all                       []*work          // each reading
}

// work is a reading in its session.
type work struct {
	*reading
	session *session
	order   int // in it, from 1
}

// take adds the readings of a session to those of the images.
func (l *listing) take(s *session, images map[string]*graded) {
	for i := range s.Readings {
		r := &s.Readings[i]
		at := fmt.Sprintf("%s, %s", s.path, r.Image.Name)
		slice := r.Image.Slice
		if r.Image.Slices <= 1 {
			slice = 0
		}
		key := fmt.Sprintf("%s %d", r.Image.SHA256, slice)
		g := caseOf(images, key)
		if g.by == nil {
			*g = graded{sum: r.Image.SHA256, slice: slice, by: map[string]*work{}}
		}
		if imageio.Stem(r.Image.Name) == asName(imageio.Stem(r.Image.Name)) {
			g.stated = cmp.Or(g.stated, imageio.Stem(r.Image.Name))
		}
		before, again, one := g.by[s.rater], g.by[dataset.Second(s.rater)], &work{r, s, i + 1}
		if earlier := slices.ContainsFunc(g.all, func(w *work) bool { return w.session != s && w.session.rater == s.rater }); !earlier && r.VersionOf == nil {
			g.all = append(g.all, one)
		}
		switch {
		case !isSum.MatchString(r.Image.SHA256):
			l.skip(at, "it has no SHA-256")
			delete(images, key)
		case r.VersionOf != nil:
			l.skip(at, "a second version, from which nobody has chosen: open the session in the page and choose one")
		case s.Study.bothWays() && r.Aided:
		case before == nil:
			g.by[s.rater] = one
		case before.session != s:
			l.skip(at, fmt.Sprintf("the same person's later session %s has it", filepath.Base(before.session.path)))
		case again == nil && l.counts(before):
			g.by[dataset.Second(s.rater)] = one
		case again == nil:
			l.skip(at, "a second reading of the image, of which no mask of the first one counts")
		default:
			l.skip(at, "a third reading of the image: the second is compared with the first")
		}
	}
}

// counts says whether a mask of the reading does.
func (l *listing) counts(w *work) bool {
	return slices.ContainsFunc(l.structures, func(class string) bool { return w.origin(class) != "" })
}

// called is the image's name: that of its file beside the sessions, or in a session, or its
// SHA-256, where a blind study says no name.
func (g *graded) called() string {
	name := g.stated
	if g.beside != "" {
		name = imageio.Stem(filepath.Base(g.beside))
	}
	name = cmp.Or(asName(name), g.sum[:min(12, len(g.sum))])
	if g.slice > 0 {
		name += fmt.Sprintf("_%d", g.slice)
	}
	return name
}

// read reads the image and all masks that count.
func (g *graded) read() ([]picture, []Skip) {
	data, from, err := g.image()
	var img *imageio.Image
	if err == nil {
		img, err = imageio.DecodeSlice(from, data, g.slice)
	}
	if err != nil {
		return nil, append(g.tell(0, 0), Skip{g.name, err.Error()})
	}
	lost := g.tell(img.W, img.H)
	p := picture{name: g.name, file: from, image: img}
	if g.slice > 0 {
		p.group = "file-" + g.sum[:8]
	}
	drawings, origins, left := g.drawings(img.W, img.H)
	p.origins = origins
	for _, row := range drawings {
		masks := make([][]uint8, len(row))
		p.masks = append(p.masks, masks)
		for k, d := range row {
			if d != nil {
				masks[k] = d.cut(image.Rect(0, 0, img.W, img.H))
			}
		}
	}
	return []picture{p}, append(left, lost...)
}

// drawings are the masks that count (M, K) in an image of w × h pixels, and where they come from.
func (g *graded) drawings(w, h int) (masks [][]*drawing, origins [][]string, left []Skip) {
	seen := map[string]*grey{}
	for _, rater := range g.raters {
		row, work := make([]*drawing, len(g.classes)), g.by[rater]
		masks = append(masks, row)
		if work == nil {
			continue
		}
		for k, class := range g.classes {
			mask, err := work.mask(g.structures[k], w, h, seen)
			if err != nil {
				left = append(left, Skip{fmt.Sprintf("%s, %s", work.session.path, work.Image.Name), fmt.Sprintf("%s: %v", class, err)})
			}
			if row[k] = mask; mask != nil {
				origins = append(origins, []string{g.name, rater, class, work.origin(g.structures[k]), work.moment()})
			}
		}
	}
	return masks, origins, left
}

// find says where the image is: beside the sessions, or in a session, that of another person or of
// the study too.
func (g *graded) find() (from string, err error) {
	if g.beside != "" {
		return g.beside, nil
	}
	if in := g.holders[g.sum]; len(in) > 0 {
		return in[0].images[g.sum], nil
	}
	return "", fmt.Errorf("the image with the SHA-256 %s is neither in a session nor in the study's file nor in the folder: put it there", g.sum)
}

// image is the image's file. Of several sessions that have it one is enough.
func (g *graded) image() (data []byte, from string, err error) {
	if from, err = g.find(); err != nil {
		return nil, "", err
	}
	if g.beside != "" {
		data, err = readFile(from)
		return data, from, err
	}
	for _, s := range g.holders[g.sum] {
		data, err = s.entry(s.images[g.sum], maxImageEntry)
		if err == nil && sumOf(data) != g.sum {
			err = errors.New("its image has changed")
		}
		if err == nil {
			return data, s.images[g.sum], nil
		}
	}
	return nil, from, err
}

// moment is when the person decided; empty if the session says no time.
func (r *work) moment() string {
	if _, err := time.Parse(time.RFC3339, r.Decided); err != nil {
		return ""
	}
	return r.Decided
}

// mask is a person's mask of a class in an image of w × h pixels: all objects, or the model's mask
// with what was drawn on it. It is nil if it does not count. seen are pictures that were read, by
// content: a model makes the same mask for everybody.
func (r *work) mask(class string, w, h int, seen map[string]*grey) (*drawing, error) {
	origin := r.origin(class)
	if origin == "" {
		return nil, nil
	}
	if r.objects(class) {
		return r.union(w, h)
	}
	mask := &drawing{}
	if i := slices.IndexFunc(r.Masks, func(f file) bool { return f.Class == class }); i >= 0 {
		shown, err := r.png(r.Masks[i].File, w, h, seen)
		if err == nil && (shown.w != w || shown.h != h) {
			err = fmt.Errorf("its mask is %d×%d pixels, its image %d×%d", shown.w, shown.h, w, h)
		}
		if err != nil {
			return nil, err
		}
		mask = shown.threshold()
	}
	if origin != "drawn" {
		return mask, nil
	}
	at := r.Drawn[slices.IndexFunc(r.Drawn, func(f file) bool { return f.Class == class && f.Rater == you })]
	strokes, err := r.png(at.File, w, h, seen)
	if err == nil && (at.X < 0 || at.Y < 0 || at.X > w-strokes.w || at.Y > h-strokes.h) {
		err = errors.New("what was drawn lies beside the image")
	}
	if err != nil {
		return nil, err
	}
	box := image.Rect(at.X, at.Y, at.X+strokes.w, at.Y+strokes.h)
	whole := &drawing{Rectangle: mask.Union(box)}
	whole.values = mask.cut(whole.Rectangle)
	for y := range strokes.h {
		row := whole.values[(at.Y+y-whole.Min.Y)*whole.Dx()+at.X-whole.Min.X:]
		for x, v := range strokes.values[y*strokes.w : (y+1)*strokes.w] {
			if v < 64 || v >= 192 { // 128: not drawn
				row[x] = v >> 7
			}
		}
	}
	return whole, nil
}

// png reads a picture that is no larger than w × h pixels.
func (r *work) png(name string, w, h int, seen map[string]*grey) (*grey, error) {
	data, err := r.session.entry(name, maxMaskEntry)
	if err != nil {
		return nil, err
	}
	if seen[string(data)] == nil {
		picture, err := greyOf(name, data, w, h)
		if err != nil {
			return nil, err
		}
		seen[string(data)] = picture
	}
	return seen[string(data)], nil
}
