// Package pointwise has the operators on single elements: sums, activations, conversions,
// concatenation, transposition and reductions.
package pointwise

import (
	_ "embed"
	"fmt"

	"mrprism/shaders/gpu"
	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

//go:embed elementwise.wgsl
var elementwiseFile string

type ElementwiseParams struct {
	N, Period      uint32
	Factor, Offset float32
}

// Once says that x has a single batch element: the broadcast table is added once.
func (p *ElementwiseParams) Once() bool { return p.N == p.Period }

func elementwiseCount(p *ElementwiseParams) uint32 { return p.Period }

func elementwiseAll(p *ElementwiseParams) uint32 { return p.N }

// unary kernels take an input and a result, binary ones two inputs and a result.
var (
	unary  = []gpu.Access{gpu.Read, gpu.ReadWrite}
	binary = []gpu.Access{gpu.Read, gpu.Read, gpu.ReadWrite}
)

var (
	addForward = kernels.InPieces(elementwiseAll, addPart[float64], addPart[float32],
		kernels.Flat("add_forward", elementwiseFile, binary, elementwiseCount, nil))
	addBroadcastForward = kernels.InPieces(elementwiseAll, addBroadcastPart[float64], addBroadcastPart[float32],
		kernels.Flat("add_broadcast_forward", elementwiseFile, binary, elementwiseCount, nil))
	scaleForward = kernels.InPieces(elementwiseAll, scalePart[float64], scalePart[float32],
		kernels.Flat("scale_forward", elementwiseFile, unary, elementwiseCount, nil))
	// copyForward and addOnce have the factor 1.
	copyForward     = func() *tensor.Kernel { k := *scaleForward; k.Copies = true; return &k }()
	multiplyForward = kernels.InPieces(elementwiseAll, multiplyPart[float64], multiplyPart[float32],
		kernels.Flat("multiply_forward", elementwiseFile, binary, elementwiseCount, nil))
	addProduct = kernels.Adding(kernels.InPieces(elementwiseAll, addProductPart[float64], addProductPart[float32],
		kernels.Flat("add_product", elementwiseFile, binary, elementwiseCount, nil)))
	addScaled = kernels.Adding(kernels.InPieces(elementwiseAll, addScaledPart[float64], addScaledPart[float32],
		kernels.Flat("add_scaled", elementwiseFile, unary, elementwiseCount, nil)))
	addOnce = func() *tensor.Kernel { k := *addScaled; k.Copies = true; return &k }()
)

func addPart[F gpu.Float](_ *ElementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	other, y := a[1].F[from:to], a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = v + other[i]
	}
}

func addBroadcastPart[F gpu.Float](p *ElementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	period := int(p.Period)
	for from < to {
		end := min(to, from-from%period+period)
		table, y := a[1].F[from%period:][:end-from], a[2].F[from:end]
		for i, v := range a[0].F[from:end] {
			y[i] = v + table[i]
		}
		from = end
	}
}

func scalePart[F gpu.Float](p *ElementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	factor, offset, y := F(p.Factor), F(p.Offset), a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = F(factor*v) + offset // two roundings, on arm64 too
	}
}

func addScaledPart[F gpu.Float](p *ElementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	factor, y := F(p.Factor), a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] += factor * v
	}
}

func multiplyPart[F gpu.Float](_ *ElementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	other, y := a[1].F[from:to], a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = v * other[i]
	}
}

func addProductPart[F gpu.Float](_ *ElementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	other, y := a[1].F[from:to], a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] += v * other[i]
	}
}

var repeatElements = kernels.Repeat(func(p *ElementwiseParams, n uint32) {
	p.N *= n
	p.Period *= n
})

// AddTo appends x's gradient += factor × dy, if x needs a gradient.
func AddTo(x, dy *tensor.Tensor, factor float32) {
	if x.NeedsGradient() {
		n, kernel := uint32(x.Elements()), addScaled
		if factor == 1 {
			kernel = addOnce
		}
		x.Graph().Dispatch(kernel, &ElementwiseParams{N: n, Period: n, Factor: factor}, dy, x.Gradient())
	}
}

var (
	AddKind = kernels.Operator(tensor.Kind{Name: "Add", Halves: tensor.HalvesFollow, ONNX: "Add", Images: 2, Repeat: repeatElements}, addForward, func(op *tensor.Op) {
		AddTo(op.Inputs[0], op.Output().Gradient(), 1)
		AddTo(op.Inputs[1], op.Output().Gradient(), 1)
	})
	AddBroadcastKind = kernels.Operator(tensor.Kind{Name: "AddBroadcast", Halves: tensor.HalvesFollow, Images: 1, Repeat: kernels.Repeat(func(p *ElementwiseParams, n uint32) { p.N *= n })}, addBroadcastForward, func(op *tensor.Op) {
		x, table, dy := op.Inputs[0], op.Inputs[1], op.Output().Gradient()
		AddTo(x, dy, 1)
		if table.NeedsGradient() {
			SumRows(dy, table.Gradient())
		}
	})
	MultiplyKind = kernels.Operator(tensor.Kind{Name: "Multiply", Halves: tensor.HalvesFollow, ONNX: "Mul", Images: 2, Repeat: repeatElements}, multiplyForward, func(op *tensor.Op) {
		dy := op.Output().Gradient()
		for i, x := range op.Inputs {
			if x.NeedsGradient() {
				op.Dispatch(addProduct, op.Attributes, op.Inputs[1-i], dy, x.Gradient())
			}
		}
	})
	ScaleKind = kernels.Operator(tensor.Kind{Name: "Scale", Halves: tensor.HalvesFollow, Images: 1, Repeat: repeatElements}, scaleForward, func(op *tensor.Op) {
		AddTo(op.Inputs[0], op.Output().Gradient(), op.Attributes.(*ElementwiseParams).Factor)
	})
)

func init() { AddKind.Broadcast = AddBroadcastKind }

// Add is a + b, of one shape.
func Add(a, b *tensor.Tensor) *tensor.Tensor {
	kernels.SameShape("Add", a, b)
	n := uint32(a.Elements())
	return a.Graph().Apply(AddKind, &ElementwiseParams{N: n, Period: n}, a.Shape(), a, b)
}

// Multiply is a · b, element by element, of one shape.
func Multiply(a, b *tensor.Tensor) *tensor.Tensor {
	kernels.SameShape("Multiply", a, b)
	n := uint32(a.Elements())
	return a.Graph().Apply(MultiplyKind, &ElementwiseParams{N: n, Period: n}, a.Shape(), a, b)
}

// AddBroadcast adds a table of the size of one batch element to every batch element of x.
func AddBroadcast(x, table *tensor.Tensor) *tensor.Tensor {
	if x.Elements() != x.Dim(0)*table.Elements() {
		panic(fmt.Sprintf("AddBroadcast: table %v does not fit %v", table, x))
	}
	return x.Graph().Apply(AddBroadcastKind, &ElementwiseParams{N: uint32(x.Elements()), Period: uint32(table.Elements())}, x.Shape(), x, table)
}

// Scale is factor × x.
func Scale(x *tensor.Tensor, factor float32) *tensor.Tensor { return Affine(x, factor, 0) }

// Affine is factor × x + offset.
func Affine(x *tensor.Tensor, factor, offset float32) *tensor.Tensor {
	n := uint32(x.Elements())
	return x.Graph().Apply(ScaleKind, &ElementwiseParams{n, n, factor, offset}, x.Shape(), x)
}
