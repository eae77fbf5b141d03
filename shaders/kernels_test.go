package shaders_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/kernels"
	"mrprism/shaders/kernels/kerneltest"
	"mrprism/shaders/loss"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/ranks/rankstest"
	"mrprism/shaders/raters"
	"mrprism/shaders/shadertest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

type example struct {
	inputs [][]int
	build  func(x []*tensor.Tensor) *tensor.Tensor
}

// noGoldens has examples that the goldens lack: operators, and sizes for which other kernel
// variants are chosen.
var noGoldens = map[string]example{
	"add broadcast":   {[][]int{{4, 6}, {6}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.AddBroadcast(x[0], x[1]) }},
	"attention, wide": {[][]int{{1, 9, 64}, {1, 7, 128}}, func(x []*tensor.Tensor) *tensor.Tensor { return attention.Attention(x[0], x[1], 1) }},
	"batch norm relu": {[][]int{{2, 3, 3, 4}, {4}, {4}, {4}, {4}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return shadertest.BatchNormReLU(x[0], x[1], x[2], x[3], x[4], true, 1, 1)
	}},
	"batch norm of two ranks": {[][]int{{2, 3, 3, 4}, {4}, {4}, {4}, {4}}, func(x []*tensor.Tensor) *tensor.Tensor {
		x[0].Graph().Normalise(rankstest.New(2)[0])
		return norm.BatchNorm(x[0], x[1], x[2], x[3], x[4], true, 1, 1)
	}},
	"cast": {[][]int{{9}}, func(x []*tensor.Tensor) *tensor.Tensor {
		h := pointwise.Halve(x[0])
		return pointwise.Add(pointwise.Widen(h), pointwise.Widen(h))
	}},
	"clamp log and sum": {[][]int{{9}, {9}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Add(pointwise.ClampLog(x[0], 0.1, 1), x[1]) }},
	"clamp":             {[][]int{{9}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Clamp(x[0], 0, 1) }},
	"dice":              {[][]int{{2, 3, 3, 2}, {2, 3, 3, 2}}, func(x []*tensor.Tensor) *tensor.Tensor { return loss.Dice(x[0], x[1].Detach()) }},
	"slice":             {[][]int{{4, 9, 3}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Slice(x[0], 2, 5) }},
	"split": {[][]int{{3, 9}}, func(x []*tensor.Tensor) *tensor.Tensor {
		a, b := pointwise.Split(x[0], 4)
		return pointwise.Concat(b, a)
	}},
	"split of a linear map": {[][]int{{512, 64}, {64, 96}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return pointwise.Concat(pointwise.Split(conv.Linear(x[0].Detach(), x[1].Detach(), nil), 64))
	}},
	"split of a few outputs": {[][]int{{9, 4}, {4, 8}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return pointwise.Concat(pointwise.Split(conv.Linear(x[0].Detach(), x[1].Detach(), nil), 4))
	}},
	"split of a linear map, odd": {[][]int{{9, 19}, {19, 21}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return pointwise.Concat(pointwise.Split(conv.Linear(x[0].Detach(), x[1].Detach(), nil), 2))
	}},
	"concat": {[][]int{{3, 4}, {3, 5}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Concat(x[0], x[1]) }},
	"depthwise, in quads": {[][]int{{1, 9, 7, 8}, {3, 3, 8}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return conv.DepthwiseConv2D(x[0], x[1], nil, conv.Square(1, 1))
	}},
	"multiply": {[][]int{{9}, {9}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Multiply(x[0], x[1]) }},
	"depthwise and activation, without gradients": {[][]int{{1, 9, 7, 8}, {3, 3, 8}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return pointwise.ReLU6(conv.DepthwiseConv2D(x[0].Detach(), x[1].Detach(), nil, conv.Square(1, 1)))
	}},
	"grouped linear":    {[][]int{{9, 12}, {3, 4, 5}, {3, 5}}, func(x []*tensor.Tensor) *tensor.Tensor { return conv.GroupedLinear(x[0], x[1], x[2]) }},
	"linear, wide":      {[][]int{{512, 64}, {64, 96}, {96}}, func(x []*tensor.Tensor) *tensor.Tensor { return conv.Linear(x[0], x[1], x[2]) }},
	"linear, odd":       {[][]int{{9, 19}, {19, 21}}, func(x []*tensor.Tensor) *tensor.Tensor { return conv.Linear(x[0], x[1], nil) }},
	"convolution, wide": {[][]int{{2, 32, 32, 32}, {3, 3, 32, 64}, {64}}, func(x []*tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x[0], x[1], x[2], conv.Square(1, 1)) }},
	"linear map and layer norm, one after the other without gradients": {[][]int{{9, 8}, {8, 32}, {32}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return norm.LayerNorm(conv.Linear(x[0].Detach(), x[1].Detach(), nil), x[2].Detach(), x[2].Detach(), 1e-5)
	}},
	"sum":          {[][]int{{50}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Sum(x[0]) }},
	"threshold":    {[][]int{{9}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Threshold(x[0], 0.5) }},
	"weigh raters": {[][]int{{2, 3, 3, 4, 2}, {2, 4, 2}}, func(x []*tensor.Tensor) *tensor.Tensor { return raters.Weigh(x[0], x[1]) }},
	"adam": {[][]int{{9}, {9}, {9}, {9}, {9}, {5}}, func(x []*tensor.Tensor) *tensor.Tensor {
		adam.Step(x[0].Keep(), x[1], x[2], x[3], x[4], x[5], adam.Options{})
		return pointwise.Scale(x[0], 1)
	}},
	"clip": {[][]int{{5}, {9}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return pointwise.Scale(adam.Clip(x[0], adam.SquareSum(x[1]), 1), 1)
	}},
	"shuffle raters": {[][]int{{2, 3, 3, 4, 2}, {4}, {4}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return raters.Shuffle(x[0], raters.Reweighting{Order: x[0].Graph().InputOf(gpu.U32, "order", 4), Scale: x[1], Offset: x[2]})
	}},
	"int8 convolution": {[][]int{{1, 8, 8, 32}, {3, 3, 32, 64}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return conv.Conv2DInt8(pointwise.Quantize(x[0], 1), x[1], nil, conv.Square(1, 1))
	}},
	"int8 convolution, few outputs": {[][]int{{1, 8, 8, 3}, {1, 1, 3, 4}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return conv.Conv2DInt8(pointwise.Quantize(x[0], 1), x[1], nil, conv.Square(1, 0))
	}},
	"int8 attention": {[][]int{{1, 9, 8}, {1, 7, 16}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return attention.OfInt8(pointwise.Quantize(x[0], 1), pointwise.Quantize(x[1], 1), 1, 1, 1)
	}},
	"int8 attention, wide": {[][]int{{1, 9, 64}, {1, 7, 128}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return attention.OfInt8(pointwise.Quantize(x[0], 1), pointwise.Quantize(x[1], 1), 1, 1, 1)
	}},
	"dequantize": {[][]int{{8}}, func(x []*tensor.Tensor) *tensor.Tensor {
		return pointwise.Dequantize(x[0].Graph().InputOf(gpu.I8, "q", 4, 8), x[0])
	}},
}

