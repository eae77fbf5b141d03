package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"mrprism/internal/segment"
)

// foreignSet is one folder of -foreign.
type foreignSet struct {
	dir   string
	paths []string
}

// readForeign lists the pictures of a folder, or of its subfolder images where there is one.
func readForeign(dir string) (*foreignSet, error) {
	folder := filepath.Join(dir, "images")
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		folder = dir
	}
	paths, err := pictures(folder)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s: there is no .png, .jpg or .jpeg in it", folder)
	}
	return &foreignSet{dir, paths}, nil
}

// foreignScore is one picture that is not of the model's kind.
type foreignScore struct {
	Folder string `json:"folder"`
	Name   string `json:"name"` // of the file
	trust
}

// judgeForeign segments the pictures of all folders until one fails. The error names it.
func (s *scorer) judgeForeign(ctx context.Context, sets []*foreignSet) error {
	for _, set := range sets {
		for _, path := range set.paths {
			s.progress.Begin()
			s.progress.Show("%s: segmenting", path)
			img, err := readPicture(path)
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

type foreignReport struct {
	Folders  []foreignTally  `json:"folders"`
	Together foreignTally    `json:"together"`
	Of       int             `json:"of,omitempty"` // pictures, where the program was stopped before it had judged all
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
	out, all := &foreignReport{Pictures: s.foreign}, 0
	row := func(folder string, of []*foreignScore) foreignTally {
		return foreignTally{folder, len(of), count(of, func(f *foreignScore) bool { return f.Doubted })}
	}
	for _, set := range sets {
		var of []*foreignScore
		for _, f := range s.foreign {
			if f.Folder == set.dir {
				of = append(of, f)
			}
		}
		all += len(set.paths)
		if len(of) > 0 {
			out.Folders = append(out.Folders, row(set.dir, of))
		}
	}
	if out.Together = row("", s.foreign); len(s.foreign) < all {
		out.Of = all
	}
	return out
}

// foreign prints the rows, and names the first pictures that nothing doubts.
func (t *table) foreign(r *foreignReport) {
	t.title("Pictures that are not of this model's kind")
	if r.Of > 0 {
		t.line("stopped before all %d were judged", r.Of)
		t.flush()
	}
	t.line("\timages\tdoubted")
	for _, row := range r.Folders {
		t.line("%s\t%d\t%v", row.Folder, row.Images, row.Doubted)
	}
	if len(r.Folders) > 1 {
		t.line("together\t%d\t%v", r.Together.Images, r.Together.Doubted)
	}
	t.flush()
	missed := 0
	for _, f := range r.Pictures {
		if f.Doubted {
			continue
		}
		if missed++; missed <= shown {
			t.line("not doubted: %s of %s", f.Name, f.Folder)
		}
	}
	if more := missed - shown; more > 0 {
		t.line("and %d more, in -json", more)
	}
}
