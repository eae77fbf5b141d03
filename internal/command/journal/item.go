package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"mrprism/internal/output/masks"
	"mrprism/internal/segment"
	"mrprism/weights"
	"mrprism/weights/disk"
)

// Item is one image with its output files: none, if it has no Entry.
type Item struct {
	Image   string
	Content string // SHA-256 of the image's file
	Marks   []Mark
	Files   []File
	Entry   string // the file of its entry

	stem string // begins the paths of Files
}

// File is an output file: what one reader says of a structure, or of all, in a format.
type File struct {
	Path   string
	Format masks.Format
	Reader int // an index of Run.Readers
	Class  int // −1: all
}

// NewItem is an image whose output files begin with a path.
func NewItem(stem, image string, marks []Mark, readers []masks.Reader, classes []string, formats []masks.Format) Item {
	it := Item{Image: image, stem: stem, Marks: marks, Entry: stem + ".json"}
	for i, r := range readers {
		for _, f := range formats {
			if f.Once && i > 0 {
				continue
			}
			if f.Whole {
				it.Files = append(it.Files, File{stem + r.Suffix + f.Ending, f, i, -1})
				continue
			}
			for c, class := range classes {
				it.Files = append(it.Files, File{stem + "_" + class + r.Suffix + f.Ending, f, i, c})
			}
		}
	}
	return it
}

// Picture is the item whose output files name the picture of the file, if that has several: slice 3
// of 5 has STEM_slice3of5.json.
func (i Item) Picture(slice, slices int) Item {
	if slices < 2 || i.Entry == "" {
		return i
	}
	named := func(path string) string {
		return fmt.Sprintf("%s_slice%dof%d%s", i.stem, slice, slices, strings.TrimPrefix(path, i.stem))
	}
	i.Entry, i.Files = named(i.Entry), append([]File(nil), i.Files...)
	for k := range i.Files {
		i.Files[k].Path = named(i.Files[k].Path)
	}
	return i
}

// part is the item with the files that hold all slices of a series, or with the others.
func (i Item) part(joined bool) Item {
	i.Files = slices.DeleteFunc(slices.Clone(i.Files), func(f File) bool { return (f.Format.Joined() != nil) != joined })
	return i
}

// Outputs are the paths of all output files.
func (i Item) Outputs() []string {
	all := []string{i.Entry}
	for _, f := range i.Files {
		all = append(all, f.Path)
	}
	return all
}

// Write writes the maps and then the entry. All get temporary names first: if the disk is full,
// older files stay. An older entry is removed before the first map is renamed: an entry never
// stands beside maps of another run. Renaming finishes even after Ctrl-C.
func (r *Run) Write(ctx context.Context, it Item, v *segment.Result) (*Entry, error) {
	by, structures := -1, map[string]masks.Structure(nil) // of a reader
	content := func(f File) (data []byte, err error) {
		if f.Reader != by {
			by = f.Reader
			if structures, err = structuresOf(&v.Maps, r.Readers[by]); err != nil {
				return nil, err
			}
		}
		d := r.drawing(f)
		d.Picture, d.Figures, d.Doubts = &v.Picture, &v.Measurements, v.Reasons()
		for c, class := range v.Classes {
			if s, ok := structures[class]; ok && (f.Class < 0 || f.Class == c) {
				d.Structures = append(d.Structures, s)
			}
		}
		if len(d.Structures) == 0 {
			return nil, nil
		}
		return f.Format.Write(d)
	}
	return r.write(ctx, it, content, func(sums map[string]disk.Sum) *Entry { return r.entry(it, v, sums) })
}

// drawing is that of a file, without picture and structures.
func (r *Run) drawing(f File) *masks.Drawing {
	return &masks.Drawing{By: r.Readers[f.Reader].By, Model: r.Session.Model, Day: r.Day, Identity: r.Identity}
}

// write is Write of contents; nil: the file is withheld, and one of an earlier run is removed.
func (r *Run) write(ctx context.Context, it Item, content func(f File) ([]byte, error), entry func(sums map[string]disk.Sum) *Entry) (*Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var files staged
	var withheld []string
	sums := map[string]disk.Sum{}
	defer files.discard()
	for _, f := range it.Files {
		data, err := content(f)
		if err == nil && data == nil {
			withheld = append(withheld, f.Path)
			continue
		}
		if err == nil {
			sums[f.Path] = disk.SumOf(data)
			err = files.add(f.Path, data)
		}
		if err != nil {
			return nil, err
		}
	}
	e := entry(sums)
	if it.Entry == "" {
		return e, nil
	}
	text, err := Text(e)
	if err == nil {
		err = files.add(it.Entry, text)
	}
	if err != nil {
		return nil, err
	}
	for _, path := range append(withheld, it.Entry) { // of an earlier run
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return e, files.commit()
}

// structuresOf are the structures of which there is a map of a reader, by class.
func structuresOf(r *segment.Maps, by masks.Reader) (map[string]masks.Structure, error) {
	all := map[string]masks.Structure{}
	for c, class := range r.Classes {
		if !by.Has(r, c) {
			continue
		}
		one, err := by.Part(r, c)
		if err != nil {
			return nil, err
		}
		all[class] = one
	}
	return all, nil
}

// staged are files that get their names together.
type staged []*weights.Staged

func (s *staged) add(path string, data []byte) error {
	file, err := weights.Stage(path, func(w io.Writer) error { _, err := w.Write(data); return err })
	if err == nil {
		*s = append(*s, file)
	}
	return err
}

func (s *staged) commit() error {
	for _, file := range *s {
		if err := file.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// discard removes the files that have not been committed.
func (s *staged) discard() {
	for _, file := range *s {
		file.Discard()
	}
}
