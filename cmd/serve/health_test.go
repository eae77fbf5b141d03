package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// answered asks a server by another name than its own.
func answered(t *testing.T, method, address, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequest(method, address, nil)
	require.NoError(t, err)
	r.Host = host
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, string(content)
}

func TestHealth(t *testing.T) {
	s := start(t)
	answer, text := answered(t, "GET", s.address+"healthz", "10.1.2.3")
	assert.Equal(t, 200, answer.StatusCode, "whatever the host, which a load balancer does not know")
	assert.Equal(t, "ok\n", text)
	assert.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	answer, text = answered(t, "HEAD", s.address+"healthz", "")
	assert.Equal(t, 200, answer.StatusCode)
	assert.Empty(t, text)
	answer, _ = answered(t, "POST", s.address+"healthz", "")
	assert.Equal(t, 405, answer.StatusCode)
	answer, _ = answered(t, "GET", s.address, "10.1.2.3")
	assert.Equal(t, http.StatusMisdirectedRequest, answer.StatusCode, "nothing else")

	var out, errs output
	ctx := context.Background()
	assert.Equal(t, 0, run(ctx, []string{"-check", s.address + "healthz"}, &out, &errs))
	assert.Empty(t, out.String()+errs.String())
	assert.Equal(t, 1, run(ctx, []string{"-check", s.address + "nothing"}, &out, &errs))
	assert.Contains(t, errs.String(), "nothing answers 404")
	s.stop()
	assert.Equal(t, 0, s.ended(t, ending))
	errs = output{}
	assert.Equal(t, 1, run(ctx, []string{"-check", s.address + "healthz"}, &out, &errs))
	assert.Contains(t, errs.String(), "refused")
	errs = output{}
	assert.Equal(t, 1, run(ctx, []string{"-check", "healthz"}, &out, &errs))
	assert.True(t, strings.HasPrefix(errs.String(), "serve: -check"), errs.String())
}
