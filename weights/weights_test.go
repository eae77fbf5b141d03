package weights

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func sampleMetadata() Metadata {
	return Metadata{
		Name: "fundus", Title: "Disc and cup", Configuration: "compact", Recipe: "default", Task: "fundus photograph",
		Classes: []string{"disc", "cup"}, Raters: []string{"atleast1", "atleast2"}, Labels: LabelsAgreementLevels, Anchor: "disc", Side: 256,
		Mean: [3]float32{0.5, 0.4, 0.3}, Deviation: [3]float32{0.25, 0.25, 0.25}, Data: "made up", Commit: "0123456",
		Metrics: map[string]float64{"disc": 94.1}, Seed: 1<<63 + 7, Layout: LayoutHWIO,
		Ranges: map[string]float32{"encoder.conv1": 2.0078125, "conp.stage1.merge.conv[256:]": 1e-6},
	}
}

// sampleFile is a small sealed model: a heavy weight, a light one and a bias.
func sampleFile(t *testing.T) *File {
	t.Helper()
	m := sampleMetadata()
	values, err := m.Map()
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	f := &File{Metadata: values, Tensors: []Tensor{
		NewF32("conv.weight", []int{3, 3, 16, 8}, draw(3*3*16*8)),
		NewF32("head.weight", []int{8, 2}, draw(16)),
		NewF32("head.bias", []int{2}, draw(2)),
	}}
	f.Seal()
	return f
}

func sampleBytes(t *testing.T) []byte {
	t.Helper()
	data, err := sampleFile(t).Encode()
	require.NoError(t, err)
	return data
}

func TestFloat32EveryType(t *testing.T) {
	le := binary.LittleEndian
	for _, test := range []struct {
		dtype DType
		data  []byte
		want  float32
	}{
		{F64, le.AppendUint64(nil, math.Float64bits(-1.5)), -1.5},
		{F32, le.AppendUint32(nil, math.Float32bits(3.25)), 3.25},
		{F16, le.AppendUint16(nil, 0xc100), -2.5},
		{BF16, le.AppendUint16(nil, 0x4049), 3.140625},
		{"I64", le.AppendUint64(nil, uint64(math.MaxUint64)), -1},
		{"I32", le.AppendUint32(nil, 1<<31), -1 << 31},
		{"I16", le.AppendUint16(nil, 0xfffe), -2},
		{I8, []byte{0x80}, -128},
		{"U64", le.AppendUint64(nil, 1<<40), 1 << 40},
		{"U32", le.AppendUint32(nil, 1<<31), 1 << 31},
		{"U16", le.AppendUint16(nil, 65535), 65535},
		{"U8", []byte{200}, 200},
		{"BOOL", []byte{1}, 1},
	} {
		tensor := Tensor{Name: "w", DType: test.dtype, Shape: []int{1}, Data: test.data}
		got, err := tensor.Float32()
		require.NoError(t, err, test.dtype)
		assert.Equal(t, []float32{test.want}, got, test.dtype)
	}
	tensor := Tensor{Name: "w", DType: "F8_E4M3", Shape: []int{1}, Data: []byte{0}}
	_, err := tensor.Float32()
	assert.ErrorContains(t, err, "F8_E4M3")
}

func TestNotFiniteIsNamed(t *testing.T) {
	inf64 := binary.LittleEndian.AppendUint64(nil, math.Float64bits(1e300)) // finite, but not as a float32
	for _, tensor := range []Tensor{
		NewF32("conp.head.bias", []int{2}, []float32{1, float32(math.NaN())}),
		NewF32("conp.head.bias", []int{2}, []float32{1, float32(math.Inf(-1))}),
		{Name: "conp.head.bias", DType: F64, Shape: []int{2}, Data: append(make([]byte, 8), inf64...)},
		{Name: "conp.head.bias", DType: F16, Shape: []int{2}, Data: []byte{0, 0, 0, 0x7c}},
		{Name: "conp.head.bias", DType: BF16, Shape: []int{2}, Data: []byte{0, 0, 0xc0, 0x7f}},
	} {
		_, err := tensor.Float32()
		require.ErrorContains(t, err, "tensor conp.head.bias: element 1 is")
		require.ErrorContains(t, err, "use an earlier checkpoint")
	}
}

