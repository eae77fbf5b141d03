package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/site"
)

// output is a buffer that a program may write to while a test reads.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func TestUsage(t *testing.T) {
	var out, errs output
	assert.Equal(t, 0, run(context.Background(), []string{"-h"}, &out, &errs))
	for _, word := range []string{"usage:", "-addr", "-host", "127.0.0.1:8080", "exit codes"} {
		assert.Contains(t, out.String(), word)
	}
	assert.Equal(t, 2, run(context.Background(), []string{"-nonsense"}, &out, &errs))
	assert.Equal(t, 2, run(context.Background(), []string{"folder"}, &out, &errs))
	assert.Contains(t, errs.String(), `"folder"`)
}

func needSite(t *testing.T) {
	t.Helper()
	if _, err := site.Built(); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
}

func TestServesAndStops(t *testing.T) {
	needSite(t)
	ctx, stop := context.WithCancel(context.Background())
	var out, errs output
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0"}, &out, &errs) }()
	var address string
	require.Eventually(t, func() bool {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(out.String())
		return address != ""
	}, 10*time.Second, 10*time.Millisecond, "the address is printed")
	r, err := http.Get(address)
	require.NoError(t, err)
	page, _ := io.ReadAll(r.Body)
	r.Body.Close()
	assert.Contains(t, string(page), "MrPrism")

	// A second one at the same address says what to do.
	host := strings.TrimSuffix(strings.TrimPrefix(address, "http://"), "/")
	var second output
	assert.Equal(t, 1, run(ctx, []string{"-addr", host}, &out, &second))
	assert.Contains(t, second.String(), "-addr 127.0.0.1:8081")

	stop()
	select {
	case code := <-done:
		assert.Equal(t, 0, code)
	case <-time.After(5 * time.Second):
		t.Fatal("it does not stop")
	}
	_, err = net.DialTimeout("tcp", host, time.Second)
	assert.Error(t, err, "the address is free again")
}

func TestReachableAddress(t *testing.T) {
	for listens, want := range map[string]string{
		"[::]:8080": "127.0.0.1:8080", "0.0.0.0:80": "127.0.0.1:80", "127.0.0.1:8080": "127.0.0.1:8080", "[::1]:8080": "[::1]:8080", "192.168.1.5:80": "192.168.1.5:80",
	} {
		address, err := net.ResolveTCPAddr("tcp", listens)
		require.NoError(t, err)
		assert.Equal(t, want, reachable(address))
	}
}
