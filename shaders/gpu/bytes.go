package gpu

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"mrprism/shaders/half"
)

// InMemory returns the memory of values as bytes. They are little-endian, as on every machine with
// WebGPU.
func InMemory[T float32 | int32 | uint32 | int8](values []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), int(unsafe.Sizeof(one))*len(values))
}

// Float32Bytes encodes values for Device.Write.
func Float32Bytes(values []float32) []byte { return bytes.Clone(InMemory(values)) }

// BytesFloat32 decodes bytes from Device.Read.
func BytesFloat32(b []byte) []float32 {
	values := make([]float32, len(b)/4)
	copy(InMemory(values), b)
	return values
}

// Encode encodes values for Device.Write to a buffer of type F32 or F16. F16 rounds to the nearest
// half.
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

// Decode decodes bytes that Device.Read read from a buffer of type F32 or F16.
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
