package shaders

import (
	"slices"

	"mrprism/shaders/gpu"
	"mrprism/shaders/norm"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// StoreHalves makes a graph that is to be trained store the maps between its inputs and its logits,
// and their gradients, as F16 (Micikevicius et al. 2018). Parameters with their gradients,
// statistics and losses stay F32: only operators whose Kind.Halves says so store halves, and every
// other one takes F32. Call it before Backward.
func StoreHalves(g *tensor.Graph) {
	depends := map[any]bool{} // storages that depend on an input
	halves, wides := map[any]*tensor.Tensor{}, map[any]*tensor.Tensor{}
	g.Map(func(op *tensor.Op) {
		if op.Kind == nil {
			return
		}
		changing := slices.ContainsFunc(op.Inputs, func(x *tensor.Tensor) bool {
			return x != nil && !x.Constant() && (x.Input() || depends[x.Storage()])
		})
		short := op.Kind.Halves == tensor.HalvesBegin && changing || op.Kind.Halves == tensor.HalvesFollow && op.Inputs[0].Type() == gpu.F16
		for i, x := range op.Inputs {
			statistics := op.Kind == norm.BatchNormKind && i == 1
			switch {
			case x == nil || !x.Type().IsFloat() || statistics:
			case short && x.Type() == gpu.F32:
				op.Inputs[i] = converted(halves, x, pointwise.Halve)
			case !short && x.Type() == gpu.F16:
				op.Inputs[i] = converted(wides, x, pointwise.Widen)
			}
		}
		for i, y := range op.Outputs {
			depends[y.Storage()] = changing
			if short && op.Kind != norm.BatchStatisticsKind && (i == 0 || op.Kind == pointwise.SplitKind) {
				y.Store(gpu.F16)
			}
		}
	})
}

// converted is convert(x), computed once for each storage; made has the results so far.
func converted(made map[any]*tensor.Tensor, x *tensor.Tensor, convert func(x *tensor.Tensor) *tensor.Tensor) *tensor.Tensor {
	if made[x.Storage()] == nil {
		made[x.Storage()] = convert(x)
	}
	return made[x.Storage()].Reshape(x.Shape()...)
}
