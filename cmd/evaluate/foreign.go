package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mrprism/internal/app/segment"
)

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
	trust
}

// judgeForeign judges the pictures of all folders until one fails.
func (s *scorer) judgeForeign(ctx context.Context, albums []*album) error {
	return s.judge(ctx, albums, 1, func(v view, r *segment.Result) {
		s.foreign = append(s.foreign, &foreignScore{v.album.name, v.name, trustOf(r)})
	})
}

type foreignReport struct {
	Folders  []foreignTally `json:"folders"`
	Together foreignTally   `json:"together"`
	// Of: pictures, if the program was stopped before it judged all
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
func (s *scorer) foreignReport(albums []*album) *foreignReport {
	if len(albums) == 0 {
		return nil
	}
	row := func(folder string, of []*foreignScore) foreignTally {
		return foreignTally{folder, len(of), count(of, func(f *foreignScore) bool { return f.Doubted })}
	}
	out := &foreignReport{Together: row("", s.foreign), Pictures: s.foreign, Of: unfinished(len(s.foreign), photographs(albums))}
	for _, a := range albums {
		if of := filter(s.foreign, func(f *foreignScore) bool { return f.Folder == a.name }); len(of) > 0 {
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
	missed := filter(r.Pictures, func(f *foreignScore) bool { return !f.Doubted })
	for _, f := range missed[:min(len(missed), shown)] {
		t.Line("not doubted: %s of %s", f.Name, f.Folder)
	}
	if more := len(missed) - shown; more > 0 {
		t.Line("and %d more, in -json", more)
	}
}
