// Package rankstest has ranks that are goroutines of one process.
package rankstest

import (
	"errors"
	"sync"
)

// Rank is one of several goroutines that train together. It implements ranks.Ranks.
type Rank struct {
	rank   int
	shared *shared
	turn   int // calls so far
}

type shared struct {
	sync.Mutex
	size  int
	calls map[int]*call
	gone  chan struct{} // closed when a rank has failed
	once  sync.Once
}

// call collects what the ranks give in one turn.
type call struct {
	given [][]byte
	sums  []float32
	count int
	whole chan struct{}
}

// New makes ranks.
func New(size int) []*Rank {
	s, list := &shared{size: size, calls: map[int]*call{}, gone: make(chan struct{})}, make([]*Rank, size)
	for i := range list {
		list[i] = &Rank{rank: i, shared: s}
	}
	return list
}

// Each calls f for each of size ranks at the same time.
func Each(size int, f func(r *Rank)) {
	var all sync.WaitGroup
	for _, r := range New(size) {
		all.Go(func() { f(r) })
	}
	all.Wait()
}

// Fail lets all other ranks stop waiting, with ErrGone: mpirun would kill them if one rank exits.
func (r *Rank) Fail() { r.shared.once.Do(func() { close(r.shared.gone) }) }

// ErrGone is the error that the other ranks get after Fail.
var ErrGone = errors.New("another rank has failed")

// wait waits for all ranks.
func (r *Rank) wait(c *call) error {
	select {
	case <-c.whole:
		return nil
	case <-r.shared.gone:
		return ErrGone
	}
}

func (r *Rank) Rank() int { return r.rank }

func (r *Rank) Size() int { return r.shared.size }

// join adds what this rank gives to its next call.
func (r *Rank) join(add func(c *call)) *call {
	s := r.shared
	s.Lock()
	defer s.Unlock()
	c := s.calls[r.turn]
	if c == nil {
		c = &call{given: make([][]byte, s.size), whole: make(chan struct{})}
		s.calls[r.turn] = c
	}
	r.turn++
	add(c)
	if c.count++; c.count == s.size {
		close(c.whole)
	}
	return c
}

// Mean sums in the order in which the ranks arrive. The order does not matter for two ranks.
func (r *Rank) Mean(values []float32) (wait func() error) {
	c := r.join(func(c *call) {
		if c.sums == nil {
			c.sums = make([]float32, len(values))
		}
		if len(c.sums) != len(values) {
			panic("rankstest: ranks meet with different values")
		}
		for i, v := range values {
			c.sums[i] += v
		}
	})
	return func() error {
		if err := r.wait(c); err != nil {
			return err
		}
		for i, v := range c.sums {
			values[i] = v / float32(r.shared.size)
		}
		return nil
	}
}

// Gather implements ranks.Ranks.
func (r *Rank) Gather(own []byte) ([][]byte, error) {
	c := r.join(func(c *call) { c.given[r.rank] = own })
	return c.given, r.wait(c)
}

// Leave implements ranks.Ranks.
func (r *Rank) Leave() error { return nil }
