// Package nn makes layers. A layer creates and names its variables, once, and appends its
// operators: building a model also lists the variables that its weights file must hold. Names are
// PyTorch's: "encoder.layer2.0.conv1.weight".
package nn

import (
	"fmt"
	"math"
	"math/rand/v2"

	"mrprism/shaders/conv"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// Builder appends layers to a graph, their variables to a set.
type Builder struct {
	Graph    *tensor.Graph
	Set      *tensor.Set
	Training bool // batch norm uses and follows the batch's statistics
	Detached bool // parameters get no gradient from what is built

	positions []*tensor.Tensor // the tables so far, each (1, H, W, C)
}

// Normalisation constants, as in PyTorch.
const (
	epsilon  = 1e-5
	momentum = 0.1
)

func (b *Builder) parameter(name string, initial tensor.Initialiser, shape ...int) *tensor.Tensor {
	v := b.Set.Variable(tensor.Parameter, name, shape...)
	v.Initial = initial
	x := b.Graph.Variable(v)
	if b.Detached {
		return x.Detach()
	}
	return x
}

// Parameter is a parameter whose elements start at initial(i).
func (b *Builder) Parameter(name string, initial func(i int) float64, shape ...int) *tensor.Tensor {
	return b.parameter(name, func(i int, _ *rand.Rand) float64 { return initial(i) }, shape...)
}

// Conv is a k×k convolution of x (B, H, W, Cin) to `out` channels. He's rule initialises it over
// the fan-in or, with fanOut, over the fan-out, as in ResNets.
func (b *Builder) Conv(name string, x *tensor.Tensor, k, out, stride, pad int, bias, fanOut bool) *tensor.Tensor {
	return b.ConvIn(name, x, k, out, conv.Square(stride, pad), bias, fanOut)
}

// Change is a k×k convolution (k odd) without bias whose weights start at 0: a correction that begins
// as none.
func (b *Builder) Change(name string, x *tensor.Tensor, k, out int) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	return conv.Conv2D(x, b.parameter(name+".weight", constant(0), k, k, x.Dim(-1), out), nil, conv.Square(1, k/2))
}

// ConvIn is Conv with a window of any padding.
func (b *Builder) ConvIn(name string, x *tensor.Tensor, k, out int, win conv.Window, bias, fanOut bool) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	in := x.Dim(-1)
	fan := k * k * in
	if fanOut {
		fan = k * k * out
	}
	w := b.parameter(name+".weight", he(fan), k, k, in, out)
	return conv.Conv2D(x, w, b.bias(name, out, bias), win)
}

// ConvShare is the share of x in a k×k convolution (k odd) of concatenated maps, with the bias or
// without. Conv has made the convolution of that name before. x has its channels from `first` on.
func (b *Builder) ConvShare(name string, x *tensor.Tensor, first int, bias bool) *tensor.Tensor {
	defer b.Graph.Layered(fmt.Sprintf("%s[%d:]", name, first))()
	w := b.Graph.Variable(b.Set.Lookup(name + ".weight"))
	shift, last := b.bias(name, w.Dim(-1), bias), first+x.Dim(-1)
	if w.Dim(0) == 1 {
		return conv.Linear(x, pointwise.Slice(w.Reshape(w.Dim(2), w.Dim(3)), first, last), shift)
	}
	return conv.Conv2D(x, pointwise.Slice(w, first, last), shift, conv.Square(1, w.Dim(0)/2))
}

// Depthwise is a k×k depthwise convolution with bias.
func (b *Builder) Depthwise(name string, x *tensor.Tensor, k int, win conv.Window) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	c := x.Dim(-1)
	w := b.parameter(name+".weight", he(k*k), k, k, c)
	return conv.DepthwiseConv2D(x, w, b.bias(name, c, true), win)
}

// Repeat is Up whose four pixels start with equal weights: it first repeats pixels, as in Aitken et
// al. (2017), and a young model's mask has no checkerboard.
func (b *Builder) Repeat(name string, x *tensor.Tensor, out int, bias func(channel int) float64) *tensor.Tensor {
	return b.up(name, x, out, repeated(he(x.Dim(-1)), x.Dim(-1)*out), bias)
}

