//go:build unix

package weights

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The user's umask decides who may read a result.
func TestWriteAtomicUmask(t *testing.T) {
	for _, umask := range []int{0o027, 0o077} {
		path := filepath.Join(t.TempDir(), "result")
		before := syscall.Umask(umask)
		err := WriteAtomic(path, writeBytes(nil))
		syscall.Umask(before)
		require.NoError(t, err)
		info, err := os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o666&^umask), info.Mode().Perm())
	}
}
