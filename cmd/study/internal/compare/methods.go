package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mrprism/cmd/study/internal/input"
	"mrprism/internal/data/dataset"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
)

// method is a run of what evaluate compares: a model, or a folder of predictions.
type method struct {
	Name    string   `json:"name"`
	Run     int      `json:"run,omitempty"` // from 1; 0: the only one of this name
	Source  string   `json:"source"`        // weights or folder, as given
	Title   string   `json:"title,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`
	Passes  int      `json:"passes"`  // maps of each class: Rec0 … RecN
	Heads   bool     `json:"heads"`   // it has maps of raters
	Classes []string `json:"classes"` // of the data set, that it segments
	draws   bool     // its network draws masks
	set     bool     // its levels are possible marks, of nobody in particular
	predictor

	group int // the place of its name among the methods
}

// label is the name, with the run's number if there are several.
func (m *method) label() string {
	if m.Run == 0 {
		return m.Name
	}
	return fmt.Sprintf("%s, run %d", m.Name, m.Run)
}

// group is a method: the places of its runs, which have one name.
type group struct {
	name string
	runs []int
}

// grouped sorts runs into methods, in the order of their first runs.
func grouped(runs []*method) (groups []group) {
	for i, m := range runs {
		at := slices.IndexFunc(groups, func(g group) bool { return g.name == m.Name })
		if at < 0 {
			at, groups = len(groups), append(groups, group{name: m.Name})
		}
		m.group, groups[at].runs = at, append(groups[at].runs, i)
	}
	return groups
}

// predictor makes or reads the maps of one image after another. One goroutine at a time calls a
// network.
type predictor interface {
	predict(ctx context.Context, s *subject) (prediction, error)
	notes(name string) []string // on what was predicted
	Close()
}

// prediction gives the maps of an image at its size, one at a time. A map is nil if the method has
// none. The error is a *trouble if the map is bad.
type prediction interface {
	pass(i, k int) ([]float32, error)
	head(m, k int) ([]float32, error)
}

// subject is an image that is scored. Its pixels are read if somebody needs them.
type subject struct {
	dataset.Case
	image  func() (*imageio.Image, error)
	loaded *dataset.Loaded
	seen   any // what Watch says of it
	statistics.Unit
}

func newSubject(c dataset.Case) *subject {
	return &subject{Case: c, image: sync.OnceValues(func() (*imageio.Image, error) { return imageio.Read(c.Image) })}
}

// load reads the marks, and the image too if it is to be whole.
func (s *subject) load(whole bool) (l *dataset.Loaded, err error) {
	if whole {
		if l, err = dataset.Load(s.Case); err == nil {
			s.loaded, s.image = l, func() (*imageio.Image, error) { return l.Image, nil }
		}
		return l, err
	}
	l = &dataset.Loaded{Case: s.Case}
	for _, paths := range s.Masks {
		row := make([][]uint8, len(paths))
		for k, path := range paths {
			if path != "" {
				if row[k], err = s.Mask(path); err != nil {
					return nil, err
				}
			}
		}
		l.Masks = append(l.Masks, row)
	}
	return l, nil
}

// Kinds of trouble.
const (
	Missing      = "missing"
	WrongSize    = "size"
	Misplaced    = "place"
	OutOfRange   = "range"
	NotANumber   = "not a number"
	Unreadable   = "unreadable"
	Twice        = "twice"
	UnknownClass = "unknown class"
	UnknownImage = "unknown image"
	UnknownRater = "unknown rater"
	ofTheData    = "data"
)

// trouble is a prediction that cannot be scored. It counts nowhere in the figures.
type trouble struct {
	Method string `json:"method,omitempty"` // empty for a fault of the data set
	Kind   string `json:"kind"`
	Text   string `json:"text"` // names the file
}

func (t *trouble) Error() string { return t.Text }

