package score

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"mrprism/internal/data/dataset"
)

// ReadTruth reads truth/CLASS/NAME.png beside the images' folder, (H, W) of 0 and 1; nil if there
// is no such file.
func ReadTruth(c dataset.Case, class string) ([]uint8, error) {
	path := dataset.MaskFile(filepath.Join(filepath.Dir(filepath.Dir(c.Image)), "truth", class), c.Name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return c.Mask(path)
}
