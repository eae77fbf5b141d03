package model

import (
	"context"
	"maps"
	"math"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
)

// layerInput is the input of a layer that can compute in int8.
type layerInput struct {
	layer string
	x     *tensor.Tensor
}

// watch records how large the inputs of layers become.
type watch struct {
	inputs  []layerInput
	largest map[string]float32 // |x|, by layer
}

// NewRanges is NewInference in F32 that reads, in every recurrence, the inputs of the layers that
// can compute in int8. Seen returns how large they became.
func NewRanges(ctx context.Context, device gpu.Device, set *tensor.Set, c Config, side int) (*Inference, error) {
	c.Precision = F32
	return newInference(ctx, device, set, c, side, &watch{largest: map[string]float32{}})
}

// Seen returns the largest |x| among the inputs of each layer that can compute in int8, for
// Config.Ranges.
func (in *Inference) Seen() map[string]float32 { return maps.Clone(in.watch.largest) }

// AnyRanges gives a range to every layer that can compute in int8. Compilation depends on which
// layers have a range, not on how large it is.
func AnyRanges(c Config) map[string]float32 {
	c.Precision = F32
	ranges := map[string]float32{}
	in := inferenceGraphs(tensor.NewSet(), c, SideMultiple, nil)
	shaders.Int8{Watch: func(layer string, _ *tensor.Tensor) { ranges[layer] = 1 }}.Rewrite(in.y.Graph())
	return ranges
}

func (w *watch) add(layer string, x *tensor.Tensor) {
	w.inputs = append(w.inputs, layerInput{layer, x.Keep()})
}

// see reads the inputs after a run of the plan.
func (w *watch) see(ctx context.Context, plan *tensor.Plan) error {
	tensors := make([]*tensor.Tensor, len(w.inputs))
	for i, l := range w.inputs {
		tensors[i] = l.x
	}
	values, err := plan.Read(ctx, tensors...)
	if err != nil {
		return err
	}
	for i, l := range w.inputs {
		largest := max(w.largest[l.layer], 1e-6) // a step of zero would divide by zero
		for _, v := range values[i] {
			largest = max(largest, float32(math.Abs(float64(v))))
		}
		w.largest[l.layer] = largest
	}
	return nil
}
