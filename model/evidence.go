package model

import (
	"context"
	"errors"
	"fmt"
	"math"

	"mrprism/model/nn"
	"mrprism/shaders"
	"mrprism/shaders/gpu"
	"mrprism/shaders/pointwise"
	"mrprism/shaders/pool"
	"mrprism/shaders/tensor"
)

// Settles is the number of passes that settle around given marks.
const Settles = 2

// Somebody is the rater of a mark by a person who is not one of the raters, or by one of several
// experts with Levels.
const Somebody = -1

// Mark is what one person says about an image: where something is said, Said (S, S, K), 0 to 1,
// and where that is "inside", Inside (S, S, K), 0 to Said. Rater is 0 to M − 1 or Somebody.
type Mark struct {
	Rater        int
	Said, Inside []float32
}

// settling is the part of inference that settles around given marks. Its state stays on the device.
type settling struct {
	config        Config
	side          int
	graph, begin  *tensor.Graph
	pass, restart *tensor.Plan
	given, first  Given // inputs of the passes and of a new start
	edges         *tensor.Variable
	base, now     [2]*tensor.Variable // logits of mask and raters: from ConP and DivP, and settled
	y             *tensor.Tensor
}

// newSettling adds to the network's graph that it keeps what Settle reads, and builds the graphs of
// a pass and of a new start.
func newSettling(in *Inference, edges *tensor.Tensor, made State) *settling {
	s := &settling{config: in.Config, side: in.Side, graph: tensor.NewGraphOf(in.set.Floats()), begin: tensor.NewGraphOf(in.set.Floats())}
	kept := func(name string, x *tensor.Tensor) *tensor.Variable {
		v := in.set.Variable(tensor.Shared, "shared."+name, x.Shape()...)
		pointwise.Assign(x.Graph().Variable(v), x)
		return v
	}
	s.edges = kept("edges", edges)
	for i, x := range []*tensor.Tensor{made.Mask, made.Raters} {
		name := []string{"mask", "raters"}[i]
		s.base[i], s.now[i] = kept(name, x), in.set.Variable(tensor.Shared, "shared.settled."+name, x.Shape()...)
	}
	s.first = newGiven(s.begin, in.Config, 1, in.Side)
	begun := s.first.begin(State{s.begin.Variable(s.base[0]), s.begin.Variable(s.base[1])})
	pointwise.Assign(s.begin.Variable(s.now[0]), begun.Mask)
	pointwise.Assign(s.begin.Variable(s.now[1]), begun.Raters)
	n := Network{Config: in.Config, Builder: &nn.Builder{Graph: s.graph, Set: in.set}}
	s.given = newGiven(s.graph, in.Config, 1, in.Side)
	before := State{s.graph.Variable(s.now[0]), s.graph.Variable(s.now[1])}
	after := n.Settle(before, s.graph.Variable(s.edges), s.given)
	s.y = pool.Resize(pointwise.Sigmoid(after.Mask), in.Side, in.Side).Keep()
	pointwise.Assign(before.Mask, after.Mask)
	pointwise.Assign(before.Raters, after.Raters)
	return s
}

func (s *settling) compile(ctx context.Context, device gpu.Device, set *tensor.Set) (err error) {
	if s.pass, err = shaders.Compile(ctx, device, set, s.graph); err != nil {
		return err
	}
	s.restart, err = shaders.Compile(ctx, device, set, s.begin)
	return err
}

// errNoEvidence is returned for networks that cannot settle.
var errNoEvidence = errors.New("the network was not trained to take marks as evidence: train it with the recipe default or evidence")

// SetMarks gives marks, or none, to the passes that follow, and takes mask and raters back to what
// ConP and DivP made. It needs a network with Evidence.
func (in *Inference) SetMarks(ctx context.Context, marks []Mark) error {
	s := in.settling
	if s == nil {
		return errNoEvidence
	}
	c, half := s.config, s.side/2
	k, labels := c.Classes, c.Raters*c.Classes
	share, mark := make([]float32, half*half*labels), make([]float32, half*half*labels)
	said, inside, anything := make([]float32, half*half*k), make([]float32, half*half*k), make([]float32, k)
	for _, given := range marks {
		if err := c.checkMark(given, s.side); err != nil {
			return err
		}
		for i := range said {
			at, class := i/k, i%k
			g, z := halved(given.Said, at, s.side, class, k), halved(given.Inside, at, s.side, class, k)
			said[i], inside[i] = said[i]+g, inside[i]+z
			if g > 0 {
				for other := range anything {
					anything[other] = 1
				}
			}
			if given.Rater != Somebody && !c.Levels {
				to := at*labels + given.Rater*k + class
				share[to], mark[to] = g, 2*z-g
			}
		}
	}
	prior, inFavour, against := make([]float32, len(said)), inside, said
	for i := range said {
		prior[i], inFavour[i], against[i] = weighed(said[i], inside[i])
	}
	err := errors.Join(s.pass.Write(s.given.Any, anything), s.restart.Write(s.first.Any, anything), s.restart.Write(s.first.Prior, prior))
	for _, of := range []struct {
		plan  *tensor.Plan
		given Given
	}{{s.pass, s.given}, {s.restart, s.first}} {
		err = errors.Join(err, of.plan.Write(of.given.For, inFavour), of.plan.Write(of.given.Against, against))
	}
	if s.given.Share != nil {
		err = errors.Join(err, s.pass.Write(s.given.Share, share), s.pass.Write(s.given.Mark, mark))
	}
	if err != nil {
		return err
	}
	return s.restart.Run(ctx)
}

