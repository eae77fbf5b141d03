package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	"mrprism/model"
	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"
	"mrprism/weights"
)

// step is a training step on a device with random weights, images and labels.
type step struct {
	*model.Step
	update *model.Update
	set    *tensor.Set
	plan   *tensor.Plan
	loss   *tensor.Tensor
	batch  model.Batch
	recipe model.Recipe
	done   int
}

var adamOptions = adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}

// newStep compiles the step.
func newStep(ctx context.Context, d gpu.Device, config model.Config, o options) (*step, error) {
	return newStepWith(ctx, d, config, o, func(s *step) { s.update = s.Update(s.set, adamOptions, 0) })
}

// newStepWith compiles the step; end appends the operators after the backward pass.
func newStepWith(ctx context.Context, d gpu.Device, config model.Config, o options, end func(*step)) (*step, error) {
	recipe, err := model.NewRecipe(o.Recipe)
	if err != nil {
		return nil, err
	}
	s := &step{set: tensor.NewSet(), recipe: recipe}
	config.Recompute = o.Recompute
	config.Extend(recipe.Steered, recipe.Settles > 0, recipe.Settles > 0)
	s.Step = model.NewStep(s.set, config, recipe, o.Batch, o.Side)
	s.loss = s.Loss()
	s.Backward(s.loss)
	end(s)
	if s.plan, err = shaders.Compile(ctx, d, s.set, s.Graph); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// checkStep returns an error if no step is possible with the batch.
func (o options) checkStep() error {
	if size := o.Side / model.SideMultiple; o.Side != size*model.SideMultiple || o.Batch*size*size < 2 {
		return fmt.Errorf("-batch %d, -side %d: give a side that is a multiple of %d, and at least two images if it is %[3]d: batch norm at the bridge "+
			"has no variance of a single value", o.Batch, o.Side, model.SideMultiple)
	}
	return nil
}

// begin draws weights, images and labels.
func (s *step) begin() error {
	s.batch = model.Batch{
		X:     noise(s.X.Elements(), func(r *rand.Rand) float32 { return weights.Normalise(r.Float32()) }),
		Z:     noise(s.Z.Elements(), func(r *rand.Rand) float32 { return float32(r.IntN(2)) }),
		Valid: noise(s.Valid.Elements(), func(*rand.Rand) float32 { return 1 }),
	}
	s.batch.Draw(s.Step, s.recipe, rand.New(rand.NewPCG(1, 1)))
	return s.set.Initialise(1)
}

// run takes the next step: it writes the batch, runs forward, backward and Adam, and reads the
// loss.
func (s *step) run(ctx context.Context) error {
	s.done++
	if err := s.Write(s.plan, s.batch, s.recipe.FadeWeight); err != nil {
		return err
	}
	factor := 1.0
	if s.Scale != nil {
		factor /= model.LossScale
		if err := s.plan.Write(s.Scale, []float32{model.LossScale}); err != nil {
			return err
		}
	}
	if err := s.update.Write(s.plan, adam.Schedule(adamOptions, s.done, s.recipe.Rate, factor, s.recipe.Average), nil); err != nil {
		return err
	}
	if err := s.plan.Run(ctx); err != nil {
		return err
	}
	values, err := s.plan.Read(ctx, s.loss)
	if err == nil && !(values[0][0] > 0) {
		err = fmt.Errorf("step %d: %w: loss %v", s.done, model.ErrNotFinite, values[0][0])
	}
	return err
}

func (s *step) release() {
	if s.plan != nil {
		s.plan.Release()
	}
	s.set.Release()
}
