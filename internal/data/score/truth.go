package score

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mrprism/internal/data/dataset"
)

// truthFile is truth/CLASS/NAME.png beside the images' folder.
func truthFile(c dataset.Case, class string) string {
	return dataset.MaskFile(filepath.Join(filepath.Dir(filepath.Dir(c.Image)), "truth", class), c.Name)
}

// Files are the files of an image that exist: itself, its marks and its truths.
func Files(c dataset.Case, classes []string) []string {
	files := []string{c.Image}
	for _, class := range classes {
		if path := truthFile(c, class); exists(path) {
			files = append(files, path)
		}
	}
	for _, row := range slices.Concat(c.Masks, c.Again) {
		files = append(files, slices.DeleteFunc(slices.Clone(row), func(path string) bool { return path == "" })...)
	}
	return files
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// ReadTruth reads truth/CLASS/NAME.png beside the images' folder, (H, W) of 0 and 1; nil if there
// is no such file.
func ReadTruth(c dataset.Case, class string) ([]uint8, error) {
	path := truthFile(c, class)
	if !exists(path) {
		return nil, nil
	}
	return c.Mask(path)
}
