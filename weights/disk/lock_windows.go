package disk

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Lock locks a folder for this process: it keeps a file in it open that no other process can open.
func Lock(folder string) (io.Closer, error) {
	path := filepath.Join(folder, ".lock")
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	const shared = 0
	handle, err := syscall.CreateFile(name, syscall.GENERIC_WRITE, shared, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(handle), path), nil
}
