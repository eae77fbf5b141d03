// Package choose measures which is the faster on a machine without a real GPU: an adapter that
// emulates one on the processor (lavapipe, SwiftShader, WARP), or the processor's own vectors. The
// machine remembers the times.
package choose

import (
	"context"
	"fmt"
	"math"
	"time"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/nn"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders"
	"mrprism/shaders/pointwise"
)

// Patience is how long a measurement may take before it has failed, compiling included.
const Patience = time.Second

const (
	side   = 64           // pixels of the maps, as deep in the encoder
	rounds = 7            // at most; the least time counts, since other programs lengthen times
	enough = Patience / 2 // then no other round begins
)

// Times are milliseconds of the same commands.
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
	first, err := newContender(ctx, adapter)
	if err != nil {
		return Times{}, err
	}
	defer first.release()
	second, err := newContender(ctx, processor)
	if err != nil {
		return Times{}, err
	}
	defer second.release()
	for i, v := range first.result {
		if d := math.Abs(float64(v - second.result[i])); !(d < differ) {
			return Times{}, fmt.Errorf("%s computes another result: value %d is %v, not %v", adapter.Info(), i, v, second.result[i])
		}
	}
	least := [2]float64{math.Inf(1), math.Inf(1)}
	for i := 0; i < rounds && (i == 0 || time.Since(begun) < enough); i++ {
		for at, c := range []*contender{first, second} {
			start := time.Now()
			if err := c.run(ctx); err != nil {
				return Times{}, err
			}
			least[at] = min(least[at], float64(time.Since(start).Nanoseconds())/1e6)
		}
	}
	return Times{least[0], least[1]}, nil
}

// differ is the difference of two results, about 1 each, that sums in another order do not explain.
const differ = 1e-2

// contender is a device with the network on it.
type contender struct {
	set    *tensor.Set
	plan   *tensor.Plan
	y      *tensor.Tensor
	result []float32
}

// newContender compiles the network for a device and runs it once.
func newContender(ctx context.Context, d gpu.Device) (*contender, error) {
	c := &contender{set: tensor.NewSet()}
	g := tensor.NewGraph()
	x := g.Input("x", 1, side, side, 32)
	c.y = network(&nn.Builder{Graph: g, Set: c.set}, x).Keep()
	var err error
	if c.plan, err = shaders.Compile(ctx, d, c.set, g); err != nil {
		c.release()
		return nil, err
	}
	values := make([]float32, x.Elements())
	for i := range values {
		values[i] = float32(i%17)/8 - 1
	}
	if err = c.set.Initialise(1); err == nil {
		err = c.plan.Write(x, values)
	}
	if err == nil {
		err = c.run(ctx)
	}
	if err != nil {
		c.release()
		return nil, err
	}
	return c, nil
}

// network is a short one of the real network's parts: 3×3 convolutions with and without a stride,
// and a linear map. It has few kernels, since an adapter that has never seen them takes most of the
// time to compile them.
func network(b *nn.Builder, x *tensor.Tensor) *tensor.Tensor {
	y := pointwise.ReLU(b.Conv("a", x, 3, 32, 1, 1, true, false))
	y = pointwise.ReLU(b.Conv("b", y, 3, 64, 2, 1, true, false))
	y = pointwise.ReLU(b.Conv("c", y, 3, 64, 1, 1, true, false))
	return b.Linear("d", y, 64, true)
}

func (c *contender) run(ctx context.Context) error {
	err := c.plan.Run(ctx)
	if err == nil {
		var results [][]float32
		if results, err = c.plan.Read(ctx, c.y); err == nil {
			c.result = results[0]
		}
	}
	return err
}

func (c *contender) release() {
	if c.plan != nil {
		c.plan.Release()
	}
	c.set.Release()
}
