package weights

import (
	"fmt"
	"slices"
	"strings"
)

// Spec is a tensor that a model expects.
type Spec struct {
	Name  string
	Shape []int
}

// MismatchError lists all differences between a file and the tensors that a model expects.
type MismatchError struct {
	Missing    []string // expected and not in the file
	Unexpected []string // in the file and not expected
	Misshaped  []string // "name is [..], expected [..]", also for missing and misshaped scales
}

func (e *MismatchError) Error() string {
	var parts []string
	for _, list := range []struct {
		what  string
		names []string
	}{{"missing", e.Missing}, {"unexpected", e.Unexpected}, {"of another shape", e.Misshaped}} {
		if n := len(list.names); n > 0 {
			shown := list.names[:min(n, 8)]
			text := fmt.Sprintf("%d %s: %s", n, list.what, strings.Join(shown, ", "))
			if n > len(shown) {
				text += ", …"
			}
			parts = append(parts, text)
		}
	}
	return "weights do not fit this model: " + strings.Join(parts, "; ")
}

// Match compares the file's tensors with the expected ones. The error is a [*MismatchError] that
// lists every difference. Match checks the scales of a quantized tensor together with the tensor,
// and leaves out those of a finder.
func (f *File) Match(expected []Spec) error {
	byName := f.index()
	var e MismatchError
	wanted := make(map[string]bool, len(expected))
	for _, spec := range expected {
		wanted[spec.Name] = true
		t := byName[spec.Name]
		switch {
		case t == nil:
			e.Missing = append(e.Missing, fmt.Sprintf("%s %v", spec.Name, spec.Shape))
		case !slices.Equal(t.Shape, spec.Shape):
			e.Misshaped = append(e.Misshaped, fmt.Sprintf("%s is %v, expected %v", spec.Name, t.Shape, spec.Shape))
		case t.DType == I8 && f.Metadata["quantization"] != "":
			if _, err := channelScales(byName, t); err != nil {
				e.Misshaped = append(e.Misshaped, strings.TrimPrefix(err.Error(), "weights: "))
			}
		}
	}
	for _, t := range f.Tensors {
		if !wanted[t.Name] && !finds(t) && quantizedBy(byName, t.Name) == nil {
			e.Unexpected = append(e.Unexpected, t.Name)
		}
	}
	if len(e.Missing)+len(e.Unexpected)+len(e.Misshaped) > 0 {
		return &e
	}
	return nil
}
