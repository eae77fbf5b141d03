package measure

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

// Step is a training step on a device with random weights, images and labels.
type Step struct {
	*model.Step
	Set    *tensor.Set
	Plan   *tensor.Plan
	Total  *tensor.Tensor // the loss
	Batch  model.Batch
	Recipe model.Recipe
	update *model.Update
	done   int
}

var adamOptions = adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}

// NewStep compiles the step. end appends the operators after the backward pass; nil: the update.
func NewStep(ctx context.Context, d gpu.Device, config model.Config, o Options, end func(*Step)) (*Step, error) {
	recipe, err := model.NewRecipe(o.Recipe)
	if err != nil {
		return nil, err
	}
	s := &Step{Set: tensor.NewSet(), Recipe: recipe}
	config.Extend(recipe.Steered, recipe.Settles > 0, recipe.Settles > 0)
	s.Step = model.NewStep(s.Set, config, recipe, o.Batch, o.Side)
	s.Total = s.Loss()
	s.Backward(s.Total)
	if end == nil {
		s.update = s.Update(s.Set, adamOptions, 0)
	} else {
		end(s)
	}
	if s.Plan, err = shaders.Compile(ctx, d, s.Set, s.Graph); err != nil {
		s.Release()
		return nil, err
	}
	return s, nil
}

// CheckStep returns an error if no step is possible with the batch.
func (o Options) CheckStep() error {
	if size := o.Side / model.SideMultiple; o.Side != size*model.SideMultiple || o.Batch*size*size < 2 {
		return fmt.Errorf("-batch %d, -side %d: give a side that is a multiple of %d, and at least two images if it is %[3]d: batch norm at the bridge "+
			"has no variance of a single value", o.Batch, o.Side, model.SideMultiple)
	}
	return nil
}

// Begin draws weights, images and labels.
func (s *Step) Begin() error {
	s.Batch = model.Batch{
		X:     noise(s.X.Elements(), func(r *rand.Rand) float32 { return weights.Normalise(r.Float32()) }),
		Z:     noise(s.Z.Elements(), func(r *rand.Rand) float32 { return float32(r.IntN(2)) }),
		Valid: noise(s.Valid.Elements(), func(*rand.Rand) float32 { return 1 }),
	}
	s.Batch.Draw(s.Step, s.Recipe, rand.New(rand.NewPCG(1, 1)))
	return s.Set.Initialise(1)
}

// Run takes the next step: it writes the batch, runs forward, backward and Adam, and reads the
// loss.
func (s *Step) Run(ctx context.Context) error {
	s.done++
	if err := s.Write(s.Plan, s.Batch, s.Recipe.FadeWeight); err != nil {
		return err
	}
	factor := 1.0
	if s.Scale != nil {
		factor /= model.LossScale
		if err := s.Plan.Write(s.Scale, []float32{model.LossScale}); err != nil {
			return err
		}
	}
	if err := s.update.Write(s.Plan, adam.Schedule(adamOptions, s.done, s.Recipe.Rate, factor, s.Recipe.Average), nil); err != nil {
		return err
	}
	if err := s.Plan.Run(ctx); err != nil {
		return err
	}
	values, err := s.Plan.Read(ctx, s.Total)
	if err == nil && !(values[0][0] > 0) {
		err = fmt.Errorf("step %d: %w: loss %v", s.done, model.ErrNotFinite, values[0][0])
	}
	return err
}

func (s *Step) Release() {
	if s.Plan != nil {
		s.Plan.Release()
	}
	s.Set.Release()
}