// recorder is the reference, disguised as another device. It records the programs that it has to
// compile.
type recorder struct {
	gpu.Device
	guise    gpu.Info
	programs map[*gpu.Program]bool
	offered  map[string]*gpu.Program // by name, those it could have run
}

// Choose implements tensor.Chooser.
func (r *recorder) Choose(programs []*gpu.Program) int {
	for _, p := range programs {
		r.offered[p.Name] = p
	}
	return 0
}

func (r *recorder) Info() gpu.Info {
	info := r.guise
	info.Limits = r.Device.Info().Limits
	return info
}

func (r *recorder) Prepare(ctx context.Context, programs []*gpu.Program) error {
	for _, p := range programs {
		r.programs[p] = true
	}
	return r.Device.Prepare(ctx, programs)
}

// everyProgram has all programs that all operators dispatch, forwards and backwards, on made-up
// devices of all kinds. Of each variant that no device prefers it has one program.
func everyProgram(t *testing.T) map[*gpu.Program]bool {
	t.Helper()
	goldens := goldenFile(t)
	programs := map[*gpu.Program]bool{}
	offered := map[string]*gpu.Program{}
	for _, guise := range kerneltest.Guises() {
		d := &recorder{reference.Open(), guise, programs, offered}
		compile := func(g *tensor.Graph) {
			plan, err := shaders.Compile(context.Background(), d, tensor.NewSet(), g)
			require.NoError(t, err)
			plan.Release()
		}
		for name, build := range goldenOperators {
			g := tensor.NewGraph()
			buildGolden(g, goldens[name], build)
			compile(g)
		}
		examples := slices.Collect(maps.Values(noGoldens))
		for _, k := range pointwise.Scalars {
			examples = append(examples, example{[][]int{{9}}, func(x []*tensor.Tensor) *tensor.Tensor { return pointwise.Apply(k, x[0]) }})
		}
		for _, c := range examples {
			g := tensor.NewGraph()
			var x []*tensor.Tensor
			for _, shape := range c.inputs {
				x = append(x, g.Input("input", shape...).Track())
			}
			y := c.build(x).Keep()
			g.Backward(y, g.Input("seed", y.Shape()...))
			for _, in := range x {
				in.Gradient().Keep()
			}
			compile(g)
		}
		require.NoError(t, d.Close())
	}
	for p := range programs {
		delete(offered, p.Name)
	}
	for _, p := range offered {
		programs[p] = true
	}
	return programs
}

