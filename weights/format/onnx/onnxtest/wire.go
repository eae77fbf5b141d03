package onnxtest

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"mrprism/weights/format/onnx"
)

// fields are a Protocol Buffers message's fields by number, each list in the order of the file.
type fields map[int][]field

// field has an integer for the wire types varint and fixed, and bytes for the type with a length.
type field struct {
	wire    protowire.Type
	integer uint64
	bytes   []byte
}

// bytes returns the last field of a number; nil if there is none.
func (m fields) bytes(number int) []byte {
	if list := m[number]; len(list) > 0 {
		return list[len(list)-1].bytes
	}
	return nil
}

func (m fields) text(number int) string { return string(m.bytes(number)) }

func (m fields) texts(number int) (list []string) {
	for _, f := range m[number] {
		list = append(list, string(f.bytes))
	}
	return list
}

// integer returns the last field of a number; 0 if there is none.
func (m fields) integer(number int) int {
	if list := m[number]; len(list) > 0 {
		return int(int64(list[len(list)-1].integer))
	}
	return 0
}

// reader decodes messages. After the first error it keeps that error and returns empty messages.
type reader struct{ err error }

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrSyntax, fmt.Sprintf(format, args...))
	}
}

func (r *reader) fields(data []byte) fields {
	m := fields{}
	for len(data) > 0 && r.err == nil {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			r.fail("bad tag: %v", protowire.ParseError(n))
			return fields{}
		}
		data = data[n:]
		f := field{wire: kind}
		switch kind {
		case protowire.VarintType:
			f.integer, n = protowire.ConsumeVarint(data)
		case protowire.Fixed64Type:
			f.integer, n = protowire.ConsumeFixed64(data)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(data)
			f.integer = uint64(v)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(data)
		default:
			n = -1
		}
		if n < 0 {
			r.fail("field %d of wire type %d is cut short or unknown", number, kind)
			return fields{}
		}
		m[int(number)], data = append(m[int(number)], f), data[n:]
	}
	return m
}

// integers decodes a repeated integer: one in each field, or many packed into one field.
func (r *reader) integers(repeated []field) (list []int) {
	for _, f := range repeated {
		if f.wire != protowire.BytesType {
			list = append(list, int(int64(f.integer)))
		}
		for b := f.bytes; len(b) > 0; {
			v, n := protowire.ConsumeVarint(b)
			if n < 0 {
				r.fail("bad integer")
				return nil
			}
			list, b = append(list, int(int64(v))), b[n:]
		}
	}
	return list
}

// numbers decodes a repeated number of a fixed size: one in each field, or many packed into one.
func (r *reader) numbers(repeated []field, kind onnx.Type) (list []float64) {
	size := elements[kind].bytes
	for _, f := range repeated {
		b := f.bytes
		if f.wire != protowire.BytesType {
			b = binary.LittleEndian.AppendUint64(nil, f.integer)[:size]
		}
		if len(b)%size != 0 {
			r.fail("%d bytes are no list of numbers of %d bytes", len(b), size)
		}
		for ; len(b) >= size; b = b[size:] {
			list = append(list, elements[kind].value(b))
		}
	}
	return list
}
