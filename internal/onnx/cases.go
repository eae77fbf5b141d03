package onnx

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// Case is one node with the values of its inputs and outputs. A missing optional one is nil.
type Case struct {
	Name    string
	Node    Node
	Opset   int
	Inputs  []*Tensor
	Outputs []*Tensor
}

// ErrSeveralNodes is returned for a model that is not a single node.
var ErrSeveralNodes = errors.New("onnx: a graph of several nodes")

// ReadNode reads the model of a backend node case, which lies in a folder of that name with test_data_set_0 beside it. Tensors are
// read by ReadTensors, because some cases have kinds of values that are not tensors.
func ReadNode(folder string) (*Case, *Model, error) {
	data, err := os.ReadFile(filepath.Join(folder, "model.onnx"))
	if err != nil {
		return nil, nil, err
	}
	m, err := ParseModel(data)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Nodes) != 1 {
		return nil, nil, fmt.Errorf("%w: %d", ErrSeveralNodes, len(m.Nodes))
	}
	return &Case{Name: filepath.Base(folder), Node: m.Nodes[0], Opset: m.Opset}, m, nil
}

// ReadTensors fills in the values of a case read by ReadNode.
func (c *Case) ReadTensors(folder string, m *Model) error {
	values := map[string]*Tensor{}
	for i := range m.Tensors {
		values[m.Tensors[i].Name] = &m.Tensors[i]
	}
	for kind, names := range map[string][]string{"input": m.Inputs, "output": m.Outputs} {
		for i, name := range names {
			data, err := os.ReadFile(filepath.Join(folder, "test_data_set_0", fmt.Sprintf("%s_%d.pb", kind, i)))
			if err != nil {
				return err
			}
			if values[name], err = ParseTensor(data); err != nil {
				return err
			}
		}
	}
	for _, name := range c.Node.Inputs {
		c.Inputs = append(c.Inputs, values[name])
	}
	for _, name := range c.Node.Outputs {
		c.Outputs = append(c.Outputs, values[name])
	}
	return nil
}

// jsonTensor and jsonTest are what a file of onnxjs holds.
type jsonTensor struct {
	Data json.RawMessage
	Dims []int
	Type string
}

type jsonTest struct {
	Name       string
	Operator   string
	Opsets     []struct{ Domain, Version string }
	Attributes []struct {
		Name, Type string
		Data       json.RawMessage
	}
	Cases []struct {
		Name            string
		Inputs, Outputs []jsonTensor
	}
}

// onnxjsOpset is what onnxjs takes for a test that does not name a version.
const onnxjsOpset = 7

// maxJSONElements is far more than any case writes out.
const maxJSONElements = 1 << 20

var jsonTypes = map[string]Type{
	"float32": Float, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float64": Double, "uint32": 12,
}

// ParseJSON reads a file of operator cases in the format of onnxjs: JSON with comments. Cases are named "test/case".
func ParseJSON(text []byte) ([]Case, error) {
	var tests []jsonTest
	if err := json.Unmarshal(withoutComments(text), &tests); err != nil {
		return nil, fmt.Errorf("onnx: %w: %w", ErrSyntax, err)
	}
	var cases []Case
	for _, test := range tests {
		node := Node{Operator: test.Operator, Attributes: map[string]Attribute{}}
		for _, a := range test.Attributes {
			value, err := jsonAttribute(a.Type, a.Data)
			if err != nil {
				return nil, fmt.Errorf("onnx: %s: attribute %s: %w", test.Name, a.Name, err)
			}
			node.Attributes[a.Name] = value
		}
		opset := onnxjsOpset
		for _, o := range test.Opsets {
			if _, err := fmt.Sscan(o.Version, &opset); err != nil {
				return nil, fmt.Errorf("onnx: %s: %w: version %q", test.Name, ErrSyntax, o.Version)
			}
		}
		for _, c := range test.Cases {
			made := Case{Name: test.Name + "/" + c.Name, Node: node, Opset: opset}
			for to, from := range map[*[]*Tensor][]jsonTensor{&made.Inputs: c.Inputs, &made.Outputs: c.Outputs} {
				for _, in := range from {
					t, err := in.tensor()
					if err != nil {
						return nil, fmt.Errorf("onnx: %s: %w", made.Name, err)
					}
					*to = append(*to, t)
				}
			}
			cases = append(cases, made)
		}
	}
	return cases, nil
}

func jsonAttribute(kind string, data json.RawMessage) (a Attribute, err error) {
	switch kind {
	case "float":
		err = json.Unmarshal(data, &a.Float)
	case "int":
		err = json.Unmarshal(data, &a.Int)
	case "string":
		err = json.Unmarshal(data, &a.String)
	case "floats":
		err = json.Unmarshal(data, &a.Floats)
	case "ints":
		err = json.Unmarshal(data, &a.Ints)
	default:
		err = fmt.Errorf("%w: type %q", ErrSyntax, kind)
	}
	return a, err
}

// tensor reads data that is a list or one element: a number, true or false, or null for what JSON cannot write. As onnxjs does, it
// fills up with zeros and drops what is too much.
func (j jsonTensor) tensor() (*Tensor, error) {
	var list []any
	if json.Unmarshal(j.Data, &list) != nil {
		list = make([]any, 1)
		if err := json.Unmarshal(j.Data, &list[0]); err != nil {
			return nil, err
		}
	}
	t := &Tensor{Type: jsonTypes[j.Type], Dims: j.Dims}
	for _, v := range list {
		switch v := v.(type) {
		case float64:
			t.Values = append(t.Values, v)
		case bool:
			t.Values = append(t.Values, map[bool]float64{true: 1}[v])
		default:
			t.Values = append(t.Values, math.NaN())
		}
	}
	n := t.Elements()
	if n < 0 || n > maxJSONElements {
		return nil, fmt.Errorf("%w: dimensions %v", ErrSyntax, t.Dims)
	}
	t.Values = append(t.Values, make([]float64, max(0, n-len(t.Values)))...)[:n]
	return t, nil
}

// withoutComments blanks // and /* */ outside strings.
func withoutComments(text []byte) []byte {
	out := append([]byte(nil), text...)
	const code, quoted, line, block = 0, 1, 2, 3
	state := code
	for i := 0; i < len(out); i++ {
		pair := string(out[i:min(i+2, len(out))])
		switch {
		case state == code && pair == "//", state == code && pair == "/*":
			state = map[string]int{"//": line, "/*": block}[pair]
			out[i], out[i+1] = ' ', ' '
			i++
		case state == code && out[i] == '"':
			state = quoted
		case state == quoted && out[i] == '\\':
			i++
		case state == quoted && out[i] == '"', state == line && out[i] == '\n':
			state = code
		case state == block && pair == "*/":
			out[i], out[i+1] = ' ', ' '
			state, i = code, i+1
		case state >= line && out[i] != '\n':
			out[i] = ' '
		}
	}
	return out
}
