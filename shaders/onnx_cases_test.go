package shaders_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"mrprism/weights/format/onnx"
	"mrprism/weights/format/onnx/onnxtest"

	"github.com/stretchr/testify/require"
)

// errSeveralNodes means that a model is not a single node.
var errSeveralNodes = errors.New("onnx: a graph of several nodes")

// readONNXNode reads the model of one of ONNX's backend node cases from its folder. readTensors
// reads the values: some cases have values that are not tensors.
func readONNXNode(folder string) (*onnxtest.Case, *onnx.Model, error) {
	data, err := os.ReadFile(filepath.Join(folder, "model.onnx"))
	if err != nil {
		return nil, nil, err
	}
	m, err := onnxtest.ParseModel(data)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Nodes) != 1 {
		return nil, nil, fmt.Errorf("%w: %d", errSeveralNodes, len(m.Nodes))
	}
	return &onnxtest.Case{Name: filepath.Base(folder), Node: m.Nodes[0], Opset: m.Opset}, m, nil
}

// readTensors fills in the values of a case from readONNXNode.
func readTensors(c *onnxtest.Case, folder string, m *onnx.Model) error {
	values := map[string]*onnx.Tensor{}
	for i := range m.Tensors {
		values[m.Tensors[i].Name] = &m.Tensors[i]
	}
	for kind, names := range map[string][]string{"input": m.Inputs, "output": m.Outputs} {
		for i, name := range names {
			data, err := os.ReadFile(filepath.Join(folder, "test_data_set_0", fmt.Sprintf("%s_%d.pb", kind, i)))
			if err != nil {
				return err
			}
			if values[name], err = onnxtest.ParseTensor(data); err != nil {
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

// jsonTensor and jsonTest are the format of onnxjs's files.
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

// onnxjsOpset is the version that onnxjs uses for a test without one.
const onnxjsOpset = 7

// maxJSONElements is far above the size of any case.
const maxJSONElements = 1 << 20

var jsonTypes = map[string]onnx.Type{
	"float32": onnx.Float, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9, "float64": onnx.Double, "uint32": 12,
}

// parseONNXJS reads a file of operator cases in the format of onnxjs: JSON with comments. The name
// of a case is "test/case".
func parseONNXJS(text []byte) ([]onnxtest.Case, error) {
	var tests []jsonTest
	if err := json.Unmarshal(withoutComments(text), &tests); err != nil {
		return nil, fmt.Errorf("onnx: %w: %w", onnxtest.ErrSyntax, err)
	}
	var cases []onnxtest.Case
	for _, test := range tests {
		node := onnx.Node{Operator: test.Operator, Attributes: map[string]onnx.Attribute{}}
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
				return nil, fmt.Errorf("onnx: %s: %w: version %q", test.Name, onnxtest.ErrSyntax, o.Version)
			}
		}
		for _, c := range test.Cases {
			made := onnxtest.Case{Name: test.Name + "/" + c.Name, Node: node, Opset: opset}
			for to, from := range map[*[]*onnx.Tensor][]jsonTensor{&made.Inputs: c.Inputs, &made.Outputs: c.Outputs} {
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

func jsonAttribute(kind string, data json.RawMessage) (a onnx.Attribute, err error) {
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
		err = fmt.Errorf("%w: type %q", onnxtest.ErrSyntax, kind)
	}
	return a, err
}

// tensor reads a list or one element: a number, true, false, or null for NaN. Like onnxjs, it
// appends zeros to a short list and cuts off a long one.
func (j jsonTensor) tensor() (*onnx.Tensor, error) {
	var list []any
	if json.Unmarshal(j.Data, &list) != nil {
		list = make([]any, 1)
		if err := json.Unmarshal(j.Data, &list[0]); err != nil {
			return nil, err
		}
	}
	t := &onnx.Tensor{Type: jsonTypes[j.Type], Dims: j.Dims}
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
		return nil, fmt.Errorf("%w: dimensions %v", onnxtest.ErrSyntax, t.Dims)
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

func TestParseONNXJS(t *testing.T) {
	cases, err := parseONNXJS([]byte(`[ // one test
	  {"name": "a // b", "operator": "Conv", /* its
	  attributes */ "opsets": [{"domain": "", "version": "11"}],
	  "attributes": [{"name": "pads", "data": [1, 2], "type": "ints"}, {"name": "mode", "data": "\"/*", "type": "string"}],
	  "cases": [{"name": "c", "inputs": [{"data": [1, -2], "dims": [2], "type": "float32"}, {"data": 3, "dims": [], "type": "int32"},
	               {"data": [1, 2], "dims": [3], "type": "int64"}, {"data": [1, 2], "dims": [1], "type": "int64"}],
	             "outputs": [{"data": [true, null], "dims": [1, 2], "type": "bool"}]}]}]`))
	require.NoError(t, err)
	require.Len(t, cases, 1)
	c := cases[0]
	require.Equal(t, "a // b/c", c.Name)
	require.Equal(t, 11, c.Opset)
	require.Equal(t, onnx.Node{Operator: "Conv", Attributes: map[string]onnx.Attribute{"pads": {Ints: []int{1, 2}}, "mode": {String: `"/*`}}}, c.Node)
	require.Equal(t, []*onnx.Tensor{{Type: onnx.Float, Dims: []int{2}, Values: []float64{1, -2}}, {Type: 6, Dims: []int{}, Values: []float64{3}},
		{Type: 7, Dims: []int{3}, Values: []float64{1, 2, 0}}, {Type: 7, Dims: []int{1}, Values: []float64{1}}}, c.Inputs)
	require.Equal(t, 1.0, c.Outputs[0].Values[0])
	require.True(t, math.IsNaN(c.Outputs[0].Values[1]))
}
