package torch

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/tensor"
	"mrprism/weights"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// modelSpecs are all tensors of a configuration, for three raters and two structures.
func modelSpecs(t *testing.T, config string) (specs []weights.Spec) {
	t.Helper()
	c, err := model.NewConfig(config, 3, 2)
	require.NoError(t, err)
	for _, v := range model.Variables(c).Variables(tensor.Parameter, tensor.Statistic) {
		specs = append(specs, weights.Spec{Name: v.Name, Shape: v.Shape})
	}
	return specs
}

// dictOf makes a state dict of names and shapes. Element i of a tensor is i.
func dictOf(shapes map[string][]int) *weights.File {
	f := &weights.File{}
	for name, shape := range shapes {
		n := 1
		for _, d := range shape {
			n *= d
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(i)
		}
		f.Tensors = append(f.Tensors, weights.NewF32(name, shape, values))
	}
	return f
}

// golden has a state dict and the results of PyTorch for it (testdata/resnet.py).
func golden(t *testing.T) (dict *weights.File, values func(name string) []float32) {
	t.Helper()
	file, err := Open("testdata/resnet.safetensors")
	require.NoError(t, err)
	dict = &weights.File{Metadata: file.Metadata}
	for _, v := range file.Tensors {
		if name, found := strings.CutPrefix(v.Name, "state."); found {
			v.Name = name
			dict.Tensors = append(dict.Tensors, v)
		}
	}
	return dict, func(name string) []float32 {
		v, err := file.Tensor(name).Float32()
		require.NoError(t, err)
		return v
	}
}

// encode computes the encoder's maps e0 to e4 of the normalised image x (S, S, 3) with imported
// weights. The results are channels first, like PyTorch's.
func encode(t *testing.T, d gpu.Device, config string, taken *weights.File, x []float32, side int) (maps [5][]float32) {
	t.Helper()
	c, err := model.NewConfig(config, 3, 2)
	require.NoError(t, err)
	set, g := tensor.NewSet(), tensor.NewGraph()
	n := model.Network{Config: c, Builder: &nn.Builder{Graph: g, Set: set}}
	in := g.Input("x", 1, side, side, 3)
	f := n.Encoder(in)
	for _, e := range f.E {
		e.Keep()
	}
	plan, err := shaders.Compile(t.Context(), d, set, g)
	require.NoError(t, err)
	defer plan.Release()
	defer set.Release()
	for i := range taken.Tensors {
		values, err := taken.Tensors[i].Float32()
		require.NoError(t, err)
		require.NoError(t, set.Write(set.Lookup(taken.Tensors[i].Name), values))
	}
	require.NoError(t, plan.Write(in, x))
	require.NoError(t, plan.Run(t.Context()))
	read, err := plan.Read(t.Context(), f.E[:]...)
	require.NoError(t, err)
	for k, values := range read {
		channels := f.E[k].Dim(-1)
		maps[k] = make([]float32, len(values))
		for i, v := range values {
			maps[k][i%channels*(len(values)/channels)+i/channels] = v
		}
	}
	return maps
}

// A ResNet gives the results of PyTorch: all of them with our normalisation of images, and with
// torchvision's those of the first layer, away from the border.
func TestResNetIsThatOfPyTorch(t *testing.T) {
	const side, half, stem = 64, 32, 8
	dict, values := golden(t)
	image, x := values("x"), make([]float32, 3*side*side)
	for i := range x {
		x[i] = weights.Normalise(image[i%3*side*side+i/3])
	}
	asOurs := &Map{Names: builtIn["resnet"].Names}
	taken, err := asOurs.Take(dict, modelSpecs(t, "tiny"))
	require.NoError(t, err)
	assert.Equal(t, []string{"encoder.bridge.*", "conp.*", "divp.*"}, Missing(taken, modelSpecs(t, "tiny")))
	maps := encode(t, reference.Open(), "tiny", taken, x, side)
	assert.InDeltaSlice(t, values("e4"), maps[4], 1e-5, "both in float64, stored as float32")

	resnet, err := FindMap("resnet")
	require.NoError(t, err)
	taken, err = resnet.Take(dict, modelSpecs(t, "tiny"))
	require.NoError(t, err)
	e0 := encode(t, reference.Open(), "tiny", taken, x, side)[0]
	want, border := values("e0"), 0.0
	for i, v := range e0 {
		row, column := i/half%half, i%half
		difference := math.Abs(float64(v - want[i]))
		if min(row, column) < 2 || max(row, column) > half-2 {
			border = max(border, difference)
			continue
		}
		require.InDelta(t, want[i], v, 1e-5, "channel %d, row %d, column %d", i/half/half, row, column)
	}
	assert.Greater(t, border, 0.01, "this test tells one from the other")
	assert.Len(t, e0, stem*half*half)
}

