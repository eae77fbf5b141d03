package dataset

import (
	"path/filepath"
	"slices"
)

// truthFile is truth/CLASS/NAME.png beside the images' folder.
func (c *Case) truthFile(class string) string {
	return MaskFile(filepath.Join(filepath.Dir(filepath.Dir(c.Image)), "truth", class), c.Name)
}

// Files are the files of an image that exist: itself, its marks and its truths.
func (c *Case) Files(classes []string) []string {
	files := []string{c.Image}
	for _, class := range classes {
		if path := c.truthFile(class); exists(path) {
			files = append(files, path)
		}
	}
	for _, row := range slices.Concat(c.Masks, c.Again) {
		files = append(files, slices.DeleteFunc(slices.Clone(row), func(path string) bool { return path == "" })...)
	}
	return files
}

// Truth reads truth/CLASS/NAME.png beside the images' folder, (H, W) of 0 and 1; nil if there
// is no such file.
func (c *Case) Truth(class string) ([]uint8, error) {
	path := c.truthFile(class)
	if !exists(path) {
		return nil, nil
	}
	return c.Mask(path)
}
