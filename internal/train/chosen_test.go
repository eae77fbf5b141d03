package train

import (
	"hash/crc32"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// chosen are n of the names: another run of them for every commit, or all of them without -short.
// All methods together train longer than all other tests of this package.
func chosen(t *testing.T, n int, names ...string) []string {
	t.Helper()
	if !testing.Short() {
		return names
	}
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil { // an archive of the sources has no commit
		commit = nil
	}
	first := int(crc32.ChecksumIEEE(commit) % uint32(len(names)))
	require.LessOrEqual(t, n, len(names))
	twice := append(names, names...)
	return twice[first:][:n]
}
