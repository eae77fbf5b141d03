package shaders_test

import (
	"slices"

	"mrprism/shaders/conv"
	"mrprism/shaders/kernels"
	"mrprism/weights/format/onnx"
	"mrprism/weights/format/onnx/onnxtest"
)

// floats is a tensor's values for the device; other element types than floating point are not for
// our operators.
func floats(t *onnx.Tensor) []float32 {
	if t.Type != onnx.Float && t.Type != onnx.Double && t.Type != onnx.Float16 {
		unsupported("elements that are not floating point")
	}
	return narrowed(t.Values)
}

func narrowed(values []float64) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = float32(v)
	}
	return out
}

// extents is t's shape; a scalar has one element.
func extents(t *onnx.Tensor) []int {
	if len(t.Dims) == 0 {
		return []int{1}
	}
	return t.Dims
}

// permuted gives the values with axis perm[i] of t as axis i, and the new shape.
func permuted(t *onnx.Tensor, perm ...int) ([]float32, []int) {
	from, shape := floats(t), make([]int, len(perm))
	strides := make([]int, len(perm)) // of the source, in the order of the result
	for i, axis := range perm {
		shape[i] = t.Dims[axis]
		strides[i] = product(t.Dims[axis+1:])
	}
	to := make([]float32, len(from))
	at := make([]int, len(perm))
	for i := range to {
		source := 0
		for k := range at {
			source += at[k] * strides[k]
		}
		to[i] = from[source]
		for k := len(at) - 1; k >= 0; k-- {
			if at[k]++; at[k] < shape[k] {
				break
			}
			at[k] = 0
		}
	}
	return to, shape
}

func product(extents []int) int {
	n := 1
	for _, e := range extents {
		n *= e
	}
	return n
}

// sequence is from, from+1, …, to-1.
func sequence(from, to int) []int {
	var s []int
	for i := from; i < to; i++ {
		s = append(s, i)
	}
	return s
}

// channelsLast gives (N, C, …) as (N, H, W, C); one spatial axis is W.
func channelsLast(t *onnx.Tensor) ([]float32, []int) {
	switch len(t.Dims) {
	case 3:
		values, s := permuted(t, 0, 2, 1)
		return values, []int{s[0], 1, s[1], s[2]}
	case 4:
		return permuted(t, 0, 2, 3, 1)
	}
	unsupported("%d axes beside batch and channel", len(t.Dims)-2)
	return nil, nil
}

// axisLast moves an axis to the end.
func axisLast(t *onnx.Tensor, axis int) ([]float32, []int) {
	axis = wrap(axis, len(t.Dims))
	return permuted(t, append(slices.Delete(sequence(0, len(t.Dims)), axis, axis+1), axis)...)
}

// wrap counts a negative axis from the end.
func wrap(axis, rank int) int {
	if axis < 0 {
		axis += rank
	}
	if axis < 0 || axis >= max(rank, 1) {
		unsupported("axis %d of %d", axis, rank)
	}
	return axis
}

// input is an input that must be there.
func input(c *onnxtest.Case, i int) *onnx.Tensor {
	if i >= len(c.Inputs) || c.Inputs[i] == nil {
		unsupported("input %d is missing", i)
	}
	return c.Inputs[i]
}

// optional is an input, or nil.
func optional(c *onnxtest.Case, i int) *onnx.Tensor {
	if i >= len(c.Inputs) {
		return nil
	}
	return c.Inputs[i]
}

// integer, number and list are attributes with a default.
func integer(c *onnxtest.Case, name string, otherwise int) int {
	if a, ok := c.Node.Attributes[name]; ok {
		return a.Int
	}
	return otherwise
}

func number(c *onnxtest.Case, name string, otherwise float32) float32 {
	if a, ok := c.Node.Attributes[name]; ok {
		return float32(a.Float)
	}
	return otherwise
}

func list(c *onnxtest.Case, name string, otherwise ...int) []int {
	if a, ok := c.Node.Attributes[name]; ok {
		return a.Ints
	}
	return otherwise
}

// repeated is n times the same value.
func repeated(value float32, n int) []float32 { return slices.Repeat([]float32{value}, n) }

// onnxWindow is the window of a convolution or pooling with a kernel over an image (H, W). counting
// extends the lower and right padding for ceil_mode.
func onnxWindow(c *onnxtest.Case, height, width int, kernel []int) (w conv.Window, kh, kw int) {
	n := len(kernel)
	strides, dilations := list(c, "strides", slices.Repeat([]int{1}, n)...), list(c, "dilations", slices.Repeat([]int{1}, n)...)
	pads := slices.Clone(list(c, "pads", make([]int, 2*n)...))
	if slices.Max(dilations) > 1 {
		unsupported("dilation")
	}
	image := []int{height, width}[2-n:]
	same := c.Node.Attributes["auto_pad"].String
	for i := range n {
		fit := image[i] + pads[i] + pads[n+i] - kernel[i]
		switch {
		case same == "SAME_UPPER" || same == "SAME_LOWER":
			total := max(0, (kernels.Ceil(image[i], strides[i])-1)*strides[i]+kernel[i]-image[i])
			pads[i], pads[n+i] = total/2, total-total/2
			if same == "SAME_LOWER" {
				pads[i], pads[n+i] = pads[n+i], pads[i]
			}
		case integer(c, "ceil_mode", 0) == 1 && fit%strides[i] != 0:
			pads[n+i] += strides[i] - fit%strides[i]
		}
	}
	if slices.Min(pads) < 0 {
		unsupported("negative padding")
	}
	if n == 1 {
		return conv.Window{StrideY: 1, StrideX: strides[0], Left: pads[0], Right: pads[1]}, 1, kernel[0]
	}
	return conv.Window{
		StrideY: strides[0], StrideX: strides[1], Top: pads[0], Left: pads[1], Bottom: pads[2], Right: pads[3],
	}, kernel[0], kernel[1]
}
