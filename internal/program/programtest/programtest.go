// Package programtest builds the project's programs for tests, each once.
package programtest

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Build builds programs such as ./cmd/train in a module of the repository, "." or "cmd/study", and
// returns their folder, build/tests/… The folder stays: go build links no program again whose
// sources and flags are those of its last build. The arguments are go build's.
func Build(t testing.TB, module string, arguments ...string) (folder string) {
	t.Helper()
	run := func(dir string, arguments ...string) string {
		c := exec.CommandContext(t.Context(), "go", arguments...)
		c.Dir = dir
		output, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, output)
		}
		return strings.TrimSpace(string(output))
	}
	root := run("", "list", "-m", "-f", "{{.Dir}}", "mrprism")
	key := sha256.Sum256([]byte(fmt.Sprint(arguments, os.Getenv("GOFLAGS"), os.Getenv("CGO_ENABLED"), os.Getenv("GOEXPERIMENT"))))
	folder = filepath.Join(root, "build", "tests", fmt.Sprintf("%x", key[:4]))
	// What a debugger would need, and the commit, take half of the time.
	flags := []string{"build", "-ldflags=-s -w", "-buildvcs=false", "-o", folder + string(filepath.Separator)}
	run(filepath.Join(root, module), append(flags, arguments...)...)
	return folder
}
