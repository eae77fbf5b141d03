package shaders_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	"mrprism/weights/format/onnx/onnxtest"

	"github.com/stretchr/testify/require"
)

// The operators compute what ONNX's backend tests and onnxjs's say, on every device. A case that
// none of ours computes is a skipped subtest that names the reason; onnxOperator says how the
// others are expressed.

// onnxGraph is a case being built: what is fed in and what must come out, in the device's layout.
type onnxGraph struct {
	*tensor.Graph
	opset   int
	feeds   []onnxFeed
	results []onnxFeed
	reason  error // the case is not run
}

type onnxFeed struct {
	tensor *tensor.Tensor
	values []float32
}

// feed makes an input with values.
func (g *onnxGraph) feed(values []float32, shape ...int) *tensor.Tensor {
	t := g.Input("input", shape...)
	g.feeds = append(g.feeds, onnxFeed{t, values})
	return t
}

// expect says what a tensor must hold.
func (g *onnxGraph) expect(t *tensor.Tensor, want []float32, shape ...int) {
	if !slices.Equal(t.Shape(), shape) {
		panic(fmt.Sprintf("%v should have shape %v", t, shape))
	}
	g.results = append(g.results, onnxFeed{t.Keep(), want})
}

// unsupported ends a case that is not run, with its reason.
func unsupported(format string, args ...any) { panic(notRun{fmt.Errorf(format, args...)}) }

type notRun struct{ reason error }

// buildONNX expresses a case with our operators, or says in reason why there is no way. An operator
// that panics fails the test.
func buildONNX(t *testing.T, c *onnxtest.Case) (g *onnxGraph) {
	t.Helper()
	g = &onnxGraph{Graph: tensor.NewGraph(), opset: c.Opset}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case notRun:
			g.reason = r.reason
		default:
			t.Fatalf("%s: %v", c.Node.Operator, r)
		}
	}()
	for _, t := range slices.Concat(c.Inputs, c.Outputs) {
		if t != nil && len(t.Values) == 0 && len(t.Dims) > 1 {
			unsupported("an empty tensor")
		}
	}
	onnxOperator(c.Node.Operator)(g, c)
	return g
}

// onnxFolder is the folder of the cases; the test is skipped without it.
func onnxFolder(t *testing.T, folder string) string {
	t.Helper()
	root := os.Getenv("MRPRISM_VECTORS")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "vectors")
	}
	path := filepath.Join(root, "onnx_ops", folder)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("third-party vectors are missing (MRPRISM_VECTORS): %v", err)
	}
	return path
}

// tally counts cases by what became of them.
type tally struct {
	ran     map[string]int // by operator
	lacking map[string]int // by operator, for want of one of ours
	other   map[string]int // by reason
}

func newTally() tally { return tally{map[string]int{}, map[string]int{}, map[string]int{}} }

func (n *tally) log(t *testing.T) {
	sum := func(counts map[string]int) (total int, list string) {
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(counts)) {
			total += counts[key]
			parts = append(parts, fmt.Sprintf("%s %d", key, counts[key]))
		}
		return total, strings.Join(parts, ", ")
	}
	ran, operators := sum(n.ran)
	lacking, missing := sum(n.lacking)
	other, reasons := sum(n.other)
	var devices []string
	shadertest.EachKind(t, func(device string, _ gpu.Device) { devices = append(devices, device) })
	t.Logf("%d cases ran on %s: %s", ran, strings.Join(devices, ", "), operators)
	t.Logf("%d were skipped for want of an operator: %s", lacking, missing)
	t.Logf("%d were skipped because ours is narrower: %s", other, reasons)
}

// skip skips a case and counts its reason.
func (n *tally) skip(t *testing.T, operator string, reason error) {
	if reason == nil {
		n.lacking[operator]++
		t.Skipf("MrPrism has no operator %s", operator)
	}
	n.other[operator+": "+reason.Error()]++
	t.Skipf("%s: %v", operator, reason)
}

// Run builds the case once a device and compares.
func (n *tally) run(t *testing.T, c *onnxtest.Case) {
	operator := c.Node.Operator
	if g := buildONNX(t, c); g.reason != nil {
		n.skip(t, operator, g.reason)
	}
	n.ran[operator]++
	shadertest.EachKind(t, func(device string, d gpu.Device) {
		ctx := context.Background()
		g := buildONNX(t, c)
		require.NotEmpty(t, g.results)
		plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g.Graph)
		require.NoError(t, err)
		defer plan.Release()
		for _, in := range g.feeds {
			require.NoError(t, plan.Write(in.tensor, in.values))
		}
		require.NoError(t, plan.Run(ctx))
		for i, out := range g.results {
			got, err := plan.Read(ctx, out.tensor)
			require.NoError(t, err)
			compareONNX(t, fmt.Sprintf("%s: output %d", device, i), got[0], out.values)
		}
	})
}

// compareONNX allows what ONNX's own runner allows, element by element: 1e-3 of the value, and
// 1e-5.
func compareONNX(t *testing.T, what string, got, want []float32) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		g, w := float64(got[i]), float64(want[i])
		if math.IsNaN(w) && math.IsNaN(g) {
			continue
		}
		if !(math.Abs(g-w) <= 1e-5+1e-3*math.Abs(w)) && g != w {
			t.Fatalf("%s: element %d is %g, should be %g", what, i, g, w)
		}
	}
}

func TestONNXNode(t *testing.T) {
	folder := onnxFolder(t, "node")
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, entries)
	n := newTally()
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			path := filepath.Join(folder, e.Name())
			c, model, err := readONNXNode(path)
			if errors.Is(err, errSeveralNodes) {
				n.skip(t, "graph", err)
			}
			require.NoError(t, err)
			if onnxOperator(c.Node.Operator) == nil {
				n.skip(t, c.Node.Operator, nil)
			}
			require.NoError(t, readTensors(c, path, model))
			n.run(t, c)
		})
	}
	n.log(t)
}

func TestONNXJS(t *testing.T) {
	folder := onnxFolder(t, "ops")
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.NotEmpty(t, files)
	n := newTally()
	for _, f := range files {
		t.Run(strings.TrimSuffix(f.Name(), ".jsonc"), func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, f.Name()))
			require.NoError(t, err)
			cases, err := parseONNXJS(text)
			require.NoError(t, err)
			for i := range cases {
				t.Run(cases[i].Name, func(t *testing.T) {
					if onnxOperator(cases[i].Node.Operator) == nil {
						n.skip(t, cases[i].Node.Operator, nil)
					}
					n.run(t, &cases[i])
				})
			}
		})
	}
	n.log(t)
}
