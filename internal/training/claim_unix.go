//go:build !windows

package training

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// lock takes a folder for this process. It fails only where another holds it; a file system that knows no locks is taken as it is.
func lock(folder string) (io.Closer, error) {
	f, err := os.Open(folder)
	if err != nil {
		return io.NopCloser(nil), nil
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		f.Close()
		return nil, err
	}
	return f, nil
}
