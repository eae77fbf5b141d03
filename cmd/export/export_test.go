package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrprism/internal/command/computing"
	"mrprism/internal/program/cli"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"
	"mrprism/weights"
	"mrprism/weights/format/onnx"
	"mrprism/weights/format/onnx/onnxtest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// trained is a random network with other normalisations and biases than at the start of training: a
// forgotten one changes the result.
func trained(t *testing.T, config string, raters, classes int) *source {
	t.Helper()
	s := fromSeed(t, config, raters, classes, 3)
	r := rand.New(rand.NewPCG(7, 7))
	all, err := s.set.Read(t.Context(), s.variables()...)
	require.NoError(t, err)
	for n, v := range s.variables() {
		values := all[n]
		for i := range values {
			switch z := float32(r.NormFloat64()); {
			case strings.HasSuffix(v.Name, "running_var"):
				values[i] = float32(math.Exp(0.3 * float64(z)))
			case v.Name == "divp.heads.output.bias":
				values[i] = 6 * z // so that the clamp before the logarithm clamps
			case v.Name == "settle.change.weight":
				values[i] = 0.3 * z
			case len(v.Shape) == 1:
				values[i] += 0.2 * z
			}
		}
		require.NoError(t, s.set.Write(v, values))
	}
	return s
}

func fromSeed(t *testing.T, config string, raters, classes int, seed uint64) *source {
	t.Helper()
	s, err := random(t.Context(), config, raters, classes, seed)
	require.NoError(t, err)
	t.Cleanup(s.close)
	return s
}

// noise is an image of noise (S, S, 3), normalised.
func noise(side int) []float32 {
	r := rand.New(rand.NewPCG(5, 5))
	x := make([]float32, 3*side*side)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// channelsFirst turns (S, S, C) to (C, S, S).
func channelsFirst(values []float32, channels int) []float64 {
	out := make([]float64, len(values))
	pixels := len(values) / channels
	for i, v := range values {
		out[i%channels*pixels+i/channels] = float64(v)
	}
	return out
}

// engine computes all outputs of an exported network with package model, of noise.
func engine(t *testing.T, d gpu.Device, s *source, side, passes int) map[string][]float64 {
	t.Helper()
	return engineOn(t, d, s, side, passes, noise(side))
}

func engineOn(t *testing.T, d gpu.Device, s *source, side, passes int, x []float32) map[string][]float64 {
	t.Helper()
	set := tensor.NewSet()
	defer set.Release()
	in, err := model.NewInference(t.Context(), d, set, s.config, side)
	require.NoError(t, err)
	defer in.Release()
	values, err := s.set.Read(t.Context(), s.variables()...)
	require.NoError(t, err)
	for i, v := range s.variables() {
		require.NoError(t, set.Write(set.Lookup(v.Name), values[i]))
	}
	require.NoError(t, in.Encode(t.Context(), x))
	out := map[string][]float64{}
	if passes == 0 {
		encoded, err := in.Encoded(t.Context())
		require.NoError(t, err)
		for name, m := range encoded {
			out[name] = channelsFirst(m.Values, m.Channels)
		}
		return out
	}
	for pass := range passes {
		y, err := in.Recur(t.Context())
		require.NoError(t, err)
		out[fmt.Sprintf("rec%d", pass)] = channelsFirst(y, s.config.Classes)
	}
	if s.config.Evidence {
		require.NoError(t, in.SetMarks(t.Context(), nil))
		_, err := in.Settle(t.Context())
		require.NoError(t, err)
	}
	if m := s.config.Method; m != nil && !m.Raters {
		return out
	}
	raters, err := in.RaterLabels(t.Context())
	require.NoError(t, err)
	out["raters"] = channelsFirst(raters, s.config.Raters*s.config.Classes)
	return out
}

// exported is the ONNX file of a network, and its contents.
func exported(t *testing.T, s *source, side, passes int) ([]byte, *onnx.Model) {
	t.Helper()
	r := request{side: side, passes: passes}
	g, err := r.graph(t.Context(), s)
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, g.Model.Write(&file))
	m, err := onnxtest.ParseModel(file.Bytes())
	require.NoError(t, err)
	return file.Bytes(), m
}

// furthest is the largest difference, in units of the largest value or of 1.
func furthest(t *testing.T, what string, got, want []float64) float64 {
	t.Helper()
	require.Len(t, got, len(want), what)
	largest, scale := 0.0, 1.0
	for i := range want {
		require.False(t, math.IsNaN(got[i]), "%s: element %d is not a number", what, i)
		largest, scale = max(largest, math.Abs(got[i]-want[i])), max(scale, math.Abs(want[i]))
	}
	return largest / scale
}

