//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"mrprism/shaders/gpu"
)

// typed wraps Dawn's error in the error of package gpu.
func typed(kind uint32, message string) error {
	message = strings.TrimSpace(message)
	switch kind {
	case errorOutOfMemory:
		return fmt.Errorf("%w: %s", gpu.ErrOutOfMemory, message)
	case errorInternal:
		return fmt.Errorf("%w: %s", gpu.ErrInternal, message)
	}
	return fmt.Errorf("%w: %s", gpu.ErrValidation, message)
}

// oneLine joins the lines of a message.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// scoped runs f and returns an error that f raised in Dawn. Of several errors it returns the most
// serious: out of memory, then internal errors, then validation. Each thread has a stack of scopes.
func (d *device) scoped(f func()) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	filters := [...]uint32{filterValidation, filterInternal, filterOutOfMemory}
	for _, filter := range filters {
		d.l.DevicePushErrorScope(d.handle, filter)
	}
	f()
	var first error
	for range filters {
		got, err := d.l.begin(d.instance, callbacks().value, func(info callbackInfo) uint64 {
			return d.l.DevicePopErrorScope(d.handle, info)
		}).wait(context.Background())
		if err == nil && got.status == statusSuccess && uint32(got.value) != errorNone {
			err = typed(uint32(got.value), got.message)
		}
		first = cmp.Or(first, err)
	}
	return errors.Join(first, d.Alive())
}

// Failure delivers a loss, and returns errors from outside of error scopes.
func (d *device) Failure() error {
	d.l.InstanceProcessEvents(d.instance)
	return d.uncaptured.takeErrors()
}

// uncaptured collects errors. Dawn may report them on its own thread.
type uncaptured struct {
	mu     sync.Mutex
	errors []error // oldest first
}

func (u *uncaptured) add(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.errors = append(u.errors, err)
}

// takeErrors returns and clears the collected errors.
func (u *uncaptured) takeErrors() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	err := errors.Join(u.errors...)
	u.errors = nil
	return err
}
