package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runtimeVariable names a folder with onnxruntime-node: build/peers after make peers.
const runtimeVariable = "MRPRISM_ORT"

// providerVariable names ONNX Runtime's provider, cpu or webgpu. On software adapters webgpu takes
// minutes.
const providerVariable = "MRPRISM_ORT_PROVIDER"

// tolerance limits the difference between float32 sums in two orders, after a hundred layers and
// four recurrences.
const tolerance = 1e-4

// runtimeFolder is the folder of ONNX Runtime; without it or node the test is skipped.
func runtimeFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv(runtimeVariable)
	if folder == "" {
		t.Skipf("%s is not set: it names a folder with ONNX Runtime, build/peers after make peers", runtimeVariable)
	}
	if _, err := exec.LookPath("node"); err != nil {
		t.Skipf("node is missing, which runs ONNX Runtime: %v", err)
	}
	_, err := os.Stat(filepath.Join(folder, "node_modules", "onnxruntime-node"))
	require.NoError(t, err, "%s names a folder without onnxruntime-node", runtimeVariable)
	return folder
}

// report is the output of run.cjs.
type report struct {
	Version            string
	Outputs            map[string][]int
	SessionMS, FirstMS float64
	RunsMS             []float64
}

func provider() string { return cmp.Or(os.Getenv(providerVariable), "cpu") }

// runONNX computes a model's outputs in ONNX Runtime.
func runONNX(t *testing.T, folder string, file []byte, side int) (map[string][]float64, report) {
	t.Helper()
	dir := t.TempDir()
	modelFile, input := filepath.Join(dir, "model.onnx"), filepath.Join(dir, "x.f32")
	require.NoError(t, os.WriteFile(modelFile, file, 0o644))
	var x []float32
	for _, v := range channelsFirst(noise(side), 3) {
		x = append(x, float32(v))
	}
	require.NoError(t, os.WriteFile(input, gpu.Float32Bytes(x), 0o644))
	var stderr strings.Builder
	c := exec.CommandContext(t.Context(), "node", filepath.Join("testdata", "ort", "run.cjs"), folder, modelFile, input, dir, provider(), "1")
	c.Stderr = &stderr
	stdout, err := c.Output()
	require.NoError(t, err, stderr.String())
	var r report
	require.NoError(t, json.Unmarshal(stdout, &r))
	out := map[string][]float64{}
	for name := range r.Outputs {
		data, err := os.ReadFile(filepath.Join(dir, name+".f32"))
		require.NoError(t, err)
		for _, v := range gpu.BytesFloat32(data) {
			out[name] = append(out[name], float64(v))
		}
	}
	return out, r
}

// compareRuntime exports a network, runs it in ONNX Runtime and compares with the engine on a
// device.
func compareRuntime(t *testing.T, d gpu.Device, s *source, side, passes int) {
	t.Helper()
	folder := runtimeFolder(t)
	want := engine(t, d, s, side, passes)
	file, m := exported(t, s, side, passes)
	got, r := runONNX(t, folder, file, side)
	require.Len(t, got, len(want))
	for name, values := range want {
		assert.Equal(t, m.Shapes[name], r.Outputs[name], name)
		difference := furthest(t, name, got[name], values)
		assert.Less(t, difference, tolerance, name)
		t.Logf("%s %v: differs by %.2g", name, r.Outputs[name], difference)
	}
	t.Logf("ONNX Runtime %s, %s: session %.0f ms, first run %.0f ms, second %.0f ms", r.Version, provider(), r.SessionMS, r.FirstMS, r.RunsMS[0])
}

func TestRuntime(t *testing.T) {
	runtimeFolder(t)
	for _, c := range []struct {
		config                        string
		raters, classes, side, passes int
	}{
		{"tiny", 3, 2, 64, 4},
		{"tiny", 1, 1, 128, 4},
		{"tiny", 1, 1, 64, 0},
		{"compact", 4, 2, 64, 4},
		{"paper", 1, 1, 64, 0},
	} {
		t.Run(fmt.Sprintf("%s, %d raters, %d classes, side %d, %d passes", c.config, c.raters, c.classes, c.side, c.passes), func(t *testing.T) {
			compareRuntime(t, reference.Open(), trained(t, c.config, c.raters, c.classes), c.side, c.passes)
		})
	}
}

// At the sides that models are used with, a GPU computes what to compare with.
func TestRuntimeAgainstDevice(t *testing.T) {
	runtimeFolder(t)
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		if d.Info().Kind == gpu.KindReference {
			t.Skip("the reference takes minutes at this side; TestRuntime compares with it at 64")
		}
		t.Run("compact, side 256", func(t *testing.T) { compareRuntime(t, d, trained(t, "compact", 4, 2), 256, 4) })
		t.Run("fundus", func(t *testing.T) {
			s, err := fromWeights(t.Context(), "fundus")
			require.NoError(t, err)
			defer s.close()
			compareRuntime(t, d, s, s.about.Side, 4)
		})
	})
}