func TestMetadataRoundTrip(t *testing.T) {
	m := sampleMetadata()
	values, err := m.Map()
	require.NoError(t, err)
	again, err := ParseMetadata(values)
	require.NoError(t, err)
	assert.Equal(t, m, again)

	m.Standardise, m.Independent, m.SinglePieces, m.Mirrored, m.Turned, m.Trust = true, true, true, true, true, sampleTrust()
	values, err = m.Map()
	require.NoError(t, err)
	again, err = ParseMetadata(values)
	require.NoError(t, err)
	assert.Equal(t, m, again)

	for text, want := range map[string]string{values["trust"][:200]: "unexpected end of JSON", `{"threshold": NaN}`: "invalid character", `{"threshold": 1e999}`: "cannot unmarshal", `{}`: "threshold is 0"} {
		spoiled := maps.Clone(values)
		spoiled["trust"] = text
		_, err = ParseMetadata(spoiled)
		require.ErrorContains(t, err, want)
	}

	m.Ranges = nil // as in older files
	values, err = m.Map()
	require.NoError(t, err)
	assert.NotContains(t, values, "ranges")
	again, err = ParseMetadata(values)
	require.NoError(t, err)
	assert.Equal(t, m, again)
}

// sampleTrust has every field.
func sampleTrust() *Trust {
	return &Trust{
		Images: 9, Threshold: 1.5, FoldsOf: 3, Evidence: map[string]Evidence{"size": {Middle: -2, Far: .5, Weight: 1}},
		Looks: map[string]Features{"close": {Mean: []float32{1, 2}, Scale: []float32{1, 1}, Directions: []byte{127, 0}, Deviations: []float32{2}, Rest: 1}},
		Maps:  map[string]Map{"disc": {From: []float32{0, .5, 1}, To: []float32{0, .25, 1}}},
		Areas: map[string]Spread{"disc": {Low: -.1, High: .2, Coverage: .9}}, Ratio: &Spread{Low: -.1, High: .1, Coverage: .9},
		Cameras: []Camera{{Name: "own", Classes: []string{"disc"}, Look: Features{Mean: []float32{1}, Scale: []float32{1}, Directions: []byte{}, Deviations: []float32{}, Rest: 1}, Far: 1.2,
			Others: []Direction{{To: "other", Away: []float32{.5}, Far: .3}}}},
		Mirror: .06,
	}
}

func TestTrustFaults(t *testing.T) {
	for want, spoil := range map[string]func(*Trust){
		"threshold is 0":      func(t *Trust) { t.Threshold = 0 },
		"evidence size":       func(t *Trust) { t.Evidence["size"] = Evidence{Far: 0} },
		"look close: 2 means": func(t *Trust) { f := t.Looks["close"]; f.Directions = f.Directions[:1]; t.Looks["close"] = f },
		"deviation 0":         func(t *Trust) { f := t.Looks["close"]; f.Scale = []float32{1, 0}; t.Looks["close"] = f },
		"mean NaN": func(t *Trust) {
			f := t.Looks["close"]
			f.Mean = []float32{1, float32(math.NaN())}
			t.Looks["close"] = f
		},
		"a direction is zero":          func(t *Trust) { t.Looks["close"].Directions[0] = 0 },
		"map of disc is not monotone":  func(t *Trust) { t.Maps["disc"] = Map{From: []float32{0, .5, 1}, To: []float32{0, 2, 1}} },
		`map of "iris"`:                func(t *Trust) { t.Maps["iris"] = t.Maps["disc"] },
		"interval of the area of disc": func(t *Trust) { t.Areas["disc"] = Spread{Low: 1, High: 0, Coverage: .9} },
		"ratio":                        func(t *Trust) { t.Ratio.Coverage = 1 },
		"look of camera own":           func(t *Trust) { t.Cameras[0].Look.Rest = 0 },
		"camera own: far is 0":         func(t *Trust) { t.Cameras[0].Far = 0 },
		`camera own: "iris"`:           func(t *Trust) { t.Cameras[0].Classes[0] = "iris" },
		"direction to other":           func(t *Trust) { t.Cameras[0].Others[0].Away = []float32{1, 2} },
		"mirrored views: -1":           func(t *Trust) { t.Mirror = -1 },
	} {
		known := sampleTrust()
		require.Empty(t, known.Faults([]string{"disc"}))
		spoil(known)
		require.Contains(t, strings.Join(known.Faults([]string{"disc"}), "; "), want)
	}
	hostile := sampleTrust()
	for i := range 5000 {
		hostile.Evidence[strconv.Itoa(i)] = Evidence{Far: -1}
	}
	require.Equal(t, 10, len(hostile.Faults([]string{"disc"})), "not a message of thousands of lines")
	require.Equal(t, hostile.Faults([]string{"disc"}), hostile.Faults([]string{"disc"}))
}

