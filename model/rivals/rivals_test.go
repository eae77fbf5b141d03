package rivals

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"mrprism/model"
	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/adam"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
	"mrprism/shaders/gpu/reference"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unsloped are parameters of which finite differences say nothing: a term of PADL depends on them
// beside its gradient, through a map that passes none, and the scale between least and most makes a
// step of MRNet's window bend the loss. The twin checks their gradients.
var unsloped = map[string][]string{"padl": {"padl.features.", "padl.meta."}, "mrnet": {"mrnet.refine.gaussian"}}

// The gradient of every term of every method's loss agrees with the term, by the parameters after
// the decoder that are not unsloped.
func TestMethodsAgainstFiniteDifferences(t *testing.T) {
	for _, m := range model.Methods {
		for term := range step(t, m, tensor.NewSet()).Terms[0].Method {
			set := tensor.NewSet()
			s := step(t, m, set)
			requireSlope(t, s, set, alone(t), s.Terms[0].Method[term].Value, func(name string) bool {
				return !slices.ContainsFunc(append([]string{"encoder.", "conp.stage", "conp.confidence"}, unsloped[m.Name]...), func(prefix string) bool {
					return strings.HasPrefix(name, prefix)
				})
			})
		}
	}
}

// requireSlope requires that a loss changes along its gradient, by the chosen parameters, as the
// gradient's norm says. A label is missing. Side outputs start at a tenth of their weights: none of
// their probabilities is clamped. Discriminators start at eight times their weights: their small
// slopes would be lost in the rounding of the loss.
func requireSlope(t *testing.T, s *model.Step, set *tensor.Set, r model.Recipe, loss *tensor.Tensor, chosen func(name string) bool) {
	t.Helper()
	s.Backward(loss.Keep())
	var parameters []*tensor.Variable
	var gradients []*tensor.Tensor
	for _, v := range set.Variables(tensor.Parameter) {
		if x := s.Graph.Variable(v); x.HasGradient() && chosen(v.Name) {
			parameters, gradients = append(parameters, v), append(gradients, x.Gradient().Keep())
		}
	}
	plan := planOf(t, s, set)
	if v := set.Lookup("pionono.mean"); v != nil { // it starts so far out that probabilities are clamped
		require.NoError(t, set.Write(v, wave(v.Name, v.Elements())))
	}
	for _, v := range set.Variables(tensor.Parameter) {
		factor := float32(1)
		switch {
		case strings.Contains(v.Name, ".side") && strings.HasSuffix(v.Name, ".weight"):
			factor = 0.1
		case strings.Contains(v.Name, ".of_"):
			factor = 8
		}
		values := valuesOf(t, set, v.Name)
		repeats := v.Name == "conp.head.weight" || strings.HasPrefix(v.Name, "conp.stage") && strings.HasSuffix(v.Name, ".up.weight")
		for i := range values {
			if values[i] *= factor; repeats { // a maximum over equal pixels has no slope
				values[i] += 0.2 * float32(math.Sin(float64(i)))
			}
		}
		require.NoError(t, set.Write(v, values))
	}
	b := discs(s, 3)
	b.Valid[1] = 0
	b.Draw(s, r, rand.New(rand.NewPCG(1, 2)))
	require.NoError(t, s.Write(plan, b, 1))

	running := set.Variables(tensor.Statistic) // each run moves them
	start, err := set.Read(t.Context(), running...)
	require.NoError(t, err)
	at := func() float64 {
		for i, v := range running {
			require.NoError(t, set.Write(v, start[i]))
		}
		require.NoError(t, plan.Run(t.Context()))
		return float64(read(t, plan, loss)[0][0])
	}
	at()
	slopes, length := read(t, plan, gradients...), 0.0
	for _, g := range slopes {
		length += norm(g) * norm(g)
	}
	require.Positive(t, length)
	length = math.Sqrt(length)
	values, err := set.Read(t.Context(), parameters...)
	require.NoError(t, err)
	const step = 5e-4
	moved := func(by float64) float64 {
		for i, v := range parameters {
			x := slices.Clone(values[i])
			for j, g := range slopes[i] {
				x[j] += float32(by * float64(g) / length)
			}
			require.NoError(t, set.Write(v, x))
		}
		return at()
	}
	assert.InEpsilon(t, length, (moved(step)-moved(-step))/(2*step), 0.01, "%v", loss)
}

