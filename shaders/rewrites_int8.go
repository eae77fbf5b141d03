package shaders

import (
	"mrprism/shaders/attention"
	"mrprism/shaders/conv"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"
)

// The rewrites that let layers compute in int8.

// callWatch calls Watch with the input of a layer.
func (q Int8) callWatch(layer string, x *tensor.Tensor) {
	if q.Watch != nil {
		q.Watch(layer, x)
	}
}

// attention lets an attention take queries, keys and values in int8, if their ranges are known. The
// steps of keys and values go into the parameters of the maps that make them.
func (q Int8) attention(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != attention.Kind || op.Attributes.(*attention.Params).Width%4 != 0 {
		return false
	}
	concat := maker(r, op.Inputs[1], pointwise.ConcatKind)
	if concat == nil {
		return false
	}
	queries, keys, values := op.Inputs[0], concat.Inputs[0], concat.Inputs[1]
	q.callWatch(op.Layer+".queries", queries)
	q.callWatch(op.Layer+".keys", keys)
	q.callWatch(op.Layer+".values", values)
	ofQ, ofK, ofV := q.Ranges[op.Layer+".queries"]/127, q.Ranges[op.Layer+".keys"]/127, q.Ranges[op.Layer+".values"]/127
	if !(ofQ > 0 && ofK > 0 && ofV > 0) {
		return false
	}
	return r.Replace(op, func() *tensor.Tensor {
		kv := pointwise.Concat(pointwise.Scale(keys, 1/ofK), pointwise.Scale(values, 1/ofV)).Reshape(op.Inputs[1].Shape()...)
		return attention.OfInt8(pointwise.Quantize(queries, ofQ), pointwise.Quantize(kv, 1), ofK, ofV, int(op.Attributes.(*attention.Params).Heads))
	})
}

// convolution lets a layer whose range is known compute in int8. A linear map does so only if
// attention takes its result in int8, or if a convolution rounds the same input anyway. On
// lavapipe, rounding costs other linear maps of up to 256 channels the time that int8 saves.
// Convolutions of one or two channels stay in floats: they would leave half of every word empty.
func (q Int8) convolution(r *tensor.Rewriter, op *tensor.Op) bool {
	linear := op.Kind == conv.LinearKind && (projects(r, op) || readBy(r, op.Inputs[0], conv.Conv2DKind) || readBy(r, op.Inputs[0], pointwise.QuantizeKind))
	if op.Kind != conv.Conv2DKind && op.Kind != conv.ConvTranspose2x2Kind && !linear || op.Inputs[0].Fixed() {
		return false
	}
	x, weight, bias := op.Inputs[0], op.Inputs[1], op.Inputs[2]
	if len(x.Shape()) != 4 || x.Dim(-1) < 3 || weight.Dim(-1)%4 != 0 {
		return false
	}
	q.callWatch(op.Layer, x)
	largest, known := q.Ranges[op.Layer]
	if !known {
		return false
	}
	return r.Replace(op, func() *tensor.Tensor {
		x := inSteps(r, x, largest/127)
		switch op.Kind {
		case conv.ConvTranspose2x2Kind:
			return conv.ConvTranspose2x2Int8(x, weight, bias)
		case conv.LinearKind:
			return conv.Conv2DInt8(x, weight.Reshape(1, 1, weight.Dim(0), weight.Dim(1)), bias, conv.Square(1, 0))
		}
		return conv.Conv2DInt8(x, weight, bias, op.Attributes.(conv.Window))
	})
}

// inSteps is x in int8: an existing rounding, whatever its step, or a new one with this step.
func inSteps(r *tensor.Rewriter, x *tensor.Tensor, step float32) pointwise.Quantized {
	for _, op := range r.Readers(x) {
		if op.Kind == pointwise.QuantizeKind {
			return pointwise.Quantized{Q: op.Output(), Step: op.Attributes.(pointwise.Quantization).Step, Channels: x.Dim(-1)}
		}
	}
	return pointwise.Quantize(x, step)
}

// projects says whether a linear map makes queries, or keys and values, of an attention: a table of
// positions is added to its result.
func projects(r *tensor.Rewriter, op *tensor.Op) bool {
	readers := r.Readers(op.Output())
	return len(readers) == 1 && readers[0].Kind == pointwise.AddBroadcastKind && readers[0].Inputs[1].Fixed()
}

// int8Sum lets a convolution add a map in int8 if other convolutions read that map in int8. Nobody
// then needs the map in floats.
func int8Sum(r *tensor.Rewriter, op *tensor.Op) bool {
	if op.Kind != pointwise.AddKind {
		return false
	}
	for _, at := range summands(r, op) {
		first := sole(r, op, at, conv.Conv2DInt8Kind)
		if first == nil {
			continue
		}
		p := *first.Attributes.(*conv.Int8Params)
		for _, rounding := range r.Readers(op.Inputs[1-at]) {
			if rounding.Kind != pointwise.QuantizeKind || p.Adds != 0 || p.Activation != 0 || p.Int8 == 1 || !rounding.Precedes(op) || !rounding.Beside(op) {
				continue
			}
			p.Adds, p.Int8Residual, p.ResidualFactor = conv.AddResidual, 1, rounding.Attributes.(pointwise.Quantization).Step
			return r.Fuse(first, op, conv.Conv2DInt8Kind, &p, withInput(first, conv.ResidualAt, rounding.Output())...)
		}
	}
	return false
}

func int8ToInt8(r *tensor.Rewriter, op *tensor.Op) bool {
	first := soleFirst(r, conv.Conv2DInt8Kind, op, pointwise.QuantizeKind)
	if first == nil {
		return false
	}
	p, rounding := *first.Attributes.(*conv.Int8Params), op.Attributes.(pointwise.Quantization).Params
	if p.Int8 == 1 || p.Activation != 0 && p.Activation != pointwise.Activation(pointwise.ReLUKind) || rounding.Inputs != p.Outputs {
		return false
	}
	factor := conv.FixedPoint * rounding.Factor
	p.Int8, p.Factor = 1, factor
	p.SumFactor *= factor
	p.ResidualFactor *= factor
	return r.Fuse(first, op, conv.Conv2DInt8Kind, &p, first.Inputs...)
}
