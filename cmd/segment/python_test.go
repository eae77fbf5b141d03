package main

import (
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/data/synthetic"
	"mrprism/internal/segment/segmenttest"

	"github.com/stretchr/testify/require"
)

// python is Debian's, which finds python3-numpy.
const python = "/usr/bin/python3"

// The wheel installs without a network, and its package gives what segment writes, to the bit.
func TestPythonPackage(t *testing.T) {
	if err := exec.Command(python, "-c", "import numpy, pip").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("python3-numpy or python3-pip is missing: make setup")
		}
		t.Skip("python3-numpy or python3-pip is missing")
	}
	dir := t.TempDir()
	here := func(path string) string {
		absolute, err := filepath.Abs(path)
		require.NoError(t, err)
		return absolute
	}
	run := func(args ...string) string {
		t.Helper()
		c := exec.Command(python, args...)
		c.Dir = dir
		c.Env = append(os.Environ(), asProgram+"=1", "PYTHONPATH="+dir, "MRPRISM_DEVICE=processor", "PYTHONDONTWRITEBYTECODE=1")
		output, err := c.CombinedOutput()
		require.NoError(t, err, "%s", output)
		return strings.TrimSpace(string(output))
	}
	wheel := run(here("../../internal/release/wheel.py"), "1.2.3", "linux/amd64", os.Args[0], here("../../LICENSE"), dir)
	run("-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile", "--root-user-action=ignore", "--target", dir, wheel)

	grey := image.NewGray16(image.Rect(0, 0, 48, 40)) // as python.py draws it
	for i := range 40 * 48 {
		grey.SetGray16(i%48, i/48, color.Gray16{Y: uint16(60000 * float64(i) / (40*48 - 1))})
	}
	images := []string{
		write(t, filepath.Join(dir, "colour.png"), encodePNG(t, synthetic.Photograph(1, 48, 40))),
		write(t, filepath.Join(dir, "grey.png"), encodePNG(t, grey)),
	}
	write(t, filepath.Join(dir, "photo.png"), encodePNG(t, synthetic.Photograph(synthetic.SampleSeed, 400, 300))) // of the notebook
	w, out := weightsFile(t, dir, segmenttest.Fundus(), nil), filepath.Join(dir, "out")
	got := call(t, append([]string{"-weights", w, "-device", "reference", "-out", out, "-format", "npy"}, images...)...)
	require.Zero(t, got.code, got.stderr)
	run(append([]string{here("testdata/python.py"), w, out}, images...)...)
}