// Versions until 28 November called today's recipe steered recurrent, and today's recurrent
// alternating.
func TestRecipesOfEarlierVersions(t *testing.T) {
	for _, c := range []struct{ configuration, written, read string }{
		{"compact-steered", "recurrent", "steered"}, {"compact-concat", "recurrent", "recurrent"},
		{"compact-concat", "alternating", "recurrent"}, {"compact", "default", "default"},
	} {
		about := sampleMetadata()
		about.Configuration, about.Recipe = c.configuration, c.written
		values, err := about.Map()
		require.NoError(t, err)
		again, err := ParseMetadata(values)
		require.NoError(t, err)
		require.Equal(t, c.read, again.Recipe, c)
	}
}

func TestMetadataFaultsTogether(t *testing.T) {
	m := sampleMetadata()
	m.Name, m.Labels, m.Anchor, m.Side, m.Layout, m.Quantization = "../x", "people", "vessel", 100, "OIHW", "int3"
	m.Classes = []string{"disc", "disc"}
	m.Deviation[1] = 0
	m.Metrics = map[string]float64{"disc": math.NaN()}
	m.Ranges = map[string]float32{"encoder.conv1": 0}
	_, err := m.Map()
	require.Error(t, err)
	for _, part := range []string{"../x", "people", "vessel", "100", "OIHW", "int3", `"disc" is used twice`, "channel 1", "NaN", "range of encoder.conv1 is 0"} {
		assert.ErrorContains(t, err, part)
	}
	_, err = ParseMetadata(map[string]string{"format": "pt"})
	assert.ErrorContains(t, err, "another program")
	_, err = ParseMetadata(map[string]string{"mrprism_checkpoint": "1"})
	assert.ErrorContains(t, err, "checkpoint of a run")
	good := sampleMetadata()
	values, err := good.Map()
	require.NoError(t, err)
	values["ranges"] = `{"encoder.conv1"`
	_, err = ParseMetadata(values)
	assert.ErrorContains(t, err, "ranges")
	values["classes"] = `["disc"`
	_, err = ParseMetadata(values)
	assert.ErrorContains(t, err, "classes")
}

func TestQuantizeError(t *testing.T) {
	f := sampleFile(t)
	q, err := Quantize(f)
	require.NoError(t, err)
	assert.Equal(t, Int8PerChannel, q.Metadata["quantization"])
	assert.Equal(t, I8, q.Tensor("conv.weight").DType)
	assert.Equal(t, []int{8}, q.Tensor("conv.weight.scale").Shape)
	assert.Equal(t, F32, q.Tensor("head.weight").DType, "small tensors stay as they are")
	assert.Nil(t, q.Tensor("head.weight.scale"))

	back, err := Dequantize(q)
	require.NoError(t, err)
	assert.Empty(t, back.Metadata["quantization"])
	assert.Len(t, back.Tensors, 3)
	want, _ := f.Tensor("conv.weight").Float32()
	got, _ := back.Tensor("conv.weight").Float32()
	scales, err := q.Scales("conv.weight")
	require.NoError(t, err)
	largest := 0.0
	for i := range want {
		d := math.Abs(float64(want[i] - got[i]))
		// Rounding is off by half a step of the channel; 1e-6 for float32.
		require.LessOrEqual(t, d, float64(scales[i%8])/2*(1+1e-6))
		largest = max(largest, d/float64(scales[i%8]))
	}
	assert.Greater(t, largest, 0.4, "the bound is nearly reached: scales are not larger than they need be")
	for _, name := range []string{"head.weight", "head.bias"} {
		assert.Equal(t, f.Tensor(name).Data, back.Tensor(name).Data)
	}
	_, err = Quantize(q)
	assert.ErrorContains(t, err, "already quantized")
}

