// Package half converts between float32 and IEEE 754 binary16, in whose 16 bits weights files and GPUs may hold numbers: 11 significant bits,
// from 2^-14 (2^-24 with fewer bits) to 65504.
package half

import "math"

// Most is the largest finite value.
const Most = 65504

// FromFloat32 gives the bits of the nearest value, of two equally near the even one. What is beyond Most by half a step or more becomes
// infinite; NaN stays NaN.
func FromFloat32(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	b &= 1<<31 - 1
	switch {
	case b > 0x7f800000: // NaN: quiet, with what fits of the payload
		return sign | 0x7e00 | uint16(b>>13&0x3ff)
	case b >= 0x47800000: // 2^16
		return sign | 0x7c00
	case b < 0x38800000: // 2^-14: beside 1/2 float32 has steps of 2^-24, so the addition rounds
		return sign | uint16(math.Float32bits(math.Float32frombits(b)+0.5)-math.Float32bits(0.5))
	}
	b += 0xfff + b>>13&1 // a carry moves on to the exponent, of 65520 to infinity
	return sign | uint16((b-112<<23)>>13)
}

// ToFloat32 widens the value of these bits; exact.
func ToFloat32(bits uint16) float32 {
	sign := uint32(bits>>15) << 31
	exponent, mantissa := uint32(bits>>10)&31, uint32(bits)&1023
	switch exponent {
	case 0: // zero and subnormals: mantissa · 2⁻²⁴
		v := float32(mantissa) * (1.0 / (1 << 24))
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31: // infinity and NaN
		return math.Float32frombits(sign | 0x7f800000 | mantissa<<13)
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | mantissa<<13)
}