func troubled(kind, format string, args ...any) *trouble {
	return &trouble{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// network is a model as a predictor.
type network struct {
	session     *segment.Session
	watch       Watch // or nil
	recurrences int
	region      string
	lost        int   // images in which it found nothing
	classes     []int // by class of the data set: the model's; -1 for none
	raters      []int // by rater of the data set, and then by drawn mask: the model's map; -1 for none
}

// newNetwork opens weights. The model's classes and raters belong to those of the data set of the
// same name. A method that can is to draw masks.
func newNetwork(one NamedMethod, images input.Images, data *dataset.Dataset, draws int) (*method, error) {
	session := one.Session
	if session == nil {
		m, err := segment.LoadEnsemble(one.Given)
		if err != nil {
			return nil, err
		}
		session = &segment.Session{Model: m}
	}
	m := session.Model
	about := &m.Metadata
	if err := images.Searched(about); err != nil {
		return nil, err
	}
	n := &network{session: session, recurrences: segment.Feedbacks(about), region: images.Region}
	if segment.SettlesAround(about) {
		n.recurrences = 0
	}
	if one.Passes > 0 {
		n.recurrences = one.Passes - 1
	}
	out := &method{Name: about.Name, Source: one.Given, Title: m.Label(), SHA256: m.SHA256, Passes: n.recurrences + 1, predictor: n}
	for _, class := range data.Classes {
		k := slices.Index(about.Classes, class)
		if n.classes = append(n.classes, k); k >= 0 {
			out.Classes = append(out.Classes, class)
		}
	}
	if len(out.Classes) == 0 {
		return nil, fmt.Errorf("%s segments %s, and %s has %s: compare models of the data's classes",
			about.Name, strings.Join(about.Classes, ", "), data.Name, strings.Join(data.Classes, ", "))
	}
	levels := about.Labels == dataset.LabelsLevels
	out.set = levels && !data.Levels && len(about.Raters) == len(data.Raters)
	for m, rater := range data.Raters {
		head := slices.Index(about.Raters, rater)
		switch {
		case !segment.HasHeads(about) || levels != data.Levels && !out.set: // the heads mean nothing, or something else
			head = -1
		case out.set:
			head = m
		}
		n.raters = append(n.raters, head)
		out.Heads = out.Heads || head >= 0 && !out.set
	}
	if method := model.MethodOf(about.Configuration); method != nil && method.Draws && len(m.Others) == 0 {
		m.Draws, out.draws = draws, draws > 0
		for i := range draws {
			n.raters = append(n.raters, len(about.Raters)+i)
		}
	}
	return out, nil
}

func (n *network) Close() { n.session.Close() }

func (n *network) notes(name string) []string {
	if n.lost == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s found nothing in %d images; they are scored as empty masks", name, n.lost)}
}

func (n *network) predict(ctx context.Context, s *subject) (prediction, error) {
	img, err := s.image()
	if err != nil {
		return nil, err
	}
	made := segmented{network: n}
	err = n.session.Do(ctx, func(e *segment.Engine) (err error) {
		made.Result, err = e.Segment(ctx, img, segment.Options{Recurrences: n.recurrences, ROI: n.region})
		if err == nil && n.watch != nil {
			s.seen, err = n.watch(ctx, e, s.loaded, made.Result)
		}
		return err
	})
	if err == nil && !made.Found {
		n.lost++
	}
	return made, err
}

// segmented makes the maps of an image from a network's result.
type segmented struct {
	*network
	*segment.Result
}

func (s segmented) pass(i, k int) ([]float32, error) {
	if s.classes[k] < 0 {
		return nil, nil
	}
	return s.Recurrence(i, s.classes[k]), nil
}

func (s segmented) head(m, k int) ([]float32, error) {
	if s.raters[m] < 0 || s.classes[k] < 0 {
		return nil, nil
	}
	return s.Rater(s.raters[m], s.classes[k]), nil
}

// clash is an error if two methods share a name and are not runs of one: if the user did not name
// both, if they are the same files, or if they have other maps.
func (c *Comparer) clash() error {
	for i, m := range c.methods {
		for j, other := range c.methods[:i] {
			a, b := c.Named[j], c.Named[i]
			switch {
			case m.Name != other.Name:
			case a.Name == "" || b.Name == "":
				return fmt.Errorf("two methods are called %s; name them, as in -weights first=FILE,second=FILE", m.Name)
			case a.Given == b.Given:
				return fmt.Errorf("%s=%s is given twice; the runs of a method are different files", m.Name, b.Given)
			case m.Passes != other.Passes || m.Heads != other.Heads || !slices.Equal(m.Classes, other.Classes):
				return fmt.Errorf("%s and %s cannot be runs of one method, %s: their passes, classes or maps of raters differ; give them two names", a.Given, b.Given, m.Name)
			}
		}
	}
	return nil
}
