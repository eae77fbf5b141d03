package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/program/programtest"
	"mrprism/weights"
)

// valueOf is a figure in the text for Prometheus.
func valueOf(t *testing.T, text, name string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
	require.NotNil(t, found, name)
	value, err := strconv.ParseFloat(found[1], 64)
	require.NoError(t, err)
	return value
}

// program builds serve as the Dockerfile has it: one static file.
func program(t *testing.T) string {
	t.Helper()
	needSite(t)
	t.Setenv("CGO_ENABLED", "0")
	return filepath.Join(programtest.Build(t, ".", "./cmd/serve"), "serve")
}

// visit is what a load asks for: of a first visit the page, most modules again, and now and then a
// program or a model.
func visit(t *testing.T) []string {
	t.Helper()
	model, err := weights.Shipped().Find("fundus")
	require.NoError(t, err)
	list := []string{"", "style.css", "page.js", "words.js", "stage.js", "icon.svg", "healthz", "nothing"}
	heavy := []string{"viewer.wasm", "segmenter.wasm", "v/" + model.SHA256[:24] + "/weights/" + model.File}
	return slices.Concat(list, list, list, list, list, heavy)
}

// load asks n times, at most `at` at once, each over a connection of its client's own. It returns
// the bytes that came and how long the slowest answer took.
func load(t *testing.T, address string, n, at int) (received int64, slowest time.Duration) {
	t.Helper()
	list := visit(t)
	var next, bytes, longest atomic.Int64
	var group sync.WaitGroup
	failures := make(chan error, n)
	for range at {
		group.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				began := time.Now()
				got, err := fetch(client, address+list[i%int64(len(list))])
				if err != nil {
					failures <- err
				}
				bytes.Add(got)
				for took := int64(time.Since(began)); ; {
					if old := longest.Load(); took <= old || longest.CompareAndSwap(old, took) {
						break
					}
				}
			}
		})
	}
	group.Wait()
	close(failures)
	for err := range failures {
		t.Error(err)
	}
	return bytes.Load(), time.Duration(longest.Load())
}

// fetch reads an answer whole. An answer is wrong unless it has the expected status and length.
func fetch(client *http.Client, address string) (int64, error) {
	r, err := http.NewRequest("GET", address, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Accept-Encoding", "br")
	answer, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	want := 200
	if filepath.Base(address) == "nothing" {
		want = 404
	}
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil || answer.StatusCode != want || n != answer.ContentLength {
		return n, fmt.Errorf("%s: status %d, %d of %d bytes, %v", address, answer.StatusCode, n, answer.ContentLength, err)
	}
	return n, nil
}

// TestLoad asks a server of its own process many times at once. No answer is wrong, and the server
// needs no more memory after many requests than after the first ones. MRPRISM_LOAD=10000/500 sets
// how many requests, and how many at once.
func TestLoad(t *testing.T) {
	n, at := 2000, 100 // as CONTRIBUTING.md says
	if wish := os.Getenv("MRPRISM_LOAD"); wish != "" {
		_, err := fmt.Sscanf(wish, "%d/%d", &n, &at)
		require.NoError(t, err, "MRPRISM_LOAD=REQUESTS/ATONCE")
	}
	var out output
	server := exec.Command(program(t), "-addr", "127.0.0.1:0", "-metrics", "127.0.0.1:0")
	server.Stdout, server.Stderr = &out, &out
	require.NoError(t, server.Start())
	t.Cleanup(func() { server.Process.Kill() })
	s := &running{out: &out}
	s.address = s.said(t, `MrPrism is at (http://\S+/)`)
	figures := s.said(t, `(http://\S+/metrics)`)
	memory := func() (resident float64, text string) {
		answer, err := http.Get(figures)
		require.NoError(t, err)
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return valueOf(t, string(content), "process_resident_memory_bytes") / 1e6, string(content)
	}
	empty, _ := memory()
	load(t, s.address, n, at)
	before, _ := memory()
	began := time.Now()
	received, slowest := load(t, s.address, n, at)
	took := time.Since(began).Seconds()
	var after float64
	var text string
	// A client has all of an answer a moment before the server counts it.
	assert.Eventually(t, func() bool {
		after, text = memory()
		return valueOf(t, text, "mrprism_requests_in_flight") == 0
	}, time.Minute, 10*time.Millisecond)
	t.Logf("%d requests, %d at once: %.1f s, %.0f a second, %.0f MB/s, the slowest %v; resident memory %.0f MB at the start, %.0f after as many, %.0f after twice as many",
		n, at, took, float64(n)/took, float64(received)/1e6/took, slowest.Round(time.Millisecond), empty, before, after)
	assert.Less(t, after, 1.25*before+10, "memory grows with requests")
	list, counted := visit(t), 0
	for i := range n {
		if list[i%len(list)] != "healthz" {
			counted += 2
		}
	}
	assert.EqualValues(t, counted, valueOf(t, text, "mrprism_request_seconds_count"))
	require.NoError(t, server.Process.Signal(syscall.SIGTERM))
	require.NoError(t, server.Wait(), "SIGTERM ends it with 0")
}
