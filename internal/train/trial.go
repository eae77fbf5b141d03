package train

import (
	"context"
	"fmt"
	"time"

	"mrprism/internal/data/metric"
)

// Trial is the cost of training at one image side, from a few steps.
type Trial struct {
	Side        int
	Bytes       int64         // of GPU memory
	Images      int           // in a step
	Seconds     float64       // median of a step
	DataSeconds float64       // median of the part spent waiting for data
	Left        time.Duration // for all steps of the run at this side
}

// staging is the largest buffer that a device keeps for reading a checkpoint, bytes
// (shaders/gpu/dawn).
const staging = 32 << 20

// Try takes a few steps at every image side of the run and reports their cost. It needs
// Options.DryRun. It writes nothing. Afterwards the trainer can only be closed.
func (t *Trainer) Try(ctx context.Context, report func(Trial)) error {
	if !t.Options.DryRun {
		panic("training: Try without Options.DryRun")
	}
	const steps = 4 // the first one warms up
	remaining := t.remaining(t.step)
	tried := map[int]bool{}
	for _, phase := range t.Options.Phases {
		if tried[phase.Side] || phase.Epochs == 0 {
			continue
		}
		tried[phase.Side] = true
		trial, err := t.try(ctx, phase.Side, steps)
		if err != nil {
			return err
		}
		trial.Left = time.Duration(float64(remaining[phase.Side]) * trial.Seconds * float64(time.Second))
		report(*trial)
	}
	return nil
}

// try takes steps at one image side.
func (t *Trainer) try(ctx context.Context, side, steps int) (*Trial, error) {
	p, err := t.prepare(ctx, side, t.Options.Recipe)
	if err != nil {
		return nil, err
	}
	defer p.release()
	trial := &Trial{Side: side, Images: t.Options.images(), Bytes: t.set.Bytes() + p.bytes() + min(staging, t.stateBytes())}
	if len(t.aside) > 0 {
		file, err := t.averaged(ctx)
		if err == nil {
			err = t.load(ctx, file)
		}
		if err != nil {
			return nil, err
		}
		trial.Bytes += t.engine.Bytes()
	}
	var seconds, data []float64
	for i := range steps {
		now, err := t.takeStep(ctx, p)
		if err != nil {
			return nil, fmt.Errorf("trying a step at %d²: %w", side, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i > 0 {
			seconds, data = append(seconds, now.Seconds), append(data, now.DataSeconds)
		}
	}
	trial.Seconds, trial.DataSeconds = metric.Median(seconds), metric.Median(data)
	return trial, nil
}

// stateBytes is the size of the values in a checkpoint.
func (t *Trainer) stateBytes() (n int64) {
	for _, v := range t.state() {
		n += int64(v.Type.Size() * v.Elements())
	}
	return n
}
