//go:build !js

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/gputest"
)

// What is timed does the work that is counted: an invocation's chains take so many steps, and the copy is whole.
func TestCeilingKernels(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		ctx := t.Context()
		adds, copying, _ := ceilingPrograms()
		require.NoError(t, d.Prepare(ctx, []*gpu.Program{adds, copying}))
		const n = 4 * ceilingSize // four elements an invocation of the copy
		buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "results", Elements: n}, {Label: "copied", Elements: n}})
		require.NoError(t, err)
		defer buffers[0].Release()
		defer buffers[1].Release()
		p := &ceilingParams{Loops: 3, Factor: 0.99, Term: 0.5}
		r, err := d.Record([]gpu.Command{
			{Program: adds, Params: p, Arguments: buffers[:1], Groups: [3]int{n / ceilingSize, 1, 1}},
			{Program: copying, Arguments: buffers, Groups: [3]int{1, 1, 1}},
		})
		require.NoError(t, err)
		defer r.Release()
		require.NoError(t, d.Run(ctx, r))
		raw := make([]byte, 4*n)
		require.NoError(t, d.Read(ctx, gpu.Range{Buffer: buffers[1], Dst: raw}))
		for i, got := range gpu.BytesFloat32(raw) {
			want := 0.0
			for chain := range addsChains {
				v := float64(i + chain)
				for range p.Loops * addsUnrolled {
					v = v*0.99 + 0.5
				}
				want += v
			}
			require.InEpsilon(t, want, got, 1e-4, "element %d: 48 steps round by 6e-8 each, and 0.99 by 1e-8 of itself", i)
		}
	})
}

func TestSpread(t *testing.T) {
	assert.Equal(t, spread{Median: 2.5, Least: 1, Most: 9, N: 4}, spreadOf([]float64{3, 9, 1, 2}))
	assert.Equal(t, spread{Median: 3, Least: 1, Most: 9, N: 3}, spreadOf([]float64{3, 9, 1}))
	assert.Equal(t, spread{Median: 3, Least: 2, Most: 6, N: 3}, spread{Median: 4, Least: 2, Most: 6, N: 3}.rate(12), "12 in 4, in 6 and in 2")
	assert.Equal(t, spread{Median: 0.5, Least: 0.25, Most: 4, N: 2}, ratio(spread{Median: 4, Least: 1, Most: 8, N: 2}, spread{Median: 2, Least: 2, Most: 4, N: 3}))
}
