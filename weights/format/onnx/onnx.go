// Package onnx builds, writes and reads ONNX models. Graph has a function for each operator that
// our network's export needs. ParseModel reads the part of a file that the tests use: nodes with
// attributes, and numeric tensors. Files are Protocol Buffers messages. Field numbers are those of
// onnx.proto (ONNX 1.12, IR version 8).
package onnx

import (
	"errors"
	"fmt"
	"math"
)

// Node is one operator of a model's graph. A missing optional input or output has an empty name.
type Node struct {
	Name       string // for people; may be empty
	Operator   string // op_type
	Domain     string // "" and "ai.onnx" are the standard operators
	Inputs     []string
	Outputs    []string
	Attributes map[string]Attribute
}

// Attribute is a constant of a node. Only the field of its kind is set.
type Attribute struct {
	Kind   AttributeKind // 0: the file does not say
	Float  float64
	Int    int
	String string
	Floats []float64
	Ints   []int
}

// AttributeKind is numbered as AttributeProto.AttributeType.
type AttributeKind int

// Kinds of attributes.
const (
	KindFloat  AttributeKind = 1
	KindInt    AttributeKind = 2
	KindString AttributeKind = 3
	KindFloats AttributeKind = 6
	KindInts   AttributeKind = 7
)

// Model is a graph of nodes.
type Model struct {
	Name     string // of the graph
	Opset    int    // version of the standard operators
	Nodes    []Node
	Inputs   []string // of the graph, in order
	Outputs  []string
	Shapes   map[string][]int // of those inputs and outputs whose shape the file gives in numbers
	Tensors  []Tensor         // initialisers
	Metadata map[string]string
}

// Case is a node with the values of its inputs and outputs, for tests of operators. The value of a
// missing optional input or output is nil.
type Case struct {
	Name    string
	Node    Node
	Opset   int
	Inputs  []*Tensor
	Outputs []*Tensor
}

// ErrSyntax means that the bytes are no ONNX message.
var ErrSyntax = errors.New("not a valid ONNX message")

// ParseModel reads a ModelProto.
func ParseModel(data []byte) (*Model, error) {
	var r reader
	m, top := &Model{}, r.fields(data)
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
func (r *reader) values(m *Model, repeated []field) (names []string) {
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
func (r *reader) node(data []byte) Node {
	m := r.fields(data)
	n := Node{
		Name: m.text(3), Operator: m.text(4), Domain: m.text(7), Inputs: m.texts(1), Outputs: m.texts(2), Attributes: map[string]Attribute{},
	}
	for _, f := range m[5] {
		a := r.fields(f.bytes)
		n.Attributes[a.text(1)] = Attribute{
			Kind: AttributeKind(a.integer(20)), Float: float64(math.Float32frombits(uint32(a.integer(2)))), Int: a.integer(3), String: a.text(4),
			Floats: r.numbers(a[7], Float), Ints: r.integers(a[8]),
		}
	}
	return n
}
