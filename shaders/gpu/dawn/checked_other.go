//go:build darwin || (windows && amd64)

package dawn

import "io"

// loadChecked loads a file whose SHA-512 is sum. The system reads the file anew to load it: whoever
// may write to the program's own folder or to the user's cache could change it in between.
func loadChecked(path, sum string) (uintptr, error) {
	if err := check(path, sum, io.Discard); err != nil {
		return 0, err
	}
	return load(path)
}
