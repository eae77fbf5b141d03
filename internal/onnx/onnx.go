// Package onnx reads as much of ONNX files as their operator test cases use, a model's nodes with attributes and numeric tensors, and
// builds and writes models of its own: Graph has a function for each operator that our network's export needs. Files are Protocol Buffers
// messages; field numbers are those of onnx.proto (ONNX 1.12, IR version 8).
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

// Attribute is a constant of a node; the field that its kind fills is set.
type Attribute struct {
	Kind   AttributeKind // 0 where the file does not say
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
	Shapes   map[string][]int // of inputs and outputs, as far as the file gives them in numbers
	Tensors  []Tensor         // initialisers
	Metadata map[string]string
}

// ErrSyntax is wrapped by every error.
var ErrSyntax = errors.New("not a valid ONNX message")

// ParseModel reads a ModelProto.
func ParseModel(data []byte) (*Model, error) {
	m := &Model{}
	err := each(data, func(f field) error {
		switch f.number {
		case 7:
			return m.graph(f.bytes)
		case 8:
			domain, version := "", 0
			err := each(f.bytes, func(f field) error {
				switch f.number {
				case 1:
					domain = string(f.bytes)
				case 2:
					version = int(f.integer)
				}
				return nil
			})
			if domain == "" || domain == "ai.onnx" {
				m.Opset = version
			}
			return err
		case 14:
			return m.property(f.bytes)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("onnx: model: %w", err)
	}
	return m, nil
}

// property reads a StringStringEntryProto.
func (m *Model) property(data []byte) error {
	var key, value string
	err := each(data, func(f field) error {
		switch f.number {
		case 1:
			key = string(f.bytes)
		case 2:
			value = string(f.bytes)
		}
		return nil
	})
	if m.Metadata == nil {
		m.Metadata = map[string]string{}
	}
	m.Metadata[key] = value
	return err
}

func (m *Model) graph(data []byte) error {
	return each(data, func(f field) error {
		switch f.number {
		case 1:
			n, err := node(f.bytes)
			m.Nodes = append(m.Nodes, n)
			return err
		case 2:
			m.Name = string(f.bytes)
		case 5:
			t, err := ParseTensor(f.bytes)
			if err == nil {
				m.Tensors = append(m.Tensors, *t)
			}
			return err
		case 11, 12: // ValueInfoProto
			name, shape, err := valueInfo(f.bytes)
			if f.number == 11 {
				m.Inputs = append(m.Inputs, name)
			} else {
				m.Outputs = append(m.Outputs, name)
			}
			if shape != nil {
				if m.Shapes == nil {
					m.Shapes = map[string][]int{}
				}
				m.Shapes[name] = shape
			}
			return err
		}
		return nil
	})
}

// valueInfo reads a ValueInfoProto. The shape is nil where it is not given, or not in numbers.
func valueInfo(data []byte) (name string, shape []int, err error) {
	numbers := true
	dimension := func(f field) error {
		if f.number != 1 {
			return nil
		}
		known := false
		err := each(f.bytes, func(f field) error {
			if f.number == 1 {
				known, shape = true, append(shape, int(int64(f.integer)))
			}
			return nil
		})
		numbers = numbers && known
		return err
	}
	// in is what looks at the messages in field `number`.
	in := func(number int, inner func(field) error) func(field) error {
		return func(f field) error {
			if f.number != number {
				return nil
			}
			return each(f.bytes, inner)
		}
	}
	tensorType := in(2, in(1, in(2, dimension))) // type, tensor_type, shape, dim
	err = each(data, func(f field) error {
		if f.number == 1 {
			name = string(f.bytes)
		}
		return tensorType(f)
	})
	if !numbers {
		shape = nil
	}
	return name, shape, err
}

func node(data []byte) (Node, error) {
	n := Node{Attributes: map[string]Attribute{}}
	err := each(data, func(f field) error {
		switch f.number {
		case 1:
			n.Inputs = append(n.Inputs, string(f.bytes))
		case 2:
			n.Outputs = append(n.Outputs, string(f.bytes))
		case 3:
			n.Name = string(f.bytes)
		case 4:
			n.Operator = string(f.bytes)
		case 5:
			return n.attribute(f.bytes)
		case 7:
			n.Domain = string(f.bytes)
		}
		return nil
	})
	return n, err
}

func (n *Node) attribute(data []byte) error {
	var a Attribute
	name := ""
	err := each(data, func(f field) (err error) {
		switch f.number {
		case 1:
			name = string(f.bytes)
		case 2:
			a.Float = float64(math.Float32frombits(uint32(f.integer)))
		case 3:
			a.Int = int(int64(f.integer))
		case 4:
			a.String = string(f.bytes)
		case 7:
			a.Floats, err = f.floats(a.Floats)
		case 8:
			a.Ints, err = f.integers(a.Ints)
		case 20:
			a.Kind = AttributeKind(f.integer)
		}
		return err
	})
	n.Attributes[name] = a
	return err
}
