package disk

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/gofrs/flock"
)

// LockFile is the file in a folder by which [Lock] locks it.
const LockFile = ".lock"

// Lock locks a folder for this process, by a file that stays in it. It fails only if another
// process has the lock. If the file system has no locks or the folder cannot be written, Lock does
// nothing.
func Lock(folder string) (io.Closer, error) {
	lock := flock.New(filepath.Join(folder, LockFile))
	free, err := lock.TryLock()
	if err != nil {
		return io.NopCloser(nil), nil
	}
	if !free {
		return nil, errors.New("another process holds the lock")
	}
	return lock, nil
}
