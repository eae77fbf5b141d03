package shaders_test

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/loss"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/raters"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"
	safetensors "mrprism/weights"

	"github.com/stretchr/testify/require"
)

// operands are a golden's inputs by name.
type operands map[string]*tensor.Tensor

// goldenOperators says how each case of testdata/operators.safetensors is computed here.
var goldenOperators = map[string]func(x operands) *tensor.Tensor{
	"conv2d.k1s1p0": func(x operands) *tensor.Tensor { return conv.Conv2D(x["x"], x["weight"], x["bias"], conv.Square(1, 0)) },
	"conv2d.k1s2p0": func(x operands) *tensor.Tensor { return conv.Conv2D(x["x"], x["weight"], nil, conv.Square(2, 0)) },
	"conv2d.k3s1p1": func(x operands) *tensor.Tensor { return conv.Conv2D(x["x"], x["weight"], nil, conv.Square(1, 1)) },
	"conv2d.k3s2p1": func(x operands) *tensor.Tensor { return conv.Conv2D(x["x"], x["weight"], nil, conv.Square(2, 1)) },
	"conv2d.k7s2p3": func(x operands) *tensor.Tensor { return conv.Conv2D(x["x"], x["weight"], nil, conv.Square(2, 3)) },
	"conv2d.k8s2p3": func(x operands) *tensor.Tensor { return conv.Conv2D(x["x"], x["weight"], x["bias"], conv.Square(2, 3)) },
	"depthwise.k3s2p1": func(x operands) *tensor.Tensor {
		return conv.DepthwiseConv2D(x["x"], x["weight"], x["bias"], conv.Square(2, 1))
	},
	"depthwise.k5s2p2": func(x operands) *tensor.Tensor {
		return conv.DepthwiseConv2D(x["x"], x["weight"], x["bias"], conv.Square(2, 2))
	},
	"transposed.k2s2":     func(x operands) *tensor.Tensor { return conv.ConvTranspose2x2(x["x"], x["weight"], x["bias"]) },
	"maxpool.k3s2p1":      func(x operands) *tensor.Tensor { return pool.Max(x["x"], 3, 3, conv.Square(2, 1)) },
	"avgpool.r2":          func(x operands) *tensor.Tensor { return pool.Average(x["x"], 2, 2, conv.Square(2, 0)) },
	"avgpool.r4":          func(x operands) *tensor.Tensor { return pool.Average(x["x"], 4, 4, conv.Square(4, 0)) },
	"bilinear.x2":         func(x operands) *tensor.Tensor { return pool.Resize(x["x"], 2*x["x"].Dim(1), 2*x["x"].Dim(2)) },
	"bilinear.x8":         func(x operands) *tensor.Tensor { return pool.Resize(x["x"], 8*x["x"].Dim(1), 8*x["x"].Dim(2)) },
	"batchnorm.train":     func(x operands) *tensor.Tensor { return goldenBatchNorm(x, true) },
	"batchnorm.inference": func(x operands) *tensor.Tensor { return goldenBatchNorm(x, false) },
	"layernorm":           func(x operands) *tensor.Tensor { return norm.LayerNorm(x["x"], x["weight"], x["bias"], 1e-5) },
	"linear":              func(x operands) *tensor.Tensor { return conv.Linear(x["x"], x["weight"], x["bias"]) },
	"attention.h2": func(x operands) *tensor.Tensor {
		return attention.Attention(x["q"], pointwise.Concat(x["k"], x["v"]), 2)
	},
	"gelu":            func(x operands) *tensor.Tensor { return pointwise.GELU(x["x"]) },
	"relu":            func(x operands) *tensor.Tensor { return pointwise.ReLU(x["x"]) },
	"sigmoid":         func(x operands) *tensor.Tensor { return pointwise.Sigmoid(x["x"]) },
	"bce.lo001":       func(x operands) *tensor.Tensor { return loss.CrossEntropy(x["p"], x["t"], 1e-3) },
	"bce.lo01":        func(x operands) *tensor.Tensor { return loss.CrossEntropy(x["p"], x["t"], 1e-2) },
	"fuse":            func(x operands) *tensor.Tensor { return raters.Fuse(x["ell"], x["z"], x["valid"]) },
	"rule.agreement":  func(x operands) *tensor.Tensor { return raters.AgreementRule(x["zup"], x["mask"]) },
	"rule.code":       func(x operands) *tensor.Tensor { return pointwise.ClampLog(x["zup"], 1e-3, 1-1e-3) },
	"rule.likelihood": func(x operands) *tensor.Tensor { return raters.LikelihoodRule(x["zup"], x["z"], x["valid"], 1) },
	"ssim": func(x operands) *tensor.Tensor { // the golden is the map, not 1 - the map
		ones := slices.Repeat([]float32{1}, x["a"].Elements())
		return pointwise.Add(x["a"].Graph().Constant("one", ones, x["a"].Shape()...), pointwise.Scale(loss.SSIM(x["a"], x["b"]), -1))
	},
}

// goldenTolerances are relative to the largest value, for goldens that 1e-5 does not allow for.
var goldenTolerances = map[string]float64{
	"bce.lo001": 6e-5, // the largest gradient is 1 / (1 - q) at q = 0.999, where 1 - q has lost ten bits
}

func goldenBatchNorm(x operands, training bool) *tensor.Tensor {
	return norm.BatchNorm(x["x"], x["weight"], x["bias"], x["running_mean"], x["running_var"], training, 1e-5, 0.1)
}

