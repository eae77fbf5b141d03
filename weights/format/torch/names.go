package torch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"mrprism/weights"
)

// Map gives the tensors of a state dict their names in our network.
type Map struct {
	// Names replaces the beginning of a name, the key, by the value. A value of null leaves the
	// tensor out. If several keys fit, the longest counts; "" fits every name. A name that no key
	// fits stays as it is.
	Names map[string]*string `json:"names"`
	// The network was trained on (v − Mean)/Deviation, for each colour, with v in 0..1. nil: it was
	// trained on our normalisation.
	Mean      *[3]float64 `json:"mean"`
	Deviation *[3]float64 `json:"deviation"`
}

var encoder = "encoder."

// builtIn are the maps that need no file.
var builtIn = map[string]*Map{
	"same": {},
	"resnet": { // torchvision's models, trained on ImageNet
		Names: map[string]*string{"": &encoder, "fc.": nil},
		Mean:  &[3]float64{0.485, 0.456, 0.406}, Deviation: &[3]float64{0.229, 0.224, 0.225},
	},
	// MobileNetV2 1.0, trained on ImageNet, as features.N.{conv,expand,depthwise,project}. Batch norm is
	// part of weight and bias. The network lacks the last convolution.
	"mobilenet": {
		Names: map[string]*string{"": &encoder, "features.18.": nil},
		Mean:  &[3]float64{0.5, 0.5, 0.5}, Deviation: &[3]float64{0.5, 0.5, 0.5},
	},
}

// FindMap returns the map named resnet, mobilenet or same, or reads a JSON file.
func FindMap(nameOrFile string) (*Map, error) {
	if m := builtIn[nameOrFile]; m != nil {
		return m, nil
	}
	data, err := os.ReadFile(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("names %q: neither resnet nor mobilenet nor same nor a file that can be read: %w", nameOrFile, err)
	}
	var m Map
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w; an example is {\"names\": {\"backbone.\": \"encoder.\", \"head.\": null}}", nameOrFile, err)
	}
	if (m.Mean == nil) != (m.Deviation == nil) || m.Deviation != nil && slices.Min(m.Deviation[:]) <= 0 {
		return nil, fmt.Errorf("%s: mean and deviation belong together, and deviations must be positive", nameOrFile)
	}
	return &m, nil
}

// rename returns our name of a tensor. taken is false if the map leaves the tensor out.
func (m *Map) rename(name string) (ours string, taken bool) {
	if strings.HasSuffix(name, "num_batches_tracked") {
		return "", false
	}
	longest := -1
	ours, taken = name, true
	for from, to := range m.Names {
		if len(from) > longest && strings.HasPrefix(name, from) {
			longest, ours, taken = len(from), "", to != nil
			if taken {
				ours = *to + strings.TrimPrefix(name, from)
			}
		}
	}
	return ours, taken
}

// firstConvolutions are the first convolutions of the encoders. Every sum of such a convolution may
// contain a constant. sign says whether the constant is added to the second tensor, which is a
// bias, or subtracted from it, which is then a mean that batch norm subtracts.
var firstConvolutions = []struct {
	kernel, constant string
	sign             float64
}{
	{"encoder.conv1.weight", "encoder.bn1.running_mean", -1},
	{"encoder.features.0.conv.weight", "encoder.features.0.conv.bias", 1},
}

// renormalise adapts the first convolution to our normalisation of images. It scales the weights by
// colour. A shift of the colours adds a constant to every sum: renormalise moves it to the bias, or
// to the mean of the norm. With a shift the result is not exact near the border, where the
// convolution reads zeros. The map mobilenet has no shift: its mean is ours.
func (m *Map) renormalise(file *weights.File) error {
	for _, first := range firstConvolutions {
		if m.Mean == nil || file.Tensor(first.kernel) == nil {
			continue
		}
		if err := m.renormaliseConvolution(file, first.kernel, first.constant, first.sign); err != nil {
			return err
		}
	}
	return nil
}

func (m *Map) renormaliseConvolution(file *weights.File, kernel, constant string, sign float64) error {
	w, b := file.Tensor(kernel), file.Tensor(constant)
	if b == nil {
		return fmt.Errorf("the file has %s and lacks %s: another mean and deviation need both", kernel, constant)
	}
	values, err := w.Float32() // (kh, kw, 3, out)
	if err != nil {
		return err
	}
	constants, err := b.Float32()
	if err != nil {
		return err
	}
	zero := float64(weights.Denormalise(0)) // v = zero + scale·x, where x is ours
	scale := float64(weights.Denormalise(1)) - zero
	shifts := make([]float64, len(constants))
	for i, v := range values {
		colour, out := i/len(constants)%3, i%len(constants)
		deviation := m.Deviation[colour]
		shifts[out] += float64(v) * (zero - m.Mean[colour]) / deviation
		values[i] = float32(float64(v) * scale / deviation)
	}
	for i := range constants {
		constants[i] = float32(float64(constants[i]) + sign*shifts[i])
	}
	*w, *b = weights.NewF32(kernel, w.Shape, values), weights.NewF32(constant, b.Shape, constants)
	return nil
}
