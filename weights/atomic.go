//go:build !js

package weights

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mrprism/internal/data/disk"
)

// ErrUnsynced means that WriteAtomic put the new file in its place, whole, but could not force the
// folder to disk.
var ErrUnsynced = errors.New("may not survive a power cut")

// WriteAtomic replaces the file at path, or the file that a symbolic link there names, or leaves
// the old one unchanged. The bytes that write writes go to a temporary file in the same folder.
// WriteAtomic forces them to disk, reads them back, compares their SHA-256, gives the file its name
// and forces the folder to disk. A program that is killed leaves the old file or the new one, never
// a part, and perhaps a hidden temporary file that the next successful write to the path removes.
// Only one writer per path at a time is allowed. With ErrUnsynced the new file is there, with any
// other error the old one.
func WriteAtomic(path string, write func(io.Writer) error) error {
	staged, err := Stage(path, write)
	if err != nil {
		return err
	}
	return staged.Commit()
}

// Staged is a whole file on the disk under a temporary name.
type Staged struct{ path, folder, base, temporary string }

// Stage is the first half of WriteAtomic, for files that change together: Commit gives the file its
// name, Discard removes it.
func Stage(path string, write func(io.Writer) error) (*Staged, error) {
	if _, err := os.Readlink(path); err == nil {
		if file, err := filepath.EvalSymlinks(path); err == nil {
			path = file // the link stays
		}
	}
	s := &Staged{path: path}
	if s.folder, s.base = filepath.Split(filepath.Clean(path)); s.folder == "" {
		s.folder = "."
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("cannot write %s: it is a folder or a device; name a file", path)
	}
	if err := s.fill(write); err != nil {
		return nil, s.unchanged(err)
	}
	return s, nil
}

func (s *Staged) unchanged(err error) error {
	return fmt.Errorf("cannot write %s, what was there is unchanged: %w", s.path, err)
}

// Commit gives the file its name, or removes it if that fails.
func (s *Staged) Commit() error {
	if err := disk.Move(s.temporary, s.path); err != nil {
		s.Discard()
		return s.unchanged(err)
	}
	removeLeftovers(s.folder, s.base)
	if err := disk.SyncName(s.path); err != nil {
		return fmt.Errorf("%s is written, but %w: %w", s.path, ErrUnsynced, err)
	}
	return nil
}

// Discard removes the temporary file; after Commit there is none.
func (s *Staged) Discard() { os.Remove(s.temporary) }

// fill writes a temporary file and checks it. If that fails, fill removes the file.
func (s *Staged) fill(write func(io.Writer) error) (err error) {
	temporary, err := disk.CreateTemp(s.folder, temporaryPrefix(s.base)+"*"+temporarySuffix)
	if err != nil {
		return err
	}
	s.temporary = temporary.Name()
	defer func() {
		if err != nil {
			temporary.Close()
			s.Discard()
		}
	}()
	written := sha256.New()
	buffer := bufio.NewWriterSize(io.MultiWriter(temporary, written), 1<<20)
	for _, step := range []func() error{
		func() error { return write(buffer) },
		buffer.Flush,
		temporary.Sync,
		temporary.Close,
		func() error { return sameContent(s.temporary, written.Sum(nil)) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// sameContent reads the file back and compares its SHA-256.
func sameContent(path string, want []byte) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	read := sha256.New()
	if _, err := io.Copy(read, f); err != nil {
		return err
	}
	if !bytes.Equal(read.Sum(nil), want) {
		return errors.New("the bytes read back differ from those written; the disk is failing or full")
	}
	return nil
}

const temporarySuffix = ".tmp"

// temporaryPrefix begins the names of a file's temporary files. It has the file's name, or a sum of
// a long name: file systems limit the length.
func temporaryPrefix(base string) string {
	const most = 100 // bytes
	if len(base) > most {
		base = fmt.Sprintf("%x", sha256.Sum256([]byte(base)))
	}
	return "." + base + "."
}

// removeLeftovers removes this path's temporary files of killed programs (".BASE.DIGITS.tmp"). A
// failure is harmless.
func removeLeftovers(folder, base string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		middle, isOurs := strings.CutPrefix(e.Name(), temporaryPrefix(base))
		middle, isTemporary := strings.CutSuffix(middle, temporarySuffix)
		if isOurs && isTemporary && strings.Trim(middle, "0123456789") == "" {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}