func (c *Config) checkMark(m Mark, side int) error {
	if n := side * side * c.Classes; len(m.Said) != n || len(m.Inside) != n {
		return fmt.Errorf("a mark has %d and %d numbers: give %d of each", len(m.Said), len(m.Inside), n)
	}
	if m.Rater != Somebody && (m.Rater < 0 || m.Rater >= c.Raters || c.Levels) {
		return fmt.Errorf("a mark names rater %d of %d (agreement levels: %v): number raters from 0, or leave the rater open", m.Rater, c.Raters, c.Levels)
	}
	return nil
}

// halved is the mean of four pixels of a map (side, side, k): pixel `at` of the map at half the side.
func halved(x []float32, at, side, class, k int) float32 {
	half := side / 2
	first := (2*(at/half)*side+2*(at%half))*k + class
	return (x[first] + x[first+k] + x[first+side*k] + x[first+(side+1)*k]) / 4
}

// Snapshot is what ConP and DivP made of an image, on the host.
type Snapshot struct{ values [][]float32 }

// Snapshot reads what the passes settle from. It needs a network with Evidence.
func (in *Inference) Snapshot(ctx context.Context) (*Snapshot, error) {
	values, err := in.set.Read(ctx, in.settling.made()...)
	return &Snapshot{values}, err
}

// Put takes the passes back to another image of the same network.
func (in *Inference) Put(s *Snapshot) error {
	for i, v := range in.settling.made() {
		if err := in.set.Write(v, s.values[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *settling) made() []*tensor.Variable {
	return []*tensor.Variable{s.edges, s.base[0], s.base[1]}
}

// Settle runs one pass around the given marks. It returns what those would mark on the mean who
// have not marked, (S, S, K), and leaves their likely labels to RaterLabels. Errors are those of
// Recur.
func (in *Inference) Settle(ctx context.Context) ([]float32, error) {
	if in.settling == nil {
		return nil, errNoEvidence
	}
	if err := in.settling.pass.Run(ctx); err != nil {
		return nil, err
	}
	y, err := probabilities(ctx, in.settling.pass, in.settling.y)
	if err == nil {
		in.Nest(y, in.Classes)
	}
	return y, err
}

// Consensus is the calibrated mask of all raters, (S, S, K), under weights ψ (M); nil: all 1. A
// rater's own map is the mark where it is given, and elsewhere what the others mark on the mean,
// q, moved by how far the rater's likely label lies from that of all raters: q + z̃_m − mean z̃.
// The mask is the mean of these maps weighted by ψ. A mark of Somebody counts as a rater's of weight
// 1. Where marks are given, likely (S, S, M, K) becomes these marks.
func (c *Config) Consensus(q, likely []float32, marks []Mark, weights []float32) []float32 {
	m, k := c.Raters, c.Classes
	y := make([]float32, len(q))
	psi := relative(weights, m)
	named := make([]*Mark, m)
	var others []Mark
	for i, mark := range marks {
		if mark.Rater == Somebody {
			others = append(others, mark)
		} else {
			named[mark.Rater] = &marks[i]
		}
	}
	for at := range q {
		z := likely[at/k*m*k+at%k:]
		mean := float32(0)
		for r := range m {
			mean += z[r*k] / float32(m)
		}
		sum, all := float32(0), float32(0)
		for r := range m {
			own := min(max(q[at]+z[r*k]-mean, 0), 1)
			if psi == nil {
				own = q[at]
			}
			if mark := named[r]; mark != nil {
				own = own*(1-mark.Said[at]) + mark.Inside[at]
				z[r*k] = z[r*k]*(1-mark.Said[at]) + mark.Inside[at]
			}
			weight := float32(1)
			if psi != nil {
				weight = psi[r]
			}
			sum, all = sum+weight*own, all+weight
		}
		said, inside := float32(0), float32(0)
		for _, mark := range others {
			said, inside = said+mark.Said[at], inside+mark.Inside[at]
		}
		if c.Levels { // they are among the experts whom the levels count
			rest := 1 - min(said/float32(m), 1)
			sum, all = rest*sum, rest*all
		}
		y[at] = min(max((sum+inside)/(all+said), 0), 1)
	}
	return y
}

// relative are weights as shares of the largest, at least Lowest; nil if all are equal.
func relative(weights []float32, raters int) []float32 {
	var largest float32
	equal := true
	for _, w := range weights {
		largest, equal = max(largest, w), equal && w == weights[0]
	}
	if equal || largest == 0 {
		return nil
	}
	psi := make([]float32, raters)
	for i, w := range weights {
		psi[i] = float32(math.Max(float64(w/largest), Lowest))
	}
	return psi
}
