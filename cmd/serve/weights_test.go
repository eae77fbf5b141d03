package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/segment/segmenttest"
	"mrprism/weights"
)

// trained are the bytes of a model that does not ship.
func trained(t *testing.T, seed uint64) []byte {
	t.Helper()
	about := segmenttest.Fundus()
	about.Seed = seed
	file, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	data, err := segmenttest.Encode(file)
	require.NoError(t, err)
	return data
}

// -weights offers the weights that it read at the start, and says when the file changes.
func TestWeightsOfOnesOwn(t *testing.T) {
	needSite(t)
	path, before := filepath.Join(t.TempDir(), "mine.safetensors"), trained(t, 1)
	require.NoError(t, os.WriteFile(path, before, 0o644))
	ctx, stop := context.WithCancel(context.Background())
	var out, errs output
	done := make(chan int, 1)
	go func() { done <- run(ctx, []string{"-addr", "127.0.0.1:0", "-weights", path}, &out, &errs) }()
	var address string
	require.Eventually(t, func() bool {
		address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(out.String())
		return address != ""
	}, time.Minute, 10*time.Millisecond)
	get := func(name string) []byte {
		r, err := http.Get(address + name)
		require.NoError(t, err)
		defer r.Body.Close()
		require.Equal(t, http.StatusOK, r.StatusCode, name)
		content, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return content
	}
	var served weights.Manifest
	require.NoError(t, json.Unmarshal(get("weights/"+weights.Served), &served))
	require.Len(t, served.Models, 1)
	list := served.Models
	file := "v/" + list[0].SHA256[:24] + "/weights/" + list[0].File
	assert.Equal(t, before, get(file))
	assert.Contains(t, string(get("weights/"+list[0].Card)), "# Untrained\n")
	assert.NotContains(t, out.String(), "has changed")

	require.NoError(t, os.WriteFile(path, trained(t, 2)[:5000], 0o644))
	require.Eventually(t, func() bool {
		return regexp.MustCompile(`mine\.safetensors" has changed.*start serve again`).MatchString(out.String())
	}, time.Minute, 10*time.Millisecond)
	assert.Equal(t, before, get(file))
	stop()
	assert.Equal(t, 0, <-done)
}

// Files that cannot be offered are named at the start, with what to do.
func TestWeightsThatCannotBeOffered(t *testing.T) {
	needSite(t)
	folder := t.TempDir()
	good := trained(t, 1)
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		require.NoError(t, os.WriteFile(path, content, 0o644))
		return path
	}
	whole := write("whole.safetensors", good)
	for _, c := range []struct{ given, says string }{
		{filepath.Join(folder, "none.safetensors"), "no such file"},
		{folder, "name a .safetensors file in it"},
		{write("half.safetensors", good[:len(good)/2]), "half.safetensors"},
		{write("photo.safetensors", picture(t, 9)), "photo.safetensors"},
		{whole + "," + whole, "leave it out"},
		{"../../weights/shipped/cells.safetensors", "cells, which is there already"},
	} {
		var out, errs output
		assert.Equal(t, 1, run(context.Background(), []string{"-addr", "127.0.0.1:0", "-weights", c.given}, &out, &errs), c.given)
		assert.Contains(t, errs.String(), "-weights: ")
		assert.Contains(t, errs.String(), c.says)
		assert.Contains(t, errs.String(), "that train or export wrote")
		assert.NotContains(t, out.String(), "MrPrism is at")
	}
}
