package shaders

import (
	"context"
	"math/rand/v2"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/imageio"
	"mrprism/internal/tensor"

	"github.com/stretchr/testify/require"
)

// One plan prepares every region of an image as imageio.Crop does.
func TestPrepare(t *testing.T) {
	const mean, deviation = 0.5, 0.25
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ w, h, size int }{{37, 23, 16}, {23, 70, 70}, {1, 1, 8}, {5, 3, 33}, {130, 90, 65}} {
		m := imageio.Image{W: c.w, H: c.h, Pix: make([]uint8, 3*c.w*c.h)}
		packed := make([]uint32, c.w*c.h)
		for i := range m.Pix {
			m.Pix[i] = uint8(r.IntN(256))
			packed[i/3] |= uint32(m.Pix[i]) << (8 * (i % 3))
		}
		for i := range packed {
			packed[i] |= uint32(r.IntN(256)) << 24 // alpha
		}
		regions := []imageio.Square{
			imageio.Letterbox(c.w, c.h),
			{X: 0, Y: 0, Side: c.size},                                     // copied unchanged
			{X: 2, Y: 1, Side: c.size + 1}, {X: 1, Y: 2, Side: c.size - 1}, // on both sides of the change of rule
			{X: -7, Y: -3, Side: 3}, {X: c.w + 4, Y: c.h - 1, Side: 1}, // partly and wholly beyond the border
			{X: -90, Y: -40, Side: 211}, {X: c.w / 2, Y: c.h / 3, Side: 3 * c.size}, {X: 500, Y: -800, Side: 97},
		}
		asKinds(t, func(device string, d gpu.Device) {
			ctx := context.Background()
			g := tensor.NewGraph()
			pixels, region := g.InputOf(gpu.U32, "pixels", c.h, c.w), g.InputOf(gpu.I32, "region", 3)
			y := Prepare(pixels, region, c.size, mean, deviation).Keep()
			plan, err := tensor.Compile(ctx, d, tensor.NewSet(), g)
			require.NoError(t, err)
			defer plan.Release()
			require.NoError(t, plan.WriteUint32(pixels, packed))
			for _, sq := range regions {
				require.NoError(t, plan.WriteBytes(region, gpu.Uint32Bytes([]uint32{uint32(sq.X), uint32(sq.Y), uint32(sq.Side)})))
				require.NoError(t, plan.Run(ctx))
				got, err := plan.Read(ctx, y)
				require.NoError(t, err)
				want := make([]float32, 3*c.size*c.size)
				m.Crop(want, sq, c.size)
				for i := range want {
					want[i] = (want[i] - mean) / deviation
				}
				// Both sum float32; the largest interval here, 211 pixels for 8, has some thirty terms of 6e-8 of 1/deviation.
				(&operatorTest{atol: 1e-5}).compare(t, device, "prepared", got[0], want)
			}
		})
	}
}

func TestPrepareRefuses(t *testing.T) {
	g := tensor.NewGraph()
	pixels, region := g.InputOf(gpu.U32, "pixels", 4, 4), g.InputOf(gpu.I32, "region", 3)
	require.Panics(t, func() { Prepare(g.Input("floats", 4, 4), region, 8, 0, 1) })
	require.Panics(t, func() { Prepare(pixels, g.Input("floats", 3), 8, 0, 1) })
	require.Panics(t, func() { Prepare(pixels, region, 0, 0, 1) })
	require.Panics(t, func() { Prepare(pixels, region, 8, 0, 0) })
}
