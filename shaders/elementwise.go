package shaders

import (
	_ "embed"
	"fmt"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed elementwise.wgsl
var elementwiseFile string

type elementwiseParams struct {
	N, Period uint32
	Factor    float32
}

// once says that a broadcast table is added to one batch element only.
func (p *elementwiseParams) once() bool { return p.N == p.Period }

func elementwiseCount(p *elementwiseParams) uint32 { return p.Period }

func elementwiseAll(p *elementwiseParams) uint32 { return p.N }

var (
	addForward = inPieces(elementwiseAll, addPart[float64], addPart[float32],
		flat("add_forward", elementwiseFile, []gpu.Access{read, read, write}, elementwiseCount, nil))
	addBroadcastForward = inPieces(elementwiseAll, addBroadcastPart[float64], addBroadcastPart[float32],
		flat("add_broadcast_forward", elementwiseFile, []gpu.Access{read, read, write}, elementwiseCount, nil))
	scaleForward = inPieces(elementwiseAll, scalePart[float64], scalePart[float32],
		flat("scale_forward", elementwiseFile, []gpu.Access{read, write}, elementwiseCount, nil))
	copyForward = func() *tensor.Kernel { k := *scaleForward; k.Copies = true; return &k }() // with the factor 1
	addScaled   = inPieces(elementwiseAll, addScaledPart[float64], addScaledPart[float32],
		flat("add_scaled", elementwiseFile, []gpu.Access{read, write}, elementwiseCount, nil))
	addOnce = func() *tensor.Kernel { k := *addScaled; k.Fresh = copyForward; return &k }() // with the factor 1
)

func addPart[F gpu.Float](_ *elementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	other, y := a[1].F[from:to], a[2].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = v + other[i]
	}
}

func addBroadcastPart[F gpu.Float](p *elementwiseParams, a []gpu.ArrayOf[F], from, to int) {
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

func scalePart[F gpu.Float](p *elementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	factor, y := F(p.Factor), a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] = factor * v
	}
}

func addScaledPart[F gpu.Float](p *elementwiseParams, a []gpu.ArrayOf[F], from, to int) {
	factor, y := F(p.Factor), a[1].F[from:to]
	for i, v := range a[0].F[from:to] {
		y[i] += factor * v
	}
}

// addTo appends gradient += factor × dy, where x needs a gradient.
func addTo(x, dy *Tensor, factor float32) {
	if x.NeedsGradient() {
		n, kernel := uint32(x.Elements()), addScaled
		if factor == 1 {
			kernel = addOnce
		}
		x.Graph().Dispatch(kernel, &elementwiseParams{n, n, factor}, dy, x.Gradient())
	}
}

// Add is a + b, of one shape.
func Add(a, b *Tensor) *Tensor {
	sameShape("Add", a, b)
	g := a.Graph()
	n := uint32(a.Elements())
	y := g.New("add", a.Shape(), a, b)
	g.Dispatch(addForward, &elementwiseParams{n, n, 1}, a, b, y)
	g.OnBackward(y, func() {
		addTo(a, y.Gradient(), 1)
		addTo(b, y.Gradient(), 1)
	})
	return y
}

// AddBroadcast adds a table, the size of one batch element of x, to every one.
func AddBroadcast(x, table *Tensor) *Tensor {
	if x.Elements() != x.Dim(0)*table.Elements() {
		panic(fmt.Sprintf("AddBroadcast: table %v does not fit %v", table, x))
	}
	g := x.Graph()
	y := g.New("add", x.Shape(), x, table)
	g.Dispatch(addBroadcastForward, &elementwiseParams{uint32(x.Elements()), uint32(table.Elements()), 1}, x, table, y)
	g.OnBackward(y, func() {
		addTo(x, y.Gradient(), 1)
		if table.NeedsGradient() {
			sumRows(y.Gradient(), table.Gradient())
		}
	})
	return y
}

// Scale is factor × x.
func Scale(x *Tensor, factor float32) *Tensor {
	g := x.Graph()
	n := uint32(x.Elements())
	y := g.New("scale", x.Shape(), x)
	g.Dispatch(scaleForward, &elementwiseParams{n, n, factor}, x, y)
	g.OnBackward(y, func() { addTo(x, y.Gradient(), factor) })
	return y
}
