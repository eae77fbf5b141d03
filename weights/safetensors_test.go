package weights

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// safetensorsBytes makes a file of any header and body.
func safetensorsBytes(header string, body int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, body)...)
}

// TestVectors compares Decode with the reference implementation, rule by rule.
func TestVectors(t *testing.T) {
	root := os.Getenv("MRPRISM_VECTORS")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "vectors")
	}
	text, err := os.ReadFile(filepath.Join(root, "safetensors", "expect.json"))
	if err != nil {
		t.Skipf("third-party vectors are missing: %v", err)
	}
	var verdicts struct{ Expect map[string]string }
	require.NoError(t, json.Unmarshal(text, &verdicts))
	require.NotEmpty(t, verdicts.Expect)
	for name, want := range verdicts.Expect {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(root, "safetensors", name+".safetensors"))
			require.NoError(t, err)
			f, err := Decode(data)
			if count, ok := strings.CutPrefix(want, "OK: "); ok {
				require.NoError(t, err)
				var n int
				_, err := fmt.Sscan(count, &n)
				require.NoError(t, err)
				assert.Len(t, f.Tensors, n)
				if name == "ok_i32_2x2" {
					assert.Equal(t, []Tensor{{Name: "test", DType: "I32", Shape: []int{2, 2}, Data: make([]byte, 16)}}, f.Tensors)
				}
				return
			}
			assert.Nil(t, f)
			var bad *FormatError
			require.ErrorAs(t, err, &bad)
			rule, _, _ := strings.Cut(want, " ")
			assert.Equal(t, rule, bad.Rule, bad.Detail)
		})
	}
}

func TestDecodeRules(t *testing.T) {
	const two = `"shape":[2],"data_offsets":[0,8]`
	tests := []struct {
		name   string
		header string
		body   int
		rule   string // empty: accepted
	}{
		{"no tensors, no metadata", `{}`, 0, ""},
		{"metadata", `{"__metadata__":{"a":"b"},"w":{"dtype":"F32",` + two + `}}`, 8, ""},
		{"scalar", `{"w":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4, ""},
		{"tensor of no elements", `{"w":{"dtype":"F32","shape":[0,7],"data_offsets":[0,0]}}`, 0, ""},
		{"two empty tensors and one that is not", `{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"F32",` + two + `},"c":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, 8, ""},
		{"header order is not byte order", `{"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},"a":{"dtype":"I16","shape":[1],"data_offsets":[0,2]}}`, 3, ""},
		{"half a byte", `{"w":{"dtype":"F4","shape":[3],"data_offsets":[0,2]}}`, 2, "MisalignedSlice"},
		{"whole bytes of half bytes", `{"w":{"dtype":"F4","shape":[4],"data_offsets":[0,2]}}`, 2, ""},
		{"leading space", ` {}`, 0, "InvalidHeaderStart"},
		{"array", `[]`, 0, "InvalidHeaderStart"},
		{"empty header", ``, 0, "InvalidHeaderStart"},
		{"unfinished", `{`, 0, "InvalidHeaderDeserialization"},
		{"text after", `{}x`, 0, "InvalidHeaderDeserialization"},
		{"trailing comma", `{"__metadata__":{},}`, 0, "InvalidHeaderDeserialization"},
		{"unknown dtype", `{"w":{"dtype":"F31",` + two + `}}`, 8, "InvalidHeaderDeserialization"},
		{"lower-case dtype", `{"w":{"dtype":"f32",` + two + `}}`, 8, "InvalidHeaderDeserialization"},
		{"no dtype", `{"w":{` + two + `}}`, 8, "InvalidHeaderDeserialization"},
		{"same tensor twice", `{"w":{"dtype":"F32",` + two + `},"w":{"dtype":"F32",` + two + `}}`, 8, "InvalidHeaderDeserialization"},
		{"same tensor twice, once escaped", `{"w":{"dtype":"F32",` + two + `},"\u0077":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}}`, 8, "InvalidHeaderDeserialization"},
		{"same member twice", `{"w":{"dtype":"F32","dtype":"F32",` + two + `}}`, 8, "InvalidHeaderDeserialization"},
		{"same metadata twice", `{"__metadata__":{"a":"b","a":"b"}}`, 0, "InvalidHeaderDeserialization"},
		{"metadata of another kind", `{"__metadata__":{"a":1}}`, 0, "InvalidHeaderDeserialization"},
		{"negative size", `{"w":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}}`, 8, "InvalidHeaderDeserialization"},
		{"fractional size", `{"w":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}}`, 8, "InvalidHeaderDeserialization"},
		{"size in exponents", `{"w":{"dtype":"F32","shape":[2e0],"data_offsets":[0,8]}}`, 8, "InvalidHeaderDeserialization"},
		{"size beyond 64 bits", `{"w":{"dtype":"F32","shape":[18446744073709551616],"data_offsets":[0,8]}}`, 8, "InvalidHeaderDeserialization"},
		{"three offsets", `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}}`, 8, "InvalidHeaderDeserialization"},
		{"tensor is a list", `{"w":[]}`, 0, "InvalidHeaderDeserialization"},
		{"gap at the start", `{"w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12, "InvalidOffset"},
		{"gap", `{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}}`, 3, "InvalidOffset"},
		{"overlap by one", `{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3, "InvalidOffset"},
		{"ends before it begins", `{"w":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"U8","shape":[1],"data_offsets":[1,0]}}`, 1, "InvalidOffset"},
		{"bits overflow", `{"w":{"dtype":"F32","shape":[1152921504606846976],"data_offsets":[0,0]}}`, 0, "ValidationOverflow"},
		{"beyond the file", `{"w":{"dtype":"F32",` + two + `}}`, 7, "MetadataIncompleteBuffer"},
		{"bytes left over", `{"w":{"dtype":"F32",` + two + `}}`, 9, "MetadataIncompleteBuffer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Decode(safetensorsBytes(test.header, test.body))
			if test.rule == "" {
				require.NoError(t, err)
				return
			}
			var bad *FormatError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, test.rule, bad.Rule, bad.Detail)
		})
	}
}

