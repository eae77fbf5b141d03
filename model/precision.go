package model

import (
	"fmt"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
)

// Precision says in what numbers inference computes, or training, which is F32 or F16; the zero value is F32.
type Precision string

// The precisions.
const (
	F32  Precision = "f32"
	F16  Precision = "f16"  // what plans store, where the device has shader-f16; all but short sums stay f32. In training see NewStep
	Int8 Precision = "int8" // activations and weights of the convolutions whose inputs' ranges are known; the rest F32
)

// ParsePrecision reads a Precision's name.
func ParsePrecision(name string) (Precision, error) {
	switch p := Precision(name); p {
	case F32, F16, Int8:
		return p, nil
	}
	return "", fmt.Errorf("precision %q: there are f32, f16 and int8", name)
}

// store makes the set hold its variables as inference of this precision wants them, where the device can compute with that.
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
