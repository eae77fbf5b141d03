package disk

import (
	"os"
	"os/exec"
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

// A pipe that nobody writes to and a device that never ends are refused, not read, also behind a
// link. So is a file that no program could hold.
func TestWhatIsNoFileIsNotRead(t *testing.T) {
	folder := t.TempDir()
	pipe, large := filepath.Join(folder, "pipe"), filepath.Join(folder, "large")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skipf("this system has no pipes with names: %v", err)
	}
	f, err := os.Create(large)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(most+1)) // takes no room
	require.NoError(t, f.Close())
	for name, want := range map[string]string{pipe: "it is a pipe or a device, and no file", "/dev/zero": "it is a pipe or a device, and no file", large: "its 1024 MiB are too many; at most 1024 are read"} {
		link := filepath.Join(folder, "link")
		require.NoError(t, os.Symlink(name, link))
		for _, path := range []string{name, link} {
			_, err := ReadFile(path)
			require.EqualError(t, err, "read "+path+": "+want)
		}
		require.NoError(t, os.Remove(link))
	}
	_, err = ReadFile(folder)
	require.ErrorContains(t, err, "is a directory")
}
