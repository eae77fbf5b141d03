//go:build !js

package measure

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu/device"
)

// Progress counts every stage: it never shows more than it has announced.
func TestStages(t *testing.T) {
	d, err := device.Open(t.Context(), device.Processor, device.Options{})
	require.NoError(t, err)
	defer d.Close()
	usual := replayTime
	replayTime = time.Microsecond
	defer func() { replayTime = usual }()
	for _, also := range []bool{false, true} {
		o := Options{Config: "tiny", Recipe: "steered", Raters: 2, Classes: 1, Side: 64, Batch: 2, Repeats: 2, Train: also, Kernels: also}
		told := 0
		_, err := Bench(t.Context(), d, o, nil, func(string) { told++ })
		require.NoError(t, err)
		assert.Equal(t, o.Stages(), told)
	}
}

func TestCompare(t *testing.T) {
	base := &Report{
		Adapter: "A", Options: Options{Config: "compact"}, Ceilings: &ceilings{}, Inference: &inferenceTimes{Encoder: Spread{10, 8, 16, 5}, EncoderDispatches: 40},
		Kernels: []kernelTimes{{Part: "encoder", Name: "conv", Dispatches: 3, Time: Spread{2, 1, 4, 5}}, {Part: "encoder", Name: "conv", Dispatches: 1, Time: Spread{4, 3, 8, 5}}},
	}
	now := *base
	now.Adapter = "B"
	now.Inference = &inferenceTimes{Encoder: Spread{5, 4, 4, 5}, EncoderDispatches: 10}
	now.Kernels = []kernelTimes{{Part: "encoder", Name: "conv", Dispatches: 1, Time: Spread{5, 5, 6, 5}}}
	var out strings.Builder
	require.NoError(t, Compare(&out, base, &now))
	assert.Contains(t, out.String(), "NOT THE SAME device: base A")
	assert.NotContains(t, out.String(), "NOT THE SAME network")
	assert.Regexp(t, `(?m)^encoder +0\.500 +0\.250 +0\.500 +10 +5 ms$`, out.String(), "4/16 to 4/8")
	assert.Regexp(t, `(?m)^encoder +0\.250 +40 +10 dispatches$`, out.String())
	assert.Regexp(t, `(?m)^encoder, conv +0\.500 +0\.250 +1 +10 +5 ms$`, out.String(), "5/20 to 6/6")
}

// No code of the working directory runs: a stranger's archive may have brought a module of this
// name.
func TestSourcesAreItsOwn(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "go.mod"), []byte("module mrprism\n"), 0o600))
	t.Chdir(folder)
	found, err := GoTool(t.Context(), ".", nil, "list", "-m", "-f", "{{.Dir}}", "mrprism")
	require.NoError(t, err)
	assert.NotEqual(t, folder, found)
	assert.FileExists(t, filepath.Join(found, "cmd", "bench", "bench_test.go"))
}