// Both integrations that replace attention learn, and their names lead back to them.
func TestIntegrations(t *testing.T) {
	for _, name := range []string{"concat", "convlstm"} {
		c, err := model.NewConfig("tiny-"+name+"-steered", 3, 2)
		require.NoError(t, err)
		parsed, err := model.ParseIntegration(name)
		require.NoError(t, err)
		require.Equal(t, parsed, c.Integration)
		r, err := model.NewRecipe("steered")
		require.NoError(t, err)
		set := tensor.NewSet()
		s := model.NewStep(set, c, r, 2, 64)
		requireSlope(t, s, set, r, pointwise.Sum(s.Terms[1].Mask), func(name string) bool {
			return strings.Contains(name, ".concat.") || strings.Contains(name, ".lstm.")
		})
		require.Nil(t, set.Lookup("conp.stage1.attention.query.weight"))
	}
	_, err := model.ParseIntegration("sum")
	require.ErrorContains(t, err, "use attention, concat or convlstm")
}

// people are three raters of one structure: an expert, a careless one and one who marks nearly
// everything. rates are how much each marks of what is inside, and of what is outside.
var people = [][2]float64{{0.97, 0.02}, {0.75, 0.15}, {0.95, 0.45}}

// fit lets the parameters of a method learn from the people, with the true mask y as the consensus.
// The mask is the left part of the image; marks are drawn for each batch.
func fit(t *testing.T, method string, steps int, learn func(n *model.Network, s *model.Step, y *tensor.Tensor) model.Term) *tensor.Set {
	t.Helper()
	c, err := model.NewConfig("tiny-"+method, len(people), 1)
	require.NoError(t, err)
	const side, images, inside = 64, 2, 24
	c.AreaPrior = []float64{float64(inside) / side}
	set, d := tensor.NewSet(), reference.Open()
	n := &model.Network{Config: c, Builder: &nn.Builder{Graph: tensor.NewGraph(), Set: set, Training: true}}
	s := model.NewInputs(n.Graph, c, alone(t), images, side)
	y := n.Graph.Input("y", images, side/2, side/2, 1)
	s.Terms = []model.Terms{{Method: []model.Term{learn(n, s, y)}}}
	l := s.Loss()
	s.Backward(l)
	o := adam.Options{Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-8}
	var update *model.Update
	if len(set.Variables(tensor.Parameter)) > 0 {
		update = s.Update(set, o, 0)
	}
	plan, err := shaders.Compile(t.Context(), d, set, s.Graph)
	require.NoError(t, err)
	require.NoError(t, set.Initialise(1))
	truth := func(pixel, width int) bool { return pixel%width < inside*width/side }
	mask := make([]float32, y.Elements())
	for i := range mask {
		if truth(i, side/2) {
			mask[i] = 1
		}
	}
	require.NoError(t, plan.Write(y, mask))
	random := rand.New(rand.NewPCG(1, 7))
	for step := range steps {
		b := model.Batch{X: make([]float32, s.X.Elements()), Z: make([]float32, s.Z.Elements()), Valid: ones(s.Valid.Elements()), Progress: 0.5}
		for i := range b.Z {
			rate := people[i%len(people)][1]
			if truth(i/len(people), side) {
				rate = people[i%len(people)][0]
			}
			if random.Float64() < rate {
				b.Z[i] = 1
			}
		}
		b.Draw(s, alone(t), random)
		require.NoError(t, s.Write(plan, b, 1))
		if update != nil {
			require.NoError(t, update.Write(plan, adam.Schedule(o, step+1, 0.05, 1, 0), nil))
		}
		require.NoError(t, plan.Run(t.Context()))
	}
	return set
}

func valuesOf(t *testing.T, set *tensor.Set, name string) []float32 {
	t.Helper()
	v := set.Lookup(name)
	require.NotNil(t, v, name)
	values, err := set.Read(t.Context(), v)
	require.NoError(t, err)
	return values[0]
}

// CM starts near the identity, at softplus(1) to softplus(−5), and recovers the confusion matrix of
// every rater.
func TestConfusionIsRecovered(t *testing.T) {
	softplus := func(x float32) float64 { return math.Log1p(math.Exp(float64(x))) }
	rates := func(steps int) (inside, outside []float64) {
		set := fit(t, "cm", steps, func(n *model.Network, s *model.Step, y *tensor.Tensor) model.Term {
			rated, _ := confuse(n, y)
			return ratersTerm(s, n, "raters", rated)
		})
		of := func(column string) (rates []float64) {
			unmarked := valuesOf(t, set, "cm.weight.unmarked_"+column)
			for m, x := range valuesOf(t, set, "cm.weight.marked_"+column) {
				rates = append(rates, softplus(x)/(softplus(x)+softplus(unmarked[m])))
			}
			return rates
		}
		return of("inside"), of("outside")
	}
	inside, outside := rates(0)
	assert.InDeltaSlice(t, []float64{0.9949, 0.9949, 0.9949}, inside, 1e-4)
	assert.InDeltaSlice(t, []float64{0.0051, 0.0051, 0.0051}, outside, 1e-4)
	inside, outside = rates(200)
	for m, want := range people {
		assert.InDelta(t, want[0], inside[m], 0.03)
		assert.InDelta(t, want[1], outside[m], 0.03)
	}
}