// Halve changes the heavy weight by up to half a step of f16, 2⁻¹¹ of its size, and no other
// one.
func TestHalve(t *testing.T) {
	f := sampleFile(t)
	halved, err := Halve(f)
	require.NoError(t, err)
	assert.Equal(t, f.Tensors[1:], halved.Tensors[1:])
	assert.Equal(t, F16, halved.Tensors[0].DType)
	want, err := f.Tensors[0].Float32()
	require.NoError(t, err)
	got, err := halved.Tensors[0].Float32()
	require.NoError(t, err)
	differ := 0
	for i := range want {
		require.InDelta(t, want[i], got[i], max(math.Abs(float64(want[i]))/2048, 1./(1<<25)))
		if want[i] != got[i] {
			differ++
		}
	}
	assert.Positive(t, differ)
	require.NoError(t, halved.Match([]Spec{{"conv.weight", []int{3, 3, 16, 8}}, {"head.weight", []int{8, 2}}, {"head.bias", []int{2}}}))

	quantized, err := Quantize(f)
	require.NoError(t, err)
	_, err = Halve(quantized)
	require.ErrorContains(t, err, "already quantized")
	binary.LittleEndian.PutUint32(f.Tensors[0].Data, math.Float32bits(-65520)) // rounds to infinity
	_, err = Halve(f)
	require.ErrorContains(t, err, "conv.weight: element 0 is -65520")
}

func TestQuantizeZeroChannelAndBadScales(t *testing.T) {
	values := make([]float32, 2048)
	for i := 1; i < len(values); i += 2 {
		values[i] = float32(i) / 100
	}
	q, err := Quantize(&File{Tensors: []Tensor{NewF32("w.weight", []int{1024, 2}, values)}})
	require.NoError(t, err)
	scales, err := q.Scales("w.weight")
	require.NoError(t, err)
	assert.Equal(t, float32(1), scales[0])
	back, err := Dequantize(q)
	require.NoError(t, err)
	got, _ := back.Tensor("w.weight").Float32()
	for i := 0; i < len(got); i += 2 {
		require.Zero(t, got[i])
	}

	for name, bad := range map[string]Tensor{
		"zero": NewF32("w.weight.scale", []int{2}, []float32{1, 0}), "negative": NewF32("w.weight.scale", []int{2}, []float32{-1, 1}),
		"short": NewF32("w.weight.scale", []int{1}, []float32{1}), "NaN": NewF32("w.weight.scale", []int{2}, []float32{1, float32(math.NaN())}),
		"elsewhere": NewF32("v.scale", []int{2}, []float32{1, 1}), "infinite": NewF32("w.weight.scale", []int{2}, []float32{1, 3e38}),
	} {
		broken := &File{Metadata: q.Metadata, Tensors: []Tensor{q.Tensors[0], bad}}
		_, err := Dequantize(broken)
		assert.ErrorContains(t, err, "w.weight", name)
		assert.ErrorContains(t, broken.Match([]Spec{{"w.weight", []int{1024, 2}}}), "w.weight", name)
	}
	_, err = Dequantize(&File{Metadata: map[string]string{"quantization": "int4-groups"}})
	assert.ErrorContains(t, err, "int4-groups")
}

