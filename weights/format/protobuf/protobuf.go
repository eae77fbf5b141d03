// Package protobuf writes messages of Protocol Buffers field by field. ONNX and TensorBoard have
// too few messages to need generated code. The format is at
// protobuf.dev/programming-guides/encoding.
package protobuf

import (
	"encoding/binary"
	"io"
	"math"
)

// Wire types, the low three bits of a field's tag.
const (
	Varint  = 0
	Fixed64 = 1
	Counted = 2 // bytes, text and messages, after their length
	Fixed32 = 5
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

func tag(number, wire int) []byte { return binary.AppendUvarint(nil, uint64(number)<<3|uint64(wire)) }

// Integer appends an int32, int64, uint64, bool or enum.
func (m *Message) Integer(number, v int) *Message {
	return m.append(binary.AppendUvarint(tag(number, Varint), uint64(v)))
}

// Float appends a float.
func (m *Message) Float(number int, v float64) *Message {
	return m.append(binary.LittleEndian.AppendUint32(tag(number, Fixed32), math.Float32bits(float32(v))))
}

// Double appends a double.
func (m *Message) Double(number int, v float64) *Message {
	return m.append(binary.LittleEndian.AppendUint64(tag(number, Fixed64), math.Float64bits(v)))
}

// Bytes appends bytes without copying them.
func (m *Message) Bytes(number int, b []byte) *Message {
	return m.append(binary.AppendUvarint(tag(number, Counted), uint64(len(b))), b)
}

// Text appends a string.
func (m *Message) Text(number int, s string) *Message { return m.Bytes(number, []byte(s)) }

// Message appends a message. The inner message must not grow afterwards.
func (m *Message) Message(number int, inner *Message) *Message {
	return m.append(binary.AppendUvarint(tag(number, Counted), uint64(inner.size))).append(inner.pieces...)
}
