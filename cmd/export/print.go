package main

import (
	"context"
	"fmt"
	"slices"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
	"mrprism/weights/format/onnx"
)

// layout is how ONNX sees a map of our graphs, (1, H, W, C) or (1, N, C).
type layout int

const (
	plane  layout = iota // (1, C, H, W): of convolutions and pools
	tokens               // (1, N, C) with N = H·W: of linear maps, attention and layer normalisation
	either               // of an operator that works on both
)

// printer writes the operators of a graph as ONNX nodes. It begins at the results, and writes an
// operator when another one needs its output. It keeps the layouts in which it has written a value,
// and makes a second layout from the first.
type printer struct {
	*onnx.Graph
	kinds     map[*tensor.Kind]kind
	makers    map[any]*tensor.Op            // by storage
	fixed     map[any]bool                  // by storage: what operators make of parameters and constants alone
	computed  map[any][]float32             // by storage: the values of fixed tensors that other operators read
	values    map[view]*[either]*onnx.Value // the layouts that are written; nil: not yet
	constants map[arrangement]*onnx.Value
	names     map[string]int // of constants: how often each was wanted
}

// view is a storage as a tensor sees it that has this number of channels. Channels are last: the
// pixels of a view with fewer channels are more.
type view struct {
	storage  any
	channels int
}

func viewOf(x *tensor.Tensor) view { return view{x.Storage(), channels(x)} }

// arrangement is a fixed tensor as a constant with these extents, its axes in this order.
type arrangement struct {
	storage any
	as      string
}

func newPrinter(g *onnx.Graph) *printer {
	return &printer{
		Graph: g, kinds: kinds(),
		makers: map[any]*tensor.Op{}, fixed: map[any]bool{}, computed: map[any][]float32{},
		values: map[view]*[either]*onnx.Value{}, constants: map[arrangement]*onnx.Value{}, names: map[string]int{},
	}
}

// print appends a rewritten graph (shaders.Portable) to the ONNX graph and returns the outputs as
// planes. The device, which has the set's variables, computes the constants.
func (p *printer) print(ctx context.Context, device gpu.Device, set *tensor.Set, u *model.Unrolled) (outputs []*onnx.Value, err error) {
	if err := p.compute(ctx, device, set, u.Graph); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			refused, ok := r.(unprintable)
			if !ok {
				panic(r)
			}
			err = refused
		}
	}()
	p.values[viewOf(u.X)] = &[either]*onnx.Value{plane: p.Input("x", planeShape(u.X)...)}
	if w := u.Start; w != nil {
		p.values[viewOf(w)] = &[either]*onnx.Value{plane: p.Constant("start confidence", func() []float64 {
			return slices.Repeat([]float64{model.StartConfidence}, w.Elements())
		}, planeShape(w)...)}
	}
	for _, o := range u.Outputs {
		outputs = append(outputs, p.value(o.Tensor, plane))
	}
	return outputs, nil
}

// unprintable is an operator that cannot be written as ONNX.
type unprintable struct{ error }

func refuse(op *tensor.Op, reason string) {
	name := op.String()
	if op.Kind != nil {
		name = op.Kind.Name
	}
	panic(unprintable{fmt.Errorf("ONNX: operator %s of layer %q: %s", name, op.Layer, reason)})
}

// trace finds out which operator makes each value, and which values are fixed. It returns the fixed
// values that an operator reads whose result is not fixed.
func (p *printer) trace(g *tensor.Graph) (read []*tensor.Tensor) {
	seen := map[any]bool{}
	for _, op := range g.Ops() {
		fixed := op.Kind != nil && !slices.ContainsFunc(op.Inputs, func(x *tensor.Tensor) bool { return !p.isFixed(x) })
		for _, y := range op.Outputs {
			p.makers[y.Storage()], p.fixed[y.Storage()] = op, fixed
		}
		for _, x := range op.Inputs {
			if !fixed && x != nil && p.isFixed(x) && !seen[x.Storage()] {
				seen[x.Storage()] = true
				read = append(read, x)
			}
		}
	}
	return read
}

// compute computes the values that trace returns.
func (p *printer) compute(ctx context.Context, device gpu.Device, set *tensor.Set, g *tensor.Graph) error {
	var kept []*tensor.Tensor
	for _, x := range p.trace(g) {
		switch v := x.Variable(); {
		case x.Constant():
			p.computed[x.Storage()] = x.Values()
		case v != nil:
			values, err := set.Read(ctx, v)
			if err != nil {
				return err
			}
			p.computed[x.Storage()] = values[0]
		default:
			kept = append(kept, x.Keep())
		}
	}
	plan, err := tensor.Compile(ctx, device, set, g)
	if err != nil {
		return err
	}
	defer plan.Release()
	if err := plan.RunEarly(ctx); err != nil { // and with it what depends on parameters alone
		return err
	}
	values, err := plan.Read(ctx, kept...)
	if err != nil {
		return err
	}
	for i, x := range kept {
		p.computed[x.Storage()] = values[i]
	}
	return nil
}

// isFixed says whether x depends on parameters, statistics and constants alone.
func (p *printer) isFixed(x *tensor.Tensor) bool {
	if x == nil || x.Constant() || p.fixed[x.Storage()] {
		return true
	}
	v := x.Variable()
	return v != nil && (v.Role == tensor.Parameter || v.Role == tensor.Statistic)
}

// channels is the last extent of a map or of tokens. The maps of all raters (1, H, W, M, K) have
// M·K.
func channels(x *tensor.Tensor) int {
	if len(x.Shape()) == 5 {
		return x.Dim(3) * x.Dim(4)
	}
	return x.Dim(-1)
}

func planeShape(x *tensor.Tensor) []int { return []int{1, channels(x), x.Dim(1), x.Dim(2)} }