func TestMatchListsEverything(t *testing.T) {
	f := sampleFile(t)
	right := []Spec{{"conv.weight", []int{3, 3, 16, 8}}, {"head.weight", []int{8, 2}}, {"head.bias", []int{2}}}
	require.NoError(t, f.Match(right))
	q, err := Quantize(f)
	require.NoError(t, err)
	require.NoError(t, q.Match(right), "scales belong to their weight")

	err = f.Match([]Spec{{"conv.weight", []int{3, 3, 8, 16}}, {"head.weight", []int{8, 2}}, {"encoder.bn1.weight", []int{8}}, {"encoder.bn1.bias", []int{8}}})
	var e *MismatchError
	require.ErrorAs(t, err, &e)
	assert.Equal(t, []string{"encoder.bn1.weight [8]", "encoder.bn1.bias [8]"}, e.Missing)
	assert.Equal(t, []string{"head.bias"}, e.Unexpected)
	assert.Equal(t, []string{"conv.weight is [3 3 16 8], expected [3 3 8 16]"}, e.Misshaped)
	for _, part := range []string{"2 missing", "1 unexpected: head.bias", "1 of another shape", "encoder.bn1.bias"} {
		assert.ErrorContains(t, err, part)
	}
}

// TestEveryFlippedBitIsRefused flips a bit in every byte of a user's own file. The padding of the
// header means nothing, but the format allows only spaces there.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	data := sampleBytes(t)
	opened, err := (&Manifest{}).Open("own.safetensors", data)
	require.NoError(t, err)
	assert.False(t, opened.Shipped)
	assert.Contains(t, opened.Label(), "your own weights")
	for i := range data {
		damaged := append([]byte{}, data...)
		damaged[i] ^= 1 << (i % 8)
		if strings.TrimSpace(string(damaged[i:i+1])) == "" {
			continue // a space that became another white space
		}
		_, err := (&Manifest{}).Open("own.safetensors", damaged)
		require.Error(t, err, "byte %d of %d", i, len(data))
	}
}

func TestShippedVerification(t *testing.T) {
	data := sampleBytes(t)
	opened, err := (&Manifest{}).Open("fundus.safetensors", data)
	require.NoError(t, err)
	m := &Manifest{Models: []Entry{{Name: "fundus", File: "fundus.safetensors", Bytes: len(data), SHA256: opened.SHA256}}}

	model, err := m.OpenShipped("fundus", data)
	require.NoError(t, err)
	assert.True(t, model.Shipped)
	assert.Equal(t, "Disc and cup", model.Label())

	damaged := append([]byte{}, data...)
	damaged[len(damaged)/2] ^= 1
	_, err = m.OpenShipped("fundus", damaged)
	assert.ErrorContains(t, err, "fundus.safetensors: damaged")
	_, err = m.OpenShipped("fundus", data[:len(data)-1])
	assert.ErrorContains(t, err, "did not arrive whole")
	_, err = m.OpenShipped("heart", data)
	assert.ErrorContains(t, err, "fundus")

	// A file that is not in the manifest is the user's own.
	own := sampleFile(t)
	own.Metadata["commit"] = "another"
	own.Seal()
	ownData, err := own.Encode()
	require.NoError(t, err)
	model, err = m.Open("own.safetensors", ownData)
	require.NoError(t, err)
	assert.False(t, model.Shipped)
}

func TestOpenRefusesNaNAndUnsealed(t *testing.T) {
	f := sampleFile(t)
	binary.LittleEndian.PutUint32(f.Tensor("head.bias").Data, math.Float32bits(float32(math.NaN())))
	f.Seal() // whoever wrote it sealed the NaN in
	data, err := f.Encode()
	require.NoError(t, err)
	_, err = (&Manifest{}).Open("x.safetensors", data)
	assert.ErrorContains(t, err, "head.bias")
	assert.ErrorContains(t, err, "x.safetensors")

	delete(f.Metadata, contentKey)
	data, err = f.Encode()
	require.NoError(t, err)
	_, err = (&Manifest{}).Open("x.safetensors", data)
	assert.ErrorContains(t, err, contentKey)
}

func TestContentSumIgnoresOrder(t *testing.T) {
	f := sampleFile(t)
	sum := f.ContentSum()
	f.Tensors[0], f.Tensors[2] = f.Tensors[2], f.Tensors[0]
	assert.Equal(t, sum, f.ContentSum())
	f.Tensors[0].Name += "x"
	assert.NotEqual(t, sum, f.ContentSum())
}
