package model

import (
	"context"
	"fmt"
	"math"

	"mrprism/internal/gpu"
	"mrprism/internal/nn"
	"mrprism/internal/tensor"
	"mrprism/shaders"
)

// Inference is the network on one image of S×S pixels as two plans: the encoder, run once an image, and one recurrence, which
// reads the features and the confidence and writes the confidence of the next.
type Inference struct {
	Config
	Side int

	set                   *tensor.Set
	encoder, recurrence   *tensor.Plan
	x, prior, y, estimate *tensor.Tensor
	w                     *tensor.Variable
	watch                 *watch // nil: nobody looks
}

// startConfidence is the constant w₀ at inference: every rater as likely right as wrong (PAPER.md §3.4).
var startConfidence = math.Log(0.5)

// Variables declares all variables of the network, parameters and statistics, in a set.
func Variables(c Config) *tensor.Set {
	set := tensor.NewSet()
	Declare(set, c)
	return set
}

// Declare adds to a set what it lacks of the network's variables.
func Declare(set *tensor.Set, c Config) { inferenceGraphs(set, c, SideMultiple, nil) }

// NewInference compiles both plans, in the configuration's precision, which decides how the set stores its variables: it has no memory yet, or
// has it in this way. The set's parameters may be written before or after.
func NewInference(ctx context.Context, device gpu.Device, set *tensor.Set, c Config, side int) (*Inference, error) {
	return newInference(ctx, device, set, c, side, nil)
}

// newInference looks with watch, unless that is nil.
func newInference(ctx context.Context, device gpu.Device, set *tensor.Set, c Config, side int, watch *watch) (*Inference, error) {
	if side <= 0 || side%SideMultiple != 0 {
		return nil, fmt.Errorf("model: side %d is not a multiple of %d", side, SideMultiple)
	}
	if c.Precision == Int8 && len(c.Ranges) == 0 {
		return nil, ErrNoRanges
	}
	err := c.Precision.store(set, device.Info())
	if err != nil {
		return nil, err
	}
	in, encoder, recurrence := inferenceGraphs(set, c, side, watch)
	if in.encoder, err = tensor.Compile(ctx, device, set, encoder); err != nil {
		return nil, fmt.Errorf("model: encoder: %w", err)
	}
	if in.recurrence, err = tensor.Compile(ctx, device, set, recurrence); err != nil {
		in.Release()
		return nil, fmt.Errorf("model: recurrence: %w", err)
	}
	return in, nil
}

func inferenceGraphs(set *tensor.Set, c Config, side int, watch *watch) (in *Inference, encoder, recurrence *tensor.Graph) {
	in = &Inference{Config: c, Side: side, set: set, watch: watch}
	encoder, recurrence = tensor.NewGraphOf(set.Floats()), tensor.NewGraphOf(set.Floats())

	n := Network{Config: c, Builder: in.builder(encoder)}
	in.x = encoder.Input("x", 1, side, side, 3)
	f := n.Encoder(in.x)
	skips := n.Skips(f)
	hand := func(name string, t *tensor.Tensor) *tensor.Tensor {
		v := set.Variable(tensor.Shared, "shared."+name, t.Shape()...)
		shaders.Assign(encoder.Variable(v), t)
		return recurrence.Variable(v)
	}
	for i, s := range skips {
		skips[i] = Skip{hand(fmt.Sprintf("merge%d", i+1), s.Merge), hand(fmt.Sprintf("shortcut%d", i+1), s.Shortcut)}
	}
	f0 := hand("f0", f.F)

	n.Builder = in.builder(recurrence)
	in.w = set.Variable(tensor.Shared, "shared.w", 1, side/8, side/8, c.Raters, c.Classes)
	w := recurrence.Variable(in.w)
	in.prior = recurrence.Input("log prior", in.w.Shape[1:]...)
	half, y, _ := n.Converge(f0, skips, shaders.AddBroadcast(w, in.prior))
	zHat := n.Diverge(half)
	in.y, in.estimate = y.Keep(), resizeRaters(zHat, side).Keep()
	shaders.Assign(w, shaders.ClampLog(zHat, lowest, 1))
	return in, encoder, recurrence
}

