package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mrprism/internal/command"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
)

// foreignSet is one folder of -foreign.
type foreignSet struct {
	dir   string
	paths []string
}

// readForeign lists the pictures of a folder, or of its subfolder images if that exists.
func readForeign(dir string) (*foreignSet, error) {
	folder := filepath.Join(dir, "images")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		folder = dir
	}
	paths, err := pictures(folder)
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("%s: there is no .png, .jpg or .jpeg in it", folder)
	}
	return &foreignSet{dir, paths}, err
}

// foreignScore is one picture of another kind than the model's images.
type foreignScore struct {
	Folder string `json:"folder"`
	Name   string `json:"name"` // of the file
	trust
}

// judgeForeign segments the pictures of all folders until one fails. The error names that picture.
func (s *scorer) judgeForeign(ctx context.Context, sets []*foreignSet) error {
	for _, set := range sets {
		for _, path := range set.paths {
			s.progress.Begin()
			s.progress.Show("%s: segmenting", path)
			img, err := command.ReadImage(path)
			if err != nil {
				return err
			}
			score := &foreignScore{Folder: set.dir, Name: filepath.Base(path)}
			if err := s.look(ctx, img, func(r *segment.Result) { score.trust = trustOf(r) }); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			s.foreign = append(s.foreign, score)
		}
	}
	return nil
}

// look segments a picture of -centres or -foreign and hands the result to use. A model with an
// anchor searches the picture first.
func (s *scorer) look(ctx context.Context, img *imageio.Image, use func(*segment.Result)) error {
	return s.session.Do(ctx, func(e *segment.Engine) error {
		r, err := e.Segment(ctx, img, segment.Options{Recurrences: s.recurrences, ROI: "auto"})
		if err == nil {
			s.adapter = e.Adapter()
			use(r)
		}
		return err
	})
}

type foreignReport struct {
	Folders  []foreignTally `json:"folders"`
	Together foreignTally   `json:"together"`
	// pictures, if the program was stopped before it judged all
	Of       int             `json:"of,omitempty"`
	Pictures []*foreignScore `json:"pictures"`
}

// foreignTally is one folder, or all of them.
type foreignTally struct {
	Folder  string `json:"folder,omitempty"` // empty: all
	Images  int    `json:"images"`
	Doubted part   `json:"doubted"`
}

// foreignReport gathers the judgements; nil without -foreign.
func (s *scorer) foreignReport(sets []*foreignSet) *foreignReport {
	if len(sets) == 0 {
		return nil
	}
	row := func(folder string, of []*foreignScore) foreignTally {
		return foreignTally{folder, len(of), count(of, func(f *foreignScore) bool { return f.Doubted })}
	}
	out, all := &foreignReport{Together: row("", s.foreign), Pictures: s.foreign}, 0
	for _, set := range sets {
		all += len(set.paths)
		if of := filter(s.foreign, func(f *foreignScore) bool { return f.Folder == set.dir }); len(of) > 0 {
			out.Folders = append(out.Folders, row(set.dir, of))
		}
	}
	if len(s.foreign) < all {
		out.Of = all
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
	missed := filter(r.Pictures, func(f *foreignScore) bool { return !f.Doubted })
	for _, f := range missed[:min(len(missed), shown)] {
		t.Line("not doubted: %s of %s", f.Name, f.Folder)
	}
	if more := len(missed) - shown; more > 0 {
		t.Line("and %d more, in -json", more)
	}
}

// stopped says that the program was stopped before it judged a number of pictures; nothing for 0.
func (t *table) stopped(all int) {
	if all > 0 {
		t.Line("stopped before all %d were judged", all)
		t.Break()
	}
}
