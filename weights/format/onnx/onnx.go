// Package onnx builds and writes ONNX models. Graph has a function for each operator that our
// network's export needs. Files are Protocol Buffers messages. Field numbers are those of
// onnx.proto (ONNX 1.12, IR version 8).
package onnx

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
