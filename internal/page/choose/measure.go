// Package choose measures which device is faster on a machine without a real GPU: an adapter that
// emulates a GPU (lavapipe, SwiftShader, WARP), or the processor's own vectors. The times are kept.
package choose

import (
	"context"
	"fmt"
	"math"
	"time"

	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// Patience is how long a measurement may take before it has failed, compiling included.
const Patience = time.Second

const (
	side   = 64           // pixels of the maps, as deep in the encoder
	rounds = 7            // at most; the least time counts, since other programs lengthen some
	enough = Patience / 2 // after this time no round begins
)

// Times are milliseconds of the same commands on both devices.
type Times struct {
	AdapterMS   float64 `json:"adapter_ms"`
	ProcessorMS float64 `json:"processor_ms"`
}

// Ratio says how many times as fast as the adapter the processor is.
func (t Times) Ratio() float64 { return t.AdapterMS / t.ProcessorMS }

// Measure times a small network on both devices, in turn, so that other programs slow both. It
// returns an error if a device fails, takes too long, or computes another result.
func Measure(ctx context.Context, adapter, processor gpu.Device) (Times, error) {
	limited, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	times, err := measure(limited, adapter, processor)
	if limited.Err() != nil && ctx.Err() == nil {
		err = fmt.Errorf("it took longer than %v", Patience)
	}
	return times, err
}

func measure(ctx context.Context, adapter, processor gpu.Device) (Times, error) {
	begun := time.Now()
	contenders := []*contender{{set: tensor.NewSet()}, {set: tensor.NewSet()}}
	for i, d := range []gpu.Device{adapter, processor} {
		defer contenders[i].release()
		if err := contenders[i].prepare(ctx, d); err != nil {
			return Times{}, err
		}
	}
	for i, v := range contenders[0].result {
		if w := contenders[1].result[i]; !(math.Abs(float64(v-w)) < differ) {
			return Times{}, fmt.Errorf("%s computes another result: value %d is %v, not %v", adapter.Info(), i, v, w)
		}
	}
	least := [2]float64{math.Inf(1), math.Inf(1)}
	for i := 0; i < rounds && (i == 0 || time.Since(begun) < enough); i++ {
		for at, c := range contenders {
			start := time.Now()
			if err := c.run(ctx); err != nil {
				return Times{}, err
			}
			least[at] = min(least[at], float64(time.Since(start).Nanoseconds())/1e6)
		}
	}
	return Times{least[0], least[1]}, nil
}

// differ is the difference of two results from which on the adapter counts as wrong. Results are
// about 1, and another order of sums changes them by less.
const differ = 1e-2

// contender is a device with the network on it.
type contender struct {
	set    *tensor.Set
	plan   *tensor.Plan
	y      *tensor.Tensor
	result []float32
}

// prepare compiles the network for a device and runs it once.
func (c *contender) prepare(ctx context.Context, d gpu.Device) (err error) {
	g := tensor.NewGraph()
	x := g.Input("x", 1, side, side, 32)
	c.y = network(&nn.Builder{Graph: g, Set: c.set}, x).Keep()
	if c.plan, err = shaders.Compile(ctx, d, c.set, g); err != nil {
		return err
	}
	values := make([]float32, x.Elements())
	for i := range values {
		values[i] = float32(i%17)/8 - 1
	}
	if err := c.set.Initialise(1); err != nil {
		return err
	}
	if err := c.plan.Write(x, values); err != nil {
		return err
	}
	return c.run(ctx)
}

// network has parts of the real network: 3×3 convolutions with and without a stride, and a linear
// map. It has few kernels: an adapter that has never seen them spends most of the time compiling.
func network(b *nn.Builder, x *tensor.Tensor) *tensor.Tensor {
	y := pointwise.ReLU(b.Conv("a", x, 3, 32, 1, 1, true, false))
	y = pointwise.ReLU(b.Conv("b", y, 3, 64, 2, 1, true, false))
	y = pointwise.ReLU(b.Conv("c", y, 3, 64, 1, 1, true, false))
	return b.Linear("d", y, 64, true)
}

func (c *contender) run(ctx context.Context) error {
	if err := c.plan.Run(ctx); err != nil {
		return err
	}
	results, err := c.plan.Read(ctx, c.y)
	if err != nil {
		return err
	}
	c.result = results[0]
	return nil
}

func (c *contender) release() {
	if c.plan != nil {
		c.plan.Release()
	}
	c.set.Release()
}
