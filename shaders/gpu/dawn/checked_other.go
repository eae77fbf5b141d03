//go:build darwin || (windows && amd64)

package dawn

import "io"

// loadChecked loads a file if its SHA-512 is sum. The system reads the file again to load it: who
// may write to the program's folder or the user's cache could change it in between.
func loadChecked(path, sum string) (uintptr, error) {
	if err := check(path, sum, io.Discard); err != nil {
		return 0, err
	}
	return load(path)
}
