//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"mrprism/shaders/gpu"
)

// handler receives the arguments of a callback: its status (or the type of an error), a handle or
// second number, and a message.
type handler func(status uint32, value uintptr, message string)

// handlers are the Go functions that C may call, by number. C gets the numbers as user data: C
// never holds a Go pointer, and the process needs only three callbacks.
var (
	handlers sync.Map // handler by uintptr
	last     atomic.Uintptr
)

func register(h handler) uintptr {
	user := last.Add(1)
	handlers.Store(user, h)
	return user
}

func unregister(user uintptr) { handlers.Delete(user) }

// handleCallback runs the handler of a callback. It ignores a number without a handler.
func handleCallback(user uintptr, status uint32, value uintptr, message string) {
	if h, ok := handlers.Load(user); ok {
		h.(handler)(status, value, message)
	}
}

// shapes are the addresses of callbacks for C, one for each of the three lists of arguments.
type shapes struct {
	// (status, handle or number, message, user data): adapter, device, pipeline, error scope;
	// (device, reason or type, message, user data): lost device, uncaptured error.
	value uintptr
	plain uintptr // (status, message, user data): map
	// Work done: it ignores its arguments, and so fits headers with and without a message. Only the
	// completion of the future counts.
	done uintptr
}

// outcome has the arguments of an awaited callback.
type outcome struct {
	status  uint32
	value   uintptr
	message string
}

const (
	waitSlice = 20 * time.Millisecond // how soon a cancelled context ends a wait
	waitLimit = 10 * time.Minute      // after this time the driver counts as hung
)

// pending is an operation under way.
type pending struct {
	l        *library
	instance handle
	future   uint64
	user     uintptr
	outcome  outcome
}

// begin starts an operation. start passes the callback info to Dawn and returns the future.
func (l *library) begin(instance handle, callback uintptr, start func(callbackInfo) uint64) *pending {
	p := &pending{l: l, instance: instance}
	p.user = register(func(status uint32, value uintptr, message string) {
		p.outcome = outcome{status, value, message}
		unregister(p.user)
	})
	p.future = start(callbackInfo{mode: callbackWaitAnyOnly, callback: callback, userdata1: p.user})
	return p
}

// wait blocks, without spinning, until the operation has completed. If it returns an error, the
// callback was not called.
func (p *pending) wait(ctx context.Context) (outcome, error) {
	if err := p.l.wait(ctx, p.instance, p.future); err != nil {
		return outcome{}, err
	}
	return p.outcome, nil
}

// wait blocks in slices until the future has completed, ctx ends or the limit has passed.
func (l *library) wait(ctx context.Context, instance handle, future uint64) error {
	info := &futureWaitInfo{future: future}
	deadline := time.Now().Add(waitLimit)
	for {
		switch status := l.InstanceWaitAny(instance, 1, info, uint64(waitSlice)); status {
		case waitSuccess:
			return nil
		case waitTimedOut:
		default:
			return fmt.Errorf("dawn: waiting failed with status %d", status)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w: no answer from the driver for %v", gpu.ErrLost, waitLimit)
		}
	}
}

// completed says, without waiting, whether the future has completed.
func (l *library) completed(instance handle, future uint64) bool {
	return l.InstanceWaitAny(instance, 1, &futureWaitInfo{future: future}, 0) == waitSuccess
}
