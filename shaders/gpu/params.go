package gpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// ParamsStride is the distance between the uniform parameters of two commands, bytes. It is the
// largest offset alignment in WebGPU.
const ParamsStride = 256

// EncodeParams returns the bytes of a uniform Params struct: fields of uint32, int32 and float32 in
// order, padded to 16 bytes.
func EncodeParams(params any) ([]byte, error) {
	if params == nil {
		return make([]byte, 16), nil
	}
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, params); err != nil {
		return nil, fmt.Errorf("gpu: parameters %T: %w", params, err)
	}
	for b.Len()%16 != 0 {
		b.WriteByte(0)
	}
	if b.Len() > ParamsStride {
		return nil, fmt.Errorf("gpu: parameters %T take %d bytes, at most %d fit", params, b.Len(), ParamsStride)
	}
	return b.Bytes(), nil
}
