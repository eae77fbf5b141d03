package command

import (
	"fmt"
	"os"
	"path/filepath"
)

// CheckOutputs refuses, before any work is done, files to be written that have no folder, are one or a device, or are named twice. Empty names
// are of files that are not wanted.
func CheckOutputs(paths ...string) error {
	seen := map[string]bool{}
	for _, path := range paths {
		if path == "" {
			continue
		}
		folder := filepath.Dir(path)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return fmt.Errorf("%s: there is no folder %s; make it, or name another file", path, folder)
		}
		switch info, err := os.Stat(path); {
		case err != nil: // there will be
		case info.IsDir():
			return fmt.Errorf("%s is a folder; name a file in it", path)
		case !info.Mode().IsRegular():
			return fmt.Errorf("%s is no file, but a device; name another", path)
		}
		if seen[filepath.Clean(path)] {
			return fmt.Errorf("%s would be written twice; give each its own file", path)
		}
		seen[filepath.Clean(path)] = true
	}
	return nil
}
