package disk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A record that was only written in part is removed, and the records after it are kept.
func TestRecordsAreWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	require.NoError(t, os.WriteFile(path, []byte("one\ntw"), 0o644))
	f, err := OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	r, err := NewRecords(f, 4)
	require.NoError(t, err)
	Fault = func(operation, name string) error {
		require.Equal(t, Write, operation)
		require.Equal(t, path, name)
		return syscall.ENOSPC
	}
	defer func() { Fault = nil }()
	for range 2 {
		require.EqualError(t, r.Append([]byte("two\n")), "write "+path+": no space left on device")
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "one\n", string(content))
	}
	Fault = nil
	require.NoError(t, r.Append([]byte("three\n")))
	require.NoError(t, r.Close())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "one\nthree\n", string(content))
}

// A link is no file to write to, and a link on the way must not lead out of the folder of results.
// The folder itself may be a link, and links may lead about within it.
func TestLinksLeadNowhere(t *testing.T) {
	results, home := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(results, "masks"), 0o755))
	for name, to := range map[string]string{"within": "masks", "out": home, "to": filepath.Join(home, "profile"), "up": "../" + filepath.Base(home)} {
		require.NoError(t, os.Symlink(to, filepath.Join(results, name)))
	}
	require.NoError(t, os.Symlink(filepath.Join(home, "profile"), filepath.Join(results, "masks", "a.png")))
	for _, name := range []string{"out/a", "out/deep/a", "up/a", "../a", "to", "to/a", "masks/a.png", "within/a.png", "masks"} {
		require.Error(t, WriteFile(results, name, []byte("text")), name)
	}
	left, err := os.ReadDir(home)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = OpenFile(filepath.Join(results, "to"), os.O_CREATE|os.O_RDWR, 0o644)
	require.EqualError(t, err, filepath.Join(results, "to")+" is a link, and might lead to any file: remove it, or name another file")
	_, err = Folder(results, "out")
	require.ErrorContains(t, err, "path escapes from parent; a link must not lead out of "+results)

	link := filepath.Join(t.TempDir(), "latest")
	require.NoError(t, os.Symlink(results, link))
	for _, name := range []string{"b", "within/b.png", "new/deep/b"} {
		require.NoError(t, WriteFile(link, name, []byte("text")), name)
		require.NoError(t, WriteFile(link, name, []byte("new")), name)
	}
	content, err := os.ReadFile(filepath.Join(results, "masks", "b.png"))
	require.NoError(t, err)
	require.Equal(t, "new", string(content))
}
