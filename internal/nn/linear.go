package nn

import (
	"mrprism/internal/tensor"
	"mrprism/shaders"
)

// linear is a linear map of x by weight (Cin, Cout) and bias (Cout) or nil. What is yet to be added to its result is table (1, …, Cout), or nil.
type linear struct{ x, weight, bias, table *tensor.Tensor }

// Linear maps the last extent of x to out, Xavier-initialised.
func (b *Builder) Linear(name string, x *tensor.Tensor, out int, bias bool) *tensor.Tensor {
	w := b.parameter(name+".weight", xavier(x.Dim(-1), out), x.Dim(-1), out)
	return b.linear(linear{x: x, weight: w, bias: b.bias(name, out, bias)})
}

// linear appends a linear map, without training in one with that whose result it maps.
func (b *Builder) linear(l linear) *tensor.Tensor {
	l = b.folded(l)
	y := shaders.Linear(l.x, shaders.Like(l.x, l.weight), shaders.Like(l.x, l.bias))
	if b.made == nil {
		b.made = map[*tensor.Tensor]linear{}
	}
	b.made[y] = l
	return y
}

// folded is, without training, a linear map of another's result as a single one of what the other maps, unless that is wider: the weights of
// both depend on parameters alone and are multiplied once.
func (b *Builder) folded(l linear) linear {
	first, ok := b.made[l.x]
	if !ok || b.Training || first.weight.Dim(0) > first.weight.Dim(1) {
		return l
	}
	if first.bias != nil {
		l.bias = shaders.Linear(first.bias.Reshape(1, l.weight.Dim(0)), l.weight, l.bias).Reshape(l.weight.Dim(1))
	}
	l.x, l.weight = first.x, shaders.Linear(first.weight, l.weight, nil)
	return l
}

// beside is one linear map that gives the results of l and r, which map the same x, side by side.
func (b *Builder) beside(l, r linear) linear {
	return linear{l.x, shaders.Concat(l.weight, r.weight), b.joined("no bias", l.bias, r.bias, l, r), b.joined("no table", l.table, r.table, l, r)}
}

// joined are what is added to the results of l and of r side by side, zeros where one of them is nil; nil where both are.
func (b *Builder) joined(zeros string, ofL, ofR *tensor.Tensor, l, r linear) *tensor.Tensor {
	like := func(other *tensor.Tensor, m linear) *tensor.Tensor {
		shape := append([]int(nil), other.Shape()...)
		shape[len(shape)-1] = m.weight.Dim(1)
		return b.Graph.Constant(zeros, make([]float32, other.Elements()/other.Dim(-1)*m.weight.Dim(1)), shape...)
	}
	switch {
	case ofL == nil && ofR == nil:
		return nil
	case ofL == nil:
		ofL = like(ofR, l)
	case ofR == nil:
		ofR = like(ofL, r)
	}
	return shaders.Concat(ofL, ofR)
}