func TestDecodeLimits(t *testing.T) {
	var header strings.Builder
	header.WriteString("{")
	for i := 0; i <= MaxTensors; i++ {
		if i > 0 {
			header.WriteString(",")
		}
		fmt.Fprintf(&header, `"%d":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`, i)
	}
	header.WriteString("}")
	_, err := Decode(safetensorsBytes(header.String(), 0))
	assert.ErrorContains(t, err, "TooManyTensors")

	large := "{}" + strings.Repeat(" ", MaxHeaderBytes-1)
	_, err = Decode(safetensorsBytes(large, 0))
	assert.ErrorContains(t, err, "HeaderTooLarge")
	_, err = Decode(safetensorsBytes(large[:MaxHeaderBytes], 0))
	assert.NoError(t, err)
}

// TestDecodeMemory requires that the worst headers cost a small multiple of their size in memory,
// and a declared size nothing.
func TestDecodeMemory(t *testing.T) {
	hostile := []byte(`{"w":{"dtype":"F32","shape":[1` + strings.Repeat(",1", 520_000) + `],"data_offsets":[0,4]}}`)
	for name, data := range map[string][]byte{
		"long shape":   safetensorsBytes(string(hostile), 4),
		"nested":       safetensorsBytes(`{"w":{"x":`+strings.Repeat("[", 9000)+strings.Repeat("]", 9000)+`}}`, 0),
		"huge tensor":  safetensorsBytes(`{"w":{"dtype":"F32","shape":[1000000000],"data_offsets":[0,4000000000]}}`, 0),
		"huge header":  binary.LittleEndian.AppendUint64(nil, math.MaxUint64),
		"odd members":  safetensorsBytes(`{"w":{"x":[`+strings.Repeat(`{"a":1},`, 100_000)+`0]}}`, 0),
		"long strings": safetensorsBytes(`{"__metadata__":{"`+strings.Repeat(`\u0041`, 100_000)+`":""}}`, 0),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _ = Decode(data)
			runtime.ReadMemStats(&after)
			// encoding/json copies the header and keeps the parts that are skipped: 8 headers in total, with
			// garbage.
			assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8*MaxHeaderBytes))
		})
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	f := &File{
		Metadata: map[string]string{"b": "line\nbreak \"quoted\" <&>  ", "a": "", "unicode": "ỹ = Σ"},
		Tensors: []Tensor{
			{Name: "q", DType: I8, Shape: []int{3}, Data: []byte{1, 2, 255}},
			NewF32("encoder.conv1.weight", []int{1, 2, 2}, []float32{1, -2, 0.5, float32(math.Copysign(0, -1))}),
			{Name: "h", DType: F16, Shape: []int{1}, Data: []byte{0, 0x3c}},
			{Name: "none", DType: F64, Shape: []int{0, 4}, Data: []byte{}},
			NewF32("scalar", nil, []float32{7}),
		},
	}
	data, err := f.Encode()
	require.NoError(t, err)
	assert.Zero(t, binary.LittleEndian.Uint64(data)%8, "header padded to 8")
	again, err := Decode(data)
	require.NoError(t, err)
	assert.Equal(t, f.Metadata, again.Metadata)
	require.Len(t, again.Tensors, len(f.Tensors))
	for _, want := range f.Tensors {
		got := again.Tensor(want.Name)
		require.NotNil(t, got, want.Name)
		assert.Equal(t, want.DType, got.DType)
		assert.Equal(t, append([]int{}, want.Shape...), got.Shape)
		assert.Equal(t, want.Data, got.Data)
	}
	second, err := again.Encode()
	require.NoError(t, err)
	assert.Equal(t, data, second, "encoding is deterministic")
}

