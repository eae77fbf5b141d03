package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"mrprism/internal/disk"
	"mrprism/internal/imageio"
)

// maxFile is the largest file that readFile takes, bytes.
const maxFile = 1 << 30

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, disk.Cause(err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("its %d MiB are too many; at most %d are read", info.Size()>>20, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	return data, disk.Cause(err)
}

// readImage reads a PNG, JPEG, TIFF or BMP.
func readImage(path string) (*imageio.Image, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	size, decode := tiff.DecodeConfig, tiff.Decode
	switch {
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")):
	case bytes.HasPrefix(data, []byte("BM")):
		size, decode = bmp.DecodeConfig, bmp.Decode
	default:
		m, err := imageio.Decode(filepath.Base(path), data)
		if e := (*imageio.Error)(nil); errors.As(err, &e) {
			return nil, errors.New(e.Problem)
		}
		return m, err
	}
	config, err := size(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	if w, h := config.Width, config.Height; min(w, h) <= 0 || max(w, h) > imageio.MaxSide || w*h > imageio.MaxPixels {
		return nil, fmt.Errorf("%d×%d pixels are too many or too few", w, h)
	}
	decoded, err := decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return imageio.Convert(decoded), nil
}

// readOther reads an image that must be as large as another, its photograph.
func readOther(path string, photograph *imageio.Image) (*imageio.Image, error) {
	m, err := readImage(path)
	if err == nil && (m.W != photograph.W || m.H != photograph.H) {
		err = fmt.Errorf("is %d×%d pixels, its photograph %d×%d", m.W, m.H, photograph.W, photograph.H)
	}
	return m, err
}

// files lists the files under a folder, sorted, without hidden files and those that macOS adds to
// archives.
func files(folder string) (paths []string, err error) {
	err = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != folder && (strings.HasPrefix(e.Name(), ".") || e.Name() == "__MACOSX"):
			if e.IsDir() {
				return filepath.SkipDir
			}
		case !e.IsDir():
			paths = append(paths, path)
		}
		return nil
	})
	return paths, err
}
