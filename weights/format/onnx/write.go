package onnx

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"mrprism/weights/format/protobuf"
)

// irVersion is the version of ONNX 1.12, which introduced opset 17.
const irVersion = 8

// maxBytes is the largest Protocol Buffers message.
const maxBytes = math.MaxInt32

// Write writes the model as a ModelProto. Inputs and outputs are tensors of float32, with their
// shapes if Shapes has them. Operators are standard ones. The same model always gives the same
// bytes.
func (m *Model) Write(w io.Writer) error {
	var graph protobuf.Message
	for i := range m.Nodes {
		n, err := m.Nodes[i].encode()
		if err != nil {
			return err
		}
		graph.Bytes(1, *n)
	}
	graph.Text(2, m.Name)
	for i := range m.Tensors {
		t, err := m.Tensors[i].encode()
		if err != nil {
			return err
		}
		graph.Bytes(5, *t)
	}
	for _, name := range m.Inputs {
		graph.Bytes(11, *m.encodeValue(name))
	}
	for _, name := range m.Outputs {
		graph.Bytes(12, *m.encodeValue(name))
	}
	model := new(protobuf.Message).Integer(1, irVersion).Text(2, "mrprism").Bytes(7, graph)
	model.Bytes(8, *new(protobuf.Message).Text(1, "").Integer(2, m.Opset))
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		model.Bytes(14, *new(protobuf.Message).Text(1, key).Text(2, m.Metadata[key]))
	}
	if len(*model) > maxBytes {
		return fmt.Errorf("onnx: the model has %d MiB, and an ONNX file at most %d", len(*model)>>20, maxBytes>>20)
	}
	_, err := w.Write(*model)
	return err
}

// encodeValue returns a ValueInfoProto.
func (m *Model) encodeValue(name string) *protobuf.Message {
	var shape, kind, value protobuf.Message
	for _, d := range m.Shapes[name] {
		shape.Bytes(1, *new(protobuf.Message).Integer(1, d))
	}
	tensor := new(protobuf.Message).Integer(1, int(Float))
	if m.Shapes[name] != nil {
		tensor.Bytes(2, shape)
	}
	return value.Text(1, name).Bytes(2, *kind.Bytes(1, *tensor))
}

func (n *Node) encode() (*protobuf.Message, error) {
	e := &protobuf.Message{}
	for _, name := range n.Inputs {
		e.Text(1, name)
	}
	for _, name := range n.Outputs {
		e.Text(2, name)
	}
	e.Text(3, n.Name).Text(4, n.Operator)
	for _, name := range slices.Sorted(maps.Keys(n.Attributes)) {
		a := n.Attributes[name]
		m := new(protobuf.Message).Text(1, name)
		switch a.Kind {
		case KindFloat:
			m.Float(2, a.Float)
		case KindInt:
			m.Integer(3, a.Int)
		case KindString:
			m.Text(4, a.String)
		case KindFloats:
			for _, v := range a.Floats {
				m.Float(7, v)
			}
		case KindInts:
			for _, v := range a.Ints {
				m.Integer(8, v)
			}
		default:
			return nil, fmt.Errorf("onnx: node %s: attribute %s has the kind %d, which cannot be written", n.Name, name, a.Kind)
		}
		e.Bytes(5, *m.Integer(20, int(a.Kind)))
	}
	return e, nil
}

// encode returns a TensorProto with its values, float32 or int64, as raw data.
func (t *Tensor) encode() (*protobuf.Message, error) {
	if t.Elements() != len(t.Values) {
		return nil, fmt.Errorf("onnx: tensor %s: %d values for dimensions %v", t.Name, len(t.Values), t.Dims)
	}
	raw := make([]byte, 0, 8*len(t.Values))
	for _, v := range t.Values {
		switch t.Type {
		case Float:
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(float32(v)))
		case Int64:
			raw = binary.LittleEndian.AppendUint64(raw, uint64(int64(v)))
		default:
			return nil, fmt.Errorf("onnx: tensor %s: elements of type %d cannot be written", t.Name, t.Type)
		}
	}
	e := &protobuf.Message{}
	for _, d := range t.Dims {
		e.Integer(1, d)
	}
	return e.Integer(2, int(t.Type)).Text(8, t.Name).Bytes(9, raw), nil
}
