package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"time"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/importer"
	"mrprism/internal/data/statistics"
	"mrprism/internal/study/agree"
	"mrprism/internal/study/fuse"
)

// event is a line that the program prints. One field is set, and those beside it.
type event struct {
	List      *list         `json:"list,omitempty"`      // comes first
	Agreement *agree.Report `json:"agreement,omitempty"` // of the images until now
	Cases     []agree.Case  `json:"cases,omitempty"`     // beside the last one
	Objects   []*tally      `json:"objects,omitempty"`   // before it, if people marked objects
	Progress  *progress     `json:"progress,omitempty"`
	Shown     *shown        `json:"shown,omitempty"`

	Done    string          `json:"done,omitempty"` // compare, fuse, report or save
	Stopped bool            `json:"stopped,omitempty"`
	Skipped []importer.Skip `json:"skipped,omitempty"` // until now

	Failed string `json:"failed,omitempty"` // why what was asked for did not succeed
	Doing  string `json:"doing,omitempty"`  // that
}

// list is what is known before any mask is read.
type list struct {
	Raters  []string        `json:"raters"`
	Classes []string        `json:"classes"`
	Images  []listed        `json:"images"`
	Skipped []importer.Skip `json:"skipped"`

	Returned []importer.Returned `json:"returned,omitempty"` // of sessions
}

// listed is an image, and what people decided about it.
type listed struct {
	Name    string            `json:"name"`
	SHA256  string            `json:"sha256,omitempty"`  // of its file, in sessions
	Reviews map[string]string `json:"reviews,omitempty"` // by rater
}

// progress says how far the program is, and how many seconds are left.
type progress struct {
	Doing string  `json:"doing"`
	Done  int     `json:"done"`
	Of    int     `json:"of"`
	Left  float64 `json:"left"`
}

// shown is an image with masks. Its pixels are in FOLDER/shown/picture (H, W, 4), those of masks and
// fused maps, 0 or 255 or seam, in FOLDER/shown/CLASS: one (H, W) after another, as Marks has them.
type shown struct {
	Name    string              `json:"name"`
	W       int                 `json:"width"`
	H       int                 `json:"height"`
	Marks   map[string][]string `json:"marks"` // raters, and methods after a colon, by class
	Figures []figure            `json:"figures"`
}

// figure is a rater beside a fused map.
type figure struct {
	Class       string   `json:"class"`
	Method      string   `json:"method"`
	Rater       string   `json:"rater"`
	Sensitivity *float64 `json:"sensitivity"`
	Specificity *float64 `json:"specificity"`
	Weight      *float64 `json:"weight,omitempty"` // of whole marks, by edges
}

func (t *together) send(e event) { _ = t.events.Encode(e) }

func (t *together) skipped() []importer.Skip {
	if t.sessions == nil {
		return nil
	}
	return t.sessions.Skipped()
}

func (t *together) list() {
	l := &list{Raters: t.data.Raters, Classes: t.data.Classes, Skipped: t.skipped()}
	for i, c := range t.data.Cases {
		one := listed{Name: c.Name}
		if t.sessions != nil {
			one.SHA256, one.Reviews = t.sessions.Read(i)
		}
		l.Images = append(l.Images, one)
	}
	if t.sessions != nil {
		l.Returned = t.sessions.Returned()
	}
	t.send(event{List: l})
}

func (t *together) tell(doing string, begun time.Time, done, of int) {
	t.send(event{Progress: &progress{doing, done, of, time.Since(begun).Seconds() / float64(done) * float64(of-done)}})
}

// progress returns a function that tells how far something is, once a second.
func (t *together) progress(ctx context.Context, doing string) func(done, of int) {
	begun := time.Now()
	last := begun
	return func(done, of int) {
		if time.Since(last) > time.Second && done > 0 {
			last = time.Now()
			t.tell(doing, begun, done, of)
		}
		t.turn()
	}
}

// show reads an image with all masks, and fuses them.
func (t *together) show(name string) (*shown, error) {
	i := slices.IndexFunc(t.data.Cases, func(c dataset.Case) bool { return c.Name == name })
	if i < 0 {
		return nil, os.ErrNotExist
	}
	l, err := dataset.Load(t.data.Cases[i])
	if err != nil {
		return nil, err
	}
	s := &shown{Name: name, W: l.Image.W, H: l.Image.H, Marks: map[string][]string{}}
	if err := os.MkdirAll(t.in("shown"), 0o755); err != nil {
		return nil, err
	}
	rgba := bytes.Repeat([]byte{255}, 4*s.W*s.H)
	for i := range s.W * s.H {
		copy(rgba[4*i:], l.Image.Pix[3*i:3*i+3])
	}
	if err := os.WriteFile(t.in("shown/picture"), rgba, 0o644); err != nil {
		return nil, err
	}
	var crowds []*importer.Crowd
	if t.sessions != nil {
		if crowds, err = t.sessions.Crowds(i); err != nil {
			return nil, err
		}
	}
	for k, class := range t.data.Classes {
		crowd := &importer.Crowd{}
		for _, c := range crowds {
			if c.Class == class {
				crowd = c
			}
		}
		if err := t.showClass(s, l, k, class, crowd); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// showClass adds the masks of a class. Of people who marked objects, and of more than one their
// majority, these are those of the crowd.
func (t *together) showClass(s *shown, l *dataset.Loaded, k int, class string, crowd *importer.Crowd) error {
	var values []byte
	s.Marks[class] = []string{}
	for m, rater := range t.data.Raters {
		if mask := l.Masks[m][k]; mask != nil {
			s.Marks[class] = append(s.Marks[class], rater)
			if at := slices.Index(crowd.People, rater); at >= 0 {
				values = append(values, outlined(crowd.Fields[at], s.W, s.H)...)
				continue
			}
			for _, v := range mask {
				values = append(values, 255*v)
			}
		}
	}
	if values != nil {
		for _, fit := range t.fuse.Fuse(l, k) {
			s.Marks[class] = append(s.Marks[class], ":"+fit.Method)
			if fit.Method == fuse.Majority.Name && len(crowd.People) > 1 {
				values = append(values, outlined(crowd.Fused, s.W, s.H)...)
			} else {
				for _, p := range fit.Map {
					v := byte(0)
					if p > .5 {
						v = 255
					}
					values = append(values, v)
				}
			}
			for m, rater := range t.data.Raters {
				if l.Masks[m][k] == nil {
					continue
				}
				one := figure{Class: class, Method: fit.Method, Rater: rater, Sensitivity: statistics.Defined(fit.Raters[m].Sensitivity), Specificity: statistics.Defined(fit.Raters[m].Specificity)}
				if fit.Weights != nil {
					one.Weight = statistics.Defined(fit.Weights[m])
				}
				s.Figures = append(s.Figures, one)
			}
		}
	}
	return os.WriteFile(t.in("shown/"+class), values, 0o644)
}
