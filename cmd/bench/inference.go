package main

import (
	"context"
	"fmt"
	"time"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
	"mrprism/model"
	"mrprism/weights"
)

// measured is a network and the times of its runs in ms: of the encoder, of all recurrences, of whole runs.
type measured struct {
	network                       *model.Inference
	set                           *tensor.Set
	image                         []float32
	small                         *tensor.Variable // what is read to wait for the encoder
	encoders, recurrences, totals []float64
}

// newMeasured compiles the network.
func newMeasured(ctx context.Context, d gpu.Device, config model.Config, side int) (*measured, error) {
	m := &measured{set: tensor.NewSet(), image: picture(side)}
	var err error
	if m.network, err = model.NewInference(ctx, d, m.set, config, side); err != nil {
		m.set.Release()
		return nil, err
	}
	m.small = smallest(m.set)
	return m, nil
}

func (m *measured) release() {
	m.network.Release()
	m.set.Release()
}

// run runs the network once, as `segment` does: one image, the mask read back after every pass, the raters' labels after the last.
func (m *measured) run(ctx context.Context) error {
	start := time.Now()
	err := m.network.Encode(ctx, m.image)
	if err == nil {
		_, err = m.set.Read(ctx, m.small)
	}
	m.encoders = append(m.encoders, since(start))
	for range passes {
		began := time.Now()
		if err == nil {
			_, err = m.network.Recur(ctx)
		}
		m.recurrences = append(m.recurrences, since(began))
	}
	if err == nil {
		_, err = m.network.RaterLabels(ctx)
	}
	m.totals = append(m.totals, since(start))
	return err
}

// forget drops the times, as after the first run.
func (m *measured) forget() { m.encoders, m.recurrences, m.totals = nil, nil, nil }

// inference measures the encoder and the recurrences, and, of another precision than f32, the network in f32 in turn with them.
func inference(ctx context.Context, device gpu.Device, config model.Config, o options, m *weights.Model, r *report, tell func(string)) error {
	tell("compiling the network")
	d := &preparing{Device: device, programs: map[*gpu.Program]bool{}}
	start := time.Now()
	network, err := newMeasured(ctx, d, config, o.Side)
	if err != nil {
		return err
	}
	defer network.release()
	t := &inferenceTimes{CompileMS: since(start), PipelinesMS: d.ms, Pipelines: len(d.programs), Bytes: network.network.Bytes()}
	r.Inference = t
	plans := network.network.Plans()
	t.EncoderDispatches, t.RecurrenceDispatches, t.Dispatches = plans[0].Dispatches(), plans[1].Dispatches(), network.network.Dispatches(passes)
	all := []*measured{network}
	if o.Precision != model.F32 && o.Precision != "" {
		config.Precision = model.F32
		floats, err := newMeasured(ctx, device, config, o.Side)
		if err != nil {
			return err
		}
		defer floats.release()
		all = append(all, floats)
	}
	tell("first pass")
	for _, n := range all {
		if err := fill(n.set, m); err != nil {
			return err
		}
		if err := n.run(ctx); err != nil {
			return err
		}
	}
	t.FirstMS = network.totals[0]
	for _, n := range all {
		n.forget()
	}
	for i := range o.Repeats {
		tell(fmt.Sprintf("inference %d of %d", i+1, o.Repeats))
		for _, n := range all {
			if err := n.run(ctx); err != nil {
				return err
			}
		}
	}
	t.Encoder, t.Recurrence, t.FourPasses = spreadOf(network.encoders), spreadOf(network.recurrences), spreadOf(network.totals)
	if len(all) > 1 {
		t.ToF32 = &ratios{
			ratiosOf(network.encoders, all[1].encoders), ratiosOf(network.recurrences, all[1].recurrences), ratiosOf(network.totals, all[1].totals),
			float64(t.Bytes) / float64(all[1].network.Bytes()),
		}
	}
	if !o.Kernels {
		return nil
	}
	for i, part := range []string{"encoder", "one recurrence", "rater labels"} {
		if err := r.kernels(ctx, d, part, plans[i], o.Repeats, tell); err != nil {
			return err
		}
	}
	return nil
}

// ratiosOf are those of runs that followed each other.
func ratiosOf(now, base []float64) spread {
	all := make([]float64, len(now))
	for i := range now {
		all[i] = now[i] / base[i]
	}
	return spreadOf(all)
}
