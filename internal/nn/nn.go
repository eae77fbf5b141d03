// Package nn makes layers: it creates and names the variables, once, and appends the operators. Building a model and listing
// what its weights file must hold are therefore the same thing. Names are PyTorch's: "encoder.layer2.0.conv1.weight".
package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"mrprism/internal/tensor"
	"mrprism/shaders"
)

// Builder appends layers to a graph, their variables to a set.
type Builder struct {
	Graph    *tensor.Graph
	Set      *tensor.Set
	Training bool // batch norm uses and follows the batch's statistics
	Halves   bool // in a graph of F32: what Stored begins is stored as F16 up to what shaders.Widen ends; parameters stay F32

	// At inference:
	Ranges map[string]float32                  // the largest |x| that convolutions are given, by their names: those in it compute in int8
	Inputs func(name string, x *tensor.Tensor) // is told what convolutions are given that can compute in int8; nil: nobody

	int8 map[*tensor.Tensor]shaders.Quantized // what is there in int8
	made map[*tensor.Tensor]linear            // the linear maps' results
}

// Normalisation constants, as in PyTorch.
const (
	epsilon  = 1e-5
	momentum = 0.1
)

func (b *Builder) parameter(name string, initial tensor.Initialiser, shape ...int) *tensor.Tensor {
	v := b.Set.Variable(tensor.Parameter, name, shape...)
	v.Initial = initial
	return b.Graph.Variable(v)
}

// Stored is x as the network's maps are stored. No gradient passes through it where that is F16.
func (b *Builder) Stored(x *tensor.Tensor) *tensor.Tensor {
	if b.Halves {
		return shaders.Halve(x.Detach())
	}
	return x
}

// Conv is a k×k convolution of x (B, H, W, Cin) to `out` channels; initialised by He's rule over the fan-in, or over the fan-out
// where fanOut, as ResNets are.
func (b *Builder) Conv(name string, x *tensor.Tensor, k, out, stride, pad int, bias, fanOut bool) *tensor.Tensor {
	in := x.Dim(-1)
	fan := k * k * in
	if fanOut {
		fan = k * k * out
	}
	w := b.parameter(name+".weight", he(fan), k, k, in, out)
	if k == 1 && stride == 1 && pad == 0 {
		return b.linear(linear{x: x, weight: w.Reshape(in, out), bias: b.bias(name, out, bias)})
	}
	return b.convolution(name, x, w, b.bias(name, out, bias), shaders.Square(stride, pad))
}

// ConvPart is the share of x in a k×k convolution, k odd, of maps side by side, `of` channels in all, x's from `first` on: the convolution of
// all is the sum of the shares. The bias comes with one of them.
func (b *Builder) ConvPart(name string, x *tensor.Tensor, k, out, first, of int, bias bool) *tensor.Tensor {
	w := b.parameter(name+".weight", he(k*k*of), k, k, of, out)
	return b.convolution(fmt.Sprintf("%s[%d:]", name, first), x, shaders.Slice(w, first, first+x.Dim(-1)), b.bias(name, out, bias), shaders.Square(1, k/2))
}

// Depthwise is a k×k depthwise convolution with bias, padded by k/2.
func (b *Builder) Depthwise(name string, x *tensor.Tensor, k, stride int) *tensor.Tensor {
	c := x.Dim(-1)
	w := b.parameter(name+".weight", he(k*k), k, k, c)
	return shaders.DepthwiseConv2D(x, shaders.Like(x, w), shaders.Like(x, b.bias(name, c, true)), shaders.Square(stride, k/2))
}

// AddBroadcast adds a table that depends on parameters alone, the size of one batch element of x, to every one.
func (b *Builder) AddBroadcast(x, table *tensor.Tensor) *tensor.Tensor {
	return shaders.AddBroadcast(x, shaders.Like(x, table))
}