// What is exported computes what package model computes.
func TestExportIsTheNetwork(t *testing.T) {
	for _, c := range []struct {
		config                        string
		raters, classes, side, passes int
		levels                        bool
	}{
		{"tiny", 3, 2, 64, 4, false},
		{"tiny", 3, 2, 64, 1, true},
		{"tiny-steered", 3, 2, 64, 4, false},
		{"tiny-evidence", 3, 2, 64, 1, false},
		{"tiny-agnet", 3, 2, 64, 1, false},
		{"tiny-pionono", 3, 2, 64, 1, false},
		{"tiny-padl", 3, 2, 64, 1, false},
		{"tiny-tab", 3, 2, 64, 1, false},
		{"tiny-mrnet", 3, 2, 64, 1, false},
		{"tiny", 1, 1, 64, 2, false},
		{"tiny", 2, 3, 128, 2, false},
		{"tiny", 2, 1, 320, 1, false}, // where windows of average pooling do not divide the map
		{"tiny", 1, 1, 128, 0, false},
		{"mobile", 1, 1, 64, 0, false},
	} {
		t.Run(fmt.Sprintf("%s of %d raters, %d classes, side %d, %d passes", c.config, c.raters, c.classes, c.side, c.passes), func(t *testing.T) {
			s := trained(t, c.config, c.raters, c.classes)
			s.config.Levels = c.levels
			want := engine(t, reference.Open(), s, c.side, c.passes)
			_, m := exported(t, s, c.side, c.passes)
			x := array{[]int{1, 3, c.side, c.side}, channelsFirst(noise(c.side), 3)}
			got, err := interpret(m, map[string]array{"x": x})
			require.NoError(t, err)
			require.Len(t, m.Outputs, len(want))
			for name, values := range want {
				require.Contains(t, m.Outputs, name)
				assert.Equal(t, m.Shapes[name], got[name].shape, name)
				// Both compute in float64 with float32 constants; folding and factors round a few of them anew,
				// by 6e-8 each.
				assert.Less(t, furthest(t, name, got[name].values, values), 2e-5, name)
			}
		})
	}
}

// All shapes that the builder derived are those that the operators give, and nothing but standard
// operators of the opset is used.
func TestStructure(t *testing.T) {
	for _, config := range []string{"tiny", "compact", "mobile"} {
		s := fromSeed(t, config, 4, 2, 1)
		_, m := exported(t, s, 64, 2)
		assert.Equal(t, 17, m.Opset)
		assert.Equal(t, []string{"x"}, m.Inputs)
		assert.Equal(t, []string{"rec0", "rec1", "raters"}, m.Outputs)
		assert.Equal(t, map[string][]int{"x": {1, 3, 64, 64}, "rec0": {1, 2, 64, 64}, "rec1": {1, 2, 64, 64}, "raters": {1, 4, 2, 64, 64}}, m.Shapes)
		known := map[string]bool{"x": true, "": true}
		for _, tensor := range m.Tensors {
			require.False(t, known[tensor.Name], "%s twice", tensor.Name)
			known[tensor.Name] = true
		}
		read := map[string]bool{}
		for _, n := range m.Nodes {
			assert.NotNil(t, operatorOf(&n), n.Operator)
			assert.Empty(t, n.Domain)
			for _, in := range n.Inputs {
				assert.True(t, known[in], "%s reads %s before it is made", n.Name, in)
				read[in] = true
			}
			for _, out := range n.Outputs {
				require.False(t, known[out], "%s twice", out)
				known[out] = true
			}
		}
		for name := range known {
			assert.True(t, read[name] || name == "" || slices.Contains(m.Outputs, name), "%s is read by nothing", name)
		}
	}
}

func TestFile(t *testing.T) {
	s := fromSeed(t, "tiny", 2, 1, 1)
	file, m := exported(t, s, 64, 3)
	for key, want := range map[string]string{
		"name": "random-tiny", "configuration": "tiny", "classes": `["class1"]`, "raters": `["rater1","rater2"]`, "side": "64",
		"mean": "[0.5,0.5,0.5]", "deviation": "[0.25,0.25,0.25]", "passes": "3", "part": "all",
	} {
		assert.Equal(t, want, m.Metadata[key], key)
	}
	again, _ := exported(t, s, 64, 3)
	assert.True(t, bytes.Equal(file, again), "the same network gives the same bytes")
}

// Of weights trained without heads the file has the one mask that they are good for. Those of the
// recipe recurrent have a mask after each pass.
func TestWithoutHeads(t *testing.T) {
	s := fromSeed(t, "tiny", 2, 1, 1)
	s.about.Recipe = "baseline"
	_, m := exported(t, s, 64, 4)
	assert.Equal(t, []string{"rec0"}, m.Outputs)
	assert.Equal(t, "1", m.Metadata["passes"])
	r := request{side: 64, passes: 2, given: map[string]bool{"passes": true}}
	_, err := r.graph(t.Context(), s)
	assert.ErrorContains(t, err, "was trained for one pass (recipe baseline)")
	s.about.Recipe = "recurrent"
	_, m = exported(t, s, 64, 3)
	assert.Equal(t, []string{"rec0", "rec1", "rec2"}, m.Outputs)
	assert.Equal(t, "3", m.Metadata["passes"])
}

