package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
)

// Inference is the network on one image of S×S pixels, as plans. The first plan has an early part,
// the encoder, that runs once for an image. The rest of it runs once for a recurrence: it reads the
// features and every rater's likely label z̃, takes the logarithm of z̃ as the confidence, and
// writes the z̃ that the next recurrence reads. Another plan enlarges z̃ to the raters' labels. A
// network with Evidence makes one recurrence; a plan of its own settles what that made. A network
// of another Method makes one pass.
type Inference struct {
	Config
	Side int

	set               *tensor.Set
	network, labels   *tensor.Plan
	x, prior, y, full *tensor.Tensor
	shift             *tensor.Tensor            // (1, 1, 1, K), see SetPanels; nil without panels
	encoded           map[string]*tensor.Tensor // see Encoded
	estimate          *tensor.Tensor            // between, in the first plan
	between           *tensor.Variable          // z̃, (1, S/8, S/8, M, K)
	rated             *tensor.Tensor            // every rater's mask, in the first plan
	watch             *watch                    // of NewRanges; otherwise nil
	settling          *settling                 // nil without Evidence
	each              *tensor.Tensor            // (1, 1, 1, P·K), see SetPanels; nil without panels or with Evidence
}

// startEstimate is z̃ before the first recurrence: every rater is as likely right as wrong
// (PAPER.md §3.4).
const startEstimate = 0.5

// Variables declares all variables of the network, parameters and statistics, in a set.
func Variables(c Config) *tensor.Set {
	set := tensor.NewSet()
	Declare(set, c)
	return set
}

// Declare adds to a set what it lacks of the network's variables.
func Declare(set *tensor.Set, c Config) { inferenceGraphs(set, c, SideMultiple, nil) }

// NewInference compiles the plans in the configuration's precision. The precision decides how the
// set stores its variables; a set that already has memory must store them in that way. The set may
// hold parameters and statistics, and what Declare added for SideMultiple only if side is
// SideMultiple. The caller may write the parameters before or after.
func NewInference(ctx context.Context, device gpu.Device, set *tensor.Set, c Config, side int) (*Inference, error) {
	return newInference(ctx, device, set, c, side, nil)
}

// newInference is NewInference that shows watch, if there is one, what layers are given.
func newInference(ctx context.Context, device gpu.Device, set *tensor.Set, c Config, side int, watch *watch) (*Inference, error) {
	if side <= 0 || side%SideMultiple != 0 {
		return nil, fmt.Errorf("model: side %d is not a multiple of %d", side, SideMultiple)
	}
	err := c.prepare(set, device.Info())
	if err != nil {
		return nil, err
	}
	in := inferenceGraphs(set, c, side, watch)
	if in.network, err = c.rewrites(watch).Compile(ctx, device, set, in.y.Graph()); err != nil {
		return nil, fmt.Errorf("model: the network: %w", err)
	}
	if in.labels, err = shaders.Compile(ctx, device, set, in.full.Graph()); err != nil {
		in.Release()
		return nil, fmt.Errorf("model: the raters' labels: %w", err)
	}
	if in.settling != nil {
		if err := in.settling.compile(ctx, device, set); err != nil {
			in.Release()
			return nil, fmt.Errorf("model: passes that settle: %w", err)
		}
	}
	return in, nil
}

// inferenceGraphs builds the graphs of both plans. The tensors in the result know them.
func inferenceGraphs(set *tensor.Set, c Config, side int, watch *watch) *Inference {
	in := &Inference{Config: c, Side: side, set: set, watch: watch}
	g, labels := tensor.NewGraphOf(set.Floats()), tensor.NewGraphOf(set.Floats())
	n := Network{Config: c, Builder: &nn.Builder{Graph: g, Set: set}}
	in.x = g.Input("x", 1, side, side, 3).Early()
	f := n.Encoder(in.x)
	in.between = set.Variable(tensor.Shared, "shared.estimate", 1, side/8, side/8, c.Raters, c.Classes)
	in.estimate = g.Variable(in.between)
	in.prior = g.Input("log prior", in.between.Shape[1:]...)
	if c.Panels > 0 {
		n.shift = g.Input("panel shift", 1, 1, 1, c.Classes)
		in.shift = n.shift
	}
	if c.Method != nil {
		in.predict(&n, f, labels)
	} else {
		in.recurrence(&n, f, labels)
	}
	in.encoded = n.encoded(f)
	for _, kept := range in.encoded {
		kept.Keep()
	}
	return in
}

