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

	"mrprism/internal/disk"
)

// ErrUnsynced is WriteAtomic's where the new file is in its place, whole, but the folder could not be forced to disk.
var ErrUnsynced = errors.New("may not survive a power cut")

// WriteAtomic replaces the file at path, or that a symbolic link there names, with what write writes, or leaves the old one as it was: the
// bytes go to a temporary file in the same folder, are forced to disk, read back and compared by SHA-256, and only then take the name; the
// folder is forced to disk last. A program that is killed leaves the old file or the new one, never a part, and perhaps a hidden temporary
// that the next successful write to the same path removes. One writer per path at a time. An error says which of the two files is there;
// the new one with ErrUnsynced.
func WriteAtomic(path string, write func(io.Writer) error) error {
	staged, err := Stage(path, write)
	if err != nil {
		return err
	}
	return staged.Commit()
}

// Staged is a file that is whole and on the disk under a temporary name.
type Staged struct{ path, folder, base, temporary string }

// Stage does what WriteAtomic does but for the name, for files that are to change together: Commit gives it, Discard leaves what is there.
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
		return nil, fmt.Errorf("cannot write %s: that is no file, but a folder or a device; name another", path)
	}
	if err := s.fill(write); err != nil {
		return nil, s.unchanged(err)
	}
	return s, nil
}

func (s *Staged) unchanged(err error) error {
	return fmt.Errorf("cannot write %s, what was there is unchanged: %w", s.path, err)
}

// Commit gives the file its name. Where that fails the temporary is removed.
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

// Discard removes the temporary; after Commit there is none.
func (s *Staged) Discard() { os.Remove(s.temporary) }

// fill writes a temporary file and checks it; where that fails it is removed.
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
		return errors.New("what was read back differs from what was written; the disk is failing or full")
	}
	return nil
}

const temporarySuffix = ".tmp"

// temporaryPrefix is what a file's temporaries begin with: its name, or a sum of it where that is so long that file systems might not take more.
func temporaryPrefix(base string) string {
	const most = 100 // bytes
	if len(base) > most {
		base = fmt.Sprintf("%x", sha256.Sum256([]byte(base)))
	}
	return "." + base + "."
}

// removeLeftovers removes temporaries of killed programs for this path (".BASE.DIGITS.tmp"); failing to is harmless.
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
