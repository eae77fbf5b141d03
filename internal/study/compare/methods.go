package compare

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mrprism/internal/command"
	"mrprism/internal/data/dataset"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/study/score"
	"mrprism/weights/disk"
)

// method is what evaluate compares: a model, or a folder of predictions.
type method struct {
	Name    string   `json:"name"`
	Source  string   `json:"source"` // weights or folder, as given
	Title   string   `json:"title,omitempty"`
	SHA256  string   `json:"sha256,omitempty"`
	Passes  int      `json:"passes"`  // maps of each class: Rec0 … RecN
	Heads   bool     `json:"heads"`   // it has maps of raters
	Classes []string `json:"classes"` // of the data set, that it segments
	set     bool     // its levels are possible marks, of nobody in particular
	predictor
}

// predictor makes or reads the maps of one image after another. One goroutine at a time calls a
// network.
type predictor interface {
	predict(ctx context.Context, s *subject) (prediction, error)
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
}

func newSubject(c dataset.Case) *subject {
	return &subject{Case: c, image: sync.OnceValues(func() (*imageio.Image, error) { return command.ReadImage(c.Image) })}
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
	session     *command.Session
	watch       Watch // or nil
	recurrences int
	region      string
	lost        int   // images in which it found nothing
	classes     []int // by class of the data set: the model's; -1 for none
	raters      []int // by rater of the data set: the model's head; -1 for none
}

// newNetwork opens weights. The model's classes and raters belong to those of the data set of the
// same name.
func newNetwork(one NamedMethod, images score.Images, data *dataset.Dataset) (*method, error) {
	session := one.Session
	if session == nil {
		m, err := command.Ensemble(one.Given)
		if err != nil {
			return nil, err
		}
		session = &command.Session{Model: m}
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
	return out, nil
}

func (n *network) Close() { n.session.Close() }

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

// folder is a folder of predictions: CLASS/NAME.png, .npy, .nii or .nii.gz, and optionally
// raters/RATER/CLASS/NAME of the same kinds.
type folder struct {
	dir    string
	passes []map[string]string // by class: paths by image; nil without a folder
	heads  [][]map[string]string
}

// newFolder lists a folder. Files that belong to no image, class or rater are troubles.
func newFolder(dir string, data *dataset.Dataset) (*method, []trouble, error) {
	l := lister{names: map[string]bool{}}
	for _, c := range data.Cases {
		l.names[c.Name] = true
	}
	f := &folder{dir: dir}
	inside, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: cannot be read (%w)", dir, disk.Cause(err))
	}
	f.passes = l.classes(dir, inside, data.Classes, "raters")
	out := &method{Source: dir, Passes: 1, predictor: f}
	for k, files := range f.passes {
		if files != nil {
			out.Classes = append(out.Classes, data.Classes[k])
		}
	}
	if len(out.Classes) == 0 {
		return nil, nil, fmt.Errorf("%s: it has no folder of a class (%s); predictions lie at %s",
			dir, strings.Join(data.Classes, ", "), filepath.Join(dir, data.Classes[0], "NAME.png"))
	}
	f.heads = l.raters(filepath.Join(dir, "raters"), data)
	out.Heads = f.heads != nil
	return out, l.troubles, nil
}

// lister lists the files of predictions.
type lister struct {
	names    map[string]bool // of all images
	troubles []trouble
}

func (l *lister) add(kind, format string, args ...any) {
	l.troubles = append(l.troubles, *troubled(kind, format, args...))
}

// raters lists the folders of raters; nil without any.
func (l *lister) raters(dir string, data *dataset.Dataset) [][]map[string]string {
	inside, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	heads := make([][]map[string]string, len(data.Raters))
	for _, e := range inside {
		path := filepath.Join(dir, e.Name())
		m := slices.Index(data.Raters, e.Name())
		switch within, err := os.ReadDir(path); {
		case strings.HasPrefix(e.Name(), "."):
		case m < 0:
			l.add(UnknownRater, "%s: the data set has no such rater (%s)", path, strings.Join(data.Raters, ", "))
		case err != nil:
			l.add(Unreadable, "%s: cannot be read (%v)", path, disk.Cause(err))
		default:
			heads[m] = l.classes(path, within, data.Classes, "")
		}
	}
	return heads
}

// classes lists the files of each class's folder; nil for a class without one.
func (l *lister) classes(dir string, inside []os.DirEntry, classes []string, beside string) []map[string]string {
	files := make([]map[string]string, len(classes))
	for _, e := range inside {
		k := slices.Index(classes, e.Name())
		switch {
		case !e.IsDir() || strings.HasPrefix(e.Name(), ".") || e.Name() == beside:
		case k < 0:
			l.add(UnknownClass, "%s: the data set has no such class (%s)", filepath.Join(dir, e.Name()), strings.Join(classes, ", "))
		default:
			files[k] = l.files(filepath.Join(dir, e.Name()))
		}
	}
	return files
}

// files are the predictions of a folder by image.
func (l *lister) files(dir string) map[string]string {
	files := map[string]string{}
	inside, err := os.ReadDir(dir)
	if err != nil {
		l.add(Unreadable, "%s: cannot be read (%v)", dir, disk.Cause(err))
	}
	for _, e := range inside {
		path := filepath.Join(dir, e.Name())
		name, known := predictionName(e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case !known:
			l.add(Unreadable, "%s: predictions are .png, .npy, .nii or .nii.gz", path)
		case !l.names[name]:
			l.add(UnknownImage, "%s: the data set has no image of this name", path)
		case files[name] != "":
			l.add(Twice, "%s: there is also %s; remove one", path, filepath.Base(files[name]))
		default:
			files[name] = path
		}
	}
	return files
}

// Close does nothing: a folder keeps no file open.
func (f *folder) Close() {}

func (f *folder) predict(_ context.Context, s *subject) (prediction, error) {
	return filed{f, s}, nil
}

// filed are the maps of an image in a folder.
type filed struct {
	*folder
	*subject
}

func (f filed) pass(_, k int) ([]float32, error) {
	if f.passes[k] == nil {
		return nil, nil
	}
	return f.read(f.passes[k])
}

func (f filed) head(m, k int) ([]float32, error) {
	if f.heads == nil || f.heads[m] == nil || f.heads[m][k] == nil {
		return nil, nil
	}
	return f.read(f.heads[m][k])
}

func (f filed) read(files map[string]string) ([]float32, error) {
	if files[f.Name] == "" {
		return nil, troubled(Missing, "%s: there is no prediction for %s", f.dir, f.Name)
	}
	return readPrediction(files[f.Name], f.W, f.H)
}

// sameName is the first name that two methods share; empty if there is none.
func sameName(methods []*method) string {
	names := slices.SortedFunc(slices.Values(methods), func(a, b *method) int { return cmp.Compare(a.Name, b.Name) })
	for i := range names[:max(0, len(names)-1)] {
		if names[i].Name == names[i+1].Name {
			return names[i].Name
		}
	}
	return ""
}
