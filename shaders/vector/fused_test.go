package vector

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// fused rounds the exact x y + z once: of any numbers, and where sums lie half-way between two
// float32 or beside that, normal and subnormal.
func TestFused(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	any := func() float32 { return math.Float32frombits(r.Uint32()) }
	scaled := func(low, high int) float32 { // with few bits
		return float32(math.Ldexp(float64(r.IntN(1<<r.IntN(24)))-float64(r.IntN(4096)), low+r.IntN(high-low)))
	}
	halfWay := 0
	for i := range 1_000_000 {
		var x, y, z float32
		switch i % 5 {
		case 0:
			x, y, z = any(), any(), any()
		case 1:
			x, y, z = scaled(-12, 1), scaled(-12, 1), scaled(-12, 1)
		case 2: // the product is half a unit of z, about
			z = any()
			e := math.Float32bits(z)>>23&0xFF - 24
			x = math.Float32frombits(e<<23 | r.Uint32N(2)<<31)
			y = 1 + float32(r.IntN(3)-1)*0x1p-23
		case 3: // z moves the product from half-way
			x, y = float32(1<<12+1+2*r.IntN(2048)), float32(1<<12+1+2*r.IntN(2048))
			z = scaled(-149, -40)
		case 4: // subnormal results
			x, y, z = scaled(-85, -60), scaled(-85, -60), scaled(-155, -130)
		}
		p := float64(x) * float64(y)
		got := fused(x, y, z)
		if s := p + float64(z); math.IsInf(s, 0) || math.IsNaN(s) {
			require.True(t, got == float32(s) || got != got && s != s, "%x * %x + %x", x, y, z)
			continue
		}
		exact := new(big.Float).SetPrec(2000).SetFloat64(p)
		exact.Add(exact, new(big.Float).SetFloat64(float64(z)))
		want, _ := exact.Float32()
		if exact.Sign() == 0 {
			want = float32(p + float64(z)) // with its sign
		}
		require.Equal(t, math.Float32bits(want), math.Float32bits(got), "%x * %x + %x", x, y, z)
		if want != float32(p+float64(z)) {
			halfWay++
		}
	}
	require.Greater(t, halfWay, 1000, "sums that two roundings get wrong")
}