// The crowd layer learns what each rater marks, σ of a difference of elements. With a and b as the
// parameters 50 steps are too few.
func TestCrowdLayerIsRecovered(t *testing.T) {
	set := fit(t, "cl", 50, func(n *model.Network, s *model.Step, y *tensor.Tensor) model.Term {
		return ratersTerm(s, n, "raters", crowdMasks(n, y))
	})
	element := func(name string, m int) float64 { return float64(valuesOf(t, set, "cl.weight."+name)[m]) }
	for m, rates := range people {
		assert.InDelta(t, rates[0], pointwise.Logistic(element("marked_inside", m)-element("unmarked_inside", m)), 0.03)
		assert.InDelta(t, rates[1], pointwise.Logistic(element("marked_outside", m)-element("unmarked_outside", m)), 0.03)
	}
}

// AggNet's M step recovers the rates of every rater, in whatever the network is sure of.
func TestAggNetRecoversTheRates(t *testing.T) {
	set := fit(t, "aggnet", 80, func(n *model.Network, s *model.Step, y *tensor.Tensor) model.Term {
		return model.Term{Name: "estimate", Value: pointwise.Sum(expectation(s, n, model.Enlarge(y)))}
	})
	in, markedIn := valuesOf(t, set, "aggnet.inside"), valuesOf(t, set, "aggnet.marked_inside")
	out, markedOut := valuesOf(t, set, "aggnet.outside"), valuesOf(t, set, "aggnet.marked_outside")
	for m, rates := range people {
		assert.InDelta(t, rates[0], markedIn[m]/in[m], 0.03)
		assert.InDelta(t, rates[1], markedOut[m]/out[m], 0.03)
	}
}

// Max-MIG starts from how often a rater marks what the votes call inside, and then trusts the
// expert's marks most.
func TestMaxMIGFindsTheExpert(t *testing.T) {
	set := fit(t, "maxmig", 200, func(n *model.Network, s *model.Step, y *tensor.Tensor) model.Term {
		return model.Term{Name: "information", Value: lessInformation(s, n, model.Enlarge(y), crowd(s, n))}
	})
	value := func(name string, m int) float64 { return float64(valuesOf(t, set, "maxmig."+name)[m]) }
	const share = 24. / 64 // of the inside, as in fit
	var says []float64
	for m, rates := range people {
		both, votes := 0.0, 0.0 // marks of rater m and votes; votes
		for column, of := range []float64{share, 1 - share} {
			others := 0.0
			for i, rates := range people {
				votes += of * rates[column] / float64(len(people))
				if i != m {
					others += rates[column]
				}
			}
			both += of * rates[column] * (1 + others) / float64(len(people))
		}
		assert.InDelta(t, both/votes, value("marked_inside", m)/value("inside", m), 0.03)
		marked := math.Log(value("marked_inside", m) / value("inside", m) * value("outside", m) / value("marked_outside", m))
		says = append(says, marked+value("learned.marked", m)-value("learned.unmarked", m))
	}
	assert.Greater(t, says[0], says[1]+1)
	assert.Greater(t, says[0], says[2]+1)
}

// Of two heads, the one that fits a label has nearly all of its loss.
func TestHypotheses(t *testing.T) {
	c := methodConfig(t, &hypotheses, 2, 1)
	n := &model.Network{Config: c, Builder: &nn.Builder{Graph: tensor.NewGraph(), Set: tensor.NewSet(), Training: true}}
	s := model.NewInputs(n.Graph, c, alone(t), 1, 64)
	heads := n.Graph.Input("heads", 1, 64, 64, 2, 1)
	l := bestOf(s, n, heads).Keep()
	plan := planOf(t, s, n.Set)
	b := discs(s, 1)
	b.Valid[1] = 0 // rater 0 is drawn
	b.Draw(s, alone(t), rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, s.Write(plan, b, 1))
	guess := make([]float32, heads.Elements())
	for i := range guess {
		guess[i] = 0.5
		if i%2 == 1 { // the second head knows rater 0's label
			guess[i] = 0.1 + 0.8*b.Z[i-1]
		}
	}
	require.NoError(t, plan.Write(heads, guess))
	require.NoError(t, plan.Run(t.Context()))
	assert.InDelta(t, -(1-luwShare)*math.Log(0.9)-luwShare*math.Log(0.5), read(t, plan, l)[0][0], 1e-4)
}

