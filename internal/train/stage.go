package train

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"mrprism/internal/choice"
	"mrprism/internal/data/dataset"
	"mrprism/internal/train/optim"
	"mrprism/model"
	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// stage is a training step, compiled at one image side.
type stage struct {
	side     int
	recipe   model.Recipe
	step     *model.Step
	plan     *tensor.Plan // of the losses and gradients of a batch
	update   *model.Update
	updating *tensor.Plan // of the update: the same as plan, unless a step sums several gradients
	loss     *tensor.Tensor
	names    []string // of terms
	terms    []*tensor.Tensor
	cancel   context.CancelFunc
	data     <-chan *dataset.Batch
}

// prepare compiles a phase's step and starts making its batches.
func (t *Trainer) prepare(ctx context.Context, side int, recipe model.Recipe) (*stage, error) {
	p := &stage{side: side, recipe: recipe}
	p.step, p.loss, p.update = t.build(side, t.Options.Batch, recipe)
	for _, term := range p.step.Losses() {
		p.names, p.terms = append(p.names, term.Name), append(p.terms, term.Value)
	}
	for _, r := range p.step.Recurrence {
		r.Y.Keep()
	}
	sampler, err := dataset.NewSampler(t.Dataset, t.cases, dataset.Options{
		Size: side, Batch: t.Options.Batch, Seed: t.Options.Seed, Balance: t.Options.Balance, Drawn: t.Options.Slots == SlotsDrawn, Augmentation: t.Options.augmentation(),
	})
	if err != nil {
		return nil, err
	}
	p.plan, err = shaders.Compile(ctx, t.device, t.set, p.step.Graph)
	p.updating = p.plan
	if err == nil && p.update.Graph != p.step.Graph {
		if p.updating, err = shaders.Compile(ctx, t.device, t.set, p.update.Graph); err != nil {
			p.plan.Release()
		}
	}
	switch {
	case errors.Is(err, gpu.ErrOutOfMemory):
		hint := "$recompute, or a smaller $batch or side"
		if t.Options.Recompute {
			hint = "a smaller $batch or side"
		}
		return nil, choice.Errorf("a step of %d images of %d² needs more memory than the device has; use "+hint+": %w", t.Options.Batch, side, err)
	case err != nil:
		return nil, fmt.Errorf("preparing a step of %d images of %d²: %w", t.Options.Batch, side, err)
	}
	loading, cancel := context.WithCancel(ctx)
	p.cancel = cancel
	p.data = sampler.Prefetch(loading, t.numbers())
	return p, nil
}

// numbers are the numbers of this rank's batches among all batches of the run, from the next step
// on.
func (t *Trainer) numbers() iter.Seq[uint64] {
	step := t.step
	return func(yield func(uint64) bool) {
		for ; ; step++ {
			first := t.firstBatch(step)
			for number := first; number < first+t.Options.batches(); number++ {
				if !yield(uint64(number)) {
					return
				}
			}
		}
	}
}

// firstBatch is the number of this rank's first batch of a step, among all batches of the run.
func (t *Trainer) firstBatch(step int) int {
	return step*t.Options.accumulate() + t.Options.rank()*t.Options.batches()
}

func (p *stage) release() {
	p.cancel()
	p.plan.Release()
	if p.updating != p.plan {
		p.updating.Release()
	}
}

// bytes is the memory of the plans.
func (p *stage) bytes() int64 {
	if p.updating != p.plan {
		return p.plan.Bytes() + p.updating.Bytes()
	}
	return p.plan.Bytes()
}

// takeStep takes one step.
func (t *Trainer) takeStep(ctx context.Context, p *stage) (*Report, error) {
	total, began := t.Steps(), time.Now()
	now := &Report{
		Step: t.step + 1, Steps: total, Epoch: t.step/t.epochSteps() + 1, Epochs: total / t.epochSteps(), Side: p.side,
		Rate: t.schedule().Rate(t.step), Terms: map[string]float64{}, Images: t.Options.images(),
	}
	if t.Options.Precision == model.F16 {
		now.Scale = t.scaled.Scale
	}
	if err := t.compute(ctx, p, now); err != nil {
		return nil, fmt.Errorf("step %d: %w", t.step+1, err)
	}
	t.step++
	now.Seconds, now.RanksSeconds = time.Since(began).Seconds(), t.group.waited()
	return now, nil
}

