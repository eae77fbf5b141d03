package nn

import (
	"mrprism/internal/tensor"
	"mrprism/shaders"
)

// inInt8 is what a convolution is given, in int8, where it is to compute so: at inference, with outputs in fours, where the largest input is
// known. Those that are given the same tensor are given the same int8. Linear maps stay in floats: on lavapipe what they gain, up to 256
// channels, goes into rounding their input; but for those whose results attention wants in int8. So do convolutions of one or two channels,
// which would leave half of every word empty.
func (b *Builder) inInt8(name string, x *tensor.Tensor, out int) (q shaders.Quantized, ok bool) {
	if b.Training || x.Dim(-1) < 3 || out%4 != 0 {
		return q, false
	}
	if b.Inputs != nil {
		b.Inputs(name, x)
	}
	largest, ok := b.Ranges[name]
	if !ok {
		return q, false
	}
	if q, ok = b.int8[x]; ok {
		return q, true
	}
	if b.int8 == nil {
		b.int8 = map[*tensor.Tensor]shaders.Quantized{}
	}
	q = shaders.Quantize(x, largest/127)
	b.int8[x] = q
	return q, true
}

// Add is x + y. Where convolutions are given y in int8, that is what is added, so that y need not be there in floats as well.
func (b *Builder) Add(x, y *tensor.Tensor) *tensor.Tensor {
	if q, ok := b.int8[y]; ok {
		return shaders.AddInt8(x, q)
	}
	return shaders.Add(x, y)
}

// convolution is that of x by weight, plus bias unless nil, in int8 where it is to be.
func (b *Builder) convolution(name string, x, weight, bias *tensor.Tensor, win shaders.Window) *tensor.Tensor {
	if q, ok := b.inInt8(name, x, weight.Dim(-1)); ok {
		return q.Conv2D(weight, bias, win)
	}
	return shaders.Conv2D(x, shaders.Like(x, weight), shaders.Like(x, bias), win)
}
