// Package disk is where the programs write what a run must not lose. Records are whole or not there, and a test can make any write fail as a
// full disk does, or a folder that was made read-only.
package disk

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Operations on files, as Fault is told of them.
const (
	Open   = "open" // a file is made
	Write  = "write"
	Sync   = "sync"
	Rename = "rename"
	Link   = "link"
)

// Fault, where a test sets it, is asked before each operation on path; an error is what the operation then gives. A write has written half.
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

// File is an os.File whose writes may be made to fail.
type File struct{ *os.File }

// OpenFile is os.OpenFile.
func OpenFile(path string, flag int, mode fs.FileMode) (*File, error) {
	if err := fault(Open, path); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag, mode)
	return &File{f}, err
}

// CreateTemp is os.CreateTemp, whose file others may read as far as the user's umask lets them, since it is to become a result.
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
func (f *File) Sync() error {
	if err := fault(Sync, f.Name()); err != nil {
		return err
	}
	return f.File.Sync()
}

// Move is os.Rename.
func Move(from, to string) error {
	if err := fault(Rename, to); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// SyncName forces to disk that the file at path bears its name: it syncs the folder. Where the file system has no such thing, as some of network
// shares and of FUSE, nothing is done and nothing is wrong.
func SyncName(path string) error {
	if runtime.GOOS == "windows" {
		return nil // folders cannot be synced there; renames are journalled
	}
	err := fault(Sync, path)
	if err == nil {
		err = syncFolder(filepath.Dir(path))
	}
	for _, none := range []error{syscall.EINVAL, syscall.ENOTSUP, syscall.EBADF} {
		if errors.Is(err, none) {
			return nil
		}
	}
	return err
}

func syncFolder(folder string) error {
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// SecondName is os.Link.
func SecondName(of, name string) error {
	if err := fault(Link, name); err != nil {
		return err
	}
	return os.Link(of, name)
}

// Records is a file that grows by whole records.
type Records struct {
	file *File
	end  int64 // of the last whole record
}

// NewRecords appends to a file behind its first end bytes. What else it holds is dropped.
func NewRecords(file *File, end int64) (*Records, error) {
	r := &Records{file, end}
	return r, r.cut()
}

// cut drops what lies behind the last whole record.
func (r *Records) cut() error {
	err := r.file.Truncate(r.end)
	if err == nil {
		_, err = r.file.Seek(r.end, 0)
	}
	return err
}

// Append adds a record; where that fails, nothing is left of it, and the next may be tried.
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
