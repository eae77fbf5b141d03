package gpu

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"mrprism/internal/half"
)

// InMemory are the bytes of values as they lie in memory: little-endian, as on every machine that
// WebGPU is defined for.
func InMemory[T float32 | int32 | uint32](values []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), 4*len(values))
}

// Float32Bytes encodes values for Device.Write.
func Float32Bytes(values []float32) []byte { return bytes.Clone(InMemory(values)) }

// BytesFloat32 decodes what Device.Read returned.
func BytesFloat32(b []byte) []float32 {
	values := make([]float32, len(b)/4)
	copy(InMemory(values), b)
	return values
}

// Encode gives values as Device.Write takes them for a buffer of the type, F32 or F16; for the latter each is rounded to the nearest half.
func (t ElementType) Encode(values []float32) []byte {
	if t != F16 {
		return Float32Bytes(values)
	}
	b := make([]byte, 2*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint16(b[2*i:], half.FromFloat32(v))
	}
	return b
}

// Decode gives the values of what Device.Read returned from a buffer of the type, F32 or F16.
func (t ElementType) Decode(b []byte) []float32 {
	if t != F16 {
		return BytesFloat32(b)
	}
	values := make([]float32, len(b)/2)
	for i := range values {
		values[i] = half.ToFloat32(binary.LittleEndian.Uint16(b[2*i:]))
	}
	return values
}

// Uint32Bytes encodes values for Device.Write.
func Uint32Bytes(values []uint32) []byte { return bytes.Clone(InMemory(values)) }