// Every element of every kind of layer comes to its place, by PyTorch's definition.
func TestLayouts(t *testing.T) {
	specs := []weights.Spec{
		{Name: "encoder.conv1.weight", Shape: []int{7, 5, 3, 4}},              // (kh, kw, in, out)
		{Name: "conp.stage2.up.weight", Shape: []int{2, 3, 4, 5}},             // (kh, kw, in, out)
		{Name: "conp.confidence.stage1.0.weight", Shape: []int{3, 5, 4}},      // (kh, kw, channels)
		{Name: "conp.stage2.attention.query.weight", Shape: []int{4, 5}},      // (in, out)
		{Name: "conp.stage2.merge.shortcut.weight", Shape: []int{1, 1, 4, 5}}, // as a linear map
		{Name: "divp.project.weight", Shape: []int{4, 5}},                     // as a 1×1 convolution
		{Name: "divp.heads.output.weight", Shape: []int{2, 3, 4}},
		{Name: "divp.heads.output.bias", Shape: []int{2, 4}},
		{Name: "conp.head.bias", Shape: []int{6}},
	}
	dict := dictOf(map[string][]int{
		specs[0].Name: {4, 3, 7, 5}, specs[1].Name: {4, 5, 2, 3}, specs[2].Name: {4, 1, 3, 5}, specs[3].Name: {5, 4}, specs[4].Name: {5, 4},
		specs[5].Name: {5, 4, 1, 1}, specs[6].Name: {2, 3, 4}, specs[7].Name: {2, 4}, specs[8].Name: {6},
	})
	taken, err := (&Map{}).Take(dict, specs)
	require.NoError(t, err)
	assert.Empty(t, Missing(taken, specs))
	at := func(i int, element ...int) int { // of ours, in PyTorch's order
		v, err := taken.Tensor(specs[i].Name).Float32()
		require.NoError(t, err)
		n := 0
		for axis, e := range element {
			n = n*specs[i].Shape[axis] + e
		}
		return int(v[n])
	}
	for o := range 4 {
		for c := range 3 {
			for y := range 7 {
				for x := range 5 {
					require.Equal(t, ((o*3+c)*7+y)*5+x, at(0, y, x, c, o))
				}
			}
		}
	}
	for c := range 4 {
		for o := range 5 {
			for y := range 2 {
				for x := range 3 {
					require.Equal(t, ((c*5+o)*2+y)*3+x, at(1, y, x, c, o))
				}
			}
			for _, element := range []int{at(3, c, o), at(4, 0, 0, c, o), at(5, c, o)} {
				require.Equal(t, o*4+c, element)
			}
		}
		for y := range 3 {
			for x := range 5 {
				require.Equal(t, (c*3+y)*5+x, at(2, y, x, c))
			}
		}
	}
	for _, s := range specs[6:] { // as they are
		v, err := taken.Tensor(s.Name).Float32()
		require.NoError(t, err)
		for n := range v {
			require.Equal(t, float32(n), v[n], s.Name)
		}
	}
}

