package segment

import (
	"image"
	"math"
	"math/rand/v2"
	"testing"

	"mrprism/internal/data/contour"
	"mrprism/internal/files/imageio"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// In a photograph of 8 megapixels a disc has a round outline, however steep its border is: logits
// that rise by 4 a pixel of the network go from .02 to .98 within two. Probabilities that are
// enlarged linearly miss it by .77 pixels there, with pieces of eight times the curvature.
func TestOutlinesHaveNoFacets(t *testing.T) {
	const side, w, h = 128, 3456, 2304
	square := imageio.Square{X: 1100, Y: 600, Side: 1024}
	scale := float64(square.Side) / side
	for _, disc := range []struct{ radius, slope float64 }{{12.3, .5}, {12.3, 4}, {31.7, .5}, {31.7, 2}, {31.7, 4}} {
		p := make([]float32, side*side)
		for i := range p {
			away := disc.radius - math.Hypot(float64(i%side)+.5-64.2, float64(i/side)+.5-63.6)
			p[i] = float32(1 / (1 + math.Exp(-disc.slope*away)))
		}
		line := contour.Trace(restore(p, side, 1, 0, square, w, h, image.Rectangle{}), w, h, .5, 0).Points
		n := len(line) / 2
		require.Greater(t, n, 500)
		heading := func(i int) (turn, length float64) {
			a, b := 2*(i%n), 2*((i+12)%n)
			x, y := float64(line[b]-line[a]), float64(line[b+1]-line[a+1])
			return math.Atan2(y, x), math.Hypot(x, y)
		}
		for i := range n {
			x, y := float64(line[2*i])-float64(square.X)-64.2*scale, float64(line[2*i+1])-float64(square.Y)-63.6*scale
			require.InDelta(t, disc.radius*scale, math.Hypot(x, y), .12, "%v", disc)
			from, before := heading(i)
			to, after := heading(i + 12)
			curvature := 2 * math.Abs(math.Remainder(to-from, 2*math.Pi)) / (before + after)
			require.InDelta(t, 1, curvature*disc.radius*scale, .1, "%v", disc)
		}
	}
}

// What lies inside something lies inside it at the image's size, too, to the bit. Nothing stays
// nothing, and one stays one.
func TestEnlargedMapsAreNested(t *testing.T) {
	const side, w, h = 9, 64, 50
	square := imageio.Square{X: 3, Y: -4, Side: 57}
	r := rand.New(rand.NewPCG(1, 2))
	maps := make([]float32, 2*side*side)
	for i := 0; i < len(maps); i += 2 {
		maps[i] = min(1, 1.2*r.Float32())
		maps[i+1] = maps[i] * max(0, 1.4*r.Float32()-.4)
	}
	outer, inner := restore(maps, side, 2, 0, square, w, h, image.Rectangle{}), restore(maps, side, 2, 1, square, w, h, image.Rectangle{})
	for i := range outer {
		require.LessOrEqual(t, inner[i], outer[i])
		require.GreaterOrEqual(t, inner[i], float32(0))
		require.LessOrEqual(t, outer[i], float32(1))
	}
	for _, p := range []float32{0, .5, 1} {
		for i := range maps {
			maps[i] = p
		}
		flat := restore(maps, side, 2, 0, square, w, h, image.Rectangle{})
		assert.InDelta(t, p, flat[20*w+30], 1e-6*float64(p))
		assert.Zero(t, flat[20*w+1], "outside")
	}
}

// Maps that are kept have the levels and the masks of the others, wherever a structure lies.
func TestKept(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n, region := range []imageio.Square{{X: 90, Y: 40, Side: 150}, {X: -30, Y: -20, Side: 200}, {X: 20, Y: 30, Side: 64}, {X: 100, Y: 100, Side: 40}, {X: 170, Y: 120, Side: 90}} {
		const side = 64
		maps, x0, y0 := make([]float32, 2*side*side), rng.Float64()*side, rng.Float64()*side
		for i := range maps {
			far := math.Hypot(float64(i/2%side)-x0, float64(i/2/side)-y0)
			maps[i] = float32(1 / (1 + math.Exp(far/float64(1+n)-6+4*float64(i%2))))
		}
		plain := Maps{Width: 240, Height: 180, ROI: region, Classes: []string{"disc", "cup"}, side: side, masks: [][]float32{maps}}
		keeps := plain
		keeps.kept = kept{}
		part, _, _ := plain.Within()
		same, _, _ := keeps.Within()
		for class := range 2 {
			want, err := imageio.Levels(part.Width, part.Height, part.Probability(class))
			require.NoError(t, err)
			got, err := imageio.Levels(part.Width, part.Height, same.Probability(class))
			require.NoError(t, err)
			require.Equal(t, want, got, "region %v, class %d", region, class)
			require.Equal(t, plain.Probability(class), keeps.Probability(class), "of the whole image nothing is kept")
		}
		require.Len(t, keeps.kept, 2)
	}
}
