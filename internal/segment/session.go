package segment

import (
	"context"
	"errors"
	"fmt"

	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"
)

// Opener opens a device. It tells note what the user should know.
type Opener func(ctx context.Context, note func(string)) (gpu.Device, error)

// Session runs one model on a device. It opens the device when it is needed, and again if it is
// lost.
type Session struct {
	Model     *weights.Model
	Precision model.Precision
	Open      Opener
	Note      func(string) // receives messages for the user

	device gpu.Device
	engine *Engine
}

// Ready opens the device and compiles the network, unless that is done.
func (s *Session) Ready(ctx context.Context) (err error) {
	if s.engine != nil {
		return nil
	}
	if s.device, err = s.Open(ctx, s.Note); err != nil {
		return err
	}
	s.engine, err = New(ctx, s.device, s.Model, s.Precision)
	// The project's tests run on software adapters; hardware has to prove its results.
	if info := s.device.Info(); err == nil && !info.InGo() && info.Kind != gpu.KindCPU {
		err = s.engine.Prove(ctx, s.Model.Proof)
	}
	if errors.Is(err, model.ErrWrong) {
		err = fmt.Errorf("%w; nothing was written: try the device processor, and please report the adapter and its driver", err)
	}
	if err != nil {
		s.Close()
	}
	return err
}

// Do works on one image. If the device is lost, Do opens it again and repeats the work once. If it
// is lost a second time, Do returns that error, and the next image begins with a new device.
func (s *Session) Do(ctx context.Context, work func(*Engine) error) error {
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

// Exact is gpu.Info.Exact of the device that is open.
func (s *Session) Exact() bool { return s.device.Info().Exact }

// Close releases the device.
func (s *Session) Close() {
	if s.engine != nil {
		s.engine.Close()
	}
	if s.device != nil {
		_ = s.device.Close() // the device is no longer used
	}
	s.engine, s.device = nil, nil
}