func TestEncodeRefuses(t *testing.T) {
	for name, tensors := range map[string][]Tensor{
		"short data":    {{Name: "w", DType: F32, Shape: []int{2}, Data: make([]byte, 7)}},
		"negative size": {{Name: "w", DType: F32, Shape: []int{-1}, Data: nil}},
		"unknown dtype": {{Name: "w", DType: "F7", Shape: []int{0}, Data: nil}},
		"same name":     {{Name: "w", DType: "U8", Shape: []int{0}}, {Name: "w", DType: "U8", Shape: []int{0}}},
		"reserved name": {{Name: metadataKey, DType: "U8", Shape: []int{0}}},
		"not UTF-8":     {{Name: "\xff", DType: "U8", Shape: []int{0}}},
	} {
		_, err := (&File{Tensors: tensors}).Encode()
		assert.Error(t, err, name)
	}
	_, err := (&File{Metadata: map[string]string{"a": "\xff"}}).Encode()
	assert.Error(t, err)
}

func FuzzDecode(f *testing.F) {
	f.Add(safetensorsBytes(`{"__metadata__":{"format":"mrprism"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8))
	f.Add(safetensorsBytes(`{"a":{"dtype":"I8","shape":[2,2],"data_offsets":[0,4]},"a.scale":{"dtype":"F16","shape":[2],"data_offsets":[4,8]}}`, 8))
	f.Add(safetensorsBytes(`{"w":{"dtype":"U64","shape":[0,9],"data_offsets":[0,0],"x":[{}]}}`, 0))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Decode(data)
		if err != nil {
			var bad *FormatError
			require.ErrorAs(t, err, &bad)
			return
		}
		total := 0
		for i := range file.Tensors {
			total += len(file.Tensors[i].Data)
			_, _ = file.Tensors[i].Float32()
		}
		assert.LessOrEqual(t, total, len(data))
		_, _ = ParseMetadata(file.Metadata)
		_, _ = Dequantize(file)
		if encoded, err := file.Encode(); err == nil {
			again, err := Decode(encoded)
			require.NoError(t, err)
			assert.Equal(t, file.ContentSum(), again.ContentSum())
		}
	})
}
