package segment

import (
	"context"
	"errors"
	"sync"

	"mrprism/internal/files/imageio"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// ErrClosed is the error of Shared.Segment after Close.
var ErrClosed = errors.New("the model is closed")

// Shared runs one model for any number of goroutines. Those that name one device take turns.
type Shared struct {
	model   *weights.Model
	open    func(ctx context.Context, name string) (gpu.Device, error)
	closed  chan struct{}
	mutex   sync.Mutex
	workers map[settings]*worker // nil: closed
}

// settings tell workers apart.
type settings struct {
	device    string
	precision model.Precision
}

// worker computes for one goroutine at a time.
type worker struct {
	Session
	turn chan struct{} // full while somebody computes, and after Close
}

// Share makes a Shared, whose devices open opens by name.
func Share(m *weights.Model, open func(ctx context.Context, name string) (gpu.Device, error)) *Shared {
	return &Shared{model: m, open: open, closed: make(chan struct{}), workers: map[settings]*worker{}}
}

// Close waits for images that are being computed, and closes the devices.
func (s *Shared) Close() {
	s.mutex.Lock()
	workers := s.workers
	if s.workers = nil; workers != nil {
		close(s.closed)
	}
	s.mutex.Unlock()
	for _, w := range workers {
		w.turn <- struct{}{}
		w.Close()
	}
}

// worker is the one of some settings, made by the first call; nil: s is closed.
func (s *Shared) worker(of settings) *worker {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.workers != nil && s.workers[of] == nil {
		open := func(ctx context.Context, _ func(string)) (gpu.Device, error) { return s.open(ctx, of.device) }
		s.workers[of] = &worker{Session{Model: s.model, Precision: of.precision, Open: open, Note: func(string) {}}, make(chan struct{}, 1)}
	}
	return s.workers[of]
}

// Segment is Engine.Segment on the device of a name. The end of ctx ends it, and nothing else.
func (s *Shared) Segment(ctx context.Context, device string, precision model.Precision, img *imageio.Image, o Options) (*Result, error) {
	w := s.worker(settings{device, precision})
	if w == nil {
		return nil, ErrClosed
	}
	finish, err := w.begin(ctx, img, o, s.closed)
	if err != nil {
		return nil, err
	}
	return finish(), nil // beside the next image
}

func (w *worker) begin(ctx context.Context, img *imageio.Image, o Options, closed <-chan struct{}) (finish func() *Result, err error) {
	select {
	case w.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-closed:
		return nil, ErrClosed
	}
	defer func() { <-w.turn }()
	err = w.Do(ctx, func(e *Engine) (err error) {
		finish, err = e.Begin(ctx, img, o)
		return err
	})
	return finish, err
}
