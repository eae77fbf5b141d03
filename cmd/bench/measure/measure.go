package measure

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// Passes is the number of masks of a segmentation: Rec0 to Rec3.
const Passes = 4

// Options say what to measure. A page receives them as JSON.
type Options struct {
	Weights   string          `json:"weights,omitempty"` // name; empty for random weights
	Config    string          `json:"config"`
	Recipe    string          `json:"recipe"` // of the training step
	Raters    int             `json:"raters"`
	Classes   int             `json:"classes"`
	Side      int             `json:"side"`      // pixels
	Precision model.Precision `json:"precision"` // of inference, and in f16 of the training step
	Repeats   int             `json:"repeats"`
	Train     bool            `json:"train"`
	Batch     int             `json:"batch"`   // images in a training step
	Kernels   bool            `json:"kernels"` // time each alone
	Commit    string          `json:"commit"`
}

// Check returns an error of options that no network or step has.
func (o *Options) Check() error {
	if o.Repeats < 1 || o.Batch < 1 {
		return fmt.Errorf("-n and -batch are at least 1")
	}
	if o.Side%model.SideMultiple != 0 || o.Side < model.SideMultiple {
		return fmt.Errorf("-side %d: choose a multiple of %d", o.Side, model.SideMultiple)
	}
	if o.Weights == "" {
		if _, err := model.NewConfig(o.Config, o.Raters, o.Classes); err != nil {
			return err
		}
	}
	if o.Train {
		if _, err := model.NewRecipe(o.Recipe); err != nil {
			return err
		}
	}
	return nil
}

// Open opens the weights, if there are some, which decide the other options of the network; the
// side unless it is given.
func (o *Options) Open(open func(nameOrFile string) (*weights.Model, error), sideGiven bool) (*weights.Model, error) {
	if o.Weights == "" {
		return nil, nil
	}
	m, err := open(o.Weights)
	if err != nil {
		return nil, err
	}
	about := m.Metadata
	o.Config, o.Raters, o.Classes = about.Configuration, len(about.Raters), len(about.Classes)
	if !sideGiven {
		o.Side = about.Side
	}
	return m, nil
}

// Stages is the number of stages that Bench tells.
func (o *Options) Stages() int {
	n := 3 + o.Repeats
	if o.Train {
		n += 2 + o.Repeats
	}
	if o.Kernels {
		n += 3
	}
	if o.Kernels && o.Train {
		n++
	}
	return n
}

// Bench measures on a device. The model m is nil for random weights; tell receives the stages.
func Bench(ctx context.Context, d gpu.Device, o Options, m *weights.Model, tell func(string)) (*Report, error) {
	config, err := o.configuration(ctx, d, m)
	if err != nil {
		return nil, err
	}
	info := d.Info()
	r := &Report{Adapter: info.Adapter, Backend: info.Backend, Kind: string(info.Kind), Driver: info.Driver, Options: o}
	tell("ceilings of the device")
	if r.Ceilings, err = findCeilings(ctx, d, o.Repeats); err != nil {
		return nil, err
	}
	if err = inference(ctx, d, config, o, m, r, tell); err != nil {
		return nil, err
	}
	if o.Train {
		err = training(ctx, d, config, o, r, tell)
	}
	return r, err
}

// preparing is a device that counts the prepared programs and the time that this takes.
type preparing struct {
	gpu.Device
	programs map[*gpu.Program]bool
	ms       float64
}

func (p *preparing) Prepare(ctx context.Context, programs []*gpu.Program) error {
	for _, program := range programs {
		p.programs[program] = true
	}
	start := time.Now()
	err := p.Device.Prepare(ctx, programs)
	p.ms += since(start)
	return err
}

// training measures whole training steps.
func training(ctx context.Context, device gpu.Device, config model.Config, o Options, r *Report, tell func(string)) error {
	tell("compiling the training step")
	d := &preparing{Device: device, programs: map[*gpu.Program]bool{}}
	start := time.Now()
	s, err := NewStep(ctx, d, config, o, nil)
	if err != nil {
		return err
	}
	defer s.Release()
	t := &trainingTimes{
		CompileMS: since(start), PipelinesMS: d.ms, Pipelines: len(d.programs),
		Bytes: s.Plan.Bytes() + s.Set.Bytes(), Dispatches: s.Plan.Dispatches(),
	}
	r.Training = t
	if err := s.Begin(); err != nil {
		return err
	}
	tell("first training step")
	if t.FirstMS, err = Timed(ctx, s.Run); err != nil {
		return err
	}
	var steps []float64
	for i := range o.Repeats {
		tell(fmt.Sprintf("training step %d of %d", i+1, o.Repeats))
		ms, err := Timed(ctx, s.Run)
		if err != nil {
			return err
		}
		steps = append(steps, ms)
	}
	t.Step = SpreadOf(steps)
	if !o.Kernels {
		return nil
	}
	return r.kernels(ctx, device, "training step", s.Plan.Commands(), o.Repeats, tell)
}

// fill writes the weights, or random ones, since times do not depend on them.
func fill(set *tensor.Set, m *weights.Model) error {
	if m == nil {
		return set.Initialise(1)
	}
	values, err := weights.Dequantize(m.File)
	if err != nil {
		return err
	}
	for _, v := range set.Variables(tensor.Parameter, tensor.Statistic) {
		stored := values.Tensor(v.Name)
		if stored == nil {
			return errors.New("the weights lack " + v.Name)
		}
		floats, err := stored.Float32()
		if err == nil {
			err = set.Write(v, floats)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func noise(n int, draw func(*rand.Rand) float32) []float32 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([]float32, n)
	for i := range out {
		out[i] = draw(r)
	}
	return out
}

// configuration is the configuration of the network. The model m is nil for random weights, whose
// ranges for int8 come from the picture.
func (o *Options) configuration(ctx context.Context, d gpu.Device, m *weights.Model) (model.Config, error) {
	config, err := model.NewConfig(o.Config, o.Raters, o.Classes)
	if m != nil {
		config, err = segment.Configuration(&m.Metadata)
	}
	config.Precision = o.Precision
	switch {
	case err != nil || o.Precision != model.Int8:
	case m != nil:
		config.Ranges = m.Metadata.Ranges
	default:
		config.Ranges, err = o.ranges(ctx, d, config)
	}
	return config, err
}

// ranges are the ranges of layers with random weights.
func (o *Options) ranges(ctx context.Context, d gpu.Device, config model.Config) (map[string]float32, error) {
	set := tensor.NewSet()
	defer set.Release()
	network, err := model.NewRanges(ctx, d, set, config, o.Side)
	if err != nil {
		return nil, err
	}
	defer network.Release()
	if err := fill(set, nil); err != nil {
		return nil, err
	}
	if err := network.Encode(ctx, Picture(o.Side)); err != nil {
		return nil, err
	}
	if _, err = network.Recur(ctx); err != nil {
		return nil, err
	}
	return network.Seen(), nil
}
