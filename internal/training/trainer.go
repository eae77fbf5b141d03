package training

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"mrprism/internal/dataset"
	"mrprism/internal/gpu"
	"mrprism/internal/optim"
	"mrprism/internal/tensor"
	"mrprism/model"
	"mrprism/shaders"
)

// ErrDiverged means that a step's loss was not a number; what was saved before it is untouched.
var ErrDiverged = errors.New("the loss is not a number")

// Report tells how a step went.
type Report struct {
	Step, Steps   int
	Epoch, Epochs int
	Side          int
	Rate          float64
	Loss          float64            // of the step
	Terms         map[string]float64 // weighted, summed over the recurrences
	Seconds       float64            // of the step, its data included
	DataSeconds   float64            // of that, waiting for data
	Left          time.Duration      // estimate for the rest of the run
}

// Trainer is a run in progress.
type Trainer struct {
	Options Options
	Dataset *dataset.Dataset
	Config  model.Config

	device gpu.Device
	cases  []*dataset.Loaded
	set    *tensor.Set
	step   int // steps done
	adam   shaders.AdamOptions
	saved  time.Time
}

// New opens and checks the data, declares the network and, where asked, reads the checkpoint or the weights to start from.
func New(ctx context.Context, device gpu.Device, o Options, progress func(done, total int)) (*Trainer, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	data, err := dataset.Open(o.Data...)
	if err != nil {
		return nil, err
	}
	cases, err := dataset.LoadAll(data.Training(), progress)
	if err != nil {
		return nil, err
	}
	c, err := model.NewConfig(o.Config, len(data.Raters), len(data.Classes))
	if err != nil {
		return nil, err
	}
	c.AreaPrior = areas(cases, len(data.Classes))
	if data.Levels {
		o.Recipe = o.Recipe.ForLevels()
	}
	t := &Trainer{
		Options: o, Dataset: data, Config: c, device: device, cases: cases, set: tensor.NewSet(),
		adam: shaders.AdamOptions{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8, Decay: float32(o.Recipe.Decay)},
	}
	t.build(o.Phases[0].Side, o.Batch) // declares every variable: parameters, statistics, moments, averages
	if err := t.set.Allocate(ctx, device); err != nil {
		return nil, err
	}
	if err := t.start(ctx); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// build makes the graph of one step.
func (t *Trainer) build(side, batch int) (s *model.Step, loss *tensor.Tensor) {
	s = model.NewStep(t.set, t.Config, t.Options.Recipe, batch, side)
	loss = s.Loss()
	s.Backward(loss)
	s.Update(t.set, t.adam)
	return s, loss
}

// start gives the variables their first values: from the checkpoint, from given weights, or drawn.
func (t *Trainer) start(ctx context.Context) error {
	if t.Options.Resume {
		return t.load(ctx)
	}
	if err := t.set.Initialise(t.Options.Seed); err != nil {
		return err
	}
	if t.Options.Init != "" {
		return t.initialiseFrom(t.Options.Init)
	}
	return nil
}

// areas are the mean shares of pixels of each class in the labels.
func areas(cases []*dataset.Loaded, classes int) []float64 {
	share := make([]float64, classes)
	for k := range share {
		inside, all := 0.0, 0.0
		for _, c := range cases {
			for _, mask := range c.Given(k) {
				for _, v := range mask {
					inside += float64(v)
				}
				all += float64(len(mask))
			}
		}
		share[k] = min(max(inside/max(all, 1), 0.01), 0.5)
	}
	return share
}

// Close returns the GPU memory.
func (t *Trainer) Close() { t.set.Release() }

// Done is the number of steps done.
func (t *Trainer) Done() int { return t.step }

// Run trains to the end, or until the context is cancelled, after which it finishes the step and saves. It returns the
// context's error in that case.
func (t *Trainer) Run(ctx context.Context, report func(Report)) error {
	t.saved = time.Now()
	first, total := 0, t.Steps()
	for _, phase := range t.Options.Phases {
		steps := phase.Epochs * t.epochSteps()
		if t.step < first+steps && steps > 0 {
			if err := t.phase(ctx, phase, first, first+steps, total, report); err != nil {
				return err
			}
		}
		first += steps
	}
	return t.save(context.WithoutCancel(ctx))
}

// Steps is the length of the whole run.
func (t *Trainer) Steps() int {
	n := 0
	for _, p := range t.Options.Phases {
		n += p.Epochs * t.epochSteps()
	}
	return n
}

func (t *Trainer) epochSteps() int { return (len(t.cases) + t.Options.Batch - 1) / t.Options.Batch }

// phase trains steps [first, last) at one image side.
func (t *Trainer) phase(ctx context.Context, phase Phase, first, last, total int, report func(Report)) error {
	working := context.WithoutCancel(ctx) // a step is finished even where the run is told to stop
	s, loss := t.build(phase.Side, t.Options.Batch)
	var terms []*tensor.Tensor
	var names []string
	for _, r := range s.Terms {
		for name, term := range map[string]*tensor.Tensor{
			"mask": r.Mask, "fusion": r.Fusion, "shuffle": r.Shuffle, "heads": r.Heads, "fade": r.Fade} {
			if term != nil {
				names, terms = append(names, name), append(terms, term.Keep())
			}
		}
	}
	plan, err := tensor.Compile(working, t.device, t.set, s.Graph)
	if err != nil {
		return err
	}
	defer plan.Release()
	sampler, err := dataset.NewSampler(t.Dataset, t.cases, dataset.Options{
		Size: phase.Side, Batch: t.Options.Batch, Seed: t.Options.Seed, Anchor: t.Options.Anchor,
		Augmentation: dataset.DefaultAugmentation,
	})
	if err != nil {
		return err
	}
	loading, stop := context.WithCancel(working)
	defer stop()
	batches := sampler.Prefetch(loading, uint64(t.step))

	r := t.Options.Recipe
	schedule := optim.Schedule{Peak: r.Rate, Warmup: max(1, total/20), Total: total, Last: 0.01, Constant: r.Constant}
	var pace pace
	for ; t.step < last; t.step++ {
		if ctx.Err() != nil {
			if err := t.save(working); err != nil {
				return err
			}
			return ctx.Err()
		}
		began := time.Now()
		data := <-batches
		waited := time.Since(began)
		values, err := t.one(working, s, plan, data, schedule, total, append([]*tensor.Tensor{loss}, terms...))
		if err != nil {
			return fmt.Errorf("step %d: %w", t.step+1, err)
		}
		now := Report{
			Step: t.step + 1, Steps: total, Epoch: t.step/t.epochSteps() + 1, Epochs: total / t.epochSteps(), Side: phase.Side,
			Rate: schedule.Rate(t.step), Loss: values[0], Terms: map[string]float64{}, Seconds: time.Since(began).Seconds(),
			DataSeconds: waited.Seconds(),
		}
		for i, name := range names {
			now.Terms[name] += values[i+1]
		}
		if math.IsNaN(now.Loss) || math.IsInf(now.Loss, 0) {
			return fmt.Errorf("step %d on %s: %w; the checkpoint in %s is the last good state: lower -rate and -resume",
				t.step+1, strings.Join(data.Names, ", "), ErrDiverged, t.Options.Out)
		}
		now.Left = pace.left(now.Seconds, phase.Side, t.remaining(t.step+1))
		report(now)
		if time.Since(t.saved).Seconds() >= t.Options.CheckpointSeconds {
			t.step++
			err := t.save(working)
			t.step--
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// one runs a single step and returns the values of the given one-element tensors.
func (t *Trainer) one(ctx context.Context, s *model.Step, plan *tensor.Plan, data *dataset.Batch, schedule optim.Schedule,
	total int, wanted []*tensor.Tensor) ([]float64, error) {
	r := t.Options.Recipe
	b := model.Batch{X: data.Images, Z: data.Labels, Valid: perClass(data.Valid, t.Config.Classes)}
	for i, v := range b.X {
		b.X[i] = model.Normalise(v)
	}
	b.Draw(s, r, rand.New(rand.NewPCG(t.Options.Seed^0x6d72707269736d, uint64(t.step))))
	if err := s.Write(plan, b, r.FadeWeight*optim.Fade(t.step, total, r.FadeFloor)); err != nil {
		return nil, err
	}
	now := shaders.AdamSchedule(t.adam, t.step+1, schedule.Rate(t.step), 1, optim.Averaging(t.step, r.Average))
	if err := plan.Write(s.Schedule, now); err != nil {
		return nil, err
	}
	if err := plan.Run(ctx); err != nil {
		return nil, err
	}
	read, err := plan.Read(ctx, wanted...)
	if err != nil {
		return nil, err
	}
	values := make([]float64, len(read))
	for i, v := range read {
		values[i] = float64(v[0])
	}
	return values, nil
}

// perClass repeats validity (B, M) for each class: (B, M, K).
func perClass(valid []float32, classes int) []float32 {
	out := make([]float32, 0, len(valid)*classes)
	for _, v := range valid {
		out = append(out, slices.Repeat([]float32{v}, classes)...)
	}
	return out
}

// remaining gives the steps left at each image side after `done` steps.
func (t *Trainer) remaining(done int) map[int]int {
	left := map[int]int{}
	for _, p := range t.Options.Phases {
		steps := p.Epochs * t.epochSteps()
		skipped := min(done, steps)
		done -= skipped
		left[p.Side] += steps - skipped
	}
	return left
}

// pace estimates the time left from the recent mean of a step's seconds; a step's time goes with the image's area.
type pace struct{ mean float64 }

func (p *pace) left(seconds float64, side int, remaining map[int]int) time.Duration {
	if p.mean == 0 {
		p.mean = seconds
	}
	p.mean += 0.1 * (seconds - p.mean)
	total := 0.0
	for s, n := range remaining {
		total += float64(n) * p.mean * float64(s*s) / float64(side*side)
	}
	return time.Duration(total * float64(time.Second))
}
