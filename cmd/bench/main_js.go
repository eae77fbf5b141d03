package main

import (
	"context"

	"mrprism/cmd/bench/measure"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

func main() {
	measure.Work(func(ctx context.Context, d gpu.Device, o measure.Options, m *weights.Model, tell func(string)) (any, error) {
		defer d.Close()
		return measure.Bench(ctx, d, o, m, tell)
	})
}