// A head is left out of 1 % of the images, with all its structures. A single head never is.
func TestHeadsAreLeftOut(t *testing.T) {
	const images, heads = 5000, 4
	left := 0.
	for i, shown := range slices.Collect(slices.Chunk(drawHeads(heads, 2, model.NewDraws(rand.New(rand.NewPCG(1, 2)), 0, images)), 2)) {
		require.Equal(t, shown[0], shown[1], i)
		left += 1 - float64(shown[0])
	}
	assert.InDelta(t, 0.01, left/(images*heads), 0.003)
	assert.NotContains(t, drawHeads(1, 2, model.NewDraws(rand.New(rand.NewPCG(1, 2)), 0, images)), float32(0))
}

// Label sampling draws evenly among those who labelled the structure.
func TestDrawnRaters(t *testing.T) {
	random, count := rand.New(rand.NewPCG(1, 1)), make([]float64, 6)
	const rounds = 3000
	for range rounds {
		drawn := drawRaters([]float32{1, 1, 0, 1, 1, 0}, 3, 2, model.Draws{random}) // structure 0: raters 0 and 2; structure 1: raters 0 and 1
		for i, v := range drawn {
			count[i] += float64(v) / rounds
		}
	}
	for i, want := range []float64{0.5, 0.5, 0, 0.5, 0.5, 0} {
		assert.InDelta(t, want, count[i], 0.04)
	}
	assert.Equal(t, make([]float32, 2), drawRaters(make([]float32, 2), 2, 1, model.Draws{random}), "nobody labelled it")
}

// MRNet draws weights of 1 to 10, one rater and equal weights with the odds 2, 1 and 3, among those
// who labelled the structure.
func TestDrawnExpertness(t *testing.T) {
	random, ones, evens := rand.New(rand.NewPCG(1, 1)), 0.0, 0.0
	const rounds = 3000
	for range rounds {
		v := drawExpertness([]float32{1, 1, 1, 0, 1, 1}, 3, 2, model.Draws{random}) // structure 0: all; structure 1: raters 0 and 2
		require.InDelta(t, 1, v[0]+v[2]+v[4], 1e-6)
		require.InDelta(t, 1, v[1]+v[5], 1e-6)
		require.Zero(t, v[3])
		if v[0] == 1 || v[2] == 1 || v[4] == 1 {
			ones += 1. / rounds
		}
		if v[0] == v[2] && v[0] == v[4] {
			evens += 1. / rounds
		}
	}
	assert.InDelta(t, 1./6, ones, 0.03)
	assert.InDelta(t, 3./6+2./6/100, evens, 0.03) // three draws of 1 to 10 are equal once in 100
	assert.Equal(t, make([]float32, 2), drawExpertness(make([]float32, 2), 2, 1, model.Draws{random}), "nobody labelled it")
}

// WDNet weighs the head of the rater whose labels the mean vote needs.
func TestWDNetWeights(t *testing.T) {
	set := fit(t, "wdnet", 200, func(n *model.Network, s *model.Step, y *tensor.Tensor) model.Term {
		ones := n.Graph.Constant("marks everything", slices.Repeat([]float32{0.9}, y.Elements()), y.Shape()...)
		none := n.Graph.Constant("marks nothing", slices.Repeat([]float32{0.1}, y.Elements()), y.Shape()...)
		heads := byRater(n, pointwise.Concat(pointwise.Concat(pointwise.Clamp(y, 0.1, 0.9), ones), none))
		return maskTerm(s, n, "weights", weighHeads(n, heads), meanVote(s))
	})
	weights := valuesOf(t, set, "wdnet.weights")
	assert.Greater(t, weights[0], weights[1]+1)
	assert.Greater(t, weights[0], weights[2]+1)
}

// infer is the masks of a method, and what it says of raters. change may write parameters.
func infer(t *testing.T, d gpu.Device, c model.Config, change func(set *tensor.Set)) (y, rated []float32) {
	t.Helper()
	set := model.Variables(c)
	defer set.Release()
	in, err := model.NewInference(t.Context(), d, set, c, 64)
	require.NoError(t, err)
	defer in.Release()
	require.NoError(t, set.Initialise(1))
	if change != nil {
		change(set)
	}
	require.NoError(t, in.Encode(t.Context(), wave("x", 3*64*64)))
	y, err = in.Recur(t.Context())
	require.NoError(t, err)
	rated, err = in.RaterLabels(t.Context())
	require.NoError(t, err)
	return y, rated
}

