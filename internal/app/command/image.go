package command

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"mrprism/internal/data/disk"
	"mrprism/internal/data/imageio"
)

// maxFile is the size in bytes of the largest image file that ReadImage reads into memory. Decoding
// limits the number of pixels.
const maxFile = 1 << 30

// ReadImage reads and decodes an image file. Every error names the file.
func ReadImage(path string) (*imageio.Image, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w; name a PNG or JPEG image", path, disk.Cause(err))
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give its images, %s", path, imagesIn(path))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no ordinary file; name a PNG or JPEG image", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is too large: %d MB; export it as a PNG or JPEG of at most %d million pixels", path, info.Size()>>20, imageio.MaxPixels/1_000_000)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; let it be read, or name another image", path, disk.Cause(err))
	}
	return imageio.Decode(path, data)
}

// imagesIn suggests a pattern that a shell expands to the images of a folder.
func imagesIn(folder string) string {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if IsImage(e.Name()) {
			return "e.g. " + filepath.Join(folder, "*"+filepath.Ext(e.Name()))
		}
	}
	return "but there are none (.png, .jpg)"
}

// IsImage reports whether a file name has the extension of an image.
func IsImage(name string) bool {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".png", ".jpg", ".jpeg":
		return true
	}
	return false
}
