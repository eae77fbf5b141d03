package half

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every binary16 has the value of its definition, (−1)ˢ·2ᵉ⁻¹⁵·1.m or
// (−1)ˢ·2⁻²⁴·m.
func TestToFloat32(t *testing.T) {
	for h := range uint32(1 << 16) {
		sign, exponent, mantissa := 1-2*float64(h>>15), int(h>>10&31), float64(h&1023)
		want := sign * math.Ldexp(1+mantissa/1024, exponent-15)
		switch exponent {
		case 0:
			want = sign * math.Ldexp(mantissa, -24)
		case 31:
			require.False(t, ToFloat32(uint16(h))-ToFloat32(uint16(h)) == 0, "%#04x is not finite", h)
			continue
		}
		require.Equal(t, want, float64(ToFloat32(uint16(h))), "%#04x", h)
	}
	assert.True(t, math.Signbit(float64(ToFloat32(0x8000))))
}

// Every value stays. A number between two values goes to the nearer one, or from halfway to the one
// whose last bit is 0.
func TestNearest(t *testing.T) {
	for h := uint16(0); h < 0x7bff; h++ { // up to Most, and its neighbour below it
		low, high := ToFloat32(h), ToFloat32(h+1)
		middle := (low + high) / 2 // exact: float32 has 13 bits more
		even := h + h&1
		for _, sign := range []uint16{0, 0x8000} {
			s := float32(1 - 2*int(sign>>15))
			require.Equal(t, h|sign, FromFloat32(s*low), "%g", low)
			require.Equal(t, even|sign, FromFloat32(s*middle), "half way from %g to %g", low, high)
			require.Equal(t, h|sign, FromFloat32(s*math.Nextafter32(middle, 0)))
			require.Equal(t, (h+1)|sign, FromFloat32(s*math.Nextafter32(middle, high)))
		}
	}
}

func TestBeyond(t *testing.T) {
	const infinite = 0x7c00
	assert.Equal(t, uint16(0x7bff), FromFloat32(Most))
	assert.Equal(t, uint16(0x7bff), FromFloat32(math.Nextafter32(65520, 0)))
	for _, v := range []float32{65520, 65536, 1e9, math.MaxFloat32, float32(math.Inf(1))} {
		assert.Equal(t, uint16(infinite), FromFloat32(v), "%g", v)
		assert.Equal(t, uint16(infinite|0x8000), FromFloat32(-v), "%g", -v)
	}
	assert.Equal(t, float32(math.Inf(-1)), ToFloat32(0xfc00))
	for _, bits := range []uint32{0x7fc00000, 0x7f800001, 0xffffffff} {
		v := math.Float32frombits(bits)
		assert.True(t, math.IsNaN(float64(ToFloat32(FromFloat32(v)))), "%#x", bits)
	}
	for _, v := range []float32{0, math.SmallestNonzeroFloat32, 1.0 / (1 << 25)} {
		assert.Equal(t, uint16(0), FromFloat32(v))
		assert.Equal(t, uint16(0x8000), FromFloat32(float32(math.Copysign(float64(v), -1))))
	}
}
