// Package segment goes from a photograph to its masks. It finds the region, runs the encoder and
// the recurrences on it, brings the maps back to the photograph and measures them. The page's
// worker and cmd/segment both use this package: they give the same masks.
package segment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// Engine is a model ready to run on a device. One goroutine at a time may use it.
type Engine struct {
	device    gpu.Device
	about     weights.Metadata
	steered   bool // the mask follows raters' weights
	settles   bool // it takes marks as evidence
	precision model.Precision
	network   *model.Inference
	set       *tensor.Set
	fence     gpu.Buffer // one word: reading it waits for the device
	others    []member   // of an ensemble
	finder    *Engine    // looks for the anchor in its place; or nil
	last      last
	shown     sight           // what the encoder saw last
	drafts    map[sight]draft // of the last place, of a model that takes marks
	watched   [][]float64     // figures of the photographs since the last test of the camera
	drifted   string          // what that test found, as trust.Drift has it
}

// Warm compiles the kernels that New needs for a model of this kind and precision, while the
// weights are still on their way. Only the weights say which layers have ranges for int8: Warm
// assumes ranges for all layers that can use them.
func Warm(ctx context.Context, device gpu.Device, about weights.Entry, precision model.Precision) error {
	config, err := model.NewConfig(about.Configuration, about.Raters, about.Classes)
	if err != nil {
		return err
	}
	config.Precision, config.Ranges = precision, model.AnyRanges(config)
	set := tensor.NewSet()
	defer set.Release()
	network, err := model.NewInference(ctx, device, set, config, about.Side)
	if err != nil {
		return err
	}
	network.Release()
	return nil
}

// New compiles the network for the device, in the given precision, at the side that the weights
// were trained for, and writes the weights. If they do not fit their configuration, the error wraps
// a *weights.MismatchError.
func New(ctx context.Context, device gpu.Device, m *weights.Model, precision model.Precision) (*Engine, error) {
	return newEngine(ctx, device, m, precision, model.NewInference)
}

// Configuration is the configuration of the network that the weights belong to.
func Configuration(about *weights.Metadata) (model.Config, error) {
	config, err := model.NewConfig(about.Configuration, len(about.Raters), len(about.Classes))
	if err != nil {
		return model.Config{}, fmt.Errorf("weights %s: %w", about.Name, err)
	}
	config.Independent, config.Levels, config.Panels = about.Independent, about.Labels == weights.LabelsAgreementLevels, len(about.Panels)
	return config, nil
}

// compile is model.NewInference or model.NewRanges.
type compile func(ctx context.Context, device gpu.Device, set *tensor.Set, c model.Config, side int) (*model.Inference, error)

func newEngine(ctx context.Context, device gpu.Device, m *weights.Model, precision model.Precision, network compile) (*Engine, error) {
	about := m.Metadata
	config, err := Configuration(&about)
	if err != nil {
		return nil, err
	}
	config.Precision, config.Ranges = cmp.Or(precision, model.F32), about.Ranges
	if err := m.File.Match(Specs(model.Variables(config).Variables(tensor.Parameter, tensor.Statistic))); err != nil {
		return nil, fmt.Errorf("weights %s, configuration %s with %d raters and %d classes: %w", about.Name, about.Configuration, len(about.Raters), len(about.Classes), err)
	}
	settles := SettlesAround(&about)
	config.Draws, about.Raters = m.Draws, slices.Clone(about.Raters)
	for i := range m.Draws {
		about.Raters = append(about.Raters, fmt.Sprintf("drawn %d", i+1))
	}
	e := &Engine{device: device, about: about, steered: config.Steered || settles && !config.Levels || config.Panels > 0, settles: settles, precision: config.Precision, set: tensor.NewSet(), drafts: map[sight]draft{}}
	if err := e.prepare(ctx, config, m.File, network); err != nil {
		e.Close()
		return nil, err
	}
	small, err := m.File.Finder()
	if err == nil && small != nil {
		e.finder, err = newEngine(ctx, device, small, model.F32, model.NewInference)
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	for _, other := range m.Others {
		also, err := newEngine(ctx, device, other, precision, network)
		if err != nil {
			e.Close()
			return nil, err
		}
		e.others = append(e.others, member{also, other.Proof})
	}
	return e, nil
}

// Specs are the tensors that a file needs for variables.
func Specs(variables []*tensor.Variable) []weights.Spec {
	var out []weights.Spec
	for _, v := range variables {
		out = append(out, weights.Spec{Name: v.Name, Shape: v.Shape})
	}
	return out
}

func (e *Engine) prepare(ctx context.Context, config model.Config, file *weights.File, network compile) error {
	var err error
	if e.network, err = network(ctx, e.device, e.set, config, e.about.Side); err != nil {
		return fmt.Errorf("weights %s: %w", e.about.Name, err)
	}
	if err := load(ctx, e.device, e.set, file); err != nil {
		return fmt.Errorf("weights %s: %w", e.about.Name, err)
	}
	buffers, err := e.device.Allocate(ctx, []gpu.BufferSpec{{Label: "fence", Type: gpu.U32, Elements: 1}})
	if err != nil {
		return err
	}
	e.fence = buffers[0]
	return e.Wait(ctx) // a fault of the writing shows here
}

// Wait returns when the device has done everything submitted.
func (e *Engine) Wait(ctx context.Context) error {
	return e.device.Read(ctx, gpu.Range{Buffer: e.fence, Dst: make([]byte, 4)})
}

// Metadata describes the weights.
func (e *Engine) Metadata() weights.Metadata { return e.about }

// Adapter names the device.
func (e *Engine) Adapter() string { return e.device.Info().String() }

// Bytes is the memory on the device.
func (e *Engine) Bytes() int64 {
	bytes := e.network.Bytes()
	if e.finder != nil {
		bytes += e.finder.Bytes()
	}
	for _, m := range e.others {
		bytes += m.Bytes()
	}
	return bytes
}

// Close frees the memory on the device. The caller closes the device.
func (e *Engine) Close() {
	for _, m := range e.others {
		m.Close()
	}
	if e.finder != nil {
		e.finder.Close()
	}
	if e.network != nil {
		e.network.Release()
	}
	if e.fence != nil {
		e.fence.Release()
	}
	e.set.Release()
	e.last, e.drafts = last{}, nil
}