// builder makes the layers of a graph, some of them in int8 where the configuration says so.
func (in *Inference) builder(g *tensor.Graph) *nn.Builder {
	b := &nn.Builder{Graph: g, Set: in.set}
	if in.Precision == Int8 {
		b.Ranges = in.Ranges
	}
	if in.watch != nil {
		b.Inputs = in.watch.add
	}
	return b
}

// Encode starts an image, x (S, S, 3) normalised: it computes the features and sets the confidence to log ½ plus the prior.
func (in *Inference) Encode(ctx context.Context, x []float32) error {
	if err := in.encoder.Write(in.x, x); err != nil {
		return err
	}
	if err := in.Restart(); err != nil {
		return err
	}
	if err := in.encoder.Run(ctx); err != nil || in.watch == nil {
		return err
	}
	return in.watch.see(ctx, in.encoder, in.x.Graph())
}

// Restart sets the confidence back to log ½, to run the recurrences again on the same image.
func (in *Inference) Restart() error {
	start := make([]float32, in.w.Elements())
	for i := range start {
		start[i] = float32(startConfidence)
	}
	return in.set.Write(in.w, start)
}

// SetRaterWeights gives each rater's confidence a factor in 0..1, of at least 1e-3, in every recurrence that follows; nil: all 1.
func (in *Inference) SetRaterWeights(weights []float32) error {
	if weights != nil && len(weights) != in.Raters {
		return fmt.Errorf("model: %d rater weights for %d raters", len(weights), in.Raters)
	}
	prior := make([]float32, in.w.Elements())
	for i := range prior {
		if weights != nil {
			f := float64(weights[i/in.Classes%in.Raters])
			if !(f >= 0 && f <= 1) {
				return fmt.Errorf("model: rater weight %g is outside 0..1", f)
			}
			prior[i] = float32(math.Log(max(f, lowest)))
		}
	}
	return in.recurrence.Write(in.prior, prior)
}

// Recur runs one recurrence and returns the calibrated mask y (S, S, K) and each rater's likely label (S, S, M, K), all
// probabilities. Values that are not finite or not in 0..1 are an error, never a mask.
func (in *Inference) Recur(ctx context.Context) (y, raters []float32, err error) {
	if y, raters, err = in.recur(ctx); err != nil {
		return nil, nil, err
	}
	nest(y, in.Classes)
	nest(raters, in.Classes)
	return y, raters, nil
}

func (in *Inference) recur(ctx context.Context) (y, raters []float32, err error) {
	if err := in.recurrence.Run(ctx); err != nil {
		return nil, nil, err
	}
	if in.watch != nil {
		if err := in.watch.see(ctx, in.recurrence, in.y.Graph()); err != nil {
			return nil, nil, err
		}
	}
	values, err := in.recurrence.Read(ctx, in.y, in.estimate)
	if err != nil {
		return nil, nil, err
	}
	for _, v := range values {
		for _, p := range v {
			if !(p >= 0 && p <= 1) {
				return nil, nil, fmt.Errorf("%w: probability %v", ErrNotFinite, p)
			}
		}
	}
	return values[0], values[1], nil
}

// nest makes every structure lie inside the one before: cup = min(cup, disc) (PAPER.md §3.10). maps (…, K).
func nest(maps []float32, k int) {
	for i := range maps {
		if i%k > 0 {
			maps[i] = min(maps[i], maps[i-1])
		}
	}
}

// Bytes is the GPU memory of both plans and all variables.
func (in *Inference) Bytes() int64 {
	return in.encoder.Bytes() + in.recurrence.Bytes() + in.set.Bytes()
}

// Dispatches of the encoder and of one recurrence.
func (in *Inference) Dispatches() (encoder, recurrence int) {
	return in.encoder.Dispatches(), in.recurrence.Dispatches()
}

// Plans are those of the encoder and of one recurrence, for who measures their commands.
func (in *Inference) Plans() (encoder, recurrence *tensor.Plan) { return in.encoder, in.recurrence }

// Release returns the plans' memory; the set is the caller's.
func (in *Inference) Release() {
	for _, p := range []*tensor.Plan{in.encoder, in.recurrence} {
		if p != nil {
			p.Release()
		}
	}
}
