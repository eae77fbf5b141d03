package torch

import (
	"slices"
	"strings"

	"mrprism/weights"
)

// layout gives our axis for each axis of PyTorch's layout; -1 is an axis of length 1 that ours
// lacks.
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

// arrange puts values in PyTorch's order into the order of our shape.
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
