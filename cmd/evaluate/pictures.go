package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/internal/command"
	"mrprism/internal/dataset"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
)

// trust is what a result says of itself.
type trust struct {
	Found   bool            `json:"found"`   // false: the program found nothing, and every map is 0
	Doubted bool            `json:"doubted"` // it has doubts
	Doubt   *float64        `json:"doubt"`   // the score: above 1 the result is doubted; null where the weights cannot tell
	Doubts  []segment.Doubt `json:"doubts,omitempty"`
}

// trustOf is the result's, with the largest number for a score that is infinite or no number: JSON
// holds neither.
func trustOf(r *segment.Result) trust {
	t := trust{r.Found, len(r.Doubts) > 0, r.Doubt, r.Doubts}
	if t.Doubt != nil && !(*t.Doubt <= math.MaxFloat64) {
		t.Doubt = new(math.MaxFloat64)
	}
	return t
}

// oddness is the score to rank results by: infinite where nothing was found. Not ok where the
// weights cannot tell.
func (t *trust) oddness() (score float64, ok bool) {
	switch {
	case !t.Found:
		return math.Inf(1), true
	case t.Doubt == nil:
		return 0, false
	}
	return *t.Doubt, true
}

// codes are those of the doubts, each once, in the result's order.
func (t *trust) codes() (codes []string) {
	for _, d := range t.Doubts {
		if !slices.Contains(codes, d.Code) {
			codes = append(codes, d.Code)
		}
	}
	return codes
}

// part is so many of the pictures.
type part struct {
	Images int     `json:"images"`
	Share  float64 `json:"share"` // 0..1
}

// String writes the number and the share in percent.
func (p part) String() string { return fmt.Sprintf("%d (%.1f %%)", p.Images, 100*p.Share) }

// count is the part of the pictures that are so.
func count[T any](pictures []T, so func(T) bool) (p part) {
	for _, picture := range pictures {
		if so(picture) {
			p.Images++
		}
	}
	if len(pictures) > 0 {
		p.Share = float64(p.Images) / float64(len(pictures))
	}
	return p
}

// distinct splits paths at commas. Paths that are empty, that do not exist or that name the same
// file twice are refused.
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
			return nil, fmt.Errorf("%s is %s again and would count twice; name it once", path, paths[again])
		}
		paths, infos = append(paths, path), append(infos, info)
	}
	return paths, nil
}

// pictures lists the PNG and JPEG files of a folder in sorted order, without hidden ones.
func pictures(dir string) (paths []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		switch strings.ToLower(filepath.Ext(e.Name())) {
		case ".png", ".jpg", ".jpeg":
			if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
				paths = append(paths, filepath.Join(dir, e.Name()))
			}
		}
	}
	return paths, err
}

// stem is a file's name without folder and extension.
func stem(path string) string {
	return strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
}

// readPicture decodes a file.
func readPicture(path string) (*imageio.Image, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return imageio.Decode(path, data)
}

// checkPictures decodes files before minutes are computed in vain. The error is a dataset.Problems
// that names every bad file, or that of ctx.
func checkPictures(ctx context.Context, paths []string, progress *command.Progress) error {
	defer progress.Clear()
	var problems dataset.Problems
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		progress.Begin()
		progress.Show("%s: reading", path)
		if _, err := readPicture(path); err != nil {
			problems = append(problems, err.Error())
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}

// look segments a picture that no data set has, searching it first where the model has an anchor,
// and hands the result to use.
func (s *scorer) look(ctx context.Context, img *imageio.Image, use func(*segment.Result)) error {
	return s.session.Do(ctx, func(e *segment.Engine) error {
		r, err := e.Segment(ctx, img, segment.Options{Recurrences: s.recurrences, ROI: "auto"})
		if err != nil {
			return err
		}
		s.adapter = e.Adapter()
		use(r)
		return nil
	})
}
