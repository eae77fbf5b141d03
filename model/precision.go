package model

import "fmt"

// Precision says in what numbers inference computes; the zero value is F32. Training is always F32.
type Precision string

// The precisions.
const (
	F32  Precision = "f32"
	F16  Precision = "f16"  // what plans store, where the device has shader-f16; sums stay f32
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
