package onnx

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
)

// irVersion is that of ONNX 1.12, the first with opset 17.
const irVersion = 8

// encoded is a message as the pieces it is made of, so that large tensors are not copied from message to message.
type encoded struct {
	pieces [][]byte
	size   int
}

func (e *encoded) append(b []byte) {
	e.pieces = append(e.pieces, b)
	e.size += len(b)
}

func tag(number, wire int) []byte { return binary.AppendUvarint(nil, uint64(number)<<3|uint64(wire)) }

func (e *encoded) integer(number, v int) {
	e.append(binary.AppendUvarint(tag(number, varint), uint64(v)))
}

func (e *encoded) float(number int, v float64) {
	e.append(binary.LittleEndian.AppendUint32(tag(number, fixed32), math.Float32bits(float32(v))))
}

func (e *encoded) bytes(number int, b []byte) {
	e.append(binary.AppendUvarint(tag(number, counted), uint64(len(b))))
	e.append(b)
}

func (e *encoded) text(number int, s string) { e.bytes(number, []byte(s)) }

func (e *encoded) message(number int, m *encoded) {
	e.append(binary.AppendUvarint(tag(number, counted), uint64(m.size)))
	e.pieces = append(e.pieces, m.pieces...)
	e.size += m.size
}

// maxBytes is the most that a Protocol Buffers message may be.
const maxBytes = math.MaxInt32

// Write writes the model as a ModelProto. Inputs and outputs are tensors of float32 with the shapes in Shapes, where there; of other domains than
// the standard one, version 1 is asked for. The same model gives the same bytes.
func (m *Model) Write(w io.Writer) error {
	var graph encoded
	for i := range m.Nodes {
		n, err := m.Nodes[i].encode()
		if err != nil {
			return err
		}
		graph.message(1, n)
	}
	graph.text(2, m.Name)
	for i := range m.Tensors {
		t, err := m.Tensors[i].encode()
		if err != nil {
			return err
		}
		graph.message(5, t)
	}
	for _, name := range m.Inputs {
		graph.message(11, m.encodeValue(name))
	}
	for _, name := range m.Outputs {
		graph.message(12, m.encodeValue(name))
	}

	var model encoded
	model.integer(1, irVersion)
	model.text(2, "mrprism")
	model.message(7, &graph)
	domains := map[string]int{"": m.Opset}
	for _, n := range m.Nodes {
		if n.Domain != "" {
			domains[n.Domain] = 1
		}
	}
	for _, domain := range slices.Sorted(maps.Keys(domains)) {
		var opset encoded
		opset.text(1, domain)
		opset.integer(2, domains[domain])
		model.message(8, &opset)
	}
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		var entry encoded
		entry.text(1, key)
		entry.text(2, m.Metadata[key])
		model.message(14, &entry)
	}
	if model.size > maxBytes {
		return fmt.Errorf("onnx: the model has %d MiB, and an ONNX file at most %d", model.size>>20, maxBytes>>20)
	}
	for _, piece := range model.pieces {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	return nil
}

// encodeValue is a ValueInfoProto.
func (m *Model) encodeValue(name string) *encoded {
	var shape, tensor, kind, value encoded
	for _, d := range m.Shapes[name] {
		var dimension encoded
		dimension.integer(1, d)
		shape.message(1, &dimension)
	}
	tensor.integer(1, int(Float))
	if m.Shapes[name] != nil {
		tensor.message(2, &shape)
	}
	kind.message(1, &tensor)
	value.text(1, name)
	value.message(2, &kind)
	return &value
}

func (n *Node) encode() (*encoded, error) {
	e := &encoded{}
	for _, name := range n.Inputs {
		e.text(1, name)
	}
	for _, name := range n.Outputs {
		e.text(2, name)
	}
	e.text(3, n.Name)
	e.text(4, n.Operator)
	for _, name := range slices.Sorted(maps.Keys(n.Attributes)) {
		a := n.Attributes[name]
		var m encoded
		m.text(1, name)
		switch a.Kind {
		case KindFloat:
			m.float(2, a.Float)
		case KindInt:
			m.integer(3, a.Int)
		case KindString:
			m.text(4, a.String)
		case KindFloats:
			for _, v := range a.Floats {
				m.float(7, v)
			}
		case KindInts:
			for _, v := range a.Ints {
				m.integer(8, v)
			}
		default:
			return nil, fmt.Errorf("onnx: node %s: attribute %s has the kind %d, which is not written", n.Name, name, a.Kind)
		}
		m.integer(20, int(a.Kind))
		e.message(5, &m)
	}
	if n.Domain != "" {
		e.text(7, n.Domain)
	}
	return e, nil
}

// encode is a TensorProto with its values as raw data: float32 or int64.
func (t *Tensor) encode() (*encoded, error) {
	if t.Elements() != len(t.Values) {
		return nil, fmt.Errorf("onnx: tensor %s: %d values for dimensions %v", t.Name, len(t.Values), t.Dims)
	}
	var raw bytes.Buffer
	raw.Grow(len(t.Values) * elementBytes[t.Type])
	for _, v := range t.Values {
		switch t.Type {
		case Float:
			raw.Write(binary.LittleEndian.AppendUint32(raw.AvailableBuffer(), math.Float32bits(float32(v))))
		case Int64:
			raw.Write(binary.LittleEndian.AppendUint64(raw.AvailableBuffer(), uint64(int64(v))))
		default:
			return nil, fmt.Errorf("onnx: tensor %s: elements of type %d are not written", t.Name, t.Type)
		}
	}
	e := &encoded{}
	for _, d := range t.Dims {
		e.integer(1, d)
	}
	e.integer(2, int(t.Type))
	e.text(8, t.Name)
	e.bytes(9, raw.Bytes())
	return e, nil
}
