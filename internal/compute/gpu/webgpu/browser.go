//go:build js

package webgpu

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall/js"
	"time"

	"mrprism/internal/compute/gpu"
)

// device is the browser's device through site/gpu.js, which numbers buffers, pipelines and
// recordings. The module cogentcore/webgpu is not used, because its browser half reports failures
// as success.
type device struct {
	object    js.Value
	info      gpu.Info
	lost      chan error
	lostError atomic.Pointer[error]
	onLost    js.Func

	pipelines  map[*gpu.Program]int
	buffers    map[*buffer]bool
	recordings map[*recording]bool
	closed     bool
}

var _ gpu.Device = (*device)(nil)

// answerTime limits waits without a context. The browser answers in milliseconds.
const answerTime = 30 * time.Second

// stagingBytes is the largest copy to or from the browser.
const stagingBytes = 8 << 20

// Open opens the browser's preferred adapter. The page or worker must have loaded gpu.js.
func Open(ctx context.Context) (gpu.Device, error) {
	script := js.Global().Get("mrprismGPU")
	if script.IsUndefined() {
		return nil, fmt.Errorf("%w: gpu.js was not loaded before the program", gpu.ErrNoAdapter)
	}
	d := &device{
		lost: make(chan error, 1), pipelines: map[*gpu.Program]int{},
		buffers: map[*buffer]bool{}, recordings: map[*recording]bool{},
	}
	d.onLost = js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		err := fmt.Errorf("%w: %s", gpu.ErrLost, arguments[0].String())
		d.lostError.Store(&err)
		d.lost <- err // gpu.js calls this once, and the channel holds one
		return nil
	})
	answer, err := askUntil(ctx, "opening the device", script, "open", d.onLost)
	if err != nil {
		return nil, err
	}
	d.object = answer.Get("device")
	d.describe()
	return d, nil
}

func (d *device) describe() {
	about, limits := d.object.Get("info"), d.object.Get("device").Get("limits")
	number := func(name string) uint64 { return uint64(limits.Get(name).Float()) }
	var names []string
	for _, field := range []string{"description", "vendor", "architecture", "device"} {
		if name := about.Get(field).String(); name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = []string{"unnamed GPU"}
	}
	d.info = gpu.Info{
		Backend: "browser", Adapter: strings.Join(names, " "), Driver: js.Global().Get("navigator").Get("userAgent").String(),
		Kind: gpu.Kind(about.Get("kind").String()),
		Limits: gpu.Limits{
			StorageBinding: number("maxStorageBufferBindingSize"), BufferSize: number("maxBufferSize"),
			StorageBuffersAStage: uint32(number("maxStorageBuffersPerShaderStage")),
			WorkgroupMemory:      uint32(number("maxComputeWorkgroupStorageSize")),
			WorkgroupInvocations: uint32(number("maxComputeInvocationsPerWorkgroup")),
			WorkgroupsADimension: uint32(number("maxComputeWorkgroupsPerDimension")),

			UniformOffsetAlignment: uint32(number("minUniformBufferOffsetAlignment")),
		},
	}
	features := js.Global().Get("Array").Call("from", d.object.Get("device").Get("features"))
	for i := range features.Length() {
		d.info.Features = append(d.info.Features, features.Index(i).String())
	}
	if language := js.Global().Get("navigator").Get("gpu").Get("wgslLanguageFeatures"); language.Truthy() && language.Call("has", gpu.PackedDot).Bool() {
		d.info.Features = append(d.info.Features, gpu.PackedDot)
	}
}

func (d *device) Info() gpu.Info { return d.info }

func (d *device) Lost() <-chan error { return d.lost }

func (d *device) ready(ctx context.Context) error {
	if d.closed {
		return fmt.Errorf("%w: the browser's device is closed", gpu.ErrLost)
	}
	if err := d.lostError.Load(); err != nil {
		return *err
	}
	return ctx.Err()
}

// ask calls a method of the device that answers soon.
func (d *device) ask(doing, method string, arguments ...any) (js.Value, error) {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	defer cancel()
	answer, err := ask(ctx, doing, d.object, method, arguments...)
	if ctx.Err() != nil {
		return answer, fmt.Errorf("%w: %s: the browser did not answer for %v", gpu.ErrLost, doing, answerTime)
	}
	return answer, err
}

type buffer struct {
	device   *device
	spec     gpu.BufferSpec
	id       int
	released bool
}

func (b *buffer) Spec() gpu.BufferSpec { return b.spec }

func (b *buffer) Release() {
	if !b.released {
		b.released = true
		delete(b.device.buffers, b)
		b.device.object.Call("releaseBuffer", b.id)
	}
}

func (d *device) Allocate(ctx context.Context, specs []gpu.BufferSpec) ([]gpu.Buffer, error) {
	if err := d.ready(ctx); err != nil {
		return nil, err
	}
	sizes, labels, bytes := make([]any, len(specs)), make([]any, len(specs)), 0
	for i, s := range specs {
		if err := s.Validate(d.info.Limits); err != nil {
			return nil, err
		}
		sizes[i], labels[i] = s.Bytes(), s.Label
		bytes += s.Bytes()
	}
	doing := fmt.Sprintf("%d buffers of together %d bytes", len(specs), bytes)
	answer, err := d.ask(doing, "allocate", sizes, labels)
	if err != nil {
		return nil, err
	}
	ids := answer.Get("ids")
	buffers := make([]gpu.Buffer, len(specs))
	for i, s := range specs {
		b := &buffer{device: d, spec: s, id: ids.Index(i).Int()}
		d.buffers[b] = true
		buffers[i] = b
	}
	return buffers, nil
}

func (d *device) own(b gpu.Buffer) (*buffer, int, error) {
	return gpu.Own(b, func(b *buffer) (mine, released bool) { return b.device == d, b.released })
}

// Close destroys the device with all its buffers. It drops unfinished work.
func (d *device) Close() error {
	if d.closed {
		return nil
	}
	d.closed = true
	for r := range d.recordings {
		r.Release()
	}
	for b := range d.buffers {
		b.Release()
	}
	d.object.Call("close")
	return nil
}
