package command

import (
	"context"
	"errors"
	"fmt"

	"mrprism/internal/gpu"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

// Session runs one model on a device, which it opens when it is needed, and again when it was lost.
type Session struct {
	Model     *weights.Model
	Precision model.Precision
	Open      func(ctx context.Context, note func(string)) (gpu.Device, error)
	Note      func(string) // is told what the user should know

	device gpu.Device
	engine *segment.Engine
}

// Ready opens the device and compiles the network, where that is not done.
func (s *Session) Ready(ctx context.Context) (err error) {
	if s.engine != nil {
		return nil
	}
	if s.device, err = s.Open(ctx, s.Note); err != nil {
		return err
	}
	s.engine, err = segment.New(ctx, s.device, s.Model, s.Precision)
	if info := s.device.Info(); err == nil && !info.InGo() && info.Kind != gpu.KindCPU { // software adapters have been seen to compute by our tests
		err = s.engine.Prove(ctx, s.Model.Proof)
	}
	if errors.Is(err, model.ErrWrong) {
		err = fmt.Errorf("%w; nothing was written: try -device processor, and please report the adapter and its driver", err)
	}
	if err != nil {
		s.Close()
	}
	return err
}

// Do works on one image. Where the device is lost meanwhile it is opened again and work starts anew, once; lost a second time, that is
// the error, and the next image begins with a fresh device.
func (s *Session) Do(ctx context.Context, work func(*segment.Engine) error) error {
	for again := false; ; again = true {
		err := s.Ready(ctx)
		if err == nil {
			err = work(s.engine)
		}
		if !errors.Is(err, gpu.ErrLost) {
			return err
		}
		s.Close()
		if again || ctx.Err() != nil {
			return err
		}
		s.Note(fmt.Sprintf("%v; opening the device again", err))
	}
}

// Close returns the device.
func (s *Session) Close() {
	if s.engine != nil {
		s.engine.Close()
	}
	if s.device != nil {
		_ = s.device.Close() // what a device that is given up has to say is of no use
	}
	s.engine, s.device = nil, nil
}
