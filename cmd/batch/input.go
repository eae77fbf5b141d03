package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"mrprism/internal/files/imageio"
	"mrprism/internal/files/text"
	"mrprism/weights/disk"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3" // gs:// and local files come with beamx
)

// images lists the files of patterns or of a list, sorted and without repetitions. An error names
// the pattern that matches nothing, or the missing file.
func images(ctx context.Context, patterns []string, list, out string) (paths []string, err error) {
	if list != "" {
		paths, err = listed(ctx, list)
	} else {
		paths, err = matched(ctx, patterns)
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	if i := slices.IndexFunc(paths, func(p string) bool { return !utf8.ValidString(p) }); i >= 0 {
		return nil, fmt.Errorf("%q: the name is no UTF-8, which a pipeline's names must be; rename it", paths[i])
	}
	inside := out + string(filepath.Separator)
	if i := slices.IndexFunc(paths, func(p string) bool { return strings.HasPrefix(p, inside) }); i >= 0 {
		return nil, fmt.Errorf("%s lies in the folder of the results, %s; name other images, or another -out", paths[i], out)
	}
	return paths, nil
}

func matched(ctx context.Context, patterns []string) (all []string, err error) {
	for _, pattern := range patterns {
		pattern = absolute(pattern)
		found, err := match(ctx, pattern)
		if err != nil {
			return nil, fmt.Errorf("%s: %w; give another pattern", pattern, err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("%s matches no file; give another pattern", pattern)
		}
		all = append(all, found...)
	}
	return all, nil
}

func match(ctx context.Context, pattern string) ([]string, error) {
	files, err := filesystem.New(ctx, pattern)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	return files.List(ctx, pattern)
}

func listed(ctx context.Context, list string) (all []string, err error) {
	data, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("-list %s: %w; name a text file with an image's name a line", list, disk.Cause(err))
	}
	if decoded, err := text.Decode(data); err == nil { // else names in letters of the system
		data = decoded
	}
	for i, line := range strings.Split(string(data), "\n") {
		path := strings.TrimSpace(line)
		if path == "" {
			continue
		}
		path = absolute(path)
		if err := check(ctx, path); err != nil {
			return nil, fmt.Errorf("-list %s, line %d: %s: %w; take the line out, or bring the file back", list, i+1, path, err)
		}
		all = append(all, path)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("-list %s is empty; write an image's name a line", list)
	}
	return all, nil
}

// absolute makes a local path absolute, since workers may run in other folders. It does not change
// names with a scheme.
func absolute(path string) string {
	if strings.Contains(path, "://") {
		return path
	}
	if a, err := filepath.Abs(path); err == nil {
		return a
	}
	return path
}

// check returns an error unless there is a file.
func check(ctx context.Context, path string) error {
	if strings.Contains(path, "://") {
		_, err := size(ctx, path)
		return err
	}
	info, err := os.Stat(path) // Beam's own local file system leaves the file open
	switch {
	case err != nil:
		return disk.Cause(err)
	case !info.Mode().IsRegular():
		return errors.New("it is no ordinary file")
	}
	return nil
}

// size is the size in bytes of a file of a scheme.
func size(ctx context.Context, path string) (int64, error) {
	files, err := filesystem.New(ctx, path)
	if err != nil {
		return 0, err
	}
	defer files.Close()
	return files.Size(ctx, path)
}

// read reads an image file, of a pair both, from any of Beam's file systems. Errors name it.
func read(ctx context.Context, path string) ([]byte, error) {
	if !strings.Contains(path, "://") {
		return imageio.ReadContent(path)
	}
	data, err := content(ctx, path)
	if err != nil {
		return nil, err
	}
	return imageio.Whole(path, data, func(path string) ([]byte, error) { return content(ctx, path) }), nil
}

// content reads a file of a scheme.
func content(ctx context.Context, path string) ([]byte, error) {
	n, err := size(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; name an image file", path, err)
	}
	if err := imageio.CheckSize(path, n); err != nil {
		return nil, err
	}
	files, err := filesystem.New(ctx, path)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	f, err := files.OpenRead(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; let it be read", path, disk.Cause(err))
	}
	defer f.Close()
	return io.ReadAll(f)
}
