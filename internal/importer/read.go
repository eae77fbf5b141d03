package importer

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/image/bmp"
	"golang.org/x/image/tiff"

	"mrprism/internal/imageio"
)

// maxFile is the largest file that is read, bytes.
const maxFile = 1 << 30

// readFile reads a whole file.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cause(err)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("its %d MiB are too many; %d are read", info.Size()>>20, maxFile>>20)
	}
	data, err := os.ReadFile(path)
	return data, cause(err)
}

// cause is a file error without the path, which stands before it.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// readImage reads a PNG, JPEG, TIFF or BMP.
func readImage(path string) (*imageio.Image, error) {
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	var size func(io.Reader) (image.Config, error)
	var decode func(io.Reader) (image.Image, error)
	switch {
	case bytes.HasPrefix(data, []byte("II*\x00")), bytes.HasPrefix(data, []byte("MM\x00*")):
		size, decode = tiff.DecodeConfig, tiff.Decode
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
	if config.Width <= 0 || config.Height <= 0 || config.Width > imageio.MaxSide || config.Height > imageio.MaxSide ||
		config.Width*config.Height > imageio.MaxPixels {
		return nil, fmt.Errorf("%d×%d pixels are too many, or none", config.Width, config.Height)
	}
	decoded, err := decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return imageio.Convert(decoded), nil
}

// files lists the files under a folder, sorted, without hidden ones and what macOS adds to archives.
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

// stem is a path's file name without extension.
func stem(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}
