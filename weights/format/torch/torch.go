// Package torch imports weights that were trained in PyTorch: a state dict, saved as safetensors. A
// Map turns its names into ours, and the package turns its layouts into channels-last ones.
package torch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mrprism/weights"
)

// Open reads a state dict. It refuses a file of torch.save and says how to write one that it can
// read.
func Open(path string) (*weights.File, error) {
	data, err := weights.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return nil, fmt.Errorf("%s is a file of torch.save, which can run any program when it is read. Save the state dict as safetensors, in Python "+
			"safetensors.torch.save_file(model.state_dict(), \"NAME.safetensors\")", path)
	}
	file, err := weights.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// MismatchError lists the tensors of a state dict that have no place in a model.
type MismatchError struct {
	Misshaped []string // "theirs is [..], ours takes [..]", in PyTorch's layout
	Homeless  []string // "theirs" or "theirs → ours": the model has no such name
}

func (e *MismatchError) Error() string {
	var text []string
	if n := len(e.Misshaped); n > 0 {
		text = append(text, fmt.Sprintf("%d tensors of another shape", n))
		text = append(text, firstLines(e.Misshaped)...)
	}
	if n := len(e.Homeless); n > 0 {
		text = append(text, fmt.Sprintf("%d tensors of names that this model does not have", n))
		text = append(text, firstLines(e.Homeless)...)
	}
	return strings.Join(text, "\n  ")
}

// firstLines are the first lines of a list. A wrong map gives hundreds of lines.
func firstLines(lines []string) []string {
	const few = 20
	if len(lines) <= few+1 {
		return lines
	}
	return append(slices.Clone(lines[:few]), fmt.Sprintf("… and %d more", len(lines)-few))
}

// Take turns a state dict into float32 tensors with the names and layouts of the model (specs). It
// skips the tensors that the map leaves out and BatchNorm's counters. If any other tensor has no
// place in the model, the error is a *MismatchError. The state dict may lack tensors of the model.
func (m *Map) Take(dict *weights.File, specs []weights.Spec) (*weights.File, error) {
	ours := make(map[string]weights.Spec, len(specs))
	for _, s := range specs {
		ours[s.Name] = s
	}
	out, from := &weights.File{}, map[string]string{}
	var mismatch MismatchError
	for i := range dict.Tensors {
		t := &dict.Tensors[i]
		name, taken := m.rename(t.Name)
		if !taken {
			continue
		}
		if other, twice := from[name]; twice {
			return nil, fmt.Errorf("both %s and %s become %s: mend the map", other, t.Name, name)
		}
		from[name] = t.Name
		spec, known := ours[name]
		if !known {
			mismatch.Homeless = append(mismatch.Homeless, strings.TrimSuffix(t.Name+" → "+name, " → "+t.Name))
			continue
		}
		l := layoutOf(spec)
		if !sameShape(t.Shape, l.theirs(spec.Shape)) {
			mismatch.Misshaped = append(mismatch.Misshaped, fmt.Sprintf("%s is %v, %s takes %v", t.Name, t.Shape, name, l.theirs(spec.Shape)))
			continue
		}
		values, err := t.Float32()
		if err != nil {
			return nil, err
		}
		out.Tensors = append(out.Tensors, weights.NewF32(name, spec.Shape, l.arrange(values, spec.Shape)))
	}
	if len(mismatch.Misshaped)+len(mismatch.Homeless) > 0 {
		return nil, &mismatch
	}
	if len(out.Tensors) == 0 {
		return nil, fmt.Errorf("the map leaves out all of its %d tensors", len(dict.Tensors))
	}
	return out, m.renormalise(out)
}

// Missing lists the model's tensors that a file lacks. "conp.*" stands for all tensors whose names
// begin with "conp.".
func Missing(file *weights.File, specs []weights.Spec) []string {
	var short []string
	for _, s := range specs {
		if file.Tensor(s.Name) != nil {
			continue
		}
		name := s.Name
		for at, r := range s.Name {
			prefix := s.Name[:at+1]
			if r == '.' && !slices.ContainsFunc(file.Tensors, func(t weights.Tensor) bool { return strings.HasPrefix(t.Name, prefix) }) {
				name = prefix + "*"
				break
			}
		}
		if !slices.Contains(short, name) {
			short = append(short, name)
		}
	}
	return short
}

// layout has, for each axis of PyTorch's layout, the number of the same axis in ours, or -1 for an
// axis of length 1 that ours lacks.
type layout []int

// layoutOf is the layout of a model's tensor. Ours are channels-last: convolutions (kh, kw, in,
// out), depthwise ones (kh, kw, channels), linear maps (in, out).
func layoutOf(s weights.Spec) layout {
	switch rank := len(s.Shape); {
	case strings.HasPrefix(s.Name, "divp.heads.output."):
		// a parameter, not a layer, in PyTorch: (raters, in, classes)
		return layout{0, 1, 2}[:rank]
	case rank == 4 && (strings.HasSuffix(s.Name, ".up.weight") || s.Name == "conp.head.weight"):
		// ConvTranspose2d (in, out, kh, kw)
		return layout{2, 3, 0, 1}
	case rank == 4: // Conv2d (out, in, kh, kw)
		return layout{3, 2, 0, 1}
	case rank == 3: // Conv2d with groups, (channels, 1, kh, kw)
		return layout{2, -1, 0, 1}
	case rank == 2: // Linear (out, in)
		return layout{1, 0}
	}
	return layout{0}
}

// theirs is the shape in PyTorch.
func (l layout) theirs(ours []int) []int {
	shape := make([]int, len(l))
	for i, axis := range l {
		shape[i] = 1
		if axis >= 0 {
			shape[i] = ours[axis]
		}
	}
	return shape
}

// sameShape says whether two shapes are equal except for ones at their ends: a 1×1 convolution is
// a linear map.
func sameShape(a, b []int) bool {
	trim := func(s []int) []int {
		for len(s) > 0 && s[len(s)-1] == 1 {
			s = s[:len(s)-1]
		}
		return s
	}
	return slices.Equal(trim(a), trim(b))
}

// arrange reorders values from PyTorch's layout to ours.
func (l layout) arrange(values []float32, ours []int) []float32 {
	stride := make([]int, len(ours)) // of our axes in their order
	step := 1
	for i := len(l) - 1; i >= 0; i-- {
		if l[i] >= 0 {
			stride[l[i]] = step
			step *= ours[l[i]]
		}
	}
	out := make([]float32, len(values))
	for i := range out {
		rest, from := i, 0
		for axis := len(ours) - 1; axis >= 0; axis-- {
			from += rest % ours[axis] * stride[axis]
			rest /= ours[axis]
		}
		out[i] = values[from]
	}
	return out
}
