package main

import (
	"context"
	"fmt"
	"io"
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

	"mrprism/shaders/gpu/chromium"
)

// asServe has the test's program be serve, as a process that can be killed.
const asServe = "MRPRISM_TEST_SERVE"

func TestMain(m *testing.M) {
	if os.Getenv(asServe) != "" {
		os.Exit(run(context.Background(), os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// until waits for something of another process.
func until(t *testing.T, d time.Duration, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, d, 20*time.Millisecond, what)
}

// A camera's photograph comes up in Chrome, which nobody touches, and another user of the machine
// tries to reach it. Then the page is idle, and at last serve is killed.
func TestKiosk(t *testing.T) {
	needSite(t)
	chrome, err := chromium.Find()
	if err != nil {
		t.Skip(err)
	}
	cache, exports := t.TempDir(), t.TempDir()
	var log output
	flags := "--headless --disable-gpu --disable-dev-shm-usage"
	if os.Getuid() == 0 {
		flags += " --no-sandbox"
	}
	serve := exec.Command(os.Args[0], "-addr", "127.0.0.1:0", "-kiosk", "-watch", exports, "-idle", "3s")
	browser(t, fmt.Sprintf("exec %q %s \"$@\"\n", chrome, flags))
	serve.Env = append(os.Environ(), asServe+"=1", "XDG_CACHE_HOME="+cache)
	serve.Stdout, serve.Stderr = &log, &log
	require.NoError(t, serve.Start())
	t.Cleanup(func() { serve.Process.Kill(); serve.Wait() })
	place := func(name string) string {
		found, err := filepath.Glob(filepath.Join(cache, "mrprism/serve/127.0.0.1-*", name))
		require.NoError(t, err)
		return strings.Join(found, " ")
	}
	var address string
	until(t, 10*time.Minute, "Chrome keeps the cookie and shows the page", func() bool {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(log.String())
		return place("profile-*/Default/Service Worker/*") != ""
	})
	profile := place("profile-*")
	assert.Contains(t, log.String(), "WARNING", "no policies are installed here")
	require.NoError(t, os.WriteFile(filepath.Join(place("saved"), "mask.png"), picture(t, 9), 0o600))
	stranger(t, serve.Process.Pid, cache, address, &log)

	require.NoError(t, os.WriteFile(filepath.Join(exports, "eye.png"), picture(t, 300), 0o600))
	until(t, 10*time.Minute, "the page was idle: the profile is gone", func() bool { _, err := os.Stat(profile); return err != nil })
	until(t, time.Minute, "so is what was saved", func() bool { return place("saved/*") == "" })
	until(t, 10*time.Minute, "Chrome starts anew", func() bool { return place("profile-*/Default") != "" })

	profile = place("profile-*")
	require.NotEmpty(t, processesOf(t, profile))
	require.NoError(t, serve.Process.Kill())
	until(t, time.Minute, "Chrome ends with serve", func() bool { return len(processesOf(t, profile)) == 0 })
	require.DirExists(t, profile)

	// A folder that is still in use stays.
	t.Setenv("XDG_CACHE_HOME", cache)
	other, err := claim("127.0.0.1:1")
	require.NoError(t, err)
	assert.NoDirExists(t, profile, "swept at the next start")
	next, err := claim("127.0.0.1:2")
	require.NoError(t, err)
	assert.DirExists(t, other.path)
	for _, c := range []*claimed{other, next} {
		require.NoError(t, c.release())
		assert.NoDirExists(t, c.path)
	}
}

// stranger tries what another user of the machine may: the log, every command line and environment,
// files, and the site itself.
func stranger(t *testing.T, serve int, cache, address string, log *output) {
	t.Helper()
	assert.NotRegexp(t, `[A-Z2-7]{20,}|private/`, log.String(), "no secret is in the log")
	for _, path := range []string{"private/files?after=0", "private/0", "private/idle", "private/open"} {
		r, err := http.Get(address + path)
		require.NoError(t, err)
		r.Body.Close()
		assert.Equal(t, http.StatusForbidden, r.StatusCode, path)
	}
	if os.Getuid() != 0 {
		return // only root becomes another user
	}
	require.NoError(t, os.Chmod(filepath.Dir(cache), 0o755)) // let it come as far as the folder of serve
	as := func(script string) string {
		c := exec.Command("sh", "-c", script)
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		c.Dir, c.Env = "/", []string{"PATH=/usr/bin:/bin"}
		found, _ := c.CombinedOutput() // much is refused
		return string(found)
	}
	lines := as(fmt.Sprintf(`for p in /proc/[0-9]*; do tr '\0' ' ' <$p/cmdline; echo; done 2>/dev/null | grep -- --user-data-dir=%s`, cache))
	require.Contains(t, lines, " --kiosk ", "it sees how Chrome was called")
	assert.NotRegexp(t, `\b[A-Z2-7]{26}\b|private/|http:`, lines)
	assert.Contains(t, as(fmt.Sprintf("cat /proc/%d/environ", serve)), "Permission denied")
	assert.Contains(t, as(fmt.Sprintf("ls %s/mrprism/serve/", cache)), "Permission denied")
}

// processesOf are the processes whose command line names a profile, Chrome's reporter of crashes
// too.
func processesOf(t *testing.T, profile string) (all []string) {
	t.Helper()
	found, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, path := range found {
		file, err := os.Open(path)
		if err != nil {
			continue // it has ended
		}
		line, _ := io.ReadAll(file)
		file.Close()
		if strings.Contains(string(line), profile) {
			all = append(all, path)
		}
	}
	return all
}
