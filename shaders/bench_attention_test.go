package shaders_test

import (
	"context"
	"fmt"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/attention"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// BenchmarkAttention times the attention maps of the compact network at 256², forward alone and
// with all gradients; GFLOP/s counts the multiply-adds of the matrix products, 4 and 18 × B N L H
// d.
func BenchmarkAttention(b *testing.B) {
	for _, c := range []struct {
		name                               string
		batch, queries, keys, heads, width int
	}{
		{"ConP1", 1, 64, 64, 4, 64}, {"ConP2", 1, 256, 256, 2, 64}, {"ConP3", 1, 1024, 256, 1, 64}, {"ConP4", 1, 4096, 256, 1, 32},
		{"DivP32", 1, 1024, 256, 8, 4}, {"DivP64", 1, 1024, 256, 8, 8}, {"raters", 1, 1024, 256, 4, 16},
	} {
		for _, d := range gputest.Devices(b) {
			if d.Info().Kind == gpu.KindReference {
				continue
			}
			for _, backward := range []bool{false, true} {
				pass, products := "forward", 4
				if backward {
					pass, products = "forward+backward", 18
				}
				b.Run(fmt.Sprintf("%s/%s/%s", c.name, pass, d.Info().Backend), func(b *testing.B) {
					ctx := context.Background()
					g := tensor.NewGraph()
					q := g.Input("q", c.batch, c.queries, c.heads*c.width)
					kv := g.Input("kv", c.batch, c.keys, 2*c.heads*c.width)
					if backward {
						q.Track()
						kv.Track()
					}
					y := attention.Attention(q, kv, c.heads).Keep()
					if backward {
						g.Backward(y, g.Input("seed", y.Shape()...))
						for _, x := range []*tensor.Tensor{q, kv} {
							x.Gradient().Keep()
						}
					}
					plan, err := shaders.Compile(ctx, d, tensor.NewSet(), g)
					require.NoError(b, err)
					defer plan.Release()
					step := func() {
						require.NoError(b, plan.Run(ctx))
						_, err := plan.Read(ctx, y)
						require.NoError(b, err)
					}
					step() // compiles
					for b.Loop() {
						step()
					}
					work := float64(products) * float64(c.batch*c.queries*c.keys*c.heads*c.width)
					b.ReportMetric(work*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
				})
			}
		}
	}
}
