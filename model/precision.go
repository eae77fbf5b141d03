package model

import (
	"fmt"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
)

// Execution says how a device computes a network. It changes neither parameters nor equations.
type Execution struct {
	// Recompute: training keeps few of the maps that the gradient needs, and computes the others
	// again, to the bit. Recurrences then share no dispatches, whose sums round differently.
	Recompute bool

	Precision Precision

	// Group: in training batch normalisation takes its statistics over the images of all its ranks;
	// nil: over those of this process.
	Group tensor.Group

	// Ranges has, for Int8, the largest |x| among the inputs of each layer, by the layer's name.
	Ranges map[string]float32
}

// Precision names the numbers in which inference or training computes; the zero value is F32.
// Training is F32 or F16.
type Precision string

// The precisions.
const (
	F32 Precision = "f32"

	// F16 stores the maps as halves, on a device that has shader-f16. Inference also stores its
	// parameters as halves. All but short sums stay f32.
	F16 Precision = "f16"

	// Int8 rounds activations and weights of the layers in Ranges. The rest is F32.
	Int8 Precision = "int8"
)

// ParsePrecision reads a Precision's name.
func ParsePrecision(name string) (Precision, error) {
	switch p := Precision(name); p {
	case F32, F16, Int8:
		return p, nil
	}
	return "", fmt.Errorf("precision %q: there are f32, f16 and int8", name)
}

// Runs says whether a device can compute in this precision.
func (p Precision) Runs(device gpu.Info) error {
	if p == F16 && !device.HasFeature("shader-f16") {
		return fmt.Errorf("precision %s: %s cannot compute with it (it lacks shader-f16); use %s", p, device, F32)
	}
	return nil
}

// prepare makes the set hold its variables as inference reads them. It returns an error if the
// device or the configuration lacks what the precision needs.
func (e *Execution) prepare(set *tensor.Set, device gpu.Info) error {
	if e.Precision == Int8 && len(e.Ranges) == 0 {
		return ErrNoRanges
	}
	if e.Precision != F16 {
		return set.Store(gpu.F32)
	}
	if err := e.Precision.Runs(device); err != nil {
		return err
	}
	return set.Store(gpu.F16)
}

// rewrites says which layers of inference compute in int8, and gives watch, unless nil, what layers
// take.
func (e *Execution) rewrites(watch *watch) (q shaders.Int8) {
	if e.Precision == Int8 {
		q.Ranges = e.Ranges
	}
	if watch != nil {
		q.Watch = watch.add
	}
	return q
}

// Part builds a part of the network or of the losses. With Recompute, training keeps only the
// part's result for the gradient.
func (n *Network) Part(build func() *tensor.Tensor) *tensor.Tensor {
	if !n.Training {
		return build()
	}
	return n.Graph.Part(n.Recompute, build)
}

// LossScale is a first value of Step.Scale, from PyTorch's GradScaler.
const LossScale = 1 << 16

// lossScale is Step.Scale: in F16, small gradients would vanish without it.
func (e *Execution) lossScale(g *tensor.Graph) *tensor.Tensor {
	if e.Precision != F16 {
		return nil
	}
	return g.Input("loss scale", 1)
}

// Backward appends the gradients of the loss. In F16 it makes the step store the network's maps and
// their gradients as halves (Micikevicius et al. 2018). Parameters, their gradients, losses and
// statistics stay F32. Recurrences share dispatches.
func (s *Step) Backward(loss *tensor.Tensor) { s.backward(loss, true) }

func (s *Step) backward(loss *tensor.Tensor, join bool) {
	shaders.Simplify(s.Graph)
	seed := s.Scale
	if seed == nil {
		seed = s.Graph.Constant("seed", []float32{1}, 1)
	} else {
		shaders.StoreHalves(s.Graph)
	}
	if join {
		shaders.JoinPasses(loss)
	}
	s.Graph.Backward(loss, seed)
}
