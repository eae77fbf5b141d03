package page

import (
	"context"
	"errors"
	"time"

	"mrprism/model"
	"mrprism/shaders/gpu"
)

const (
	openTime = 30 * time.Second // for a GPU to open
	// After a second loss Chrome refuses adapters for about two minutes. The processor computes
	// meanwhile.
	gpuPause = 130 * time.Second
	// After a second loss within this time the GPU is given up for gpuPause.
	lossWindow = 10 * time.Second
)

// Device says what computes, and why.
type Device struct {
	Name     string // adapter, backend and kind
	GPU      bool
	Software bool   // the GPU is one that the processor emulates
	Reason   string // why the processor replaces a GPU, or empty
	Why      string // why auto took this device; empty: it had no choice
}

// choice is the device that computes, and the facts that decide about the next one.
type choice struct {
	gpu.Device
	reason   string    // see Device
	retry    time.Time // when to ask for a GPU again; zero: none is expected
	unfit    string    // a model that the GPU refused or computed wrongly: the processor computes it
	lastLoss time.Time
}

func (c *choice) onGPU() bool { return !c.Info().InGo() }

func (c *choice) software() bool { return c.Info().Kind == gpu.KindCPU }

// Computer says what computes.
func (h *Host) Computer() Device {
	c := &h.computer
	info := c.Info()
	return Device{info.String(), c.onGPU(), c.software(), c.reason, info.Why}
}

// precision is the wished precision, or F32 if the device cannot compute in it.
func (h *Host) precision() model.Precision {
	if h.Precision == model.Int8 || h.Precision == model.F16 && h.computer.Info().HasFeature("shader-f16") {
		return h.Precision
	}
	return model.F32
}

// openWished opens the wished device. It does not stop if the request is cancelled: the next
// request needs the GPU too.
func (h *Host) openWished(ctx context.Context) (gpu.Device, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), openTime)
	defer cancel()
	return h.open(ctx)
}

// openDevice opens the wished device, or the processor if that fails.
func (h *Host) openDevice(ctx context.Context) {
	d, err := h.openWished(ctx)
	h.computer.reason = ""
	if err != nil {
		d, h.computer.reason = h.processor(), err.Error()
	}
	h.computer.Device = d
}

// closeDevice closes the device and its engines.
func (h *Host) closeDevice() {
	h.engines.close()
	_ = h.computer.Close() // the device is no longer used
}

// recover answers a failure of the GPU, and reports whether the caller should run again. After a
// first loss it opens the GPU again. The processor takes over in three cases: after a second loss,
// in the same request (again) or soon after the first; if the GPU's memory does not suffice; and if
// the GPU refuses the model or computes it wrongly.
func (h *Host) recover(ctx context.Context, cause error, again bool) bool {
	c := &h.computer
	if !c.onGPU() || ctx.Err() != nil {
		return false
	}
	note := ""
	switch {
	case errors.Is(cause, gpu.ErrLost) && !again && h.now().Sub(c.lastLoss) > lossWindow:
		c.lastLoss = h.now()
		h.closeDevice()
		h.openDevice(ctx)
		if !c.onGPU() {
			note = "The graphics processor was lost and does not come back; the processor computes."
			c.retry = h.now().Add(gpuPause)
		}
	case errors.Is(cause, gpu.ErrLost):
		note = "The graphics processor failed twice; the processor computes meanwhile. It takes longer, with the same result."
		h.useProcessor(cause)
	case errors.Is(cause, gpu.ErrOutOfMemory):
		note = "The graphics memory does not suffice; the processor computes. It takes longer, with the same result."
		h.useProcessor(cause)
	case refused(cause), wrong(cause):
		note = "The graphics processor cannot run this model; the processor computes. It takes longer, with the same result."
		if wrong(cause) {
			note = "What the graphics processor computed is not shown; the processor computes. It takes longer."
		}
		h.useProcessor(cause)
		// The GPU was not lost: another model may return to it at once.
		c.unfit, c.retry = h.engines.model.Name(), h.now()
	default:
		return false
	}
	h.Changed(h.Computer(), note)
	return true
}

// refused reports that a GPU cannot run the commands.
func refused(err error) bool {
	return errors.Is(err, gpu.ErrValidation) || errors.Is(err, gpu.ErrInternal)
}

// wrong reports that a GPU computed a result that cannot be right.
func wrong(err error) bool {
	return errors.Is(err, model.ErrNothing) || errors.Is(err, model.ErrNotFinite) || errors.Is(err, model.ErrWrong)
}

func (h *Host) useProcessor(cause error) {
	h.closeDevice()
	h.computer.Device, h.computer.reason = h.processor(), cause.Error()
	h.computer.retry = h.now().Add(gpuPause)
}

// returnToGPU asks for the GPU again once its pause is over, unless the GPU cannot run the model.
// If no GPU opens, or only one slower than the processor, the processor goes on with its engine.
func (h *Host) returnToGPU(ctx context.Context, model string) {
	c := &h.computer
	if c.onGPU() || c.retry.IsZero() || h.now().Before(c.retry) || model == c.unfit {
		return
	}
	d, err := h.openWished(ctx)
	if err == nil && d.Info().InGo() {
		_ = d.Close()
	}
	if err != nil || d.Info().InGo() {
		c.retry = h.now().Add(gpuPause)
		return
	}
	h.closeDevice()
	c.Device, c.reason, c.retry = d, "", time.Time{}
	h.Changed(h.Computer(), "")
}
