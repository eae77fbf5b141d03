// Package onnxtest reads ONNX models for tests: nodes with attributes, and numeric tensors.
package onnxtest

import (
	"errors"
	"fmt"
	"math"

	"mrprism/weights/format/onnx"
)

// Case is a node with the values of its inputs and outputs, for tests of operators. The value of a
// missing optional input or output is nil.
type Case struct {
	Name    string
	Node    onnx.Node
	Opset   int
	Inputs  []*onnx.Tensor
	Outputs []*onnx.Tensor
}

// ErrSyntax means that the bytes are no ONNX message.
var ErrSyntax = errors.New("not a valid ONNX message")

// ParseModel reads a ModelProto.
func ParseModel(data []byte) (*onnx.Model, error) {
	var r reader
	m, top := &onnx.Model{}, r.fields(data)
	for _, f := range top[8] {
		if opset := r.fields(f.bytes); opset.text(1) == "" || opset.text(1) == "ai.onnx" {
			m.Opset = opset.integer(2)
		}
	}
	for _, f := range top[14] {
		property := r.fields(f.bytes)
		if m.Metadata == nil {
			m.Metadata = map[string]string{}
		}
		m.Metadata[property.text(1)] = property.text(2)
	}
	graph := r.fields(top.bytes(7))
	m.Name = graph.text(2)
	for _, f := range graph[1] {
		m.Nodes = append(m.Nodes, r.node(f.bytes))
	}
	for _, f := range graph[5] {
		m.Tensors = append(m.Tensors, *r.tensor(f.bytes))
	}
	m.Inputs, m.Outputs = r.values(m, graph[11]), r.values(m, graph[12])
	if r.err != nil {
		return nil, fmt.Errorf("onnx: model: %w", r.err)
	}
	return m, nil
}

// values decodes a list of ValueInfoProto: it returns their names and keeps their shapes in m. A
// shape that is missing, or not in numbers, is left out.
func (r *reader) values(m *onnx.Model, repeated []field) (names []string) {
	for _, f := range repeated {
		value := r.fields(f.bytes)
		names = append(names, value.text(1))
		tensor := r.fields(r.fields(value.bytes(2)).bytes(1))
		var shape []int
		for _, d := range r.fields(tensor.bytes(2))[1] {
			dimension := r.fields(d.bytes)
			if len(dimension[1]) == 0 {
				shape = nil
				break
			}
			shape = append(shape, dimension.integer(1))
		}
		if shape != nil {
			if m.Shapes == nil {
				m.Shapes = map[string][]int{}
			}
			m.Shapes[value.text(1)] = shape
		}
	}
	return names
}

// node decodes a NodeProto.
func (r *reader) node(data []byte) onnx.Node {
	m := r.fields(data)
	n := onnx.Node{
		Name: m.text(3), Operator: m.text(4), Domain: m.text(7), Inputs: m.texts(1), Outputs: m.texts(2), Attributes: map[string]onnx.Attribute{},
	}
	for _, f := range m[5] {
		a := r.fields(f.bytes)
		n.Attributes[a.text(1)] = onnx.Attribute{
			Kind: onnx.AttributeKind(a.integer(20)), Float: float64(math.Float32frombits(uint32(a.integer(2)))), Int: a.integer(3), String: a.text(4),
			Floats: r.numbers(a[7], onnx.Float), Ints: r.integers(a[8]),
		}
	}
	return n
}
