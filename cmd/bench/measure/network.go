package measure

import (
	"context"
	"math/rand/v2"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// Network is our network on a device, with an image.
type Network struct {
	*model.Inference
	Set   *tensor.Set
	Image []float32 // (S, S, 3)
}

// Picture is the normalised image (S, S, 3) that is segmented.
func Picture(side int) []float32 {
	return noise(side*side*3, func(r *rand.Rand) float32 { return weights.Normalise(r.Float32()) })
}

// newNetwork compiles the network without its weights.
func newNetwork(ctx context.Context, d gpu.Device, config model.Config, side int) (*Network, error) {
	n := &Network{Set: tensor.NewSet(), Image: Picture(side)}
	var err error
	if n.Inference, err = model.NewInference(ctx, d, n.Set, config, side); err != nil {
		n.Set.Release()
		return nil, err
	}
	return n, nil
}

// NewNetwork compiles the network with its weights. If m is nil, they are the random ones of
// "export -weights random-CONFIG".
func NewNetwork(ctx context.Context, d gpu.Device, o Options, m *weights.Model) (*Network, error) {
	config, err := o.configuration(ctx, d, m)
	if err != nil {
		return nil, err
	}
	n, err := newNetwork(ctx, d, config, o.Side)
	if err != nil {
		return nil, err
	}
	if err := fill(n.Set, m); err != nil {
		n.Release()
		return nil, err
	}
	return n, nil
}

// Release frees the network and its weights.
func (n *Network) Release() {
	n.Inference.Release()
	n.Set.Release()
}
