// Package disk writes the files that a run must not lose. A record is on disk as a whole or not at
// all. Tests can make any write fail, as on a full disk or in a read-only folder.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// The operations on files that Fault can make fail.
const (
	Open   = "open" // a file is made
	Write  = "write"
	Sync   = "sync"
	Rename = "rename"
	Link   = "link"
)

// Fault is nil outside of tests. Every operation calls it first, and fails with the error that it
// returns. A failed write has written half of its bytes.
var Fault func(operation, path string) error

func fault(operation, path string) error {
	if Fault == nil {
		return nil
	}
	if err := Fault(operation, path); err != nil {
		return &fs.PathError{Op: operation, Path: path, Err: err}
	}
	return nil
}

// faultOr runs an operation unless Fault refuses it.
func faultOr(operation, path string, do func() error) error {
	if err := fault(operation, path); err != nil {
		return err
	}
	return do()
}

// Cause is a file error without the operation and the path, for a message that already names the
// file.
func Cause(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// File is an os.File whose writes Fault can make fail.
type File struct{ *os.File }

// CheckFile returns an error if a path to write to is not a regular file or nothing. A link may lead
// to any file: an archive of a stranger's must not make programs write there.
func CheckFile(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return nil // if the folder cannot be read, writing returns the error
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a link, and might lead to any file: remove it, or name another file", path)
	case info.IsDir():
		return fmt.Errorf("%s is a folder; name a file in it", path)
	}
	return fmt.Errorf("%s is a device; name a file", path)
}

// Folder makes the folder of results and a folder within it, maybe deeper, and returns the path of
// the latter. A link on the way must not lead out of the results. The results themselves may be
// behind a link.
func Folder(results, within string) (path string, err error) {
	path = filepath.Join(results, within)
	if err := os.MkdirAll(results, 0o777); err != nil {
		return path, err
	}
	root, err := os.OpenRoot(results)
	if err != nil {
		return path, err
	}
	defer root.Close()
	if err := root.MkdirAll(within, 0o777); err != nil {
		return path, fmt.Errorf("the folder %s cannot be made: %w; a link must not lead out of %s", path, Cause(err), results)
	}
	return path, nil
}

// most is the size in bytes of the largest file that ReadFile reads.
const most = 1 << 30

// ReadFile is os.ReadFile for a regular file of at most a GiB. A pipe or a device, to which an archive
// of a stranger's may bring a link, would never end.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeSocket) != 0:
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("it is a pipe or a device, and no file")}
	case info.Size() > most:
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("its %d MiB are too many; at most %d are read", info.Size()>>20, most>>20)}
	}
	return os.ReadFile(path)
}

// OpenFile is os.OpenFile for a file that CheckFile accepts.
func OpenFile(path string, flag int, mode fs.FileMode) (*File, error) {
	if err := errors.Join(fault(Open, path), CheckFile(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag, mode)
	return &File{f}, err
}

// WriteFile writes a file in a folder, as OpenFile, and makes the folders that lead to it, as Folder.
// A failure may leave a part of the file.
func WriteFile(folder, name string, data []byte) error {
	within, err := Folder(folder, filepath.Dir(name))
	if err != nil {
		return err
	}
	f, err := OpenFile(filepath.Join(within, filepath.Base(name)), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// CreateTemp is os.CreateTemp with another mode: the umask alone decides who may read the file,
// because the file is later renamed to become a result.
func CreateTemp(folder, pattern string) (*File, error) {
	if err := fault(Open, pattern); err != nil {
		return nil, err
	}
	before, after, _ := strings.Cut(pattern, "*")
	for {
		path := filepath.Join(folder, before+strconv.FormatUint(uint64(rand.Uint32()), 10)+after)
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if !errors.Is(err, fs.ErrExist) {
			return &File{f}, err
		}
	}
}

func (f *File) Write(b []byte) (int, error) {
	if err := fault(Write, f.Name()); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

// Sync is os.File.Sync.
func (f *File) Sync() error { return faultOr(Sync, f.Name(), f.File.Sync) }

// Move is os.Rename.
func Move(from, to string) error {
	return faultOr(Rename, to, func() error { return os.Rename(from, to) })
}

// SecondName is os.Link.
func SecondName(of, name string) error {
	return faultOr(Link, name, func() error { return os.Link(of, name) })
}

// SyncName forces the name of the file at path to disk: it syncs the folder. Some network shares
// and FUSE file systems cannot sync a folder, and SyncName returns nil there.
func SyncName(path string) error {
	if runtime.GOOS == "windows" {
		return nil // Windows cannot sync folders, but journals renames
	}
	err := faultOr(Sync, path, func() error {
		d, err := os.Open(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer d.Close()
		return d.Sync()
	})
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) || errors.Is(err, syscall.EBADF) {
		return nil
	}
	return err
}

// Records is a file that grows by whole records.
type Records struct {
	file *File
	end  int64 // where the last whole record ends
}

// NewRecords keeps the first end bytes of a file, drops the rest, and appends records.
func NewRecords(file *File, end int64) (*Records, error) {
	r := &Records{file, end}
	return r, r.cut()
}

// cut drops the bytes behind the last whole record.
func (r *Records) cut() error {
	err := r.file.Truncate(r.end)
	if err == nil {
		_, err = r.file.Seek(r.end, 0)
	}
	return err
}

// Append adds a record. If this fails, nothing of the record is left, and the caller may append the
// next one.
func (r *Records) Append(record []byte) error {
	n, err := r.file.Write(record)
	if err != nil {
		_ = r.cut()
		return err
	}
	r.end += int64(n)
	return nil
}

// Close closes the file.
func (r *Records) Close() error { return r.file.Close() }
