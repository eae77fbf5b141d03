//go:build unix

package shaders_test

import (
	"context"
	"os"
	"syscall"
	"testing"
	"time"

	"mrprism/shaders"
	"mrprism/shaders/conv"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// cpuTime is what this process has computed so far, software adapters included. On a shared machine
// it says more than the clock.
func cpuTime() time.Duration {
	var r syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkOperators measures the multiply-adds of the compact network's operators at 128², batch
// 4, on the device that MRPRISM_DEVICE names: GFLOP/s by the clock, and by the time of one
// processor core ("core").
//
//	go test ./shaders -run none -bench Operators/layer1 -benchtime 5x
func BenchmarkOperators(b *testing.B) {
	ctx := context.Background()
	d, err := device.Open(ctx, os.Getenv(device.Variable), device.Options{})
	if err != nil {
		b.Skip(err)
	}
	defer d.Close()
	b.Log(d.Info())
	convolution := func(win conv.Window) func(x, w *tensor.Tensor) *tensor.Tensor {
		return func(x, w *tensor.Tensor) *tensor.Tensor { return conv.Conv2D(x, w, nil, win) }
	}
	linear := func(x, w *tensor.Tensor) *tensor.Tensor { return conv.Linear(x, w, nil) }
	for _, c := range []struct {
		name      string
		x, weight []int
		build     func(x, w *tensor.Tensor) *tensor.Tensor
		pixels    int // results a channel; the multiply-adds are pixels times weights
	}{
		{"stem", []int{4, 128, 128, 3}, []int{7, 7, 3, 32}, convolution(conv.Square(2, 3)), 4 * 64 * 64},
		{"layer1", []int{4, 32, 32, 32}, []int{3, 3, 32, 32}, convolution(conv.Square(1, 1)), 4 * 32 * 32},
		{"layer2", []int{4, 16, 16, 64}, []int{3, 3, 64, 64}, convolution(conv.Square(1, 1)), 4 * 16 * 16},
		{"layer3down", []int{4, 16, 16, 64}, []int{3, 3, 64, 128}, convolution(conv.Square(2, 1)), 4 * 8 * 8},
		{"layer3", []int{4, 8, 8, 128}, []int{3, 3, 128, 128}, convolution(conv.Square(1, 1)), 4 * 8 * 8},
		{"layer4", []int{4, 4, 4, 256}, []int{3, 3, 256, 256}, convolution(conv.Square(1, 1)), 4 * 4 * 4},
		{"merge4", []int{4, 32, 32, 64}, []int{3, 3, 64, 32}, convolution(conv.Square(1, 1)), 4 * 32 * 32},
		{"linear32", []int{4, 32, 32, 32}, []int{32, 32}, linear, 4 * 32 * 32},
		{"linear64to256", []int{4, 16, 16, 64}, []int{64, 256}, linear, 4 * 16 * 16},
		{"up", []int{4, 16, 16, 64}, []int{2, 2, 64, 32}, func(x, w *tensor.Tensor) *tensor.Tensor { return conv.ConvTranspose2x2(x, w, nil) }, 4 * 16 * 16},
		{"head", []int{4, 32, 32, 32}, []int{2, 2, 32, 2}, func(x, w *tensor.Tensor) *tensor.Tensor { return conv.ConvTranspose2x2(x, w, nil) }, 4 * 32 * 32},
		{"raterstem", []int{4, 64, 64, 2}, []int{8, 8, 2, 64}, convolution(conv.Square(2, 3)), 4 * 32 * 32},
		{"depthwise", []int{4, 16, 16, 8}, []int{5, 5, 8}, func(x, w *tensor.Tensor) *tensor.Tensor { return conv.DepthwiseConv2D(x, w, nil, conv.Square(2, 2)) }, 4 * 8 * 8},
		{"depthwise256", []int{4, 8, 8, 128}, []int{3, 3, 128}, func(x, w *tensor.Tensor) *tensor.Tensor { return conv.DepthwiseConv2D(x, w, nil, conv.Square(2, 1)) }, 4 * 4 * 4},
		{"grouped", []int{4, 16, 16, 64}, []int{4, 16, 2}, func(x, w *tensor.Tensor) *tensor.Tensor { return conv.GroupedLinear(x, w, nil) }, 4 * 16 * 16},
	} {
		weights := 1
		for _, n := range c.weight {
			weights *= n
		}
		for _, pass := range []string{"forward", "backward_x", "backward_weight"} {
			b.Run(c.name+"/"+pass, func(b *testing.B) {
				g := tensor.NewGraph()
				x, w := g.Input("x", c.x...), g.Input("w", c.weight...)
				switch pass {
				case "backward_x":
					x.Track()
				case "backward_weight":
					w.Track()
				}
				y := c.build(x, w)
				result := y
				if pass != "forward" {
					g.Backward(y, g.Input("dy", y.Shape()...))
					if result = x; pass == "backward_weight" {
						result = w
					}
					result = result.Gradient()
				}
				result.Keep()
				plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g)
				require.NoError(b, err)
				defer plan.Release()
				first := make([]byte, 4)
				wait := func() {
					require.NoError(b, d.Read(ctx, gpu.Range{Buffer: plan.Buffer(result), Dst: first}))
				}
				require.NoError(b, plan.Run(ctx))
				wait()
				cpu := cpuTime()
				b.ResetTimer()
				for range b.N {
					require.NoError(b, plan.Run(ctx))
				}
				wait()
				b.StopTimer()
				work := 2e-9 * float64(c.pixels) * float64(weights) * float64(b.N)
				b.ReportMetric(work/b.Elapsed().Seconds(), "GFLOP/s")
				b.ReportMetric(work/(cpuTime()-cpu).Seconds(), "GFLOP/s/core")
			})
		}
	}
}
