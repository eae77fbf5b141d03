// Package protobuf puts messages of Protocol Buffers together. ONNX and TensorBoard have too few
// messages to need generated code.
package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is a message's bytes. Each method appends a field and returns the message itself.
type Message []byte

func (m *Message) tag(number int, kind protowire.Type) []byte {
	return protowire.AppendTag(*m, protowire.Number(number), kind)
}

// Integer appends an int32, int64, uint64, bool or enum.
func (m *Message) Integer(number, v int) *Message {
	*m = protowire.AppendVarint(m.tag(number, protowire.VarintType), uint64(v))
	return m
}

// Float appends a float.
func (m *Message) Float(number int, v float64) *Message {
	*m = protowire.AppendFixed32(m.tag(number, protowire.Fixed32Type), math.Float32bits(float32(v)))
	return m
}

// Double appends a double.
func (m *Message) Double(number int, v float64) *Message {
	*m = protowire.AppendFixed64(m.tag(number, protowire.Fixed64Type), math.Float64bits(v))
	return m
}

// Bytes appends bytes or a message.
func (m *Message) Bytes(number int, b []byte) *Message {
	*m = protowire.AppendBytes(m.tag(number, protowire.BytesType), b)
	return m
}

// Text appends a string.
func (m *Message) Text(number int, s string) *Message { return m.Bytes(number, []byte(s)) }
