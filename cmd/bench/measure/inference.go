package measure

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// measured is our network and the times of its runs in ms: encoders, all recurrences and whole
// runs. With Evidence there are also passes around marks (settle) and whole recalibrations.
type measured struct {
	*Network
	small                         *tensor.Variable // read to wait for the encoder
	encoders, recurrences, totals []float64
	settles, recalibrations       []float64
}

// newMeasured compiles the network.
func newMeasured(ctx context.Context, d gpu.Device, config model.Config, side int) (*measured, error) {
	u, err := newNetwork(ctx, d, config, side)
	if err != nil {
		return nil, err
	}
	byElements := func(a, b *tensor.Variable) int { return a.Elements() - b.Elements() }
	return &measured{Network: u, small: slices.MinFunc(u.Set.Variables(), byElements)}, nil
}

// run runs the network once, as "segment" does: it reads the mask after every pass, and the raters'
// labels after the last.
func (m *measured) run(ctx context.Context) error {
	start := time.Now()
	err := m.Encode(ctx, m.Image)
	if err == nil {
		_, err = m.Set.Read(ctx, m.small)
	}
	m.encoders = append(m.encoders, since(start))
	for range Passes {
		began := time.Now()
		if err == nil {
			_, err = m.Recur(ctx)
		}
		m.recurrences = append(m.recurrences, since(began))
	}
	if err == nil {
		_, err = m.RaterLabels(ctx)
	}
	m.totals = append(m.totals, since(start))
	if err == nil && m.Evidence {
		err = m.recalibrate(ctx)
	}
	return err
}

// recalibrate runs what a change of marks requires: it writes new marks, runs passes that settle,
// reads each mask, and then the raters' labels.
func (m *measured) recalibrate(ctx context.Context) error {
	n := m.Side * m.Side * m.Classes
	said := slices.Repeat([]float32{1}, n)
	mark := model.Mark{Rater: model.Somebody, Said: said, Inside: said}
	start := time.Now()
	err := m.SetMarks(ctx, []model.Mark{mark})
	for range model.Settles {
		began := time.Now()
		if err == nil {
			_, err = m.Settle(ctx)
		}
		m.settles = append(m.settles, since(began))
	}
	if err == nil {
		_, err = m.RaterLabels(ctx)
	}
	m.recalibrations = append(m.recalibrations, since(start))
	return err
}

// inference measures the encoder and the recurrences. A network of another precision alternates
// with one in f32.
func inference(ctx context.Context, device gpu.Device, config model.Config, o Options, m *weights.Model, r *Report, tell func(string)) error {
	tell("compiling the network")
	d := &preparing{Device: device, programs: map[*gpu.Program]bool{}}
	start := time.Now()
	n, err := newMeasured(ctx, d, config, o.Side)
	if err != nil {
		return err
	}
	defer n.Release()
	t := &inferenceTimes{CompileMS: since(start), PipelinesMS: d.ms, Pipelines: len(d.programs), Bytes: n.Bytes()}
	r.Inference = t
	t.EncoderDispatches, t.RecurrenceDispatches = n.EncoderDispatches(), n.RecurrenceDispatches()
	t.Dispatches = n.Dispatches(Passes)
	all := []*measured{n}
	if o.Precision != model.F32 && o.Precision != "" {
		config.Precision = model.F32
		floats, err := newMeasured(ctx, device, config, o.Side)
		if err != nil {
			return err
		}
		defer floats.Release()
		all = append(all, floats)
	}
	if t.FirstMS, err = inTurn(ctx, all, o.Repeats, m, tell); err != nil {
		return err
	}
	t.Encoder, t.Recurrence, t.FourPasses = SpreadOf(n.encoders), SpreadOf(n.recurrences), SpreadOf(n.totals)
	if n.Evidence {
		t.Settle, t.Recalibration = SpreadOf(n.settles), SpreadOf(n.recalibrations)
	}
	if len(all) > 1 {
		f32 := all[1]
		t.ToF32 = &ratios{
			RatiosOf(n.encoders, f32.encoders), RatiosOf(n.recurrences, f32.recurrences), RatiosOf(n.totals, f32.totals),
			float64(t.Bytes) / float64(f32.Bytes()),
		}
	}
	if !o.Kernels {
		return nil
	}
	encoder, recurrence, labels, settle := n.Commands()
	for _, part := range []struct {
		name     string
		commands tensor.Commands
	}{{"encoder", encoder}, {"one recurrence", recurrence}, {"rater labels", labels}, {"one pass around marks", settle}} {
		if len(part.commands.Commands) == 0 {
			continue
		}
		if err := r.kernels(ctx, device, part.name, part.commands, o.Repeats, tell); err != nil {
			return err
		}
	}
	return nil
}

// inTurn fills the networks with weights and runs them in turn. Times do not include first runs;
// inTurn returns the milliseconds of the first network's first run.
func inTurn(ctx context.Context, all []*measured, repeats int, m *weights.Model, tell func(string)) (first float64, err error) {
	tell("first pass")
	for i, n := range all {
		if err := fill(n.Set, m); err != nil {
			return 0, err
		}
		if err := n.run(ctx); err != nil {
			return 0, err
		}
		if i == 0 {
			first = n.totals[0]
		}
		n.encoders, n.recurrences, n.totals, n.settles, n.recalibrations = nil, nil, nil, nil, nil
	}
	for i := range repeats {
		tell(fmt.Sprintf("inference %d of %d", i+1, repeats))
		for _, n := range all {
			if err := n.run(ctx); err != nil {
				return 0, err
			}
		}
	}
	return first, nil
}

// RatiosOf are the ratios of simultaneous runs of two networks.
func RatiosOf(now, base []float64) Spread {
	all := make([]float64, len(now))
	for i := range now {
		all[i] = now[i] / base[i]
	}
	return SpreadOf(all)
}
