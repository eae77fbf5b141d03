// Package half converts between float32 and IEEE 754 binary16. Weights files and GPUs may hold
// numbers as binary16: 16 bits with 11 significant ones, from 2⁻¹⁴ to 65504. Smaller numbers, down
// to 2⁻²⁴, have fewer significant bits.
package half

import "math"

// Most is the largest finite value.
const Most = 65504

// FromFloat32 returns the bits of the nearest value. Halfway between two values it takes the even
// one. Magnitudes from 65520 on become infinite. A NaN stays a NaN.
func FromFloat32(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	b &= 1<<31 - 1
	switch {
	case b > 0x7f800000: // a NaN: made quiet, with the upper bits of its payload
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x47800000: // 2¹⁶
		return sign | 0x7c00
	case b < 0x38800000: // 2⁻¹⁴: near 1/2 float32 has steps of 2⁻²⁴, and the addition rounds to them
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1 // a carry goes to the exponent, from 65520 on to infinity
	return sign | uint16((b-112<<23)>>13)
}

// ToFloat32 returns the value of the bits, exactly.
func ToFloat32(bits uint16) float32 {
	sign := uint32(bits>>15) << 31
	exponent, mantissa := uint32(bits>>10)&31, uint32(bits)&1023
	switch exponent {
	case 0: // zero and subnormals: mantissa · 2⁻²⁴
		return math.Float32frombits(sign | math.Float32bits(float32(mantissa)*0x1p-24))
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 0x7f800000 | mantissa<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
}
