package torch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"mrprism/model"
	"mrprism/weights"
)

// Map gives the tensors of a state dict their names in our network.
type Map struct {
	// Names replaces the beginning of a name, the key, by the value. A value of null leaves the tensor
	// out. The longest key that fits counts; "" fits every name. A name that no key fits stays.
	Names map[string]*string `json:"names"`
	// The network was trained on (v − Mean)/Deviation, by colour, of values v in 0..1; nil: as ours
	// is.
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
}

// FindMap returns the map named resnet or same, or reads a JSON file.
func FindMap(nameOrFile string) (*Map, error) {
	if m := builtIn[nameOrFile]; m != nil {
		return m, nil
	}
	data, err := os.ReadFile(nameOrFile)
	if err != nil {
		return nil, fmt.Errorf("names %q: neither resnet nor same nor a file that can be read: %w", nameOrFile, err)
	}
	var m Map
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return nil, fmt.Errorf("%s: %w; an example is {\"names\": {\"backbone.\": \"encoder.\", \"head.\": null}}", nameOrFile, err)
	}
	if (m.Mean == nil) != (m.Deviation == nil) || m.Deviation != nil && slices.Min(m.Deviation[:]) <= 0 {
		return nil, fmt.Errorf("%s: mean and deviation belong together, and deviations must be positive", nameOrFile)
	}
	return &m, nil
}

// rename is our name of a tensor. taken is false if the map leaves the tensor out.
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

// renormalise adapts the first convolution to our normalisation of images. It scales the weights by
// colour. A shift of the colours adds a constant to every sum: renormalise takes this constant off
// the mean that batch norm subtracts. The result is not exact within three pixels of the border,
// where the convolution reads zeros.
func (m *Map) renormalise(file *weights.File) error {
	const kernel, mean = "encoder.conv1.weight", "encoder.bn1.running_mean"
	w, b := file.Tensor(kernel), file.Tensor(mean)
	if m.Mean == nil || w == nil {
		return nil
	}
	if b == nil {
		return fmt.Errorf("the file has %s and lacks %s: another mean and deviation need both", kernel, mean)
	}
	values, err := w.Float32() // (7, 7, 3, out)
	if err != nil {
		return err
	}
	means, err := b.Float32()
	if err != nil {
		return err
	}
	zero := float64(model.Denormalise(0)) // v = zero + scale·x of our x
	scale := float64(model.Denormalise(1)) - zero
	shifts := make([]float64, len(means))
	for i, v := range values {
		colour, out := i/len(means)%3, i%len(means)
		deviation := m.Deviation[colour]
		shifts[out] += float64(v) * (zero - m.Mean[colour]) / deviation
		values[i] = float32(float64(v) * scale / deviation)
	}
	for i := range means {
		means[i] = float32(float64(means[i]) - shifts[i])
	}
	*w, *b = weights.NewF32(kernel, w.Shape, values), weights.NewF32(mean, b.Shape, means)
	return nil
}
