// Package shadertest checks operators on every device. Only tests import it.
package shadertest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// Operator says how Check checks one operator.
type Operator struct {
	Inputs [][]int                                  // shapes of the float inputs
	Build  func(x []*tensor.Tensor) *tensor.Tensor  // appends the operator
	Fill   func(input, i int, r *rand.Rand) float64 // values of the inputs; nil: normal
	Fixed  map[int]bool                             // inputs without gradient
	ATol   float64                                  // tolerance against the reference: absolute
	RTol   float64                                  // and relative to the largest value; both 0: both 1e-5
	FD     float64                                  // relative tolerance of finite differences; 0: 1e-5
	Rough  bool                                     // no finite differences: the gradient is no derivative
	Half   float64                                  // RTol with storage of halves, at inference; 0: not checked
	Mixed  float64                                  // RTol with storage of halves, in training; 0: not checked
	Params []int                                    // in training: inputs that are f32 parameters
	Full   []int                                    // in training: inputs that are f32 statistics
	Floats gpu.ElementType                          // what storage holds; Check sets it
	mixes  bool                                     // the graph is of f32, as in training; Check sets it
}

// Rounded is twice the relative error of a result that is stored as a half, 2^-11. The other 2^-11
// is for the computation in f32.
const Rounded = 1.0 / (1 << 10)

// disguised is a device that claims to be another, and that may choose kernel variants.
type disguised struct {
	gpu.Device
	info   gpu.Info
	choose func(programs []*gpu.Program) int // nil: choose the preferred program
}

// Choose implements tensor.Chooser.
func (d disguised) Choose(programs []*gpu.Program) int {
	if d.choose == nil {
		return 0
	}
	return d.choose(programs)
}

// Preferring is the device d, but it runs the variants that kernels prefer.
func Preferring(d gpu.Device) gpu.Device {
	if a, ok := d.(disguised); ok {
		a.choose = nil
		return a
	}
	return d
}

func (d disguised) Info() gpu.Info { return d.info }

// ofKind is the device's description as one of another kind.
func ofKind(d gpu.Device, kind gpu.Kind) gpu.Info {
	info := d.Info()
	info.Kind = kind
	return info
}

// Check checks an operator in three ways: the reference's gradient against central differences in
// float64, the results and gradients of every device and every kernel variant against the
// reference, and the same with storage of halves.
func Check(t *testing.T, o Operator) {
	t.Helper()
	for _, o := range o.Storages() {
		o.check(t)
	}
}

// Storages returns copies of the test: with storage of f32 and, if the test has the tolerances,
// with storage of halves as at inference (without gradients) and as in training. The reference does
// not round what it stores, and so the tolerances have to allow for the rounding.
func (o Operator) Storages() []Operator {
	all := []Operator{o}
	if o.Half != 0 {
		h := o
		h.Floats, h.Rough, h.ATol, h.RTol, h.Fixed = gpu.F16, true, 0, o.Half, map[int]bool{}
		for k := range o.Inputs {
			h.Fixed[k] = true
		}
		all = append(all, h)
	}
	if o.Mixed != 0 {
		h := o
		h.Floats, h.mixes, h.Rough, h.ATol, h.RTol = gpu.F16, true, true, 0, o.Mixed
		all = append(all, h)
	}
	return all
}

// input appends input k. It returns the input x and the tensor that the operator is given: in
// training with halves, given may be x rounded.
func (o *Operator) input(g *tensor.Graph, k int) (x, given *tensor.Tensor) {
	floats := o.Floats
	if o.mixes && slices.Contains(slices.Concat(o.Params, o.Full), k) {
		floats = gpu.F32
	}
	x = g.InputOf(floats, "input", o.Inputs[k]...)
	if !o.Fixed[k] {
		x.Track()
	}
	if o.mixes && slices.Contains(o.Params, k) {
		return x, pointwise.Halve(x)
	}
	return x, x
}

// RunsOn says whether the device can store the floats of this test.
func (o *Operator) RunsOn(d gpu.Device) bool { return CanStore(d, o.Floats) }

// CanStore says whether the device has floats of this type in storage.
func CanStore(d gpu.Device, floats gpu.ElementType) bool {
	return floats == gpu.F32 || d.Info().InGo() || d.Info().HasFeature("shader-f16")
}

func (o *Operator) check(t *testing.T) {
	t.Helper()
	ctx := context.Background()
	ref := reference.Open()
	defer ref.Close()
	want := o.Run(t, ctx, ref)
	if !o.Rough && !inBrowser { // the reference computes the same in a browser
		o.finiteDifferences(t, ctx)
	}
	EachVariant(t, func(name string, d gpu.Device) {
		if d.Info().Kind == gpu.KindReference || !o.RunsOn(d) {
			return
		}
		got := o.Run(t, ctx, d)
		for i := range want {
			o.Compare(t, fmt.Sprint(name, ", ", o.Floats, map[bool]string{true: " mixed with f32"}[o.mixes]), o.label(i), got[i], want[i])
		}
	})
}

func (o *Operator) label(i int) string {
	if i == 0 {
		return "output"
	}
	return "gradient " + string(rune('0'+i-1))
}

