package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/data/dataset"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/study/report"
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

// readEach reads every path of a list; an empty list has none. The error is a dataset.Problems with
// the problems of all paths.
func readEach(list string, read func(path string) (*album, error)) (all []*album, err error) {
	if list == "" {
		return nil, nil
	}
	paths, err := distinct(list)
	if err != nil {
		return nil, err
	}
	var problems dataset.Problems
	for _, path := range paths {
		one, err := read(path)
		if several := (dataset.Problems)(nil); errors.As(err, &several) {
			problems = append(problems, several...)
		} else if err != nil {
			problems = append(problems, err.Error())
		}
		all = append(all, one)
	}
	return all, problems.AsError()
}

// distinct splits paths at commas. It refuses empty paths, paths that do not exist, and two paths
// of the same file.
func distinct(text string) (paths []string, err error) {
	var infos []os.FileInfo
	for path := range strings.SplitSeq(text, ",") {
		if path = strings.TrimSpace(path); path == "" {
			return nil, fmt.Errorf("%q: a name is empty; remove the comma or give the name", text)
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: cannot be read (%w)", path, errors.Unwrap(err))
		}
		if again := slices.IndexFunc(infos, func(other os.FileInfo) bool { return os.SameFile(info, other) }); again >= 0 {
			return nil, fmt.Errorf("%s and %s are the same and would count twice; name it once", paths[again], path)
		}
		paths, infos = append(paths, path), append(infos, info)
	}
	return paths, nil
}

// pictures lists the image files of a folder in sorted order, without hidden files.
func pictures(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if path := filepath.Join(dir, e.Name()); imageio.HoldsImage(path) {
			paths = append(paths, path)
		}
	}
	return paths, err
}

// paths are the files of albums.
func paths(albums ...[]*album) (all []string) {
	for _, a := range slices.Concat(albums...) {
		for _, p := range a.photographs {
			all = append(all, p.path)
		}
	}
	return all
}

// stopped says that the program was stopped before it judged a number of pictures; nothing for 0.
func stopped(all int) string {
	if all == 0 {
		return ""
	}
	return fmt.Sprintf("; stopped before all %d were judged", all)
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
func (s *study) judge(ctx context.Context, albums []*album, guises func(shownPhotograph) iter.Seq[shownPhotograph], keep func(shownPhotograph, *segment.Result) error) error {
	for _, a := range albums {
		for _, p := range a.photographs {
			img, err := imageio.Read(p.path)
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
				var r *segment.Result
				err := s.session.Do(ctx, func(e *segment.Engine) (err error) {
					s.adapter = e.Adapter()
					r, err = e.Segment(ctx, v.image, segment.Options{Recurrences: s.Recurrences, ROI: "auto"})
					return err
				})
				if err == nil {
					err = keep(v, r)
				}
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
func (s *study) judgeForeign(ctx context.Context) error {
	asItIs := func(v shownPhotograph) iter.Seq[shownPhotograph] { return slices.Values([]shownPhotograph{v}) }
	return s.judge(ctx, s.foreign, asItIs, func(v shownPhotograph, r *segment.Result) error {
		s.strange = append(s.strange, &foreignScore{v.album.name, v.name, trustOf(r)})
		return nil
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
func (s *study) foreignReport() *foreignReport {
	if len(s.foreign) == 0 {
		return nil
	}
	row := func(folder string, of []*foreignScore) ForeignTally {
		return ForeignTally{folder, len(of), statistics.ShareOf(of, func(f *foreignScore) bool { return f.Doubted })}
	}
	out := &foreignReport{Together: row("", s.strange), Pictures: s.strange, Of: unfinished(len(s.strange), photographs(s.foreign))}
	for _, a := range s.foreign {
		if of := statistics.Filter(s.strange, func(f *foreignScore) bool { return f.Folder == a.name }); len(of) > 0 {
			out.Folders = append(out.Folders, row(a.name, of))
		}
	}
	return out
}

// part has the rows, and names the first pictures that are not doubted.
func (r *foreignReport) part() report.Part {
	t := report.Table{Title: "Pictures of another kind than the model's images" + stopped(r.Of), Columns: report.Columns("", "images", "doubted")}
	rows := r.Folders
	if len(rows) > 1 {
		rows = append(slices.Clone(rows), r.Together)
	}
	for _, row := range rows {
		t.Add(cmp.Or(row.Folder, "together"), row.Images, row.Doubted)
	}
	p := report.Part{Title: "Pictures of another kind", Tables: []report.Table{t}}
	missed := statistics.Filter(r.Pictures, func(f *foreignScore) bool { return !f.Doubted })
	if len(missed) > 0 {
		t := report.Table{Title: "Of these, not doubted", Columns: report.Columns("picture", "folder")}
		t.First(len(missed), func(i int) []any { return []any{missed[i].Name, missed[i].Folder} })
		p.Tables = append(p.Tables, t)
	}
	return p
}
