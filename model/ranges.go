package model

import (
	"context"
	"maps"
	"math"

	"mrprism/internal/compute/gpu"
	"mrprism/internal/compute/tensor"
	"mrprism/shaders"
)

// layerInput is what a layer is given that can compute in int8.
type layerInput struct {
	layer string
	x     *tensor.Tensor
}

// watch is how large the inputs of such layers have become.
type watch struct {
	inputs  []layerInput
	largest map[string]float32
}

// NewRanges is NewInference in floats that looks, in every pass, at the inputs of the layers that can compute in int8: Seen returns the
// largest of them.
func NewRanges(ctx context.Context, device gpu.Device, set *tensor.Set, c Config, side int) (*Inference, error) {
	c.Precision = F32
	return newInference(ctx, device, set, c, side, &watch{largest: map[string]float32{}})
}

// Seen are the largest |x| that each layer has been given which can compute in int8, for Config.Ranges.
func (in *Inference) Seen() map[string]float32 { return maps.Clone(in.watch.largest) }

// AnyRanges are ranges for every layer that can compute in int8: what is compiled depends on which layers have one, not on how large it is.
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

// see looks at the inputs after a run of the plan.
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
		largest := max(w.largest[l.layer], 1e-6) // steps of zero are none
		for _, v := range values[i] {
			largest = max(largest, float32(math.Abs(float64(v))))
		}
		w.largest[l.layer] = largest
	}
	return nil
}
