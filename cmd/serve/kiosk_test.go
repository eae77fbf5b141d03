package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu/chromium"
)

// browser is a program in place of Chrome, a shell script.
func browser(t *testing.T, script string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no shell")
	}
	path := filepath.Join(t.TempDir(), "browser")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv(chromium.Variable, path)
	return path
}

func TestKioskStartsTheBrowserAgain(t *testing.T) {
	list := filepath.Join(t.TempDir(), "starts")
	path := browser(t, `echo "$@ dumps=$BREAKPAD_DUMP_LOCATION" >> `+list+"\necho no display\nexit 3\n")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var log output
	var pauses []time.Duration
	k := kiosk{browser: path, address: func() string { return "http://127.0.0.1:1/?idle=300" }, folder: t.TempDir(), log: &log}
	k.flags = append(k.flags, flagOf("--more"))
	k.wait = func(_ context.Context, d time.Duration) {
		if pauses = append(pauses, d); len(pauses) == 7 {
			stop()
		}
	}
	k.run(ctx)
	s := time.Second
	assert.Equal(t, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}, pauses, "a browser that cannot start is not started all the time")
	content, err := os.ReadFile(list)
	require.NoError(t, err)
	starts := strings.Split(strings.TrimSpace(string(content)), "\n")
	require.Len(t, starts, 7)
	profiles := map[string]bool{}
	for _, line := range starts {
		assert.Contains(t, line, "--kiosk ")
		assert.Contains(t, line, " --more ")
		assert.NotContains(t, line, "127.0.0.1", "others read it")
		profile := regexp.MustCompile(`--user-data-dir=(\S+)`).FindStringSubmatch(line)
		require.NotNil(t, profile, line)
		assert.Contains(t, line, " dumps="+profile[1]+string(filepath.Separator), "a dump has what the profile has")
		profiles[profile[1]] = true
		assert.NoDirExists(t, profile[1], "the profile is removed")
	}
	assert.Len(t, profiles, 7, "each start has a profile of its own")
	assert.Contains(t, log.String(), `failed to start:\nno display`)
}

func TestKioskWithoutBrowser(t *testing.T) {
	t.Setenv(chromium.Variable, filepath.Join(t.TempDir(), "none"))
	var out, errs output
	assert.Equal(t, 1, run(context.Background(), []string{"-kiosk"}, &out, &errs))
	assert.Contains(t, errs.String(), "no Chromium")
}

func TestServeWithItsOwnCertificate(t *testing.T) {
	needSite(t)
	folder := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", folder)
	t.Setenv("HOME", folder)
	ctx, stop := context.WithCancel(context.Background())
	var out, errs output
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-tls", "self"}, &out, &errs) }()
	var address string
	require.Eventually(t, func() bool {
		address = regexp.MustCompile(`https://127\.0\.0\.1:\d+/`).FindString(out.String())
		return address != ""
	}, time.Minute, 10*time.Millisecond)
	path := regexp.MustCompile(`use the page: (.*)`).FindStringSubmatch(out.String())
	require.NotNil(t, path, out.String())
	authority, err := os.ReadFile(path[1])
	require.NoError(t, err)
	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(authority))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
	for _, host := range []string{address, strings.Replace(address, "127.0.0.1", "localhost", 1)} {
		r, err := client.Get(host)
		require.NoError(t, err, "a machine that trusts the certificate")
		page, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		r.Body.Close()
		assert.Contains(t, string(page), "MrPrism")
	}
	_, err = http.Get(address)
	assert.ErrorContains(t, err, "certificate", "a machine that does not")
	assert.Equal(t, 0, run(ctx, []string{"-check", address + "healthz"}, &out, &errs), errs.String())
	client.CloseIdleConnections()
	stop()
	assert.Equal(t, 0, <-done)
}

func TestUsageOfTLSAndKiosk(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"-tls a.pem", "give self, or CERT,KEY"},
		{"-idle -1s", "below 0"},
		{"-kiosk-policy -addr :0", "a fixed address"},
	} {
		var out, errs output
		assert.Equal(t, 2, run(context.Background(), strings.Fields(c.args), &out, &errs), c.args)
		assert.Contains(t, errs.String(), c.says)
	}
}

func TestMissingCertificate(t *testing.T) {
	needSite(t)
	var out, errs output
	none := filepath.Join(t.TempDir(), "none.pem")
	assert.Equal(t, 1, run(context.Background(), []string{"-addr", "127.0.0.1:0", "-tls", none + "," + none}, &out, &errs))
	assert.Contains(t, errs.String(), none)
}

func TestOwnNames(t *testing.T) {
	at := func(s string) net.Addr {
		a, err := net.ResolveTCPAddr("tcp", s)
		require.NoError(t, err)
		return a
	}
	assert.Equal(t, []string{"127.0.0.1", "localhost"}, ownNames(at("127.0.0.1:1"), nil))
	assert.Equal(t, []string{"192.168.1.5", "clinic.example"}, ownNames(at("192.168.1.5:1"), []string{"clinic.example"}))
	host, err := os.Hostname()
	require.NoError(t, err)
	assert.Subset(t, ownNames(at("0.0.0.0:1"), []string{"clinic.example"}), []string{"localhost", "127.0.0.1", "clinic.example", host})
}

func TestPolicies(t *testing.T) {
	folder := t.TempDir()
	says := func(address string) string { return warning("chromium", folder, address) }
	assert.Contains(t, says("http://127.0.0.1:8080/"), "URLAllowlist, URLBlocklist")
	var out, errs output
	require.Equal(t, 0, run(context.Background(), []string{"-kiosk-policy", "-addr", ":8443", "-tls", "self"}, &out, &errs))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "kiosk.json"), []byte(out.String()), 0o600))
	assert.Empty(t, says("https://127.0.0.1:8443/"))
	assert.Contains(t, says("http://127.0.0.1:8080/"), "missing or different: URLAllowlist. ")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "z.json"), []byte(`{"URLBlocklist": []}`), 0o600))
	assert.Contains(t, says("https://127.0.0.1:8443/"), "missing or different: URLBlocklist. ", "a later file has the last word")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "z.json"), []byte(`{`), 0o600))
	assert.Contains(t, says("https://127.0.0.1:8443/"), "z.json")
}