func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = run(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

func TestShippedWeights(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fundus.onnx")
	code, stdout, stderr := call(t, "-weights", "fundus", "-passes", "0", "-onnx", file)
	require.Equal(t, cli.Done, code, stderr)
	assert.Contains(t, stdout, file)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	m, err := onnxtest.ParseModel(data)
	require.NoError(t, err)

	shipped, err := computing.Weights("fundus")
	require.NoError(t, err)
	about := shipped.Metadata
	assert.Equal(t, shipped.SHA256, m.Metadata["weights_sha256"])
	assert.Equal(t, []int{1, 3, about.Side, about.Side}, m.Shapes["x"], "the weights' own side")
	var classes []string
	require.NoError(t, json.Unmarshal([]byte(m.Metadata["classes"]), &classes))
	assert.Equal(t, about.Classes, classes)
	left, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, left, 1, "nothing beside the file")
}

func TestUsage(t *testing.T) {
	out := filepath.Join(t.TempDir(), "model.onnx")
	for message, args := range map[string][]string{
		"which weights":              {"-onnx", out},
		"where to":                   {"-weights", "random-tiny"},
		"choose 1 to":                {"-weights", "random-tiny", "-passes", "-1", "-onnx", out},
		"multiple of 64":             {"-weights", "random-tiny", "-side", "100", "-onnx", out},
		"up to 2048":                 {"-weights", "random-tiny", "-side", "4096", "-onnx", out},
		`unexpected argument "more"`: {"-weights", "random-tiny", "-onnx", out, "more"},
		"-ranges needs":              {"-weights", "fundus", "-ranges", out},
		"not written together":       {"-weights", "fundus", "-data", "data", "-ranges", out, "-onnx", out},
		"-side has no effect on -f32, -f16, -int8, but on -onnx":       {"-weights", "fundus", "-int8", out, "-side", "512"},
		"-device has no effect on -f32, -f16, -int8, but on -ranges":   {"-weights", "fundus", "-int8", out, "-device", "processor"},
		"-data has no effect on -f32, -f16, -int8, but on -ranges":     {"-weights", "fundus", "-mean", "cells", "-f32", out, "-data", "data"},
		"-passes has no effect on -ranges, but on -onnx: leave it out": {"-weights", "fundus", "-data", "data", "-ranges", out, "-passes", "1"},
		"-data has no effect on -onnx, but on -ranges":                 {"-weights", "random-tiny", "-onnx", out, "-data", "data"},
		"there is no flag -wieghts (did you mean -weights?)":           {"-wieghts", "fundus"},
	} {
		code, _, stderr := call(t, args...)
		assert.Equal(t, cli.Usage, code, message)
		assert.Contains(t, stderr, message)
		assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	}
	for message, args := range map[string][]string{
		"choose random-compact, -mobile, -paper or -tiny": {"-weights", "random-huge", "-onnx", out},
		"is a folder": {"-weights", "random-tiny", "-onnx", filepath.Dir(out)},
	} {
		code, _, stderr := call(t, args...)
		assert.Equal(t, cli.Failed, code, message)
		assert.Contains(t, stderr, message)
	}
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(out, link))
	for _, flag := range []string{"-onnx", "-f16", "-int8"} {
		code, _, stderr := call(t, "-weights", "cells", flag, link)
		assert.Equal(t, cli.Failed, code)
		assert.Contains(t, stderr, link+" is a link")
	}
	code, stdout, _ := call(t, "-h")
	assert.Equal(t, cli.Done, code)
	assert.Contains(t, stdout, "opset 17")
	assert.NoFileExists(t, out)
}

// If a file cannot be written, the older file stays.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	code, _, stderr := call(t, "-weights", "no-such-model", "-onnx", filepath.Join(dir, "m.onnx"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "no-such-model")

	other := filepath.Join(dir, "other.safetensors")
	require.NoError(t, os.WriteFile(other, []byte("not weights"), 0o644))
	kept := filepath.Join(dir, "kept.onnx")
	require.NoError(t, os.WriteFile(kept, []byte("before"), 0o644))
	code, _, stderr = call(t, "-weights", other, "-onnx", kept)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, other)
	content, err := os.ReadFile(kept)
	require.NoError(t, err)
	assert.Equal(t, "before", string(content))

	code, _, stderr = call(t, "-weights", "random-tiny", "-side", "64", "-onnx", filepath.Join(dir, "missing", "m.onnx"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "there is no folder "+filepath.Join(dir, "missing"))

	code, _, stderr = call(t, "-weights", "random-tiny", "-side", "64", "-onnx", kept)
	require.Equal(t, cli.Done, code, stderr)
	content, err = os.ReadFile(kept)
	require.NoError(t, err)
	_, err = onnxtest.ParseModel(content)
	assert.NoError(t, err)
}

// Weights that are of another configuration than they say are refused, with the difference.
func TestMismatch(t *testing.T) {
	shipped, err := computing.Weights("fundus")
	require.NoError(t, err)
	f := &weights.File{Metadata: shipped.File.Metadata, Tensors: shipped.File.Tensors[1:]}
	f.Seal()
	data, err := f.Encode()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "cut.safetensors")
	require.NoError(t, os.WriteFile(file, data, 0o644))
	code, _, stderr := call(t, "-weights", file, "-onnx", filepath.Join(t.TempDir(), "m.onnx"))
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr, "weights do not fit this model")
}
