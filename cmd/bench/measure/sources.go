//go:build !js

package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"mrprism/shaders/gpu/sharing"
)

// GoTool runs the go command in a folder of the sources, with additional environment variables, and
// returns its output.
func GoTool(ctx context.Context, folder string, environment []string, arguments ...string) (string, error) {
	root, err := Source(folder)
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, "go", arguments...)
	c.Dir = root
	c.Env = append(os.Environ(), environment...)
	var complaints strings.Builder
	c.Stderr = &complaints
	output, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", strings.Join(arguments, " "), err, strings.TrimSpace(complaints.String()))
	}
	return strings.TrimSpace(string(output)), nil
}

// compiled is a program of cmd, such as bench or study/peers, as WebAssembly.
func compiled(ctx context.Context, program string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "mrprism-bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "program.wasm")
	environment := []string{"GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0"}
	if _, err := GoTool(ctx, "cmd/"+program, environment, "build", "-tags", "simd128", "-trimpath", "-o", file, "."); err != nil {
		return nil, err
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return sharing.Share(content)
}

// goScript is Go's own script, which starts WebAssembly.
func goScript(ctx context.Context) ([]byte, error) {
	goroot, err := GoTool(ctx, ".", nil, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(goroot, "lib", "wasm", "wasm_exec.js"))
}

// source is a file of the sources.
func source(names ...string) ([]byte, error) {
	path, err := Source(filepath.Join(names...))
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// Source is the path of a file or folder of the sources from which this program was built. Sources
// in the working directory may be a stranger's.
func Source(name string) (string, error) {
	_, file, _, _ := runtime.Caller(0)
	if _, err := os.Stat(file); err != nil || !filepath.IsAbs(file) {
		return "", errors.New("this program is not beside the sources it was built from: run `make build` in them, and build/bench")
	}
	return filepath.Join(filepath.Dir(file), "..", "..", "..", name), nil
}