// compute takes the batches of a step and updates the parameters.
func (t *Trainer) compute(ctx context.Context, p *stage, now *Report) error {
	batches := t.Options.batches()
	updates, factor := t.step-t.scaled.Skipped, 1/(float64(batches)*t.scaled.Scale)
	average := optim.Averaging(updates, t.Options.Recipe.Average)
	schedule := adam.Schedule(t.adam, updates+1, now.Rate, factor, average)
	later := adam.Schedule(t.adam, max(1, updates+1-t.first()), now.Rate, factor, average)
	if t.Options.Recipe.HeadsFirst > 0 {
		schedule, later = later, schedule
	}
	if err := p.update.Write(p.updating, schedule, later); err != nil {
		return err
	}
	for i := range batches {
		asked := time.Now()
		data, more := <-p.data
		if !more { // only in a trial, whose context ended: a run finishes its step
			return context.Cause(ctx)
		}
		now.DataSeconds += time.Since(asked).Seconds()
		if err := t.learn(ctx, p, data, i, now); err != nil {
			return err
		}
		if i == batches-1 {
			if err := t.group.average(p.names, now); err != nil {
				return err
			}
		}
		if !finite(now.Loss) && (t.group == nil || i == batches-1) { // ranks stop together
			return fmt.Errorf("%w on %s (%v); %w", ErrDiverged, strings.Join(data.Names, ", "), now.Terms, t.lastGood())
		}
		if i == 0 && t.pictured() {
			var err error
			if now.Picture, err = p.picture(ctx, data); err != nil {
				return err
			}
		}
	}
	if err := t.change(ctx, p, factor, now); err != nil {
		return err
	}
	return t.settle(ctx)
}

// change updates the parameters by the gradients, unless the plan of the gradients has done so, and
// reports the norm of the gradients.
func (t *Trainer) change(ctx context.Context, p *stage, factor float64, now *Report) error {
	began := time.Now()
	if p.updating != p.plan {
		if err := p.updating.Run(ctx); err != nil {
			return err
		}
	}
	if p.update.Squares != nil {
		squares, err := p.updating.Read(ctx, p.update.Squares)
		if err != nil {
			return err
		}
		if err := t.rescale(float64(squares[0][0]), factor, now); err != nil {
			return err
		}
	}
	now.DeviceSeconds += time.Since(began).Seconds()
	return nil
}

// normalise normalises each image of a batch as the engine does at inference.
func (o Options) normalise(b model.Batch) {
	if o.Standardise {
		for image := range slices.Chunk(b.X, len(b.X)/o.Batch) {
			weights.Standardise(image)
		}
		return
	}
	for i, v := range b.X {
		b.X[i] = weights.Normalise(v)
	}
}

// rescale reports the norm of the gradient, from the sum of its squares, and updates the scale of
// the loss.
func (t *Trainer) rescale(squares, factor float64, now *Report) (err error) {
	if finite(squares) {
		now.Norm = math.Sqrt(squares) * factor
	}
	if t.scaled, err = t.scaled.next(finite(squares)); err != nil {
		return fmt.Errorf("%w; %w", err, t.lastGood())
	}
	if now.Skipped = !finite(squares); now.Skipped {
		t.Options.tell(fmt.Sprintf("step %d: a gradient is too large for f16 with the loss scale %v: no update, and the scale is now %v",
			now.Step, now.Scale, t.scaled.Scale))
	}
	return nil
}

// learn runs the plan on a step's i-th batch and adds the batch's share of loss and terms to the
// report.
func (t *Trainer) learn(ctx context.Context, p *stage, data *dataset.Batch, i int, now *Report) error {
	r, batches := p.recipe, t.Options.batches()
	b := model.Batch{
		X: data.Images, Z: data.Labels, Valid: data.Valid, Own: data.Own, Diagnosis: data.Diagnosis, Progress: float64(t.step) / float64(max(1, t.Steps())),
		First: (t.Options.rank()*batches + i) * t.Options.Batch,
	}
	t.Options.normalise(b)
	b.Draw(p.step, r, rand.New(rand.NewPCG(t.Options.Seed^0x6d72707269736d, uint64(t.step))))
	if err := p.step.Write(p.plan, b, r.FadeWeight*optim.Fade(t.step, t.Steps(), r.FadeFloor)); err != nil {
		return err
	}
	if p.step.Scale != nil {
		if err := p.plan.Write(p.step.Scale, []float32{float32(t.scaled.Scale)}); err != nil {
			return err
		}
	}
	began, run := time.Now(), p.plan.RunApart
	if i == batches-1 {
		run = p.plan.Run
	}
	if err := run(ctx); err != nil {
		return err
	}
	read, err := p.plan.Read(ctx, append([]*tensor.Tensor{p.loss}, p.terms...)...)
	if err != nil {
		return err
	}
	now.DeviceSeconds += time.Since(began).Seconds()
	now.Loss += float64(read[0][0]) / float64(batches)
	for k, name := range p.names {
		now.Terms[name] += float64(read[k+1][0]) / float64(batches)
	}
	return nil
}

// settle rounds the reference device's float64 values to float32, as a checkpoint does, so that a
// resumed run has the same bits on the reference too.
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