var (
	entryPoint = regexp.MustCompile(`@compute[^{]*?\bfn\s+(\w+)`)
	enabled    = regexp.MustCompile(`(?m)^(?:enable|requires) (\w+);`)
)

// Some operator dispatches every entry point of every .wgsl file, below its header and its family's
// shared part, and every shared part. All of it compiles on every device, in both widths where
// there are two; kernels that need a WGSL extension compile where the device has the feature.
func TestEveryKernelCompiles(t *testing.T) {
	programs := slices.Collect(maps.Keys(everyProgram(t)))
	files, err := filepath.Glob("*/*.wgsl")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		source := string(text)
		entries := []string{""} // of a shared part: the files below it have them
		if found := entryPoint.FindAllStringSubmatch(source, -1); len(found) > 0 {
			entries = nil
			for _, entry := range found {
				entries = append(entries, entry[1])
			}
		}
		for _, entry := range entries {
			require.True(t, slices.ContainsFunc(programs, func(p *gpu.Program) bool {
				return (entry == "" || p.Entry == entry) && strings.Contains(p.Source, source)
			}), "%s: on no device of guises does anything in goldenOperators and noGoldens dispatch %s", f, entry)
		}
	}
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		compiled := map[string]bool{}
		without := map[string]int{}
		for _, p := range slices.Concat(programs, inOtherWidths(programs)) {
			if extension := lacking(d, p.Source); extension != "" {
				without[extension]++
				continue
			}
			key := fmt.Sprint(p.Entry, p.Arguments, p.Source)
			if !compiled[key] {
				require.NoError(t, d.Prepare(context.Background(), []*gpu.Program{p}), p.Name)
			}
			compiled[key] = true
		}
		t.Logf("%d programs compiled; not compiled, for lack of a feature: %v", len(compiled), without)
		require.Greater(t, len(compiled), 60)
	})
}

// inOtherWidths are the programs that come in two widths, each in the width that it does not have.
func inOtherWidths(programs []*gpu.Program) []*gpu.Program {
	const places, place = "const PLACES = vec4<f32>(0.0, 1.0, 2.0, 3.0);", "const PLACES = 0.0;"
	swap := strings.NewReplacer(kernels.InWidths(1), kernels.InWidths(4), kernels.InWidths(4), kernels.InWidths(1), places, place, place, places)
	var others []*gpu.Program
	for _, p := range programs {
		other := *p
		other.Source = swap.Replace(p.Source)
		if other.Source != p.Source && !strings.Contains(p.Source, "alias element") { // convolutions mix widths
			others = append(others, &other)
		}
	}
	return others
}

// lacking is an extension that the source enables and the device was not granted.
func lacking(d gpu.Device, source string) string {
	for _, extension := range enabled.FindAllStringSubmatch(source, -1) {
		for feature, name := range kerneltest.Features {
			if name == extension[1] && !d.Info().HasFeature(feature) {
				return name
			}
		}
	}
	return ""
}
