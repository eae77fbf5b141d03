package onnxtest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"mrprism/weights/format/onnx"
)

// message encodes fields: an integer as a varint, bytes and strings with their length.
func message(fields ...any) []byte {
	var b []byte
	for i := 0; i < len(fields); i += 2 {
		number := uint64(fields[i].(int))
		switch v := fields[i+1].(type) {
		case int:
			b = binary.AppendUvarint(binary.AppendUvarint(b, number<<3), uint64(v))
		case float32:
			b = binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, number<<3|uint64(protowire.Fixed32Type)), math.Float32bits(v))
		case string:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, number<<3|uint64(protowire.BytesType)), uint64(len(v))), v...)
		case []byte:
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, number<<3|uint64(protowire.BytesType)), uint64(len(v))), v...)
		}
	}
	return b
}

func TestParseModel(t *testing.T) {
	attribute := func(name string, fields ...any) []byte { return message(append([]any{1, name}, fields...)...) }
	node := message(1, "x", 1, "", 2, "y", 4, "Conv",
		5, attribute("alpha", 2, float32(0.5)), 5, attribute("axis", 3, -2), 5, attribute("mode", 4, "same"),
		5, attribute("pads", 8, 1, 8, 2), 5, attribute("strides", 8, []byte{3, 0x80, 1}), 5, attribute("scales", 7, float32(2)))
	graph := message(1, node, 5, message(1, 2, 2, 1, 8, "w", 4, float32(1), 4, float32(-2)), 11, message(1, "x"), 12, message(1, "y"))
	m, err := ParseModel(message(1, 8, 8, message(1, "ai.onnx.ml", 2, 3), 8, message(2, 13), 7, graph))
	require.NoError(t, err)
	require.Equal(t, &onnx.Model{
		Opset: 13, Inputs: []string{"x"}, Outputs: []string{"y"},
		Nodes: []onnx.Node{{
			Operator: "Conv", Inputs: []string{"x", ""}, Outputs: []string{"y"},
			Attributes: map[string]onnx.Attribute{
				"alpha": {Float: 0.5}, "axis": {Int: -2}, "mode": {String: "same"}, "pads": {Ints: []int{1, 2}},
				"strides": {Ints: []int{3, 128}}, "scales": {Floats: []float64{2}},
			},
		}},
		Tensors: []onnx.Tensor{{Name: "w", Type: onnx.Float, Dims: []int{2}, Values: []float64{1, -2}}},
	}, m)
}

func TestParseTensor(t *testing.T) {
	for name, c := range map[string]struct {
		fields []any
		want   []float64
	}{
		"raw float":       {[]any{1, 2, 2, 1, 9, "\x00\x00\x80\x3f\x00\x00\x00\xc0"}, []float64{1, -2}},
		"raw int64":       {[]any{1, 1, 2, 7, 9, "\xfe\xff\xff\xff\xff\xff\xff\xff"}, []float64{-2}},
		"raw int8":        {[]any{1, 2, 2, 3, 9, "\x80\x7f"}, []float64{-128, 127}},
		"raw uint8":       {[]any{1, 2, 2, 2, 9, "\x80\x7f"}, []float64{128, 127}},
		"raw half":        {[]any{1, 3, 2, 10, 9, "\x00\x3c\x01\x00\x00\xfc"}, []float64{1, 0x1p-24, math.Inf(-1)}},
		"int32_data":      {[]any{1, 2, 2, 6, 5, []byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}}, []float64{1, -1}},
		"half in int32":   {[]any{2, 10, 5, 0xc000}, []float64{-2}},
		"scalar":          {[]any{2, 1, 4, float32(3)}, []float64{3}},
		"double_data":     {[]any{2, 11, 10, "\x00\x00\x00\x00\x00\x00\xf0\x3f"}, []float64{1}},
		"no elements":     {[]any{1, 0, 2, 1}, nil},
		"packed together": {[]any{1, []byte{1, 2}, 2, 1, 4, "\x00\x00\x80\x3f\x00\x00\x00\xc0"}, []float64{1, -2}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseTensor(message(c.fields...))
			require.NoError(t, err)
			require.Equal(t, c.want, got.Values)
		})
	}
	for name, fields := range map[string][]any{
		"too few values":      {1, 3, 2, 1, 4, float32(1)},
		"half an element":     {1, 1, 2, 1, 9, "\x00\x00\x80"},
		"negative dimension":  {1, -1, 2, 1},
		"dimensions overflow": {1, 1 << 31, 1, 1 << 31, 2, 1},
		"strings":             {1, 1, 2, 8},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseTensor(message(fields...))
			require.Error(t, err)
		})
	}
}

// Bytes that are no message are refused, and never read beyond their end.
func FuzzParse(f *testing.F) {
	f.Add(message(1, 2, 2, 1, 9, "\x00\x00\x80\x3f\x00\x00\x00\xc0"))
	f.Add(message(7, message(1, message(4, "Relu", 5, message(1, "a", 8, 1)))))
	f.Add([]byte{0x3a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, data []byte) {
		if x, err := ParseTensor(data); err == nil {
			require.Len(t, x.Values, x.Elements())
		}
		_, _ = ParseModel(data)
	})
}

