package imageio

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mrprism/weights/disk"
)

// MaxFile is the size in bytes of the largest image file that is read into memory. Decoding
// limits the number of pixels.
const MaxFile = 1 << 30

// Read reads and decodes an image file: the middle of a volume, and the first page. Every
// error names the file.
func Read(path string) (*Image, error) {
	data, err := ReadContent(path)
	if err != nil {
		return nil, err
	}
	return Decode(path, data)
}

// ReadContent reads an image file, of a pair both. Every error names the file.
func ReadContent(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w; name an image file", path, disk.Cause(err))
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder; give its images, %s", path, imagesIn(path))
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no ordinary file; name an image file", path)
	}
	if err := CheckSize(path, info.Size()); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; let it be read, or name another image", path, disk.Cause(err))
	}
	return Whole(path, data, disk.ReadFile), nil
}

// CheckSize returns an error if a file of so many bytes is too large to be read into memory.
func CheckSize(path string, bytes int64) error {
	if bytes <= MaxFile {
		return nil
	}
	return fmt.Errorf("%s is too large: %d MB; export it as an image of at most %d million pixels", path, bytes>>20, MaxPixels/1_000_000)
}

// imagesIn suggests a pattern that a shell expands to the images of a folder.
func imagesIn(folder string) string {
	entries, _ := os.ReadDir(folder)
	for _, e := range entries {
		if IsImage(e.Name()) {
			return "e.g. " + filepath.Join(folder, "*"+Extension(e.Name()))
		}
	}
	return "but there are none (.png, .jpg, .tif, .bmp, .webp, .dcm, .nii)"
}

// IsImage reports whether a file name has the extension of an image that is one file.
func IsImage(name string) bool {
	switch strings.ToLower(Extension(name)) {
	case "", ".hdr", ".img": // the content decides
		return false
	}
	return true
}

// HoldsImage reports whether a file is an image, by its name or, without an extension of the
// formats, by its content. Hidden files and the index of a DICOM disc are none.
func HoldsImage(path string) bool {
	name := filepath.Base(path)
	if strings.HasPrefix(name, ".") || strings.EqualFold(name, "DICOMDIR") {
		return false
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return false
	}
	if IsImage(name) {
		return true
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, HeadSize)
	n, _ := io.ReadFull(f, head)
	zipped := bytes.HasPrefix(head, []byte("\x1f\x8b")) // it may hold anything
	return !zipped && Recognised(head[:n])
}

// ImagesIn lists the images that lie in a folder itself, in the order of their names, and counts
// the other files.
func ImagesIn(folder string) (images []string, others int, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w; let it be read, or name another folder", folder, disk.Cause(err))
	}
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			continue
		}
		if HoldsImage(path) {
			images = append(images, path)
		} else {
			others++
		}
	}
	if len(images) == 0 {
		err = fmt.Errorf("%s is a folder without images (.png, .jpg, .tif, .bmp, .webp, .dcm, .nii); name another one", folder)
	}
	return images, others, err
}
