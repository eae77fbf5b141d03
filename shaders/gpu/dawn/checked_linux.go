//go:build amd64 || arm64

package dawn

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// loadChecked loads a file if its SHA-512 is sum. It checks and loads one copy in memory, so that
// it does not matter if the file changes meanwhile.
func loadChecked(path, sum string) (uintptr, error) {
	number, err := unix.MemfdCreate("dawn", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("no memory file for a copy: %w", err)
	}
	memory := os.NewFile(uintptr(number), path)
	defer memory.Close()
	if err := check(path, sum, memory); err != nil {
		return 0, err
	}
	return load(fmt.Sprintf("/proc/self/fd/%d", number))
}