// Compare fails the test unless got equals want within the tolerances.
func (o *Operator) Compare(t *testing.T, device, what string, got, want []float32) {
	t.Helper()
	if want == nil {
		return
	}
	atol, rtol := o.ATol, o.RTol
	if atol == 0 && rtol == 0 {
		atol, rtol = 1e-5, 1e-5
	}
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(float64(w)))
	}
	require.Len(t, got, len(want))
	for i := range want {
		if diff := math.Abs(float64(got[i]) - float64(want[i])); !(diff <= atol+rtol*largest) {
			t.Fatalf("%s: %s[%d] is %g, the reference has %g (largest %g)", device, what, i, got[i], want[i], largest)
		}
	}
}

// values are the values of the inputs, in float32. They are the same for every device.
func (o *Operator) values() [][]float32 {
	r := rand.New(rand.NewPCG(1, 2))
	out := make([][]float32, len(o.Inputs))
	for k, shape := range o.Inputs {
		n := 1
		for _, d := range shape {
			n *= d
		}
		out[k] = make([]float32, n)
		for i := range out[k] {
			if o.Fill != nil {
				out[k][i] = float32(o.Fill(k, i, r))
			} else {
				out[k][i] = float32(r.NormFloat64())
			}
		}
	}
	return out
}

func weights(n int) []float32 {
	r := rand.New(rand.NewPCG(3, 4))
	w := make([]float32, n)
	for i := range w {
		w[i] = float32(r.NormFloat64())
	}
	return w
}

type built struct {
	Plan   *tensor.Plan
	inputs []*tensor.Tensor
	output *tensor.Tensor
	seed   *tensor.Tensor
	grads  []*tensor.Tensor // nil where fixed
}

// Compile builds the operator and the gradient of Σ weights·output.
func (o *Operator) Compile(t *testing.T, ctx context.Context, d gpu.Device) *built {
	t.Helper()
	whole := o.Floats
	if o.mixes {
		whole = gpu.F32
	}
	g, set := tensor.NewGraphOf(whole), tensor.NewSet()
	require.NoError(t, set.Store(whole))
	b := &built{}
	var given []*tensor.Tensor
	for k := range o.Inputs {
		x, as := o.input(g, k)
		b.inputs, given = append(b.inputs, x), append(given, as)
	}
	b.output = o.Build(given).Keep()
	b.seed = g.InputOf(b.output.Type(), "seed", b.output.Shape()...)
	b.grads = make([]*tensor.Tensor, len(b.inputs))
	if b.output.NeedsGradient() {
		shaders.Simplify(g)
		g.Backward(b.output, b.seed)
		for k, x := range b.inputs {
			if !o.Fixed[k] {
				b.grads[k] = x.Gradient().Keep()
			}
		}
	}
	plan, err := shaders.Compile(ctx, d, set, g)
	require.NoError(t, err)
	b.Plan = plan
	for k, v := range o.values() {
		require.NoError(t, plan.Write(b.inputs[k], v))
	}
	require.NoError(t, plan.Write(b.seed, weights(b.output.Elements())))
	return b
}

// Run returns the output and then the gradients of the inputs, nil for fixed ones.
func (o *Operator) Run(t *testing.T, ctx context.Context, d gpu.Device) [][]float32 {
	t.Helper()
	b := o.Compile(t, ctx, d)
	defer b.Plan.Release()
	for range 2 { // a kernel that adds to what the last run left is found by the second
		require.NoError(t, b.Plan.Run(ctx))
	}
	all := slices.Concat([]*tensor.Tensor{b.output}, b.grads)
	values, err := b.Plan.Read(ctx, slices.DeleteFunc(slices.Clone(all), func(x *tensor.Tensor) bool { return x == nil })...)
	require.NoError(t, err)
	out := make([][]float32, len(all))
	for i, x := range all {
		if x != nil {
			out[i], values = values[0], values[1:]
		}
	}
	return out
}

// finiteDifferences compares the reference's gradient with central differences at up to 16 elements
// of each input.
func (o *Operator) finiteDifferences(t *testing.T, ctx context.Context) {
	t.Helper()
	ref := reference.Open()
	defer ref.Close()
	b := o.Compile(t, ctx, ref)
	defer b.Plan.Release()
	require.NoError(t, b.Plan.Run(ctx))
	w := weights(b.output.Elements())
	objective := func() float64 {
		require.NoError(t, b.Plan.Run(ctx))
		sum := 0.0
		for i, y := range ref.Float64(b.Plan.Buffer(b.output))[:len(w)] {
			sum += float64(w[i]) * y
		}
		return sum
	}
	tolerance := o.FD
	if tolerance == 0 {
		tolerance = 1e-5 // h² of the central difference, h = 1e-4, and cancellation
	}
	r := rand.New(rand.NewPCG(5, 6))
	for k, x := range b.inputs {
		if b.grads[k] == nil {
			continue
		}
		require.NoError(t, b.Plan.Run(ctx))
		gradient := slices.Clone(ref.Float64(b.Plan.Buffer(b.grads[k])))
		values := ref.Float64(b.Plan.Buffer(x))
		n := x.Elements()
		largest := 0.0
		for _, v := range gradient[:n] {
			largest = max(largest, math.Abs(v))
		}
		for range min(n, 16) {
			i := r.IntN(n)
			const h = 1e-4
			saved := values[i]
			values[i] = saved + h
			up := objective()
			values[i] = saved - h
			down := objective()
			values[i] = saved
			numeric := (up - down) / (2 * h)
			if diff := math.Abs(numeric - gradient[i]); !(diff <= tolerance*max(1, largest)) {
				t.Fatalf("gradient of input %d at %d is %g, finite differences give %g", k, i, gradient[i], numeric)
			}
		}
	}
}
