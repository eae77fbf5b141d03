package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mrprism/internal/command/journal"
	"mrprism/internal/files/imageio"
	"mrprism/internal/output/masks"
	"mrprism/weights/disk"
)

// plan names all output files. Images of one name, from several folders or of several formats, get
// numbers after the first: x.json, then x_2.json. Upper and lower case do not part names, since
// macOS and Windows ignore it; nor does what Item.Picture adds, since nobody has read the files
// yet. plan returns an error if an output file is one of the images or marks.
func plan(dir string, images []string, marks []journal.Mark, readers []masks.Reader, classes []string, formats []masks.Format) ([]journal.Item, error) {
	items, by := make([]journal.Item, len(images)), map[string]string{} // image by folded output
	take := func(i int, stem string) bool {
		it := journal.NewItem(filepath.Join(dir, stem), images[i], marks, readers, classes, formats)
		if slices.ContainsFunc(it.Outputs(), func(output string) bool { return by[folded(output)] != "" }) {
			return false
		}
		for _, output := range it.Outputs() {
			by[folded(output)] = images[i]
		}
		items[i] = it
		return true
	}
	var again []int // after all others: no number takes another image's own name
	for i, image := range images {
		if !take(i, stemOf(image)) {
			again = append(again, i)
		}
	}
	for _, i := range again {
		for n := 2; !take(i, fmt.Sprintf("%s_%d", stemOf(images[i]), n)); n++ {
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

func stemOf(image string) string {
	if image == stdin {
		return "stdin"
	}
	return imageio.OutputStem(image)
}

// ofSlices is what Item.Picture adds.
var ofSlices = regexp.MustCompile(`_slice\d+of\d+`)

func folded(path string) string { return ofSlices.ReplaceAllString(strings.ToLower(path), "") }

func overwritten(input, image string) error {
	return fmt.Errorf("%s would be overwritten by a mask of %s; give another -out folder", input, image)
}

// spares returns an error if an output is one of the inputs, as in the folder of an earlier run, or
// cannot be written to.
func spares(inputs []string, items []journal.Item) error {
	there, by := map[string]os.FileInfo{}, map[string]string{} // image by output
	for _, it := range items {
		for _, output := range it.Outputs() {
			if err := disk.CheckFile(output); err != nil {
				return err
			}
			if info, err := os.Stat(output); err == nil {
				there[output], by[output] = info, it.Image
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
