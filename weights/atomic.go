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

// WriteAtomic replaces the file at path with what write writes, or leaves the old one as it was: the bytes go to a temporary file in the
// same folder, are forced to disk, read back and compared by SHA-256, and only then take the name; the folder is forced to disk last. A
// program that is killed leaves the old file or the new one, never a part, and perhaps a hidden temporary that the next successful write
// to the same path removes. One writer per path at a time. An error says which of the two files is there; the new one with ErrUnsynced.
func WriteAtomic(path string, write func(io.Writer) error) error {
	folder, base := filepath.Split(filepath.Clean(path))
	if folder == "" {
		folder = "."
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("cannot write %s: that is no file, but a folder or a device; name another", path)
	}
	if err := replace(path, folder, base, write); err != nil {
		return fmt.Errorf("cannot write %s, what was there is unchanged: %w", path, err)
	}
	removeLeftovers(folder, base)
	if err := disk.SyncName(path); err != nil {
		return fmt.Errorf("%s is written, but %w: %w", path, ErrUnsynced, err)
	}
	return nil
}

// replace writes a temporary file, checks it and gives it the name; where it fails the temporary is removed.
func replace(path, folder, base string, write func(io.Writer) error) (err error) {
	temporary, err := disk.CreateTemp(folder, "."+base+".*"+temporarySuffix)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			temporary.Close()
			os.Remove(temporary.Name())
		}
	}()
	written := sha256.New()
	buffer := bufio.NewWriterSize(io.MultiWriter(temporary, written), 1<<20)
	for _, step := range []func() error{
		func() error { return write(buffer) },
		buffer.Flush,
		func() error { return temporary.Chmod(0o644) },
		temporary.Sync,
		temporary.Close,
		func() error { return sameContent(temporary.Name(), written.Sum(nil)) },
		func() error { return disk.Move(temporary.Name(), path) },
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

// removeLeftovers removes temporaries of killed programs for this path (".BASE.DIGITS.tmp"); failing to is harmless.
func removeLeftovers(folder, base string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, e := range entries {
		middle, isOurs := strings.CutPrefix(e.Name(), "."+base+".")
		middle, isTemporary := strings.CutSuffix(middle, temporarySuffix)
		if isOurs && isTemporary && strings.Trim(middle, "0123456789") == "" {
			os.Remove(filepath.Join(folder, e.Name()))
		}
	}
}
