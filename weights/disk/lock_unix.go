//go:build !windows

package disk

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// Lock locks a folder for this process. It fails only if another process has the lock: on a file
// system without locks it does nothing.
func Lock(folder string) (io.Closer, error) {
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
