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
// value is empty.
type Message struct {
	pieces [][]byte
	size   int
}

// Size is the message's length in bytes.
func (m *Message) Size() int { return m.size }

// WriteTo writes the message without a length before it.
func (m *Message) WriteTo(w io.Writer) (written int64, err error) {
	for _, piece := range m.pieces {
		n, err := w.Write(piece)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

func (m *Message) append(b []byte) {
	m.pieces = append(m.pieces, b)
	m.size += len(b)
}

func tag(number, wire int) []byte { return binary.AppendUvarint(nil, uint64(number)<<3|uint64(wire)) }

// Integer appends an int32, int64, uint64, bool or enum.
func (m *Message) Integer(number, v int) {
	m.append(binary.AppendUvarint(tag(number, Varint), uint64(v)))
}

// Float appends a float.
func (m *Message) Float(number int, v float64) {
	m.append(binary.LittleEndian.AppendUint32(tag(number, Fixed32), math.Float32bits(float32(v))))
}

// Double appends a double.
func (m *Message) Double(number int, v float64) {
	m.append(binary.LittleEndian.AppendUint64(tag(number, Fixed64), math.Float64bits(v)))
}

// Bytes appends bytes without copying them.
func (m *Message) Bytes(number int, b []byte) {
	m.append(binary.AppendUvarint(tag(number, Counted), uint64(len(b))))
	m.append(b)
}

// Text appends a string.
func (m *Message) Text(number int, s string) { m.Bytes(number, []byte(s)) }

// Message appends a message. The inner message must not grow afterwards.
func (m *Message) Message(number int, inner *Message) {
	m.append(binary.AppendUvarint(tag(number, Counted), uint64(inner.size)))
	m.pieces = append(m.pieces, inner.pieces...)
	m.size += inner.size
}
