//go:build !js

package main

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/program/cli"
	"mrprism/shaders/gpu/device"
)

var tiny = options{Config: "tiny", Raters: 3, Classes: 2, Side: 64, Repeats: 2}

// scripted is a peer that gives prepared answers, one for each job.
type scripted []answer

func (s *scripted) ask(context.Context, job) answer {
	a := (*s)[0]
	*s = (*s)[1:]
	return a
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
	assert.Equal(t, spread{Median: 1.5, Least: 1, Most: 2, N: 2}, found[0].Ours, "without the first, which warms up")
	assert.Equal(t, spread{Median: 1.5 / 4, Least: 0.25, Most: 0.5, N: 2}, found[0].Ratio)

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
	needsChromium(t)
	d, err := device.Open(t.Context(), device.Reference, device.Options{})
	require.NoError(t, err)
	defer d.Close()
	here, err := newPeer(t.Context(), d, tiny, nil)
	require.NoError(t, err)
	defer here.release()
	r := request{options: tiny, made: made{folder: t.TempDir(), pack: true}}
	require.NoError(t, r.pack(t.Context(), io.Discard))
	r.made.pack = false
	path := os.Getenv("PATH")
	t.Setenv("PATH", "") // Go is not asked again
	files, err := r.exported(t.Context(), func(string) {})
	require.NoError(t, err)
	assert.Len(t, files, 3, "the picture and two networks")
	files, err = r.pageFiles(t.Context(), nil)
	require.NoError(t, err)
	_, err = (&request{options: options{Config: "tiny", Side: 128}, made: r.made}).exported(t.Context(), func(string) {})
	require.ErrorContains(t, err, "and -pack")
	t.Setenv("PATH", path)
	p, err := openPage(t.Context(), files, "", "worker.js?peer="+oursInPage+"&device="+browserDevice)
	require.NoError(t, err)
	defer p.close()
	ctx, fail := context.WithCancelCause(t.Context())
	go watch(ctx, p.site, fail)
	for part, outputs := range map[string]int{encoderAlone: 9, wholeNetwork: passes + 1} {
		want, got := here.ask(ctx, job{part, true}), p.peers[oursInPage].ask(ctx, job{part, true})
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
				needsChromium(t)
			}
			code, text, stderr := call(t, append(where, "-peers", modules)...)
			require.Equal(t, cli.Done, code, stderr)
			assert.Contains(t, text, "onnxruntime-")
			assert.Equal(t, 0, strings.Count(text, "(!)"), "within 1e-4:\n%s", text)
		})
	}
	code, _, stderr := call(t, "-device", device.Processor, "-peers", filepath.Join(modules, "none"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "make peers")
}
