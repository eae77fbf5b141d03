package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/data/metric"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// stand stands in for ONNX Runtime: package model computes what the example asks for. TestRuntime
// shows that both give the same.
const stand = `
import json, numpy, types
class InferenceSession:
    def __init__(self, path): self.about = json.load(open(path))
    def get_modelmeta(self): return types.SimpleNamespace(custom_metadata_map=self.about)
    def run(self, names, feeds):
        feeds["x"].tofile("x.f32")
        print(*names, flush=True)
        input()
        side = int(self.about["side"])
        return [numpy.fromfile("rec.f32", "float32").reshape(1, -1, side, side)]
`

// The Python program in the file's metadata gives the masks of segment: of 8-bit colours with a
// model that mirrors and keeps the largest piece, of 16-bit grey with one that standardises and
// calibrates, larger and smaller than the network's side.
func TestExample(t *testing.T) {
	python := "/usr/bin/python3" // Debian's, with its packages
	if exec.Command(python, "-c", "import numpy, PIL").Run() != nil {
		t.Skip("python3-numpy or python3-pil is missing")
	}
	d, err := device.Open(t.Context(), device.Processor, device.Options{})
	require.NoError(t, err)
	defer d.Close()
	for _, c := range []struct {
		model string
		w, h  int
		bits  int
	}{{"fundus", 200, 150, 8}, {"cells", 180, 210, 16}} {
		dir := t.TempDir()
		s, err := fromWeights(t.Context(), c.model)
		require.NoError(t, err)
		defer s.close()
		g, err := (&request{passes: 4}).graph(t.Context(), s)
		require.NoError(t, err)
		m := g.Model
		assert.Equal(t, "1", m.Metadata["passes"])
		assert.Equal(t, []string{"rec0", "raters"}, m.Outputs)
		about, err := json.Marshal(m.Metadata)
		require.NoError(t, err)
		for name, text := range map[string]string{"model.onnx": string(about), "segment.py": m.Metadata["example"], "onnxruntime.py": stand} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		drawBlob(t, filepath.Join(dir, "photo.png"), c.w, c.h, c.bits)

		run := exec.CommandContext(t.Context(), python, "segment.py", "model.onnx", "photo.png")
		var stderr strings.Builder
		run.Dir, run.Stderr = dir, &stderr
		stdin, err := run.StdinPipe()
		require.NoError(t, err)
		stdout, err := run.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, run.Start())
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			x, err := os.ReadFile(filepath.Join(dir, "x.f32"))
			require.NoError(t, err)
			side := s.about.Side
			first := gpu.BytesFloat32(x)
			last := make([]float32, len(first))
			for i, v := range first {
				last[i%(side*side)*3+i/(side*side)] = v
			}
			var y []float32
			for _, v := range engineOn(t, d, s, side, 1, last)[lines.Text()] {
				y = append(y, float32(v))
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "rec.f32"), gpu.Float32Bytes(y), 0o644))
			fmt.Fprintln(stdin)
		}
		require.NoError(t, run.Wait(), stderr.String())

		weights, err := computing.Weights(c.model)
		require.NoError(t, err)
		e, err := segment.New(t.Context(), d, weights, "")
		require.NoError(t, err)
		defer e.Close()
		img, err := imageio.Read(filepath.Join(dir, "photo.png"))
		require.NoError(t, err)
		r, err := e.Segment(t.Context(), img, segment.Options{ROI: "none"})
		require.NoError(t, err)
		for k, class := range s.about.Classes {
			got, err := imageio.Read(filepath.Join(dir, class+".png"))
			require.NoError(t, err)
			want, mask := r.Probability(k), make([]float32, c.w*c.h)
			for i := range mask {
				mask[i] = float32(got.Pix[3*i]) / 255
			}
			require.Greater(t, metric.Area(want), 500, class)
			assert.GreaterOrEqual(t, metric.Dice(mask, want), .999, "%s: %s", c.model, class)
		}
	}
}

// drawBlob writes a bright disc with a brighter middle on a slope, of 8 bits and colours or of grey
// and 12 bits in 16.
func drawBlob(t *testing.T, path string, w, h, bits int) {
	t.Helper()
	colours, grey := image.NewRGBA(image.Rect(0, 0, w, h)), image.NewGray16(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			r := (x-90)*(x-90) + (y-80)*(y-80)
			v := 40 + x/8 + y/5 + (x*7+y*13)%9
			if r < 45*45 {
				v += 90
			}
			if r < 22*22 {
				v += 40
			}
			colours.Set(x, y, color.RGBA{uint8(min(v+30, 255)), uint8(v * 2 / 3), uint8(v / 4), 255})
			grey.SetGray16(x, y, color.Gray16{uint16(800 + 9*v)})
		}
	}
	var m image.Image = colours
	if bits == 16 {
		m = grey
	}
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, png.Encode(f, m))
	require.NoError(t, f.Close())
}
