package model

import (
	"fmt"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
)

// Execution says how a device computes a network. It changes neither parameters nor equations.
type Execution struct {
	// Recompute: training keeps few of the maps that the gradient needs and computes the others again.
	// No bit of the result changes.
	Recompute bool

	Precision Precision

	// Ranges has, for Int8, the largest |x| among the inputs of each layer, by the layer's name.
	Ranges map[string]float32
}

// Precision names the numbers in which inference or training computes; the zero value is F32.
// Training is F32 or F16.
type Precision string

// The precisions.
const (
	F32 Precision = "f32"

	// F16 stores the maps as halves, on a device that has shader-f16. Inference also stores its
	// parameters as halves. All but short sums stay f32.
	F16 Precision = "f16"

	// Int8 rounds activations and weights of the layers in Ranges. The rest is F32.
	Int8 Precision = "int8"
)

// ParsePrecision reads a Precision's name.
func ParsePrecision(name string) (Precision, error) {
	switch p := Precision(name); p {
	case F32, F16, Int8:
		return p, nil
	}
	return "", fmt.Errorf("precision %q: there are f32, f16 and int8", name)
}

// store makes the set hold its variables as inference in this precision reads them. It returns an
// error if the device cannot compute with them.
func (p Precision) store(set *tensor.Set, device gpu.Info) error {
	if p != F16 {
		return set.Store(gpu.F32)
	}
	if err := p.Runs(device); err != nil {
		return err
	}
	return set.Store(gpu.F16)
}

// Runs says whether a device can compute in this precision.
func (p Precision) Runs(device gpu.Info) error {
	if p == F16 && !device.HasFeature("shader-f16") {
		return fmt.Errorf("model: precision %s: %s cannot compute with it (it lacks shader-f16); use %s", p, device, F32)
	}
	return nil
}
