package gpu

import (
	"encoding/binary"
	"math"
)

// Float32Bytes encodes values for Device.Write.
func Float32Bytes(values []float32) []byte {
	b := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return b
}

// BytesFloat32 decodes what Device.Read returned.
func BytesFloat32(b []byte) []float32 {
	values := make([]float32, len(b)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return values
}

// Uint32Bytes encodes values for Device.Write.
func Uint32Bytes(values []uint32) []byte {
	b := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(b[4*i:], v)
	}
	return b
}
