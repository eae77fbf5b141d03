package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/weights/disk"
)

// item is one image with its output files.
type item struct {
	image   string
	stem    string // begins the paths of its output files
	marks   []mark
	files   []file
	summary string
}

// file is an output file: what one reader says of a structure, or of all, in a format.
type file struct {
	path   string
	format masks.Format
	reader int // an index of batch.readers
	class  int // −1: all
}

// of is the item whose output files name the picture of the file, if that has several: slice 3 of 5
// has STEM_slice3of5.json.
func (i item) of(slice, slices int) item {
	if slices < 2 {
		return i
	}
	named := func(path string) string {
		return fmt.Sprintf("%s_slice%dof%d%s", i.stem, slice, slices, strings.TrimPrefix(path, i.stem))
	}
	i.summary, i.files = named(i.summary), append([]file(nil), i.files...)
	for k := range i.files {
		i.files[k].path = named(i.files[k].path)
	}
	return i
}

func (i item) outputs() []string {
	all := []string{i.summary}
	for _, f := range i.files {
		all = append(all, f.path)
	}
	return all
}

// plan names all output files. Images of one name, from several folders or of several formats, get
// numbers after the first: x.json, then x_2.json. Upper and lower case do not part names, since
// macOS and Windows ignore it; nor does what item.of adds, since nobody has read the files yet. plan
// returns an error if an output file is one of the images or marks.
func plan(dir string, images []string, marks []mark, readers []masks.Reader, classes []string, formats []masks.Format) ([]item, error) {
	items, by := make([]item, len(images)), map[string]string{} // image by folded output
	take := func(i int, stem string) bool {
		it := itemOf(filepath.Join(dir, stem), images[i], marks, readers, classes, formats)
		if slices.ContainsFunc(it.outputs(), func(output string) bool { return by[folded(output)] != "" }) {
			return false
		}
		for _, output := range it.outputs() {
			by[folded(output)] = images[i]
		}
		items[i] = it
		return true
	}
	var again []int // after all others: no number takes another image's own name
	for i, image := range images {
		if !take(i, imageio.OutputStem(image)) {
			again = append(again, i)
		}
	}
	for _, i := range again {
		for n := 2; !take(i, fmt.Sprintf("%s_%d", imageio.OutputStem(images[i]), n)); n++ {
		}
	}
	inputs := slices.Clone(images)
	for _, m := range marks {
		inputs = append(inputs, m.File)
	}
	for _, input := range inputs { // a picture of several may take its name
		if image := by[folded(filepath.Clean(input))]; image != "" && ofSlices.MatchString(input) {
			return nil, overwritten(input, image)
		}
	}
	return items, spares(inputs, items)
}

// itemOf is an image whose output files begin with a path.
func itemOf(stem, image string, marks []mark, readers []masks.Reader, classes []string, formats []masks.Format) item {
	it := item{image: image, stem: stem, marks: marks, summary: stem + ".json"}
	for i, r := range readers {
		for _, f := range formats {
			if f.Whole {
				it.files = append(it.files, file{stem + r.Suffix + f.Ending, f, i, -1})
				continue
			}
			for c, class := range classes {
				it.files = append(it.files, file{stem + "_" + class + r.Suffix + f.Ending, f, i, c})
			}
		}
	}
	return it
}

// ofSlices is what item.of adds.
var ofSlices = regexp.MustCompile(`_slice\d+of\d+`)

func folded(path string) string { return ofSlices.ReplaceAllString(strings.ToLower(path), "") }

func overwritten(input, image string) error {
	return fmt.Errorf("%s would be overwritten by a mask of %s; give another -out folder", input, image)
}

// spares returns an error if an output is one of the inputs, as in the folder of an earlier run, or
// cannot be written to.
func spares(inputs []string, items []item) error {
	there, by := map[string]os.FileInfo{}, map[string]string{} // image by output
	for _, it := range items {
		for _, output := range it.outputs() {
			if err := disk.CheckFile(output); err != nil {
				return err
			}
			if info, err := os.Stat(output); err == nil {
				there[output], by[output] = info, it.image
			}
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
				return overwritten(name, by[output])
			}
		}
	}
	return nil
}
