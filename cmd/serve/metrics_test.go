package main

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMetrics(t *testing.T) {
	folder := t.TempDir()
	s := start(t, "-metrics", "127.0.0.1:0", "-watch", folder)
	figures := s.said(t, `figures for Prometheus are at (http://\S+/metrics)`)
	get := func(address string) string {
		r, err := http.NewRequest("GET", address, nil)
		require.NoError(t, err)
		r.Header.Set("Accept-Encoding", "identity")
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		content, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return string(content)
	}
	page := get(s.address)
	get(s.address + "patient-1234.png")
	get(s.address + "healthz")
	get(s.address + privately[1:] + "files")
	text := get(figures)
	for _, line := range []string{
		`mrprism_requests_total{code="200"} 1`, `mrprism_requests_total{code="403"} 1`, `mrprism_requests_total{code="404"} 1`, "mrprism_request_seconds_count 3",
		"mrprism_response_bytes_count 3", "mrprism_requests_in_flight 0", `mrprism_build_info{go="go1.`, "process_resident_memory_bytes", "go_goroutines",
	} {
		assert.Contains(t, text, "\n"+line)
	}
	assert.Greater(t, valueOf(t, text, "mrprism_response_bytes_sum"), float64(len(page)))
	for _, secret := range []string{"patient", folder, "watch", "private", "healthz"} {
		assert.NotContains(t, text, secret)
	}
	answer, _ := answered(t, "GET", s.address+"metrics", strings.Trim(strings.TrimPrefix(s.address, "http://"), "/"))
	assert.Equal(t, 404, answer.StatusCode, "not at the site's address")
	answer, _ = answered(t, "GET", strings.TrimSuffix(figures, "metrics"), "")
	assert.Equal(t, 404, answer.StatusCode, "nothing of the site at the other one")

	_, host, _ := strings.Cut(strings.TrimSuffix(figures, "/metrics"), "//")
	var out, errs output
	assert.Equal(t, 1, run(t.Context(), []string{"-addr", "127.0.0.1:0", "-metrics", host}, &out, &errs))
	assert.Contains(t, errs.String(), "-metrics 127.0.0.1:9090")
}

// Names and units are as Prometheus wants them.
func TestMetricsAreWellNamed(t *testing.T) {
	m := newMetrics()
	m.around(http.NotFoundHandler()).ServeHTTP(discarded{http.Header{}}, &http.Request{Method: "GET"})
	problems, err := testutil.GatherAndLint(m.registry, "mrprism_requests_total", "mrprism_request_seconds", "mrprism_response_bytes", "mrprism_requests_in_flight", "mrprism_build_info")
	require.NoError(t, err)
	assert.Empty(t, problems)
}

type discarded struct{ header http.Header }

func (d discarded) Header() http.Header         { return d.header }
func (d discarded) Write(b []byte) (int, error) { return len(b), nil }
func (d discarded) WriteHeader(int)             {}
