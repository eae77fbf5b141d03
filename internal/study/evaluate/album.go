package evaluate

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"mrprism/internal/command"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
	"mrprism/internal/study/statistics"
)

// album is one CSV of -centres or one folder of -foreign.
type album struct {
	name        string // of the file or folder
	photographs []photograph
}

// photograph is one picture of an album.
type photograph struct {
	name   string
	path   string
	circle *circle // of -centres, in shares; nil if the structure is absent
}

// photographs is the number of photographs of the albums.
func photographs(albums []*album) (n int) {
	for _, a := range albums {
		n += len(a.photographs)
	}
	return n
}

// guise says how a photograph is shown; the zero value is the photograph as it is.
type guise struct {
	Turned int    `json:"turned"`           // degrees, clockwise
	Change string `json:"change,omitempty"` // of -changed
}

// Label adds the guise to the name of a photograph or of a row.
func (g guise) Label(name string) string {
	if g.Turned != 0 {
		name += fmt.Sprintf(", turned by %d°", g.Turned)
	}
	if g.Change != "" {
		name += ", " + g.Change
	}
	return name
}

// shownPhotograph is a photograph in a guise. Its circle is in pixels of the image.
type shownPhotograph struct {
	guise
	album  *album
	name   string
	image  *imageio.Image
	circle *circle
}

// judge segments the photographs of all albums, each in its guises, until one fails. The error
// names that photograph. A model with an anchor searches the photographs.
func (s *scorer) judge(ctx context.Context, albums []*album, guises func(shownPhotograph) iter.Seq[shownPhotograph], keep func(shownPhotograph, *segment.Result)) error {
	for _, a := range albums {
		for _, p := range a.photographs {
			img, err := command.ReadImage(p.path)
			if err != nil {
				return err
			}
			v := shownPhotograph{album: a, name: p.name, image: img}
			if p.circle != nil {
				v.circle = new(p.circle.of(img))
			}
			for v := range guises(v) {
				s.progress.Begin()
				s.progress.Show("%s: segmenting", v.Label(p.name))
				err := s.session.Do(ctx, func(e *segment.Engine) error {
					r, err := e.Segment(ctx, v.image, segment.Options{Recurrences: s.Recurrences, ROI: "auto"})
					if err == nil {
						s.adapter = e.Adapter()
						keep(v, r)
					}
					return err
				})
				if err != nil {
					return fmt.Errorf("%s: %w", p.path, err)
				}
			}
		}
	}
	return nil
}

// quarter turns a view clockwise by 90 degrees.
func (v shownPhotograph) quarter() shownPhotograph {
	if v.circle != nil {
		v.circle = new(v.circle.quarter(v.image.H))
	}
	v.image, v.Turned = quarter(v.image), v.Turned+90
	return v
}

// unfinished is the number of all pictures if fewer are done, else 0.
func unfinished(done, all int) int {
	if done < all {
		return all
	}
	return 0
}

// stopped says that the program was stopped before it judged a number of pictures; nothing for 0.
func (t *table) stopped(all int) {
	if all > 0 {
		t.Line("stopped before all %d were judged", all)
		t.Break()
	}
}

// readForeign lists the pictures of a folder, or of its subfolder images if that exists.
func readForeign(dir string) (*album, error) {
	folder := filepath.Join(dir, "images")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		folder = dir
	}
	paths, err := pictures(folder)
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: there is no .png, .jpg or .jpeg in it", folder)
	}
	a := &album{name: dir}
	for _, path := range paths {
		a.photographs = append(a.photographs, photograph{name: filepath.Base(path), path: path})
	}
	return a, err
}

// foreignScore is one picture of another kind than the model's images.
type foreignScore struct {
	Folder string `json:"folder"`
	Name   string `json:"name"` // of the file
	judgement
}

// judgeForeign judges the pictures of all folders until one fails.
func (s *scorer) judgeForeign(ctx context.Context, albums []*album) error {
	asItIs := func(v shownPhotograph) iter.Seq[shownPhotograph] { return slices.Values([]shownPhotograph{v}) }
	return s.judge(ctx, albums, asItIs, func(v shownPhotograph, r *segment.Result) {
		s.foreign = append(s.foreign, &foreignScore{v.album.name, v.name, trustOf(r)})
	})
}

type foreignReport struct {
	Folders  []ForeignTally `json:"folders"`
	Together ForeignTally   `json:"together"`
	// Of: pictures, if the program was stopped before it judged all
	Of       int             `json:"of,omitempty"`
	Pictures []*foreignScore `json:"pictures"`
}

// ForeignTally is one folder, or all of them.
type ForeignTally struct {
	Folder  string           `json:"folder,omitempty"` // empty: all
	Images  int              `json:"images"`
	Doubted statistics.Share `json:"doubted"`
}

// foreignReport gathers the judgements; nil without -foreign.
func (s *scorer) foreignReport(albums []*album) *foreignReport {
	if len(albums) == 0 {
		return nil
	}
	row := func(folder string, of []*foreignScore) ForeignTally {
		return ForeignTally{folder, len(of), statistics.ShareOf(of, func(f *foreignScore) bool { return f.Doubted })}
	}
	out := &foreignReport{Together: row("", s.foreign), Pictures: s.foreign, Of: unfinished(len(s.foreign), photographs(albums))}
	for _, a := range albums {
		if of := statistics.Filter(s.foreign, func(f *foreignScore) bool { return f.Folder == a.name }); len(of) > 0 {
			out.Folders = append(out.Folders, row(a.name, of))
		}
	}
	return out
}

// foreign prints the rows, and names the first pictures that are not doubted.
func (t *table) foreign(r *foreignReport) {
	t.Title("Pictures of another kind than the model's images")
	t.stopped(r.Of)
	t.Line("\timages\tdoubted")
	for _, row := range r.Folders {
		t.Line("%s\t%d\t%v", row.Folder, row.Images, row.Doubted)
	}
	if len(r.Folders) > 1 {
		t.Line("together\t%d\t%v", r.Together.Images, r.Together.Doubted)
	}
	t.Break()
	missed := statistics.Filter(r.Pictures, func(f *foreignScore) bool { return !f.Doubted })
	report.First(t.Table, "", missed, func(f *foreignScore) { t.Line("not doubted: %s of %s", f.Name, f.Folder) })
}
