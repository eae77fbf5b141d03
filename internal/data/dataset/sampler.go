package dataset

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
)

// Options are the choices of a Sampler.
type Options struct {
	Size  int    // side S of the network's input, pixels
	Batch int    // cases a batch
	Seed  uint64 // seed and step determine a batch

	// Balance is a class inside the one before it. The data set's own samples are drawn equally
	// often from each third of the range of its relative size; empty: each sample equally often.
	Balance string

	// Drawn: raters are exchangeable. Who stands in which slot is drawn anew for each case of a
	// batch.
	Drawn bool

	Augmentation Augmentation // how views differ from the views at inference
}

// Batch is the input of one training step; B cases, M raters, K classes.
type Batch struct {
	Images []float32 // (B, S, S, 3), values 0..1
	Labels []float32 // (B, S, S, M, K), 0 or 1, or probabilities; 0 for a missing label
	Valid  []float32 // (B, M, K), 1 if the rater has marked the class
	Own    []float32 // (B, M, K), as Valid, but 0 where other people marked, or a view names no panel
	Names  []string  // FOLDER/NAME, for messages

	Diagnosis []float32 // (B), 1 where it is positive, otherwise 0
}

// Sampler draws training batches. A batch depends on the data, the options and its step alone, not
// on earlier batches: a training run resumes exactly with its next step.
type Sampler struct {
	options Options
	samples []*Sample   // of the data set's raters
	parts   [][]*Sample // groups of samples that take turns
	others  []*Sample   // of other people; if any, every second batch is theirs
	panels  bool        // raters are panels, of which half of the views name none
	raters  int
	classes int
}

// NewSampler draws from samples of a dataset.
func NewSampler(d *Dataset, samples []*Sample, o Options) (*Sampler, error) {
	if o.Size < 1 || o.Batch < 1 {
		panic(fmt.Sprintf("dataset: NewSampler: size %d, batch %d", o.Size, o.Batch))
	}
	s := &Sampler{options: o, panels: d.Panels, raters: len(d.Raters), classes: len(d.Classes)}
	for _, it := range samples {
		if it.others {
			s.others = append(s.others, it)
		} else {
			s.samples = append(s.samples, it)
		}
	}
	if len(s.samples) == 0 {
		return nil, Problems{"no cases to train on: the dataset has too few images"}
	}
	s.parts = [][]*Sample{s.samples}
	if d.Panels { // each teaches as many views
		s.parts = byFolder(s.samples)
	}
	if o.Balance != "" {
		var all [][]*Sample
		for _, part := range s.parts {
			thirds, err := d.thirds(part, o.Balance)
			if err != nil {
				return nil, err
			}
			all = append(all, thirds...)
		}
		s.parts = all
	}
	return s, nil
}

// Batch makes the batch of a step, with a goroutine for each case.
func (s *Sampler) Batch(step uint64) *Batch {
	size, b, a := s.options.Size, s.options.Batch, s.options.Augmentation
	values, labels := size*size*3, s.raters*s.classes
	marks := size * size * labels
	out := &Batch{
		Images: make([]float32, b*values), Labels: make([]float32, b*marks),
		Valid: make([]float32, b*labels), Own: make([]float32, b*labels), Names: make([]string, b),
		Diagnosis: make([]float32, b),
	}
	var wait sync.WaitGroup
	for i := range b {
		wait.Go(func() {
			position := step*uint64(b) + uint64(i)
			it, rng := s.sample(step, uint64(i)), s.random(drawStream, position)
			a, named := a, !it.others
			if s.panels && !it.others {
				a, named = a.whole(), s.random(slotStream, position).Uint64()%2 == 1
			}
			image, label := out.Images[i*values:][:values], out.Labels[i*marks:][:marks]
			view, look := a.view(it, rng), a.look(it, rng)
			view.bend = a.bend(rng)
			view.swell = a.swell(it, rng)
			it.sampleImage(image, size, view, look)
			s.restyle(image, it, position)
			it.sampleLabels(label, size, view)
			a.grain(image, size, rng)
			a.distract(image, label, size, rng)
			valid := out.Valid[i*labels:][:labels]
			copy(valid, it.valid)
			if s.options.Drawn && !it.others {
				s.reorder(s.random(slotStream, position).Perm(s.raters), label, valid)
			}
			if named {
				copy(out.Own[i*labels:], valid)
			}
			if it.Diagnosis == Positive {
				out.Diagnosis[i] = 1
			}
			out.Names[i] = it.Folder + "/" + it.Name
		})
	}
	wait.Wait()
	return out
}

// reorder puts rater order[m] into slot m of each list of M·K values.
func (s *Sampler) reorder(order []int, lists ...[]float32) {
	n := s.raters * s.classes
	was := make([]float32, n)
	for _, list := range lists {
		for ; len(list) > 0; list = list[n:] {
			copy(was, list)
			for m, rater := range order {
				copy(list[m*s.classes:][:s.classes], was[rater*s.classes:])
			}
		}
	}
}

// Prefetch makes the batches of steps, in order, up to two ahead of their use. It closes the
// channel when the context ends.
func (s *Sampler) Prefetch(ctx context.Context, steps iter.Seq[uint64]) <-chan *Batch {
	batches := make(chan *Batch, 1)
	go func() {
		defer close(batches)
		for step := range steps {
			select {
			case batches <- s.Batch(step):
			case <-ctx.Done():
			}
			if ctx.Err() != nil {
				return
			}
		}
	}()
	return batches
}

// sample is the i-th case of a step's batch. Every second batch has cases of other people, if there
// are any. A batch has one kind alone, so that batch statistics do not mix crops with whole images.
func (s *Sampler) sample(step, i uint64) *Sample {
	b, n := uint64(s.options.Batch), uint64(len(s.parts))
	if len(s.others) > 0 {
		if step%2 == 1 {
			return s.turn(s.others, othersStream, step/2*b+i)
		}
		step /= 2
	}
	position := step*b + i
	return s.turn(s.parts[position%n], orderStream, position/n)
}

// turn is the sample at a position, if every run of n positions is a permutation of the n samples.
func (s *Sampler) turn(samples []*Sample, stream, position uint64) *Sample {
	n := uint64(len(samples))
	return samples[s.random(stream, position/n).Perm(len(samples))[position%n]]
}

// Random streams. The order of cases is independent of the draws for a case.
const (
	orderStream = iota
	drawStream
	othersStream
	styleStream
	slotStream
)

// random is the generator of one epoch's order or one position's draws.
func (s *Sampler) random(stream, n uint64) *rand.Rand {
	return rand.New(rand.NewPCG(mix(s.options.Seed^mix(stream)), mix(n)))
}

// mix spreads neighbouring numbers over 64 bits. Source: splitmix64, Steele et al. 2014.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
