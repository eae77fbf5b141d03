package dataset

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
)

// Options are the choices of a Sampler.
type Options struct {
	Size  int    // side S of the network's input, pixels
	Batch int    // cases a batch
	Seed  uint64 // with the step this decides everything

	Augmentation Augmentation // crops are drawn at all scales from the square around its anchor to beyond the whole image
}

// Batch is what one training step reads; B cases, M raters, K classes.
type Batch struct {
	Step   uint64
	Images []float32 // (B, S, S, 3), values 0..1
	Labels []float32 // (B, S, S, M, K), 0 or 1; 0 for a missing label
	Valid  []float32 // (B, M, K), 1 where the rater has marked the class
	Own    []float32 // (B, M, K), as Valid, but 0 in cases that other people have marked
	Names  []string  // FOLDER/NAME, for messages
}

// Sampler draws training batches. A batch depends on the data, the options and its step alone, whatever was drawn before, so a
// training run resumes exactly by asking for its next step.
type Sampler struct {
	options Options
	samples []*Sample // of the data set's raters
	others  []*Sample // of other people: every second image of a batch is one of these, where there are any
	raters  int
	classes int
}

// NewSampler draws from samples of a dataset.
func NewSampler(d *Dataset, samples []*Sample, o Options) (*Sampler, error) {
	if o.Size < 1 || o.Batch < 1 {
		panic(fmt.Sprintf("dataset: NewSampler: size %d, batch %d", o.Size, o.Batch))
	}
	s := &Sampler{options: o, raters: len(d.Raters), classes: len(d.Classes)}
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
	return s, nil
}

// Batch makes the batch of a step, its cases side by side on all processors.
func (s *Sampler) Batch(step uint64) *Batch {
	size, b := s.options.Size, s.options.Batch
	area, labels := size*size, s.raters*s.classes
	out := &Batch{
		Step: step, Images: make([]float32, b*area*3), Labels: make([]float32, b*area*labels),
		Valid: make([]float32, b*labels), Own: make([]float32, b*labels), Names: make([]string, b),
	}
	var wait sync.WaitGroup
	for i := range b {
		wait.Go(func() {
			position := step*uint64(b) + uint64(i)
			it := s.sample(position)
			rng := s.random(drawStream, position)
			view, look := s.options.Augmentation.view(it, rng), s.options.Augmentation.look(it, rng)
			view.bend = s.options.Augmentation.bend(rng)
			view.swell = s.options.Augmentation.swell(it, rng)
			it.sampleImage(out.Images[i*area*3:(i+1)*area*3], size, view, look)
			it.sampleLabels(out.Labels[i*area*labels:(i+1)*area*labels], size, view)
			s.options.Augmentation.grain(out.Images[i*area*3:(i+1)*area*3], size, rng)
			s.options.Augmentation.distract(out.Images[i*area*3:(i+1)*area*3], out.Labels[i*area*labels:(i+1)*area*labels], size, rng)
			copy(out.Valid[i*labels:], it.valid)
			if !it.others {
				copy(out.Own[i*labels:], it.valid)
			}
			out.Names[i] = it.Folder + "/" + it.Name
		})
	}
	wait.Wait()
	return out
}

// Prefetch makes the batches from a step on, in order, two ahead of their use, until the context ends; then the channel closes.
func (s *Sampler) Prefetch(ctx context.Context, from uint64) <-chan *Batch {
	batches := make(chan *Batch, 1)
	go func() {
		defer close(batches)
		for step := from; ctx.Err() == nil; step++ {
			select {
			case batches <- s.Batch(step):
			case <-ctx.Done():
			}
		}
	}()
	return batches
}

// sample is the case at a position of the endless sequence. Where there are cases of other people,
// they take the odd positions.
func (s *Sampler) sample(position uint64) *Sample {
	switch {
	case len(s.others) == 0:
		return s.samples[s.at(position, len(s.samples), orderStream)]
	case position%2 == 0:
		return s.samples[s.at(position/2, len(s.samples), orderStream)]
	}
	return s.others[s.at(position/2, len(s.others), othersStream)]
}

// at is the index at a position of an endless sequence in which each stretch of n is a permutation.
func (s *Sampler) at(position uint64, n int, stream uint64) int {
	return s.random(stream, position/uint64(n)).Perm(n)[position%uint64(n)]
}

// Streams keep the order of cases and the draws for each apart.
const (
	orderStream = iota
	drawStream
	othersStream
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
