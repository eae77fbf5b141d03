//go:build js

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"syscall/js"
	"time"

	"mrprism/internal/choose"
	"mrprism/internal/gpu"
	"mrprism/internal/gpu/device"
	"mrprism/internal/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/weights"
)

const (
	keptPictures = 2
	keptResults  = 4
	// After a second loss Chrome refuses adapters for about two minutes; the processor computes meanwhile.
	gpuPause = 130 * time.Second
	// Losses further apart than this are met by opening the device again.
	lossWindow = 10 * time.Second
)

// session is everything the worker keeps between messages.
type session struct {
	waiting func() bool // whether messages wait to be answered

	dev       gpu.Device
	gpuReason string    // why the processor computes, where it does
	retryGPU  time.Time // when to ask for a GPU again; zero where none is expected
	unfit     string    // the model for which it is not asked for again: the GPU refused it, or computed it wrongly
	lastLoss  time.Time

	model  *weights.Model // the one that was asked for last; the engine has it, where there is one
	engine *segment.Engine
	making *making          // what is made, or was made and is not adopted yet; nil where nothing is
	own    []*weights.Model // the user's own files

	bridge       *segment.Engine // on the processor, until the first engine of a GPU is made; nil where there is none
	bridgeDevice gpu.Device

	pictures []picture
	results  []result

	mu        sync.Mutex
	stop      context.CancelFunc // ends the running segmentation or preparation; nil where none runs
	idle      context.CancelFunc // ends what is done only while there is nothing else; nil where nothing is
	begun     int                // the request that was begun last
	cancelled map[int]bool       // requests that wait and are not to begin
}

type picture struct {
	key   int
	image *imageio.Image
}

type result struct {
	id  int // the number of the request, which no other worker of the page has used either
	res *segment.Result
}

func newSession(waiting func() bool) *session {
	return &session{waiting: waiting, cancelled: map[int]bool{}}
}

// start opens a device and says that the worker is there.
func (s *session) start(ctx context.Context) {
	s.openDevice(ctx)
	models := []any{}
	for _, e := range weights.Shipped().Models {
		models = append(models, map[string]any{"name": e.Name, "title": e.Title, "bytes": e.Bytes})
	}
	if s.gpuReason != "" && js.Global().Get("navigator").Get("gpu").Truthy() { // Chrome refuses adapters for a while after losses, in a page that was reloaded too
		s.retryGPU = time.Now().Add(gpuPause)
	}
	post(s.described(map[string]any{"type": "ready", "models": models}))
}

// described adds to a message what computes, and why: reason where a GPU is missing or failed, why
// where there was a choice.
func (s *session) described(message map[string]any) map[string]any {
	info := s.dev.Info()
	maps.Copy(message, map[string]any{"adapter": info.String(), "gpu": s.onGPU(), "software": s.software(), "reason": s.gpuReason, "why": info.Why})
	return message
}

func (s *session) onGPU() bool { return !s.dev.Info().InGo() }

// noWish is the wish where the page's address has none.
const noWish = "<null>"

// wish is what the page's address asks for: ?NAME=….
func wish(name string) string { return js.Global().Get("mrprismWishes").Call("get", name).String() }

// precision is what was asked for (?precision=int8, or f16 where the device can); else f32.
func (s *session) precision() model.Precision {
	if wish("precision") == string(model.Int8) {
		return model.Int8
	}
	if wish("precision") == string(model.F16) && s.dev.Info().HasFeature("shader-f16") {
		return model.F16
	}
	return model.F32
}

// software reports that the processor plays a GPU.
func (s *session) software() bool { return s.dev.Info().Kind == gpu.KindCPU }

// openDevice takes the GPU, or the processor where there is none. It always leaves a device, and the request that needs it being cancelled does not
// keep a GPU away from the next.
func (s *session) openDevice(ctx context.Context) {
	dev, err := openGPU(ctx)
	if err != nil {
		s.gpuReason = err.Error()
		dev, err = device.Open(context.Background(), device.Processor, device.Options{})
		if err != nil {
			panic(err) // it needs nothing
		}
		s.dev = dev
		return
	}
	s.gpuReason = ""
	s.dev = dev
}

// openGPU opens the GPU that the browser gives, or the processor where that is the faster of the
// two; or the device that is wished for: ?device=browser, processor or reference.
func openGPU(ctx context.Context) (gpu.Device, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	name := wish("device")
	if name == noWish {
		name = device.Auto
	}
	options := device.Options{}
	if wish("measure") != "off" {
		options.Compare = choose.With(browserMemory{})
	}
	return device.Open(ctx, name, options)
}

// closeDevice drops the engine with its device. Errors are of no use any more.
func (s *session) closeDevice() {
	s.making.drop()
	s.making = nil
	s.dropBridge()
	if s.engine != nil {
		s.engine.Close()
		s.engine = nil
	}
	s.dev.Close()
}

