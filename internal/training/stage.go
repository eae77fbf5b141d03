package training

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"mrprism/internal/dataset"
	"mrprism/internal/gpu"
	"mrprism/internal/optim"
	"mrprism/internal/tensor"
	"mrprism/model"
	"mrprism/shaders"
)

// stage is a step's graph compiled at one image side.
type stage struct {
	side   int
	step   *model.Step
	plan   *tensor.Plan
	loss   *tensor.Tensor
	names  []string // of the terms, one a recurrence
	terms  []*tensor.Tensor
	cancel context.CancelFunc
	data   <-chan *dataset.Batch
}

// prepare compiles a phase's step and starts making its batches.
func (t *Trainer) prepare(ctx context.Context, side int) (*stage, error) {
	p := &stage{side: side}
	p.step, p.loss = t.build(side, t.Options.Batch)
	for _, r := range p.step.Terms {
		for _, term := range []struct {
			name  string
			value *tensor.Tensor
		}{{"mask", r.Mask}, {"fusion", r.Fusion}, {"shuffle", r.Shuffle}, {"heads", r.Heads}, {"fade", r.Fade}} {
			if term.value != nil {
				p.names, p.terms = append(p.names, term.name), append(p.terms, term.value.Keep())
			}
		}
	}
	for _, r := range p.step.Recurrence {
		r.Y.Keep()
	}
	sampler, err := dataset.NewSampler(t.Dataset, t.cases, dataset.Options{
		Size: side, Batch: t.Options.Batch, Seed: t.Options.Seed,
		Augmentation: dataset.DefaultAugmentation,
	})
	if err != nil {
		return nil, err
	}
	p.plan, err = tensor.Compile(ctx, t.device, t.set, p.step.Graph)
	switch {
	case errors.Is(err, gpu.ErrOutOfMemory):
		hint := "-recompute, or a smaller -batch or side"
		if t.Options.Recompute {
			hint = "a smaller -batch or side"
		}
		return nil, fmt.Errorf("a step of %d images of %d² needs more memory than there is, take %s: %w", t.Options.Batch, side, hint, err)
	case err != nil:
		return nil, fmt.Errorf("preparing a step of %d images of %d²: %w", t.Options.Batch, side, err)
	}
	loading, cancel := context.WithCancel(ctx)
	p.cancel, p.data = cancel, sampler.Prefetch(loading, uint64(t.step))
	return p, nil
}

func (p *stage) release() {
	p.cancel()
	p.plan.Release()
}

// compute runs a step on a batch and returns the loss and its terms, and how long the device took.
func (t *Trainer) compute(ctx context.Context, p *stage, data *dataset.Batch, rate float64) (values []float64, took time.Duration, err error) {
	r := t.Options.Recipe
	b := model.Batch{X: data.Images, Z: data.Labels, Valid: data.Valid}
	for i, v := range b.X {
		b.X[i] = model.Normalise(v)
	}
	b.Draw(p.step, r, rand.New(rand.NewPCG(t.Options.Seed^0x6d72707269736d, uint64(t.step))))
	if err := p.step.Write(p.plan, b, r.FadeWeight*optim.Fade(t.step, t.Steps(), r.FadeFloor)); err != nil {
		return nil, 0, err
	}
	now := shaders.AdamSchedule(t.adam, t.step+1, rate, 1, optim.Averaging(t.step, r.Average))
	if err := p.plan.Write(p.step.Schedule, now); err != nil {
		return nil, 0, err
	}
	began := time.Now()
	if err := p.plan.Run(ctx); err != nil {
		return nil, 0, err
	}
	read, err := p.plan.Read(ctx, append([]*tensor.Tensor{p.loss}, p.terms...)...)
	if err != nil {
		return nil, 0, err
	}
	took = time.Since(began)
	for _, v := range read {
		values = append(values, float64(v[0]))
	}
	return values, took, t.settle(ctx)
}

// settle rounds what the reference device keeps in float64 to what a checkpoint holds, so that a resumed run is the same run there too.
func (t *Trainer) settle(ctx context.Context) error {
	if t.device.Info().Kind != gpu.KindReference {
		return nil
	}
	variables := t.state()
	values, err := t.set.Read(ctx, variables...)
	if err != nil {
		return err
	}
	for i, v := range variables {
		if err := t.set.Write(v, values[i]); err != nil {
			return err
		}
	}
	return nil
}