// value is a tensor in a layout.
func (p *printer) value(x *tensor.Tensor, f layout) *onnx.Value {
	switch {
	case p.isFixed(x) && f == tokens:
		n := x.Elements() / channels(x)
		return p.constant(x.String(), x, []int{1, n, channels(x)}, []int{0, 1, 2})
	case p.isFixed(x):
		return p.constant(x.String(), x, []int{1, x.Dim(1), x.Dim(2), channels(x)}, []int{0, 3, 1, 2})
	}
	layouts := p.values[viewOf(x)]
	if layouts == nil {
		layouts = p.written(x, f)
		p.values[viewOf(x)] = layouts
	}
	if layouts[f] == nil {
		if f == tokens {
			m := layouts[plane]
			layouts[f] = p.Reshape(p.Transpose(m, 0, 2, 3, 1), 1, m.Dim(2)*m.Dim(3), m.Dim(1))
		} else {
			layouts[f] = p.Transpose(p.Reshape(layouts[tokens], 1, x.Dim(1), x.Dim(2), channels(x)), 0, 3, 1, 2)
		}
	}
	return layouts[f]
}

// made is x as its operator makes it; nil: no operator does.
func (p *printer) made(x *tensor.Tensor) *tensor.Tensor {
	if op := p.makers[x.Storage()]; op != nil {
		for _, y := range op.Outputs {
			if y.Storage() == x.Storage() {
				return y
			}
		}
	}
	return nil
}

// written is a tensor in the layout in which its operator writes it, if possible in the wanted one.
func (p *printer) written(x *tensor.Tensor, wanted layout) *[either]*onnx.Value {
	op := p.makers[x.Storage()]
	if made := p.made(x); made != nil && channels(made) != channels(x) {
		return &[either]*onnx.Value{tokens: p.Reshape(p.value(made, tokens), 1, x.Elements()/channels(x), channels(x))}
	}
	if op == nil {
		panic(unprintable{fmt.Errorf("ONNX: no operator makes %v", x)})
	}
	k := p.kindOf(op)
	first := op.Output().Storage() == x.Storage()
	if op.Kind == pointwise.SplitKind && first {
		k.print = printFirst
	}
	if k.print == nil || !first && op.Kind != pointwise.SplitKind {
		refuse(op, "export cannot write it")
	}
	f := k.layout
	if f == either {
		f = wanted
		if !p.has(x, wanted) {
			f = 1 - wanted
		}
	}
	var layouts [either]*onnx.Value
	before := p.Scope
	p.Scope = ""
	if op.Layer != "" {
		p.Scope = op.Layer + "/"
	}
	layouts[f] = k.print(p, op, f)
	p.Scope = before
	return &layouts
}

func (p *printer) kindOf(op *tensor.Op) kind {
	if op.Kind == nil {
		return kind{}
	}
	if op.Kind.ONNX != "" {
		return kind{either, printElementwise(op.Kind.ONNX)}
	}
	return p.kinds[op.Kind]
}

// has says whether x is written in a layout, or will be. An operator that works on both layouts
// takes the one that an input has.
func (p *printer) has(x *tensor.Tensor, f layout) bool {
	if layouts := p.values[viewOf(x)]; layouts != nil {
		return layouts[f] != nil
	}
	op, made := p.makers[x.Storage()], p.made(x)
	if op == nil {
		return false
	}
	if channels(made) != channels(x) {
		return f == tokens
	}
	if k := p.kindOf(op); k.layout != either {
		return k.layout == f
	}
	return slices.ContainsFunc(op.Inputs, func(x *tensor.Tensor) bool { return x != nil && !p.isFixed(x) && p.has(x, f) })
}

// constant is a fixed tensor that has these extents, with its axes in this order. shape is that of
// the result if axes are merged.
func (p *printer) constant(name string, x *tensor.Tensor, extents, order []int, shape ...int) *onnx.Value {
	as := arrangement{x.Storage(), fmt.Sprint(extents, order)}
	if c := p.constants[as]; c != nil {
		return c
	}
	values, found := p.computed[x.Storage()]
	if !found {
		panic(fmt.Sprintf("export: %v is not fixed", x))
	}
	p.names[name]++
	if n := p.names[name]; n > 1 {
		name = fmt.Sprintf("%s %d", name, n)
	}
	if shape == nil {
		for _, axis := range order {
			shape = append(shape, extents[axis])
		}
	}
	c := p.Constant(name, func() []float64 { return rearranged(values, extents, order) }, shape...)
	p.constants[as] = c
	return c
}

// rearranged gives the values of a shape in another order of its axes.
func rearranged(values []float32, shape, order []int) []float64 {
	strides := make([]int, len(shape))
	for i, step := len(shape)-1, 1; i >= 0; i-- {
		strides[i], step = step, step*shape[i]
	}
	out := make([]float64, 0, len(values))
	var visit func(axis, at int)
	visit = func(axis, at int) {
		if axis == len(order) {
			out = append(out, float64(values[at]))
			return
		}
		for i := range shape[order[axis]] {
			visit(axis+1, at+i*strides[order[axis]])
		}
	}
	visit(0, 0)
	return out
}

// weight and bias are the second and third input as constants, named by the layer that reads them.
func (p *printer) weight(op *tensor.Op, extents, order []int, shape ...int) *onnx.Value {
	return p.constant(op.Layer+".weight", op.Inputs[1], extents, order, shape...)
}

func (p *printer) bias(op *tensor.Op) *onnx.Value {
	if op.Inputs[2] == nil {
		return nil
	}
	return p.constant(op.Layer+".bias", op.Inputs[2], []int{op.Inputs[2].Elements()}, []int{0})
}