// recover answers a failure of the GPU: open it again after a first loss, change to the processor after a second one soon after or in the
// same request (again), where its memory does not suffice, and where it cannot compute or what it computed was refused. It reports whether it makes sense to run again.
func (s *session) recover(ctx context.Context, cause error, again bool) bool {
	if !s.onGPU() || ctx.Err() != nil {
		return false
	}
	note := ""
	switch {
	case errors.Is(cause, gpu.ErrLost) && !again && time.Since(s.lastLoss) > lossWindow:
		s.lastLoss = time.Now()
		s.closeDevice()
		s.openDevice(ctx)
		if !s.onGPU() {
			note = "The graphics processor was lost and does not come back; the processor computes."
			s.retryGPU = time.Now().Add(gpuPause)
		}
	case errors.Is(cause, gpu.ErrLost):
		note = "The graphics processor failed twice; the processor computes meanwhile. It takes longer, with the same result."
		s.useProcessor(cause)
	case refusing(cause) || wrong(cause):
		note = "The graphics processor cannot run this model; the processor computes. It takes longer, with the same result."
		if wrong(cause) {
			note = "What the graphics processor computed is not shown; the processor computes. It takes longer."
		}
		s.useProcessor(cause)
		s.unfit, s.retryGPU = s.model.Name(), time.Now() // nothing was lost: other models need not wait for the GPU
	case errors.Is(cause, gpu.ErrOutOfMemory):
		note = "The graphics memory does not suffice; the processor computes. It takes longer, with the same result."
		s.useProcessor(cause)
	default:
		return false
	}
	s.tellAdapter(note)
	return true
}

// refusing says whether a GPU cannot compute what it was given.
func refusing(err error) bool {
	return errors.Is(err, gpu.ErrValidation) || errors.Is(err, gpu.ErrInternal)
}

// wrong says whether what a GPU computed was refused.
func wrong(err error) bool {
	return errors.Is(err, model.ErrNothing) || errors.Is(err, model.ErrNotFinite) || errors.Is(err, model.ErrWrong)
}

func (s *session) useProcessor(cause error) {
	s.closeDevice()
	s.dev, _ = device.Open(context.Background(), device.Processor, device.Options{})
	s.gpuReason = cause.Error()
	s.retryGPU = time.Now().Add(gpuPause)
}

// returnToGPU tries the GPU again once its pause is over, for a model that it is fit for. Where none comes, what the processor holds stays.
func (s *session) returnToGPU(ctx context.Context, model string) {
	if s.onGPU() || s.retryGPU.IsZero() || time.Now().Before(s.retryGPU) || model == s.unfit {
		return
	}
	dev, err := openGPU(ctx)
	if err == nil && dev.Info().InGo() { // what is offered now is slower
		dev.Close()
	}
	if err != nil || dev.Info().InGo() {
		s.retryGPU = time.Now().Add(gpuPause)
		return
	}
	s.closeDevice()
	s.dev, s.gpuReason, s.retryGPU = dev, "", time.Time{}
	s.tellAdapter("")
}

func (s *session) tellAdapter(note string) {
	post(s.described(map[string]any{"type": "adapter", "note": note, "next": "Closing other pages that use the graphics processor may help."}))
}

// cancel ends one request, whether it runs or waits.
func (s *session) cancel(request int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if request > s.begun {
		s.cancelled[request] = true
	} else if request == s.begun && s.stop != nil {
		s.stop()
	}
}

// begin makes the context of one request, which cancel ends; it has ended already where the request was cancelled while it waited.
func (s *session) begin(request int) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	s.mu.Lock()
	s.stop, s.begun = stop, request
	if s.cancelled[request] {
		delete(s.cancelled, request)
		stop()
	}
	s.mu.Unlock()
	return ctx, func() {
		s.mu.Lock()
		s.stop = nil
		s.mu.Unlock()
		stop()
	}
}

// whileIdle makes the context of work that the next message ends.
func (s *session) whileIdle() (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(context.Background())
	s.mu.Lock()
	s.idle = stop
	s.mu.Unlock()
	if s.waiting() { // since before there was something to end
		stop()
	}
	return ctx, func() {
		s.mu.Lock()
		s.idle = nil
		s.mu.Unlock()
		stop()
	}
}

// interrupt ends what is done only while there is nothing else.
func (s *session) interrupt() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idle != nil {
		s.idle()
	}
}

// answer works on one message.
func (s *session) answer(message js.Value) {
	_ = s.adopt() // what could not be made is tried anew where it is needed, and told there
	var err error
	switch kind := message.Get("type").String(); kind {
	case "segment":
		err = s.segment(message)
	case "prepare":
		err = s.prepare(message)
	case "weights":
		err = s.openWeights(message)
	case "map":
		err = s.postMap(message)
	case "view":
		err = s.postView(message)
	case "png":
		err = s.postPNG(message)
	default:
		err = fmt.Errorf("unknown message %q", kind)
	}
	if err != nil {
		postError(message, faultOf(err))
	}
}
