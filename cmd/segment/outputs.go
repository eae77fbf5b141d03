package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"mrprism/internal/app/export"
	"mrprism/internal/app/segment"
	"mrprism/weights"
)

// item is one image with its output files.
type item struct {
	image   string
	marks   []mark
	files   []file
	summary string
}

// file is an output file: what one reader says of a structure, or of all, in a format.
type file struct {
	path   string
	format export.Format
	reader int // an index of export.Readers
	class  int // −1: all
}

func (i item) outputs() []string {
	all := []string{i.summary}
	for _, f := range i.files {
		all = append(all, f.path)
	}
	return all
}

// plan names all output files. It returns an error if two images have the same output file, or if
// an output file is one of the images or marks.
func plan(dir string, images []string, marks []mark, about weights.Metadata, formats []export.Format) ([]item, error) {
	var items []item
	by := map[string]string{} // image by folded output
	for _, image := range images {
		base := filepath.Base(image)
		stem := strings.TrimSuffix(base, filepath.Ext(base))
		if strings.HasSuffix(strings.ToLower(base), ".nii.gz") {
			stem = base[:len(base)-len(".nii.gz")]
		}
		if stem == "" {
			stem = base
		}
		path := func(rest string) string { return filepath.Join(dir, stem+rest) }
		it := item{image: image, marks: marks, summary: path(".json")}
		for i, r := range export.Readers(segment.Heads(&about), about.Labels, len(marks) > 0) {
			for _, f := range formats {
				if f.Whole {
					it.files = append(it.files, file{path(r.Suffix + f.Ending), f, i, -1})
					continue
				}
				for c, class := range about.Classes {
					it.files = append(it.files, file{path("_" + class + r.Suffix + f.Ending), f, i, c})
				}
			}
		}
		for _, output := range it.outputs() {
			other, named := by[folded(output)]
			if named && filepath.Clean(other) == filepath.Clean(image) {
				return nil, fmt.Errorf("%s is given twice", image)
			} else if named {
				return nil, fmt.Errorf("%s and %s would both be written to %s; give them different -out folders", other, image, output)
			}
			by[folded(output)] = image
		}
		items = append(items, it)
	}
	inputs := slices.Clone(images)
	for _, m := range marks {
		inputs = append(inputs, m.File)
	}
	return items, spares(inputs, by)
}

// folded is a path in lower case on macOS and Windows, whose file systems ignore the case.
func folded(path string) string {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		return strings.ToLower(path)
	}
	return path
}

// spares returns an error if one of the outputs (image by output) is one of the inputs, as in the
// folder of an earlier run.
func spares(inputs []string, by map[string]string) error {
	there := map[string]os.FileInfo{}
	for output := range by {
		if info, err := os.Stat(output); err == nil {
			there[output] = info
		}
	}
	for _, name := range inputs {
		if len(there) == 0 {
			return nil
		}
		input, err := os.Stat(name)
		if err != nil {
			continue // reading it returns the error
		}
		for output, info := range there {
			if os.SameFile(input, info) {
				return fmt.Errorf("%s would be overwritten by a mask of %s; give another -out folder", name, by[output])
			}
		}
	}
	return nil
}
