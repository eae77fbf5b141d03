package page

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// engines are the engines of the present model.
type engines struct {
	model        *weights.Model // the model that was asked for last
	ready        Engine
	making       *making // will become the ready engine
	bridge       Engine  // on the processor, until the GPU's engine is made
	bridgeDevice gpu.Device
}

// making is an engine that is being made. A GPU may compile for seconds, and the host answers other
// messages meanwhile.
type making struct {
	model  *weights.Model // nil: its weights are being downloaded
	done   chan struct{}  // closed once engine or err is set
	engine Engine
	err    error
	wanted atomic.Bool // a request waits for it
	stale  atomic.Bool // nothing needs it any more
}

// begin starts work on another engine after the work on the previous engine has ended.
func (e *engines) begin(mk *making, work func()) {
	before := e.making
	mk.done, e.making = make(chan struct{}), mk
	go func() {
		defer close(mk.done)
		if before.drop(); !mk.stale.Load() {
			work()
		}
	}()
}

// drop waits until an engine is made and closes it. mk may be nil.
func (mk *making) drop() {
	if mk == nil {
		return
	}
	mk.stale.Store(true)
	<-mk.done
	if mk.engine != nil {
		mk.engine.Close()
	}
}

// ended reports whether the engine is made or has failed.
func (mk *making) ended() bool {
	select {
	case <-mk.done:
		return true
	default:
		return false
	}
}

// adopt makes the engine that has been made the ready one. If making it failed, adopt returns the
// error once.
func (e *engines) adopt() error {
	mk := e.making
	if mk == nil || mk.model == nil || mk.model != e.model || !mk.ended() {
		return nil
	}
	e.making = nil
	e.closeBridge()
	if mk.err != nil {
		mk.drop()
		return mk.err
	}
	e.ready = mk.engine
	return nil
}

// use makes a model the present one and closes the engines of the model before.
func (e *engines) use(m *weights.Model) {
	if m != e.model {
		e.closeReady()
		e.closeBridge()
	}
	e.model = m
}

func (e *engines) closeReady() {
	if e.ready != nil {
		e.ready.Close()
		e.ready = nil
	}
}

func (e *engines) closeBridge() {
	if e.bridge != nil {
		e.bridge.Close()
		_ = e.bridgeDevice.Close()
		e.bridge = nil
	}
}

// close waits for the engine that is being made and closes all.
func (e *engines) close() {
	e.making.drop()
	e.making = nil
	e.closeBridge()
	e.closeReady()
}

// settle adopts the engine that was made since the last message. If making it failed, the next
// request tries again and returns the error.
func (h *Host) settle() { _ = h.engines.adopt() }

// startWarming compiles a model's kernels before its weights are here. It drops an error, since
// making the engine will give it again.
func (h *Host) startWarming(about weights.Entry) {
	d, precision := h.computer.Device, h.precision()
	h.engines.begin(&making{}, func() { _ = h.warm(context.Background(), d, about, precision) })
}

// make begins to make the present model's engine, unless it is ready or being made. wanted says
// that a request waits for it.
func (h *Host) make(wanted bool) {
	e := &h.engines
	if e.ready != nil || e.making != nil && e.making.model == e.model {
		return
	}
	d, precision, onGPU, software := h.computer.Device, h.precision(), h.computer.onGPU(), h.computer.software()
	m, mk := e.model, &making{model: e.model}
	mk.wanted.Store(wanted)
	e.begin(mk, func() {
		ctx := context.Background()
		mk.engine, mk.err = h.compile(ctx, d, m, precision)
		// A software adapter is slow, and our tests run on it: it is proved only if nobody waits.
		hurry := software && (mk.wanted.Load() || h.Waiting())
		if mk.err == nil && onGPU && !hurry && !mk.stale.Load() {
			mk.err = mk.engine.Prove(ctx, m.Proof) // drivers finish compiling in this first run
		}
	})
}

// build waits for the present model's engine.
func (h *Host) build(ctx context.Context, tell func(string, int, int)) error {
	if h.make(true); h.engines.ready != nil {
		return nil
	}
	tell("compile", 0, 0)
	mk := h.engines.making
	mk.wanted.Store(true)
	select {
	case <-mk.done:
		return h.engines.adopt()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// run segments with the engine, or on the processor while the GPU's engine is being made.
func (h *Host) run(ctx context.Context, img *imageio.Image, o segment.Options) (*segment.Result, error) {
	if r, ok, err := h.bridged(ctx, img, o); ok {
		return r, err
	}
	if err := h.build(ctx, o.Progress); err != nil {
		return nil, err
	}
	return h.engines.ready.Segment(ctx, img, o)
}

// bridged segments on the processor while the GPU's engine is being made. It does so only if
// Prepare, or a request for another model, began an engine: the first image of a page that prepared
// nothing waits for the GPU. If ok is false, the caller has to wait for the GPU.
func (h *Host) bridged(ctx context.Context, img *imageio.Image, o segment.Options) (r *segment.Result, ok bool, err error) {
	e := &h.engines
	if e.making == nil || e.making.model == nil || !h.computer.onGPU() || h.precision() != model.F32 || !quick(e.model) {
		return nil, false, nil
	}
	h.make(true) // the engine that is being made may be for another model
	mk := e.making
	if mk.ended() {
		return nil, false, nil
	}
	if e.bridge == nil {
		d := h.processor()
		if e.bridge, err = h.compile(ctx, d, e.model, model.F32); err != nil {
			_ = d.Close()
			return nil, true, err // weights that do not fit, most likely
		}
		e.bridgeDevice = d
	}
	// A GPU that becomes ready computes all of it before the processor has finished.
	limited, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		select {
		case <-mk.done:
			stop()
		case <-limited.Done():
		}
	}()
	mk.wanted.Store(true)
	defer mk.wanted.Store(false)
	r, err = e.bridge.Segment(limited, img, o)
	var options *segment.OptionError
	return r, err == nil || ctx.Err() != nil || errors.As(err, &options), err
}

// quick reports whether the processor segments with a model in seconds.
func quick(m *weights.Model) bool {
	return !strings.HasPrefix(m.Metadata.Configuration, "paper") && m.Metadata.Side <= 256
}
