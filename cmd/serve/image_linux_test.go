package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ordered are the words of a command in the Dockerfile, at another port.
func ordered(t *testing.T, text, command, port string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + command + ` (\[.*\])$`).FindStringSubmatch(text)
	require.NotNil(t, found, command)
	var words []string
	require.NoError(t, json.Unmarshal([]byte(strings.ReplaceAll(found[1], "8080", port)), &words))
	return words
}

// TestNeedsNothingElse runs what the Dockerfile says where there is nothing but the program: its
// root is a folder with that file alone, and its user owns nothing.
func TestNeedsNothingElse(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may change a program's root")
	}
	content, err := os.ReadFile("Dockerfile")
	require.NoError(t, err)
	text := string(content)
	require.Contains(t, text, "\nFROM scratch\nCOPY serve /serve\n")
	var user uint32
	_, err = fmt.Sscanf(regexp.MustCompile(`(?m)^USER .*$`).FindString(text), "USER %d:", &user)
	require.NoError(t, err)
	require.NotZero(t, user, "not root")
	root := t.TempDir()
	built, err := os.ReadFile(program(t))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "serve"), built, 0o755))
	require.NoError(t, os.Chmod(root, 0o755))
	inside := func(words []string) *exec.Cmd {
		return &exec.Cmd{Path: words[0], Args: words, Dir: "/", Env: []string{"PATH=/"}, SysProcAttr: &syscall.SysProcAttr{
			Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL,
		}}
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, _ := net.SplitHostPort(free.Addr().String())
	require.NoError(t, free.Close())
	var out output
	server := inside(append(ordered(t, text, "ENTRYPOINT", port), ordered(t, text, "CMD", port)...))
	server.Stdout, server.Stderr = &out, &out
	require.NoError(t, server.Start())
	t.Cleanup(func() { server.Process.Kill() })
	require.Eventually(t, func() bool { return strings.Contains(out.String(), "MrPrism is at ") }, 10*time.Second, 10*time.Millisecond, "%s", &out)
	answer, err := http.Get("http://127.0.0.1:" + port + "/")
	require.NoError(t, err)
	page, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	require.NoError(t, err)
	assert.Contains(t, string(page), "MrPrism")
	healthy := ordered(t, text, "HEALTHCHECK .* CMD", port)
	said, err := inside(healthy).CombinedOutput()
	assert.NoError(t, err, string(said))
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	assert.NoError(t, server.Wait(), "exit code 0")
	assert.Error(t, inside(healthy).Run(), "and then it is not well")
}

// image.sh takes the first program that answers, and fails with what to do where none does.
func TestImageWithoutDocker(t *testing.T) {
	folder := t.TempDir()
	script, err := filepath.Abs("image.sh")
	require.NoError(t, err)
	build := func() (string, error) {
		c := exec.Command("/bin/sh", script, "build/image", "mrprism/serve:1")
		c.Env = []string{"PATH=" + folder}
		said, err := c.CombinedOutput()
		return string(said), err
	}
	put := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+text), 0o755))
	}
	said, err := build()
	assert.Error(t, err)
	assert.Contains(t, said, "neither docker nor podman answers here")
	put("docker", "exit 1\n") // is there, without its daemon
	put("podman", "echo podman \"$@\"\n")
	said, err = build()
	assert.NoError(t, err)
	assert.Equal(t, "podman build --tag mrprism/serve:1 build/image\n", said)
}
