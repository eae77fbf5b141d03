// Package torch takes weights that were trained in PyTorch: a state dict saved as safetensors, whose names a map turns into ours and whose
// layouts become channels-last.
package torch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"mrprism/weights"
)

// Open reads a state dict. What torch.save has written is refused with how to write it instead.
func Open(path string) (*weights.File, error) {
	data, err := weights.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
		return nil, fmt.Errorf("%s is what torch.save writes, which runs as a program when it is read: save the state dict as safetensors, in Python "+
			"safetensors.torch.save_file(model.state_dict(), \"NAME.safetensors\")", path)
	}
	file, err := weights.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// MismatchError lists everything of a state dict that a model has no use for.
type MismatchError struct {
	Misshaped []string // "theirs is [..], ours takes [..]", in PyTorch's layout
	Homeless  []string // "theirs" or "theirs → ours", where the model has no such name
}

func (e *MismatchError) Error() string {
	var text []string
	if n := len(e.Misshaped); n > 0 {
		text = append(text, fmt.Sprintf("%d tensors of another shape", n))
		text = append(text, some(e.Misshaped)...)
	}
	if n := len(e.Homeless); n > 0 {
		text = append(text, fmt.Sprintf("%d tensors of names that this model does not have", n))
		text = append(text, some(e.Homeless)...)
	}
	return strings.Join(text, "\n  ")
}

// some are the first lines of a list: where a map is wrong altogether, hundreds more tell nothing more.
func some(lines []string) []string {
	const few = 20
	if len(lines) <= few+1 {
		return lines
	}
	return append(slices.Clone(lines[:few]), fmt.Sprintf("… and %d more", len(lines)-few))
}

// Take turns a state dict into float32 tensors of the model's names and layouts (specs). What the map leaves out is left out, and so are
// BatchNorm's counters; all else must have its place, or the error wraps a *MismatchError. Of the model's tensors those may be missing
// that the state dict does not have.
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

// Missing are the model's tensors that a file does not have, in short: "conp.*" where it has none whose name begins so.
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