// Up is a transposed 2×2 convolution of stride 2. Its bias starts at bias(channel), or at 0 if
// bias is nil.
func (b *Builder) Up(name string, x *tensor.Tensor, out int, bias func(channel int) float64) *tensor.Tensor {
	return b.up(name, x, out, he(x.Dim(-1)), bias)
}

func (b *Builder) up(name string, x *tensor.Tensor, out int, weights tensor.Initialiser, bias func(channel int) float64) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	initial := constant(0)
	if bias != nil {
		initial = func(i int, _ *rand.Rand) float64 { return bias(i) }
	}
	w := b.parameter(name+".weight", weights, 2, 2, x.Dim(-1), out)
	shift := b.parameter(name+".bias", initial, out)
	return conv.ConvTranspose2x2(x, w, shift)
}

// GroupedLinear gives each of the groups of x's channels its own linear map to out channels, with
// bias.
func (b *Builder) GroupedLinear(name string, x *tensor.Tensor, groups, out int) *tensor.Tensor {
	return b.grouped(name, x, groups, out, Xavier(x.Dim(-1)/groups, out))
}

// GroupedChange is GroupedLinear that is 0 at first.
func (b *Builder) GroupedChange(name string, x *tensor.Tensor, groups, out int) *tensor.Tensor {
	return b.grouped(name, x, groups, out, constant(0))
}

func (b *Builder) grouped(name string, x *tensor.Tensor, groups, out int, initial tensor.Initialiser) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	in := x.Dim(-1) / groups
	w := b.parameter(name+".weight", initial, groups, in, out)
	return conv.GroupedLinear(x, w, b.parameter(name+".bias", constant(0), groups, out))
}

// LayerNorm normalises the last extent.
func (b *Builder) LayerNorm(name string, x *tensor.Tensor) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	c := x.Dim(-1)
	scale, shift := b.parameter(name+".weight", constant(1), c), b.parameter(name+".bias", constant(0), c)
	return norm.LayerNorm(x, scale, shift, epsilon)
}

// BatchNorm normalises the channels of x (B, H, W, C).
func (b *Builder) BatchNorm(name string, x *tensor.Tensor) *tensor.Tensor {
	defer b.Graph.Layered(name)()
	c := x.Dim(-1)
	mean := b.Set.Variable(tensor.Statistic, name+".running_mean", c)
	variance := b.Set.Variable(tensor.Statistic, name+".running_var", c)
	variance.Initial = constant(1)
	scale, shift := b.parameter(name+".weight", constant(1), c), b.parameter(name+".bias", constant(0), c)
	return norm.BatchNorm(x, scale, shift, b.Graph.Variable(mean), b.Graph.Variable(variance), b.Training, epsilon, momentum)
}

func (b *Builder) bias(name string, n int, wanted bool) *tensor.Tensor {
	if !wanted {
		return nil
	}
	return b.parameter(name+".bias", constant(0), n)
}

func he(fan int) tensor.Initialiser {
	std := math.Sqrt(2 / float64(fan))
	return func(_ int, r *rand.Rand) float64 { return std * r.NormFloat64() }
}

// repeated draws n values, and repeats them.
func repeated(draw tensor.Initialiser, n int) tensor.Initialiser {
	var drawn []float64
	return func(i int, r *rand.Rand) float64 {
		if i == 0 {
			drawn = nil
		}
		if i < n {
			drawn = append(drawn, draw(i, r))
		}
		return drawn[i%n]
	}
}

// Xavier is the uniform rule of Glorot & Bengio (2010).
func Xavier(in, out int) tensor.Initialiser {
	a := math.Sqrt(6 / float64(in+out))
	return func(_ int, r *rand.Rand) float64 { return a * (2*r.Float64() - 1) }
}

func constant(v float64) tensor.Initialiser { return func(int, *rand.Rand) float64 { return v } }
