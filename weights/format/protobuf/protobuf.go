// Package protobuf puts messages of Protocol Buffers together without copying large fields. ONNX
// and TensorBoard have too few messages to need generated code.
package protobuf

import (
	"io"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is a list of pieces: appending a message to another does not copy its fields. The zero
// value is empty. Each method that appends a field returns the message itself.
type Message struct {
	pieces [][]byte
	size   int
}

// Size is the message's length in bytes.
func (m *Message) Size() int { return m.size }

// Write writes the message without a length before it.
func (m *Message) Write(w io.Writer) error {
	for _, piece := range m.pieces {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

func (m *Message) append(pieces ...[]byte) *Message {
	m.pieces = append(m.pieces, pieces...)
	for _, piece := range pieces {
		m.size += len(piece)
	}
	return m
}

func tag(number int, kind protowire.Type) []byte {
	return protowire.AppendTag(nil, protowire.Number(number), kind)
}

// Integer appends an int32, int64, uint64, bool or enum.
func (m *Message) Integer(number, v int) *Message {
	return m.append(protowire.AppendVarint(tag(number, protowire.VarintType), uint64(v)))
}

// Float appends a float.
func (m *Message) Float(number int, v float64) *Message {
	return m.append(protowire.AppendFixed32(tag(number, protowire.Fixed32Type), math.Float32bits(float32(v))))
}

// Double appends a double.
func (m *Message) Double(number int, v float64) *Message {
	return m.append(protowire.AppendFixed64(tag(number, protowire.Fixed64Type), math.Float64bits(v)))
}

// Bytes appends bytes without copying them.
func (m *Message) Bytes(number int, b []byte) *Message {
	return m.lengthPrefix(number, len(b)).append(b)
}

// Text appends a string.
func (m *Message) Text(number int, s string) *Message { return m.Bytes(number, []byte(s)) }

// Message appends a message. The inner message must not grow afterwards.
func (m *Message) Message(number int, inner *Message) *Message {
	return m.lengthPrefix(number, inner.size).append(inner.pieces...)
}

// lengthPrefix appends the tag and the length of a field of n bytes. The caller appends the bytes.
func (m *Message) lengthPrefix(number, n int) *Message {
	return m.append(protowire.AppendVarint(tag(number, protowire.BytesType), uint64(n)))
}