// A written model is read back: names, attributes of every kind, constants, shapes and metadata.
func TestWrite(t *testing.T) {
	g := onnx.NewGraph("net")
	x := g.Input("x", 1, 4, 8, 8)
	ones := func(n int) func() []float64 {
		return func() []float64 {
			out := make([]float64, n)
			for i := range out {
				out[i] = 1.5 - float64(i)
			}
			return out
		}
	}
	g.Scope = "block/"
	y := g.Conv(x, g.Constant("w", ones(6*2*9), 6, 2, 3, 3), g.Constant("b", ones(6), 6), 2, [4]int{1, 1, 1, 1}, 2)
	g.Scope = ""
	y = g.Add(y, g.Constant("b4", ones(6), 1, 6, 1, 1))
	y = g.Resize(g.ConvTranspose(y, g.Constant("up", ones(6*2*4), 6, 2, 2, 2), nil), 2)
	g.Output("y", y)
	z := g.LayerNormalization(g.Reshape(y, 2, 256), g.Constant("scale", ones(256), 256), g.Constant("bias", ones(256), 256), 1e-5)
	g.Output("z", g.AtLeast(z, -0.25))
	g.Model.Metadata["name"] = "a\nb"

	var file bytes.Buffer
	require.NoError(t, g.Model.Write(&file))
	m, err := ParseModel(file.Bytes())
	require.NoError(t, err)
	want := g.Model
	for _, n := range want.Nodes {
		for name, a := range n.Attributes { // the file has it as float32
			a.Float = float64(float32(a.Float))
			n.Attributes[name] = a
		}
	}
	require.Equal(t, &want, m)
	require.Equal(t, map[string][]int{"x": {1, 4, 8, 8}, "y": {1, 2, 16, 16}, "z": {2, 256}}, m.Shapes)
	require.Equal(t, "block/Conv.0", m.Nodes[0].Name)
	require.Equal(t, []string{"y"}, m.Nodes[3].Outputs, "the result goes by the output's name")
	require.Equal(t, "y", m.Nodes[4].Inputs[0], "and is read by it")

	g.Model.Nodes[0].Attributes["group"] = onnx.Attribute{Int: 2}
	require.ErrorContains(t, g.Model.Write(&file), "group")
}

// A wrong shape panics in the method that makes it.
func TestGraphRefuses(t *testing.T) {
	constant := func(g *onnx.Graph, name string, shape ...int) *onnx.Value {
		n := (&onnx.Tensor{Dims: shape}).Elements()
		return g.Constant(name, func() []float64 { return make([]float64, n) }, shape...)
	}
	for name, build := range map[string]func(g *onnx.Graph, x *onnx.Value){
		"Conv": func(g *onnx.Graph, x *onnx.Value) {
			g.Conv(x, constant(g, "w", 8, 3, 3, 3), nil, 1, [4]int{1, 1, 1, 1}, 1)
		},
		"Conv bias": func(g *onnx.Graph, x *onnx.Value) {
			g.Conv(x, constant(g, "w", 8, 4, 3, 3), constant(g, "b", 4), 1, [4]int{1, 1, 1, 1}, 1)
		},
		"ConvTranspose": func(g *onnx.Graph, x *onnx.Value) { g.ConvTranspose(x, constant(g, "w", 3, 8, 2, 2), nil) },
		"MaxPool":       func(g *onnx.Graph, x *onnx.Value) { g.MaxPool(x, 9, 1, 0) },
		"Add":           func(g *onnx.Graph, x *onnx.Value) { g.Add(x, constant(g, "t", 3, 1, 1)) },
		"MatMul":        func(g *onnx.Graph, x *onnx.Value) { g.MatMul(x, constant(g, "w", 7, 2)) },
		"Reshape":       func(g *onnx.Graph, x *onnx.Value) { g.Reshape(x, 4, 63) },
		"Transpose":     func(g *onnx.Graph, x *onnx.Value) { g.Transpose(x, 0, 1, 2) },
		"Concat":        func(g *onnx.Graph, x *onnx.Value) { g.Concat(1, x, g.Reshape(x, 1, 2, 8, 16)) },
		"Layer": func(g *onnx.Graph, x *onnx.Value) {
			g.LayerNormalization(x, constant(g, "s", 4), constant(g, "b", 4), 1)
		},
		"used twice":   func(g *onnx.Graph, x *onnx.Value) { g.Input("x", 1) },
		"no node's":    func(g *onnx.Graph, x *onnx.Value) { g.Output("y", x) },
		"asked for as": func(g *onnx.Graph, x *onnx.Value) { constant(g, "c", 2); constant(g, "c", 3) },
		"values":       func(g *onnx.Graph, x *onnx.Value) { g.Constant("c", func() []float64 { return nil }, 2) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				require.Contains(t, fmt.Sprint(recover()), strings.Fields(name)[0])
			}()
			g := onnx.NewGraph("net")
			build(g, g.Input("x", 1, 4, 8, 8))
			t.Fatal("accepted")
		})
	}
}