// goldenFile is testdata/operators.safetensors: tensors by case, then by name.
func goldenFile(t *testing.T) map[string]map[string]golden {
	t.Helper()
	data, err := os.ReadFile("testdata/operators.safetensors")
	require.NoError(t, err)
	file, err := safetensors.Decode(data)
	require.NoError(t, err)
	cases := map[string]map[string]golden{}
	for i := range file.Tensors {
		at := &file.Tensors[i]
		name, operand, ok := strings.Cut(at.Name, "/")
		require.True(t, ok, at.Name)
		values, err := at.Float32()
		require.NoError(t, err)
		if cases[name] == nil {
			cases[name] = map[string]golden{}
		}
		cases[name][operand] = golden{at.Shape, values}
	}
	return cases
}

type golden struct {
	shape  []int
	values []float32
}

// Outputs and gradients of single operators equal PyTorch's (model/testdata/twin/README.md), on
// every device.
func TestGoldens(t *testing.T) {
	for name, tensors := range goldenFile(t) {
		if name == "adam" { // not a function of its operands: TestGoldenAdam
			continue
		}
		t.Run(name, func(t *testing.T) {
			build := goldenOperators[name]
			require.NotNil(t, build, "nothing computes this golden")
			shadertest.EachKind(t, func(device string, d gpu.Device) { checkGolden(t, device, d, tensors, build) })
		})
	}
}

// buildGolden appends the operator on inputs x and its gradients. results are the output y, the
// gradient dx of every operand x that has one in the file, and the operands that the file has a
// new_ value of; seed is the derivative by y.
func buildGolden(g *tensor.Graph, tensors map[string]golden, build func(x operands) *tensor.Tensor) (x, results operands, seed *tensor.Tensor) {
	x = operands{}
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		if name == "y" || name == "dy" || strings.HasPrefix(name, "new_") || (name[0] == 'd' && tensors[name[1:]].shape != nil) {
			continue
		}
		x[name] = g.Input(name, tensors[name].shape...)
		if tensors["d"+name].shape != nil {
			x[name].Track()
		}
	}
	results = operands{"y": build(x).Keep()}
	seed = g.Input("dy", results["y"].Shape()...)
	g.Backward(results["y"], seed)
	for name := range x {
		if tensors["d"+name].shape != nil {
			results["d"+name] = x[name].Gradient().Keep()
		}
		if tensors["new_"+name].shape != nil {
			results["new_"+name] = x[name]
		}
	}
	return x, results, seed
}

// checkGolden compares everything that the file has of a case.
func checkGolden(t *testing.T, device string, d gpu.Device, tensors map[string]golden, build func(x operands) *tensor.Tensor) {
	t.Helper()
	ctx := context.Background()
	g := tensor.NewGraph()
	x, results, seed := buildGolden(g, tensors, build)
	plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g)
	require.NoError(t, err)
	defer plan.Release()
	for name := range x {
		require.NoError(t, plan.Write(x[name], tensors[name].values))
	}
	require.NoError(t, plan.Write(seed, tensors["dy"].values))
	require.NoError(t, plan.Run(ctx))
	for _, name := range slices.Sorted(maps.Keys(results)) {
		got, err := plan.Read(ctx, results[name])
		require.NoError(t, err)
		require.Equal(t, tensors[name].shape, results[name].Shape(), name)
		compare := shadertest.Operator{} // 1e-5 of the largest value: f32 rounding of sums of up to a thousand terms
		if tolerance := goldenTolerances[t.Name()[len("TestGoldens/"):]]; tolerance > 0 {
			compare.RTol = tolerance
		}
		compare.Compare(t, device, name, got[0], tensors[name].values)
	}
}

// Six steps of Adam with a rising rate, after each the parameters and their average, at the end the
// moments.
func TestGoldenAdam(t *testing.T) {
	tensors := goldenFile(t)["adam"]
	options := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	shadertest.EachKind(t, func(device string, d gpu.Device) {
		ctx := context.Background()
		g := tensor.NewGraph()
		state := operands{"schedule": g.Input("schedule", 5)}
		for _, name := range []string{"p", "m", "v", "average", "grad"} {
			state[name] = g.Input(name, tensors["p0"].shape...)
		}
		adam.Step(state["p"], state["grad"], state["m"], state["v"], state["average"], state["schedule"], options)
		plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g)
		require.NoError(t, err)
		defer plan.Release()
		require.NoError(t, plan.Write(state["p"], tensors["p0"].values))
		n := len(tensors["p0"].values)
		average := make([]float32, n) // which is what is exported
		for i, rate := range tensors["lr"].values {
			require.NoError(t, plan.Write(state["schedule"], adam.Schedule(options, i+1, float64(rate), 1, 0.75)))
			require.NoError(t, plan.Write(state["grad"], tensors["grad"].values[i*n:][:n]))
			require.NoError(t, plan.Run(ctx))
			got, err := plan.Read(ctx, state["p"], state["average"])
			require.NoError(t, err)
			steps := shadertest.Operator{ATol: 1e-6, RTol: 1e-6} // which are 1e-3
			steps.Compare(t, device, "p", got[0], tensors["p"].values[i*n:][:n])
			for j, p := range got[0] {
				average[j] += 0.25 * (p - average[j])
			}
			steps.Compare(t, device, "average", got[1], average)
		}
		got, err := plan.Read(ctx, state["m"], state["v"])
		require.NoError(t, err)
		for i, name := range []string{"m", "v"} {
			// β₂ = 0.999 in float32 makes 1 - β₂ larger by 1.3e-5 of itself.
			(&shadertest.Operator{RTol: 2e-5}).Compare(t, device, name, got[i], tensors[name].values)
		}
	})
}

// Every entry of goldenOperators has its golden, so that none is forgotten when the file is written
// anew.
func TestGoldensAreThere(t *testing.T) {
	file := goldenFile(t)
	delete(file, "adam")
	require.ElementsMatch(t, slices.Collect(maps.Keys(goldenOperators)), slices.Collect(maps.Keys(file)))
}
