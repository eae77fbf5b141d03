package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
	"mrprism/internal/vector"
)

// What a convolution does with a sum before it is written. HasBias: nothing, bias, or scale and shift by the two rows of the bias argument.
// Adds: nothing, what y holds, or the residual, after or before scale and shift; and, or not, the shortcut after the activation. Activation:
// none, or one of activation.go.
const (
	scaleAndShift uint32 = 2

	addToY           uint32 = 1
	addResidual      uint32 = 2
	addResidualFirst uint32 = 3
	addShortcut      uint32 = 4
)

// activations are the values of Activation and ACTIVATION, from 1.
var activations = []struct {
	kernel *tensor.Kernel
	f      func(x float64) float64
	fast   func(values []float32)
}{{reluForward, relu, vector.ReLU}, {geluForward, gelu, vector.GELU}, {sigmoidForward, sigmoid, vector.Sigmoid}}

// activation is the value for a kernel; 0 where it is no activation.
func activation(k *tensor.Kernel) uint32 {
	for i, a := range activations {
		if a.kernel == k {
			return uint32(i + 1)
		}
	}
	return 0
}

func activated(activation uint32, v float64) float64 {
	if activation == 0 {
		return v
	}
	return activations[activation-1].f(v)
}

// Positions of conv2dForward's arguments.
const (
	convBias     = 2
	convResidual = 3
	convShortcut = 4
	convResult   = 5
)

// conv2dAbsorb lets a convolution do the work of what follows it, in the order sum, scale and shift, sum, activation, sum: the inference of
// a network with batch norm and residuals needs few other dispatches. The first two sums are of one residual. With a split at the end it
// becomes another kernel, and so does a linear map with a layer norm. What is of channels has as many: the sum may have been reshaped.
func conv2dAbsorb(params any, next *tensor.Kernel, nextParams any, at int) (tensor.Absorbed, bool) {
	p := *params.(*conv2dParams)
	switch {
	case next == splitForward && p.Adds != addToY && nextParams.(*concatParams).Columns == p.Outputs:
		return p.split(nextParams.(*concatParams))
	case p.Adds == addToY || p.Adds&addShortcut != 0:
	case p.Activation != 0:
		if next == addForward {
			p.Adds |= addShortcut
			return tensor.Absorbed{Params: &p, From: map[int]int{convShortcut: 1 - at, convResult: 2}}, true
		}
	case activation(next) != 0:
		p.Activation = activation(next)
		return tensor.Absorbed{Params: &p, From: map[int]int{convResult: 1}}, true
	case next == addForward && p.Adds == 0:
		p.Adds = addResidual
		return tensor.Absorbed{Params: &p, From: map[int]int{convResidual: 1 - at, convResult: 2}}, true
	case next == addBroadcastForward && p.Adds == 0 && at == 0 && nextParams.(*elementwiseParams).once():
		p.Adds = addResidual
		return tensor.Absorbed{Params: &p, From: map[int]int{convResidual: 1, convResult: 2}}, true
	case next == layerNormForward && nextParams.(*layerNormParams).Channels == p.Outputs:
		return withLayerNorm(&p, nextParams.(*layerNormParams))
	case next == scaleShiftForward && p.HasBias == 0 && nextParams.(*batchNormParams).Channels == p.Outputs:
		p.HasBias = scaleAndShift
		if p.Adds == addResidual {
			p.Adds = addResidualFirst
		}
		if nextParams.(*batchNormParams).Relu == 1 {
			p.Activation = activation(reluForward)
		}
		return tensor.Absorbed{Params: &p, From: map[int]int{convBias: 1, convResult: 2}}, true
	}
	return tensor.Absorbed{}, false
}

// phased gives every phase a layer of workgroups.
func (p *conv2dParams) phased(groups [3]int) [3]int {
	groups[2] = int(p.Parts * p.Parts)
	return groups
}

// eachPhase calls f with the parameters of each phase.
func (p *conv2dParams) eachPhase(f func(q *conv2dParams)) {
	for row := range int32(p.Parts) {
		for col := range int32(p.Parts) {
			q := *p
			q.Rows.WStart, q.Rows.YStart = p.Rows.WStart+row, p.Rows.YStart+row
			q.Cols.WStart, q.Cols.YStart = p.Cols.WStart+col, p.Cols.YStart+col
			f(&q)
		}
	}
}

func conv2dForwardBody(p *conv2dParams, a []gpu.Array) {
	p.eachPhase(func(q *conv2dParams) { conv2dPhase(q, a) })
}

func conv2dPhase(p *conv2dParams, a []gpu.Array) {
	x, w, bias, y := a[0].F, a[1].F, a[convBias].F, a[convResult].F
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	conv2dStart(p, bias, y)
	conv2dVisit(p, func(_, fromX, fromW, to int) {
		for k := range inputs {
			for n := range outputs {
				y[to*outputs+n] += x[fromX*inputs+k] * w[(fromW*inputs+k)*outputs+n]
			}
		}
	})
	conv2dPixels(p, func(pixel int) {
		for n := range outputs {
			i := pixel*outputs + n
			adds := p.Adds &^ addShortcut
			if adds == addResidualFirst {
				y[i] += a[convResidual].F[i]
			}
			if p.HasBias == scaleAndShift {
				y[i] = y[i]*bias[n] + bias[outputs+n]
			}
			if adds == addResidual {
				y[i] += a[convResidual].F[i]
			}
			y[i] = activated(p.Activation, y[i])
			if p.Adds&addShortcut != 0 {
				y[i] += a[convShortcut].F[i]
			}
		}
	})
}

// conv2dStart gives y what the products are added to: what is there, zero, or the bias.
func conv2dStart(p *conv2dParams, bias, y []float64) {
	outputs := int(p.Outputs)
	conv2dPixels(p, func(pixel int) {
		for n := range outputs {
			i := pixel*outputs + n
			if p.Adds != addToY {
				y[i] = 0
			}
			if p.HasBias == 1 {
				y[i] += bias[n]
			}
		}
	})
}

// conv2dPixels calls f for every pixel of y that is written.
func conv2dPixels(p *conv2dParams, f func(pixel int)) {
	for b := range int32(p.Batch) {
		for u := range p.Rows.Count {
			for v := range p.Cols.Count {
				f(int((b*p.Rows.YSize+u*p.Rows.YStep+p.Rows.YStart)*p.Cols.YSize + v*p.Cols.YStep + p.Cols.YStart))
			}
		}
	}
}
