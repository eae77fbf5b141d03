//go:build !js

package measure

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/vector"
)

// The timed kernels do the work that is counted: all steps of every chain, and the whole copy.
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

// The processor's kernels compute every product in every loop.
func TestCeilingOfVectors(t *testing.T) {
	ctx := t.Context()
	d, err := device.Open(ctx, device.Processor, device.Options{})
	require.NoError(t, err)
	defer d.Close()
	programs := []*gpu.Program{products}
	if vector.HasWords() {
		programs = append(programs, products8)
	}
	require.NoError(t, d.Prepare(ctx, programs))
	columns := vector.Columns()
	for _, b := range candidates() {
		b.Loops = 3
		rows, terms := int(b.Rows), int(b.Terms)
		n := blocks * rows * columns
		buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Elements: n}, {Elements: n, Type: gpu.I32}})
		require.NoError(t, err)
		for i, program := range programs {
			r, err := d.Record([]gpu.Command{{Program: program, Params: &b, Arguments: buffers[i : i+1], Groups: [3]int{1, 1, 1}}})
			require.NoError(t, err)
			require.NoError(t, d.Run(ctx, r))
			r.Release()
			raw := make([]byte, 4*n)
			require.NoError(t, d.Read(ctx, gpu.Range{Buffer: buffers[i], Dst: raw}))
			width := columns // of a panel
			if i == 1 {
				var right vector.Bytes
				right.Reset(terms, columns)
				width = right.Columns()
			}
			want := make([]int, rows*columns) // every block is the same product
			for at := range want {
				row, column := at/columns, at%columns
				for k := range terms {
					if term := leftValue(row*terms+k) * rightValue(k*columns+column); i == 0 {
						want[at] += int(b.Loops) * term
					} else { // int8 of its packing: (terms / 4, columns, 4)
						want[at] += leftValue(row*terms+k) * rightValue((k/4*columns+column)*4+k%4)
					}
				}
			}
			for at := range n {
				row, column := at/width%rows, at/(width*rows)%(columns/width)*width+at%width
				got := int(int32(binary.LittleEndian.Uint32(raw[4*at:])))
				if i == 0 {
					got = int(gpu.BytesFloat32(raw[4*at : 4*at+4])[0])
				}
				if want := want[row*columns+column]; want != got {
					require.Equal(t, want, got, "%s, %+v, element %d", program.Name, b, at)
				}
			}
		}
		buffers[0].Release()
		buffers[1].Release()
	}
}

// A kernel of int8 is compared with the ceiling of int8, if that was measured.
func TestShares(t *testing.T) {
	// 100 GFLOP/s, 10 GB/s
	k := kernelTimes{Name: "conv2d_int8_forward", GFLOP: 1, GB: 0.1, Time: single(10)}
	c := &ceilings{Arithmetic: single(200), Memory: single(40)}
	adds, ceiling := c.shares(k)
	assert.Equal(t, []float64{0.5, 0.5}, []float64{adds, ceiling})
	c.Int8 = single(800)
	adds, ceiling = c.shares(k)
	assert.Equal(t, []float64{0.125, 0.25}, []float64{adds, ceiling})
	k.Name = "conv2d_forward"
	adds, _ = c.shares(k)
	assert.Equal(t, 0.5, adds)
}

func TestSpread(t *testing.T) {
	assert.Equal(t, Spread{Median: 2.5, Least: 1, Most: 9, N: 4}, SpreadOf([]float64{3, 9, 1, 2}))
	assert.Equal(t, Spread{Median: 3, Least: 1, Most: 9, N: 3}, SpreadOf([]float64{3, 9, 1}))
	assert.Equal(t, Spread{Median: 3, Least: 2, Most: 6, N: 3}, Spread{Median: 4, Least: 2, Most: 6, N: 3}.rate(12), "12 in 4, in 6 and in 2")
	assert.Equal(t, Spread{Median: 0.5, Least: 0.25, Most: 4, N: 2}, ratio(Spread{Median: 4, Least: 1, Most: 8, N: 2}, Spread{Median: 2, Least: 2, Most: 4, N: 3}))
}