// recurrence appends ConP and DivP to the network's graph, and the raters' labels to theirs.
func (in *Inference) recurrence(n *Network, f Features, labels *tensor.Graph) {
	side := in.Side
	half, y, inner := n.Converge(f, pointwise.AddBroadcast(logConfidence(in.estimate), in.prior))
	zHat, likely := n.Diverge(half)
	pointwise.Assign(in.estimate, zHat)
	in.y, in.rated = y.Keep(), in.estimate
	likelyLabels := ResizeRaters(labels.Variable(in.between), side)
	var fine *tensor.Variable // logits of the raters' labels
	switch {
	case in.Evidence:
		in.settling = newSettling(in, n.edges(f), n.begun(inner.Logits, likely))
		fine = in.settling.now[1]
	case in.Panels > 0 && in.Panels == in.Raters: // they are the raters
		in.each = half.Graph().Input("panels", 1, 1, 1, in.Panels*in.Classes)
		fine = in.set.Variable(tensor.Shared, "shared.panels", 1, side/2, side/2, in.Panels*in.Classes)
		pointwise.Assign(half.Graph().Variable(fine), pointwise.Add(tiled(inner.Logits, in.Panels), pool.Resize(in.each, side/2, side/2)))
	}
	if fine != nil {
		likelyLabels = ResizeRaters(pointwise.Sigmoid(labels.Variable(fine)).Reshape(1, side/2, side/2, in.Raters, in.Classes), side)
	}
	in.full = likelyLabels.Keep()
}

// logConfidence is the logarithm of every rater's likely label z̃, with z̃ clamped to at least
// Lowest.
func logConfidence(zHat *tensor.Tensor) *tensor.Tensor { return pointwise.ClampLog(zHat, Lowest, 1) }

// Encode starts an image, x (S, S, 3) normalised: it computes the features and sets every rater's
// likely label to ½.
func (in *Inference) Encode(ctx context.Context, x []float32) error {
	if err := in.network.Write(in.x, x); err != nil {
		return err
	}
	if err := in.Restart(); err != nil {
		return err
	}
	return in.network.RunEarly(ctx)
}

// Restart sets every rater's likely label back to ½, to run the recurrences again on the same
// image.
func (in *Inference) Restart() error {
	return in.set.Write(in.between, slices.Repeat([]float32{startEstimate}, in.between.Elements()))
}

// SetRaterWeights gives each rater's confidence a factor in every recurrence that follows: the
// rater's weight, 0..1, as a share of the largest weight, and at least 1e-3. Equal weights, also
// zeros, change nothing. nil sets all weights to 1.
func (in *Inference) SetRaterWeights(weights []float32) error {
	if weights != nil && len(weights) != in.Raters {
		return fmt.Errorf("model: %d rater weights for %d raters", len(weights), in.Raters)
	}
	prior := make([]float32, in.between.Elements())
	for _, f := range weights {
		if !(f >= 0 && f <= 1) {
			return fmt.Errorf("model: rater weight %g is outside 0..1", f)
		}
	}
	if psi := relative(weights, in.Raters); psi != nil {
		for i := range prior {
			prior[i] = float32(math.Log(float64(psi[i/in.Classes%in.Raters])))
		}
	}
	return in.network.Write(in.prior, prior)
}

