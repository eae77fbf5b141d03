package onnx

import (
	"fmt"
	"slices"
)

// opset is the version of the standard operators that Graph uses: the first with
// LayerNormalization.
const opset = 17

// Value is a tensor of a graph that is being built.
type Value struct {
	Name  string
	Shape []int
}

// Dim is the extent of an axis. A negative axis counts from the end.
func (v *Value) Dim(axis int) int { return v.Shape[(axis+len(v.Shape))%len(v.Shape)] }

func (v *Value) String() string { return fmt.Sprintf("%s %v", v.Name, v.Shape) }

// Graph is a model of float32 tensors that is being built. It has one method for each operator. The
// method appends a node and returns its output. It panics with the operator's name and the shapes
// if these do not fit.
type Graph struct {
	Model Model
	Scope string // prefix of the names of nodes and their outputs

	constants map[string]*Value
	made      map[string]bool // names in use
}

// NewGraph starts an empty graph.
func NewGraph(name string) *Graph {
	return &Graph{
		Model:     Model{Name: name, Opset: opset, Shapes: map[string][]int{}, Metadata: map[string]string{}},
		constants: map[string]*Value{}, made: map[string]bool{},
	}
}

// Input declares an input of the graph.
func (g *Graph) Input(name string, shape ...int) *Value {
	g.claim(name)
	g.Model.Inputs = append(g.Model.Inputs, name)
	g.Model.Shapes[name] = slices.Clone(shape)
	return &Value{name, slices.Clone(shape)}
}

// Output makes a node's result an output of the graph. It renames v.
func (g *Graph) Output(name string, v *Value) {
	g.claim(name)
	producer := slices.IndexFunc(g.Model.Nodes, func(n Node) bool { return slices.Contains(n.Outputs, v.Name) })
	if producer < 0 || slices.Contains(g.Model.Outputs, v.Name) {
		panic(fmt.Sprintf("onnx: output %s: %v is no node's result, or already an output", name, v))
	}
	for _, n := range g.Model.Nodes[producer:] {
		for _, list := range [][]string{n.Inputs, n.Outputs} {
			for i := range list {
				if list[i] == v.Name {
					list[i] = name
				}
			}
		}
	}
	v.Name = name
	g.Model.Outputs = append(g.Model.Outputs, name)
	g.Model.Shapes[name] = slices.Clone(v.Shape)
}

// Constant is an initialiser. Graph calls values only once for each name.
func (g *Graph) Constant(name string, values func() []float64, shape ...int) *Value {
	return g.constant(name, Float, values, shape)
}

// scalar is a constant that is named after its value.
func (g *Graph) scalar(v float64) *Value {
	return g.Constant(fmt.Sprintf("scalar %.9g", v), func() []float64 { return []float64{v} })
}

// integers is a constant list that is named after its values.
func (g *Graph) integers(list ...int) *Value {
	values := make([]float64, len(list))
	for i, v := range list {
		values[i] = float64(v)
	}
	return g.constant(fmt.Sprintf("integers %v", list), Int64, func() []float64 { return values }, []int{len(list)})
}

func (g *Graph) constant(name string, kind Type, values func() []float64, shape []int) *Value {
	if c := g.constants[name]; c != nil {
		if !slices.Equal(c.Shape, shape) {
			panic(fmt.Sprintf("onnx: constant %v asked for as %v", c, shape))
		}
		return c
	}
	g.claim(name)
	t := Tensor{Name: name, Type: kind, Dims: slices.Clone(shape), Values: values()}
	if t.Elements() != len(t.Values) {
		panic(fmt.Sprintf("onnx: constant %s: %d values for %v", name, len(t.Values), shape))
	}
	g.Model.Tensors = append(g.Model.Tensors, t)
	c := &Value{name, t.Dims}
	g.constants[name] = c
	return c
}

// claim panics if a name is in use.
func (g *Graph) claim(name string) {
	if g.made[name] {
		panic(fmt.Sprintf("onnx: the name %q is used twice", name))
	}
	g.made[name] = true
}

// node appends a node with one result. An optional input may be nil.
func (g *Graph) node(operator string, shape []int, attributes map[string]Attribute, inputs ...*Value) *Value {
	return g.nodes(operator, [][]int{shape}, attributes, inputs...)[0]
}

func (g *Graph) nodes(operator string, shapes [][]int, attributes map[string]Attribute, inputs ...*Value) (results []*Value) {
	n := Node{Name: fmt.Sprintf("%s%s.%d", g.Scope, operator, len(g.Model.Nodes)), Operator: operator, Attributes: attributes}
	if attributes == nil {
		n.Attributes = map[string]Attribute{}
	}
	for _, in := range inputs {
		name := ""
		if in != nil {
			name = in.Name
		}
		n.Inputs = append(n.Inputs, name)
	}
	for i, shape := range shapes {
		name := n.Name
		if i > 0 {
			name = fmt.Sprintf("%s.%d", name, i)
		}
		g.claim(name)
		n.Outputs = append(n.Outputs, name)
		results = append(results, &Value{name, slices.Clone(shape)})
	}
	g.Model.Nodes = append(g.Model.Nodes, n)
	return results
}

// Attributes of each kind.
func number(v float64) Attribute { return Attribute{Kind: KindFloat, Float: v} }
func integer(v int) Attribute    { return Attribute{Kind: KindInt, Int: v} }
func list(v ...int) Attribute    { return Attribute{Kind: KindInts, Ints: v} }
func text(v string) Attribute    { return Attribute{Kind: KindString, String: v} }