// Masks are drawn for each rater in turn, after the raters' own, which stay. Without an error they
// are the raters' own.
func TestDrawnMasks(t *testing.T) {
	const raters, classes, draws = 3, 2, 7
	sure := func(set *tensor.Set) {
		for _, name := range []string{"padl.errors.output.weight", "padl.errors.output.bias", "tab.head.1.weight", "tab.head.1.bias"} {
			if v := set.Lookup(name); v != nil {
				values := valuesOf(t, set, name)
				for i := range values {
					if strings.HasPrefix(name, "padl") || i%(classes*(2+tabRank)) >= classes {
						values[i] = 0
					}
				}
				require.NoError(t, set.Write(v, values))
			}
		}
	}
	for _, m := range model.Methods {
		if !m.Draws {
			continue
		}
		c := methodConfig(t, m, raters, classes)
		_, alone := infer(t, reference.Open(), c, nil)
		c.Draws = draws
		_, both := infer(t, reference.Open(), c, nil)
		_, same := infer(t, reference.Open(), c, sure)
		part := func(all []float32, i int) (one []float32) {
			for at := i * classes; at < len(all); at += len(all) / 64 / 64 {
				one = append(one, all[at:at+classes]...)
			}
			return one
		}
		for rater := range raters {
			require.Equal(t, part(alone, rater), part(both, rater), m.Name)
		}
		for i := range draws {
			require.InDeltaSlice(t, part(same, i%raters), part(same, raters+i), 1e-6, m.Name)
			require.NotEqual(t, part(both, i%raters), part(both, raters+i), m.Name)
			require.NotEqual(t, part(both, raters), part(both, raters+1+i%(draws-1)), m.Name)
		}
	}
}

// Every device gives the masks of the reference, for one structure and for two.
func TestMethodsOnEveryDevice(t *testing.T) {
	gputest.Each(t, func(t *testing.T, d gpu.Device) {
		for _, m := range model.Methods {
			for classes := range 2 {
				c := methodConfig(t, m, 3, classes+1)
				if m.Draws {
					c.Draws = 4
				}
				y, rated := infer(t, reference.Open(), c, nil)
				gotY, gotRated := infer(t, d, c, nil)
				assert.InDeltaSlice(t, y, gotY, 1e-3, m.Name)
				assert.InDeltaSlice(t, rated, gotRated, 1e-3, m.Name)
				if !m.Raters && !m.Trusts {
					assert.Equal(t, slices.Repeat([]float32{0.5}, len(gotRated)), gotRated)
				}
			}
		}
	})
}

// A Dice loss of a method's consensus, against the mean vote, comes beside its own losses, which stay.
func TestDiceLossOfAMethod(t *testing.T) {
	terms := func(weight float64) (values map[string]float64, y, votes []float32) {
		set, r := tensor.NewSet(), alone(t)
		defer set.Release()
		r.DiceWeight = weight
		s := model.NewStep(set, methodConfig(t, &crowdLayer, 3, 2), r, 2, 64)
		losses, mask := s.Losses(), s.Recurrence[0].Y.Keep()
		plan := planOf(t, s, set)
		defer plan.Release()
		b := discs(s, 1)
		b.Draw(s, r, rand.New(rand.NewPCG(1, 1)))
		require.NoError(t, s.Write(plan, b, r.FadeWeight))
		require.NoError(t, plan.Run(t.Context()))
		values = map[string]float64{}
		for _, l := range losses {
			values[l.Name] = float64(read(t, plan, l.Value)[0][0])
		}
		for i := range len(b.Z) / 6 * 2 {
			at := i/2*6 + i%2
			votes = append(votes, (b.Z[at]+b.Z[at+2]+b.Z[at+4])/3)
		}
		return values, read(t, plan, mask)[0], votes
	}
	without, _, _ := terms(0)
	with, y, votes := terms(2)
	assert.NotContains(t, without, "dice")
	assert.Equal(t, without["raters"], with["raters"])
	want := 0.
	for part := range 4 { // two structures of each of two images
		apart, all := 0., 1.
		for i := part / 2 * 64 * 64; i < (part/2+1)*64*64; i++ {
			p, v := float64(y[2*i+part%2]), float64(votes[2*i+part%2])
			apart, all = apart+math.Abs(p-v), all+p+v
		}
		want += 2 * apart / all / 2
	}
	assert.InDelta(t, want, with["dice"], 1e-3)
}