// SetPanels gives the recurrences that follow what is added to the mask's logits, shown (K), and how
// far those of each panel's mask then lie above them, each (P, K).
func (in *Inference) SetPanels(shown, each []float32) error {
	err := in.network.Write(in.shift, shown)
	if err == nil && in.each != nil {
		err = in.network.Write(in.each, each)
	}
	return err
}

// Recur runs one recurrence and returns the calibrated mask y (S, S, K), probabilities. Recur
// returns ErrNotFinite if the mask or the raters' likely labels hold a value outside 0..1, and
// ErrNothing if either is zero everywhere. The next mask depends on those labels.
func (in *Inference) Recur(ctx context.Context) ([]float32, error) {
	y, err := in.recur(ctx)
	if err == nil {
		in.Nest(y, in.Classes)
	}
	return y, err
}

func (in *Inference) recur(ctx context.Context) ([]float32, error) {
	if err := in.network.Run(ctx); err != nil {
		return nil, err
	}
	if in.settling != nil {
		if err := in.settling.restart.Run(ctx); err != nil {
			return nil, err
		}
	}
	if in.watch != nil {
		if err := in.watch.see(ctx, in.network); err != nil {
			return nil, err
		}
	}
	return probabilities(ctx, in.network, in.y, in.rated)
}

// RaterLabels returns every rater's likely label (S, S, M + Draws, K), probabilities, after the
// recurrences that have run, and after them the masks drawn by a Method.
func (in *Inference) RaterLabels(ctx context.Context) ([]float32, error) {
	err := in.labels.Run(ctx)
	if err != nil {
		return nil, err
	}
	z, err := probabilities(ctx, in.labels, in.full)
	if err == nil {
		in.Nest(z, in.full.Dim(3)*in.Classes)
	}
	return z, err
}

// probabilities reads maps of probabilities, checks all of them as Recur says, and returns the
// first.
func probabilities(ctx context.Context, plan *tensor.Plan, maps ...*tensor.Tensor) ([]float32, error) {
	values, err := plan.Read(ctx, maps...)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		var most float32
		for _, p := range v {
			if !(p >= 0 && p <= 1) {
				return nil, fmt.Errorf("%w: probability %v", ErrNotFinite, p)
			}
			if p > most {
				most = p
			}
		}
		if most == 0 {
			return nil, ErrNothing
		}
	}
	return values[0], nil
}

// Bytes is the GPU memory of the plans and all variables.
func (in *Inference) Bytes() int64 {
	bytes := in.set.Bytes() + in.network.Bytes() + in.labels.Bytes()
	if in.settling != nil {
		bytes += in.settling.pass.Bytes() + in.settling.restart.Bytes()
	}
	return bytes
}

// EncoderDispatches is the number of dispatches of the encoder.
func (in *Inference) EncoderDispatches() int { return in.network.EarlyDispatches() }

// RecurrenceDispatches is the number of dispatches of one recurrence.
func (in *Inference) RecurrenceDispatches() int { return in.network.Dispatches() }

// Dispatches is the number of dispatches of one image with a number of recurrences (passes), when
// the raters' labels are read once.
func (in *Inference) Dispatches(passes int) int {
	return in.network.EarlyDispatches() + passes*in.network.Dispatches() + in.labels.Dispatches()
}

// Commands lists the commands of the encoder, of one recurrence, of the raters' labels and, with
// Evidence, of a pass around marks, for programs that time them.
func (in *Inference) Commands() (encoder, recurrence, labels, settle tensor.Commands) {
	if in.settling != nil {
		settle = in.settling.pass.Commands()
	}
	return in.network.EarlyCommands(), in.network.Commands(), in.labels.Commands(), settle
}

// Release frees the plans' memory. The set belongs to the caller.
func (in *Inference) Release() {
	plans := []*tensor.Plan{in.network, in.labels}
	if in.settling != nil {
		plans = append(plans, in.settling.pass, in.settling.restart)
	}
	for _, p := range plans {
		if p != nil {
			p.Release()
		}
	}
}