// Up is a transposed convolution 2×2/2 with bias, which starts at bias(channel); nil: at 0.
func (b *Builder) Up(name string, x *tensor.Tensor, out int, bias func(channel int) float64) *tensor.Tensor {
	initial := constant(0)
	if bias != nil {
		initial = func(i int, _ *rand.Rand) float64 { return bias(i) }
	}
	w := b.parameter(name+".weight", he(x.Dim(-1)), 2, 2, x.Dim(-1), out)
	shift := b.parameter(name+".bias", initial, out)
	if q, ok := b.inInt8(name, x, out); ok {
		return q.ConvTranspose2x2(w, shift)
	}
	return shaders.ConvTranspose2x2(x, shaders.Like(x, w), shaders.Like(x, shift))
}

// GroupedLinear gives each of the groups of x's channels its own linear map to out channels, with bias.
func (b *Builder) GroupedLinear(name string, x *tensor.Tensor, groups, out int) *tensor.Tensor {
	in := x.Dim(-1) / groups
	w := b.parameter(name+".weight", xavier(in, out), groups, in, out)
	return shaders.GroupedLinear(x, shaders.Like(x, w), shaders.Like(x, b.parameter(name+".bias", constant(0), groups, out)))
}

// LayerNorm normalises the last extent.
func (b *Builder) LayerNorm(name string, x *tensor.Tensor) *tensor.Tensor {
	c := x.Dim(-1)
	scale, shift := b.parameter(name+".weight", constant(1), c), b.parameter(name+".bias", constant(0), c)
	return shaders.LayerNorm(x, shaders.Like(x, scale), shaders.Like(x, shift), epsilon)
}

// BatchNorm normalises the channels of x (B, H, W, C).
func (b *Builder) BatchNorm(name string, x *tensor.Tensor) *tensor.Tensor {
	return b.batchNorm(name, x, shaders.BatchNorm)
}

// BatchNormReLU is ReLU of BatchNorm.
func (b *Builder) BatchNormReLU(name string, x *tensor.Tensor) *tensor.Tensor {
	return b.batchNorm(name, x, shaders.BatchNormReLU)
}

func (b *Builder) batchNorm(name string, x *tensor.Tensor,
	operator func(x, scale, bias, mean, variance *tensor.Tensor, training bool, eps, momentum float32) *tensor.Tensor) *tensor.Tensor {
	c := x.Dim(-1)
	mean := b.Set.Variable(tensor.Statistic, name+".running_mean", c)
	variance := b.Set.Variable(tensor.Statistic, name+".running_var", c)
	variance.Initial = constant(1)
	scale, shift := b.parameter(name+".weight", constant(1), c), b.parameter(name+".bias", constant(0), c)
	return operator(x, shaders.Like(x, scale), shaders.Like(x, shift),
		b.Graph.Variable(mean), b.Graph.Variable(variance), b.Training, epsilon, momentum)
}

// MLP is two linear maps that keep the width, GELU between.
func (b *Builder) MLP(name string, x *tensor.Tensor) *tensor.Tensor {
	return b.Linear(name+".2", shaders.GELU(b.Linear(name+".0", x, x.Dim(-1), true)), x.Dim(-1), true)
}

func (b *Builder) bias(name string, n int, wanted bool) *tensor.Tensor {
	if !wanted {
		return nil
	}
	return b.parameter(name+".bias", constant(0), n)
}

// Positions is the fixed 2-D sine–cosine encoding E, (1, H, W, C), for maps like x (B, H, W, C).
func (b *Builder) Positions(x *tensor.Tensor) *tensor.Tensor {
	h, w, c := x.Dim(1), x.Dim(2), x.Dim(3)
	return b.Graph.Constant("positions", shaders.PositionEncoding(h, w, c), 1, h, w, c)
}

func he(fan int) tensor.Initialiser {
	std := math.Sqrt(2 / float64(fan))
	return func(_ int, r *rand.Rand) float64 { return std * r.NormFloat64() }
}

func xavier(in, out int) tensor.Initialiser {
	a := math.Sqrt(6 / float64(in+out))
	return func(_ int, r *rand.Rand) float64 { return a * (2*r.Float64() - 1) }
}

func constant(v float64) tensor.Initialiser { return func(int, *rand.Rand) float64 { return v } }
