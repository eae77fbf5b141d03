//go:build !js

package main

import (
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/cmd/bench/measure"
	"mrprism/internal/program/cli"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/gpu/gputest/browsertest"
)

var tiny = measure.Options{Config: "tiny", Raters: 4, Classes: 2, Side: 64, Repeats: 2}

// scripted is a peer that gives prepared answers, one for each job.
type scripted []answer

func (s *scripted) ask(context.Context, job) answer {
	a := (*s)[0]
	*s = (*s)[1:]
	return a
}

// call runs the program with the smallest network.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), append([]string{"-config", "tiny", "-side", "64", "-n", "2"}, args...), &out, &err)
	return code, out.String(), err.String()
}

func TestMatches(t *testing.T) {
	values := func(v ...float32) answer { return answer{MS: 99, Values: map[string][]float32{"y": v}} }
	play := func(ours, theirs scripted) ([]match, error) {
		return matches(t.Context(), tiny, &ours, &theirs, "A", "B", func(string) {})
	}
	found, err := play(
		scripted{values(10, 0.5), {MS: 1}, {MS: 2}, values(1), {MS: 1}, {MS: 1}},
		scripted{values(10.001, 0.5), {MS: 4}, {MS: 4}, values(1), {MS: 2}, {MS: 2}})
	require.NoError(t, err)
	require.Len(t, found, 2)
	assert.InDelta(t, 1e-4, found[0].Difference, 1e-6, "0.001 of values up to 10")
	assert.Equal(t, measure.Spread{Median: 1.5, Least: 1, Most: 2, N: 2}, found[0].Ours, "without the first, which warms up")
	assert.Equal(t, measure.Spread{Median: 1.5 / 4, Least: 0.25, Most: 0.5, N: 2}, found[0].Ratio)

	_, err = play(scripted{values(1, 2)}, scripted{values(1, 2.1)})
	require.ErrorContains(t, err, "value 1 is 2 here and 2.1 there")
	_, err = play(scripted{values(1, 2)}, scripted{values(1)})
	require.ErrorContains(t, err, "output y has 2 values here and 1 there")
	_, err = play(scripted{values(1)}, scripted{{Error: "out of memory"}})
	require.ErrorContains(t, err, "encoder, B: out of memory")
}

func TestChannelsFirst(t *testing.T) {
	assert.Equal(t, []float32{1, 3, 5, 2, 4, 6}, channelsFirst([]float32{1, 2, 3, 4, 5, 6}, 2))
}

// A page's worker answers jobs over HTTP, with the results of the reference.
func TestPeerInPage(t *testing.T) {
	browsertest.Chromium(t)
	d, err := device.Open(t.Context(), device.Reference, device.Options{})
	require.NoError(t, err)
	defer d.Close()
	network, err := measure.NewNetwork(t.Context(), d, tiny, nil)
	require.NoError(t, err)
	defer network.Release()
	here, r := ours{network}, request{Options: tiny}
	packed := measure.Packed{Folder: t.TempDir()}
	require.NoError(t, r.pack(t.Context(), packed.Folder, func(string) {}))
	path := os.Getenv("PATH")
	t.Setenv("PATH", "") // Go is not asked again
	files, err := r.exported(t.Context(), packed, func(string) {})
	require.NoError(t, err)
	assert.Len(t, files, 3, "the picture and two networks")
	own, err := measure.PageFiles(t.Context(), tiny, nil, packed, "study/peers")
	require.NoError(t, err)
	maps.Copy(files, own)
	_, err = (&request{Options: measure.Options{Config: "tiny", Side: 128}}).exported(t.Context(), packed, func(string) {})
	require.ErrorContains(t, err, "by pack")
	t.Setenv("PATH", path)
	s, peers, err := serve(files, "")
	require.NoError(t, err)
	p, err := measure.OpenPage(t.Context(), s, "worker.js?name="+oursInPage+"&device="+measure.Browser)
	require.NoError(t, err)
	defer p.Close()
	ctx, fail := context.WithCancelCause(t.Context())
	go watch(ctx, s, fail)
	for part, outputs := range map[string]int{encoderAlone: 9, wholeNetwork: measure.Passes + 1} {
		want, got := here.ask(ctx, job{part, true}), peers[oursInPage].ask(ctx, job{part, true})
		require.Empty(t, want.Error+got.Error, part)
		assert.Len(t, got.Values, outputs, part)
		assert.Positive(t, got.MS)
		difference, err := furthest(got.Values, want.Values)
		require.NoError(t, err, part)
		assert.Less(t, difference, agreement, part)
	}
	fail(nil)
}

// The matches with ONNX Runtime, if "make peers" has installed it.
func TestPeers(t *testing.T) {
	const variable = "MRPRISM_ORT"
	modules := os.Getenv(variable)
	if modules == "" {
		t.Skipf("%s is not set: it names a folder with ONNX Runtime, build/peers after make peers", variable)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("node is missing, which runs ONNX Runtime: %v", err)
	}
	for _, where := range [][]string{{"-device", device.Processor}, {"-browser"}} {
		t.Run(where[0], func(t *testing.T) {
			if where[0] == "-browser" {
				browsertest.Chromium(t)
			}
			code, text, stderr := call(t, append(where, modules)...)
			require.Equal(t, cli.Done, code, stderr)
			assert.Contains(t, text, "onnxruntime-")
			assert.Equal(t, 0, strings.Count(text, "(!)"), "within 1e-4:\n%s", text)
		})
	}
	code, _, stderr := call(t, "-device", device.Processor, filepath.Join(modules, "none"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "make peers")
}
