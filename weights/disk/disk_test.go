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
