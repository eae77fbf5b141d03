//go:build js

package main

import (
	"context"
	"errors"
	"strings"

	"mrprism/internal/gpu/device"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

// making is an engine that is being made: a GPU may compile for seconds, and other questions are answered meanwhile.
type making struct {
	model  *weights.Model // nil where it is not known yet
	done   chan struct{}  // closed when engine or err is there
	engine *segment.Engine
	err    error
	wanted bool // somebody waits for it
}

// next makes an engine by how, after what is being made already, unless another is wanted by then.
func (s *session) next(m *weights.Model, how func(mk *making)) {
	before, mk := s.making, &making{model: m, done: make(chan struct{})}
	s.making = mk
	go func() {
		defer close(mk.done)
		if before.drop(); s.making == mk {
			how(mk)
		}
	}()
}

// drop waits for what is being made and closes it. A nil making is none.
func (mk *making) drop() {
	if mk == nil {
		return
	}
	<-mk.done
	if mk.engine != nil {
		mk.engine.Close()
	}
}

// warm compiles what a model will need whose weights are not here yet.
func (s *session) warm(entry weights.Entry) {
	dev, precision := s.dev, s.precision()
	s.next(nil, func(*making) { _ = segment.Warm(context.Background(), dev, entry, precision) }) // what fails is told when it is needed
}

// make begins to make the present model's engine, unless it is there or being made.
func (s *session) make() {
	if s.engine != nil || s.making != nil && s.making.model == s.model {
		return
	}
	dev, onGPU, software, m, precision := s.dev, s.onGPU(), s.software(), s.model, s.precision()
	s.next(m, func(mk *making) {
		ctx := context.Background()
		mk.engine, mk.err = segment.New(ctx, dev, m, precision)
		hurry := software && (mk.wanted || s.making != mk || s.waiting()) // software adapters are slow, and our tests have seen them compute
		if mk.err == nil && onGPU && !hurry {
			mk.err = mk.engine.Prove(ctx, m.Proof) // also what drivers compile when it first runs is compiled then
		}
	})
}

// adopt takes over the present model's engine if it has been made. What went wrong is the error, once.
func (s *session) adopt() error {
	mk := s.making
	if mk == nil || mk.model == nil || mk.model != s.model {
		return nil
	}
	select {
	case <-mk.done:
	default:
		return nil
	}
	s.making = nil
	s.dropBridge()
	if mk.err != nil {
		mk.drop()
		return mk.err
	}
	s.engine = mk.engine
	return nil
}

// build waits for the present model's engine.
func (s *session) build(ctx context.Context, tell func(string, int, int)) error {
	if s.make(); s.engine != nil {
		return nil
	}
	tell("compile", 0, 0)
	s.making.wanted = true
	select {
	case <-s.making.done:
		return s.adopt()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bridged segments on the processor while an engine is being made for the GPU that was begun before there was an image (by "prepare", at least for
// another model): what is asked of a page for the first time without that waits for the GPU. ok is false where the GPU is to be waited for.
func (s *session) bridged(ctx context.Context, img *imageio.Image, options segment.Options) (res *segment.Result, ok bool, err error) {
	if s.making == nil || s.making.model == nil || !s.onGPU() || s.precision() != model.F32 || !quick(s.model) {
		return nil, false, nil
	}
	s.make() // where what is being made is another model's
	mk := s.making
	select {
	case <-mk.done:
		return nil, false, nil
	default:
	}
	if s.bridge == nil {
		dev, err := device.Open(ctx, device.Processor, device.Options{})
		if err != nil {
			return nil, false, nil
		}
		if s.bridge, err = segment.New(ctx, dev, s.model, model.F32); err != nil {
			dev.Close()
			return nil, true, err // weights that do not fit, most likely
		}
		s.bridgeDevice = dev
	}
	limited, stop := context.WithCancel(ctx) // a GPU that is ready does it all before the processor has ended
	defer stop()
	go func() {
		select {
		case <-mk.done:
			stop()
		case <-limited.Done():
		}
	}()
	mk.wanted = true
	defer func() { mk.wanted = false }()
	res, err = s.bridge.Segment(limited, img, options)
	var wrong *segment.OptionError
	ok = err == nil || ctx.Err() != nil || errors.As(err, &wrong)
	return res, ok, err
}

// quick says whether the processor segments with a model in seconds.
func quick(m *weights.Model) bool {
	return !strings.HasPrefix(m.Metadata.Configuration, "paper") && m.Metadata.Side <= 256
}

func (s *session) dropBridge() {
	if s.bridge != nil {
		s.bridge.Close()
		s.bridgeDevice.Close()
		s.bridge = nil
	}
}