// The error names the tensors that do not fit and the shapes that would; of hundreds the first few.
func TestMismatches(t *testing.T) {
	dict, _ := golden(t)
	resnet, err := FindMap("resnet")
	require.NoError(t, err)
	_, err = resnet.Take(dict, modelSpecs(t, "compact"))
	var mismatch *MismatchError
	require.ErrorAs(t, err, &mismatch)
	assert.Len(t, mismatch.Misshaped, 60, "12 convolutions, each with the four vectors of its norm")
	assert.Contains(t, mismatch.Misshaped, "layer3.0.conv2.weight is [16 16 3 3], encoder.layer3.0.conv2.weight takes [128 128 3 3]")

	_, err = (&Map{}).Take(dict, modelSpecs(t, "tiny"))
	require.ErrorAs(t, err, &mismatch)
	assert.Contains(t, mismatch.Homeless, "fc.weight")
	assert.NotContains(t, err.Error(), "num_batches_tracked")

	backbone := "encoder.elsewhere."
	_, err = (&Map{Names: map[string]*string{"": &backbone}}).Take(dict, modelSpecs(t, "tiny"))
	require.ErrorAs(t, err, &mismatch)
	assert.Contains(t, mismatch.Homeless, "fc.bias → encoder.elsewhere.fc.bias")
	assert.Contains(t, err.Error(), fmt.Sprintf("\n  … and %d more", len(mismatch.Homeless)-20))
	assert.Equal(t, 21, strings.Count(err.Error(), "\n"), "they fit on a screen")
	_, err = (&Map{Names: map[string]*string{"": nil}}).Take(dict, modelSpecs(t, "tiny"))
	assert.ErrorContains(t, err, "leaves out all")
	one, kernel := "encoder.bn1.weight", "encoder.conv1."
	_, err = (&Map{Names: map[string]*string{"": nil, "bn1.weight": &one, "bn1.bias": &one}}).Take(dict, modelSpecs(t, "tiny"))
	assert.ErrorContains(t, err, "both bn1.")
	_, err = (&Map{Names: map[string]*string{"": nil, "conv1.": &kernel}, Mean: resnet.Mean, Deviation: resnet.Deviation}).Take(dict, modelSpecs(t, "tiny"))
	assert.ErrorContains(t, err, "encoder.bn1.running_mean")
}

// Of several rules the longest counts. A file of rules is read strictly.
func TestMaps(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map.json")
	write := func(text string) { require.NoError(t, os.WriteFile(path, []byte(text), 0o644)) }
	write("\ufeff" + `{"names": {"module.backbone.": "encoder.", "module.backbone.fc.": null, "module.": ""}, "mean": [0, 0, 0], "deviation": [1, 1, 1]}`)
	m, err := FindMap(path)
	require.NoError(t, err)
	for name, want := range map[string]string{
		"module.backbone.conv1.weight": "encoder.conv1.weight", "module.backbone.fc.weight": "", "module.conp.head.bias": "conp.head.bias",
		"divp.project.bias": "divp.project.bias", "module.backbone.bn1.num_batches_tracked": "",
	} {
		ours, taken := m.rename(name)
		assert.Equal(t, want, ours, name)
		assert.Equal(t, want != "", taken, name)
	}
	for text, want := range map[string]string{
		`{"name": {}}`:        "unknown field",
		`{"mean": [0, 0, 0]}`: "belong together",
		`{"mean": [0, 0, 0], "deviation": [1, 0, 1]}`: "positive",
		`encoder`: path,
	} {
		write(text)
		_, err := FindMap(path)
		assert.ErrorContains(t, err, want)
	}
	_, err = FindMap("resnet50")
	assert.ErrorContains(t, err, "neither resnet nor mobilenet nor same")
}

// A file of torch.save, and a file without weights, are refused with an explanation.
func TestOpen(t *testing.T) {
	for content, want := range map[string]string{"PK\x03\x04archive/data.pkl": "safetensors.torch.save_file", "text": "not a valid safetensors file"} {
		path := filepath.Join(t.TempDir(), "model.pt")
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
		_, err := Open(path)
		assert.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, path)
	}
}
