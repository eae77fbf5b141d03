package gpu

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
)

// Frame is what all backends have in common. It implements Device: it checks what callers give,
// knows all buffers and recordings, and leaves the rest to a Driver. B and R are the driver's own
// buffers and recordings.
type Frame[B, R any] struct {
	About Info // the result of Info

	driver     Driver[B, R]
	name       string
	staging    int
	buffers    map[*frameBuffer[B, R]]bool
	recordings map[*frameRecording[B, R]]bool
	lost       chan error
	lostError  atomic.Pointer[error] // set before lost receives it
	closed     bool
}

// Driver is what differs between backends. A Frame gives it valid arguments of its own device. Its
// errors wrap those of this package.
type Driver[B, R any] interface {
	// Failure returns an error that no other call returned, and forgets it.
	Failure() error
	// Create makes zeroed buffers, all or none.
	Create(ctx context.Context, specs []BufferSpec) ([]B, error)
	Free(b B)
	// Upload writes whole 32-bit words from byte at of a buffer on.
	Upload(to B, at int, src []byte) error
	// Download waits for all submitted work and delivers pieces, which have total bytes.
	Download(ctx context.Context, pieces []Piece[B], total int) error
	// Compiled says whether a program can be recorded.
	Compiled(p *Program) bool
	Compile(ctx context.Context, programs []*Program) error
	// Build makes a recording. params has ParamsStride bytes for each dispatch.
	Build(steps []Step[B], params []byte) (R, error)
	Drop(r R)
	Submit(ctx context.Context, recordings []R) error
	// Shut closes the device. release drops its recordings and frees its buffers.
	Shut(release func()) error
}

// Step is a command of a recording.
type Step[B any] struct {
	Command
	Name       string     // for people
	Bound      []Bound[B] // the arguments, or the buffer to clear
	ParamsSize int        // bytes of the uniform parameters that are used
}

// Bound is a range of bytes of a buffer. Padded is Size rounded up to whole words.
type Bound[B any] struct {
	Buffer             B
	From, Size, Padded int
}

// Piece is one copy of a read: bytes [From, From+Size) of a buffer, both multiples of four. Dst
// takes the bytes from Skip on.
type Piece[B any] struct {
	Buffer           B
	From, Size, Skip int
	Dst              []byte
}

// Deliver copies bytes, which hold one piece after the other, to the pieces' destinations.
func Deliver[B any](pieces []Piece[B], bytes []byte) {
	for _, p := range pieces {
		copy(p.Dst, bytes[p.Skip:p.Size])
		bytes = bytes[p.Size:]
	}
}

// Init begins a device. Errors begin with name, unless that is empty. staging is the largest
// Download, bytes.
func (f *Frame[B, R]) Init(driver Driver[B, R], name string, staging int) {
	f.driver, f.name, f.staging, f.lost = driver, name, staging, make(chan error, 1)
	f.buffers, f.recordings = map[*frameBuffer[B, R]]bool{}, map[*frameRecording[B, R]]bool{}
}

// Info describes the device.
func (f *Frame[B, R]) Info() Info { return f.About }

// Lost receives one error when the device is lost.
func (f *Frame[B, R]) Lost() <-chan error { return f.lost }

// Lose notes the loss of the device, and returns it as an error. Closing is no loss.
func (f *Frame[B, R]) Lose(message string) error {
	err := fmt.Errorf("%w: %s", ErrLost, strings.TrimSpace(message))
	if !f.closed && f.lostError.CompareAndSwap(nil, &err) {
		f.lost <- err
	}
	return err
}

// Alive returns why the device cannot be used, or an error that no call returned yet.
func (f *Frame[B, R]) Alive() error {
	if f.closed {
		return fmt.Errorf("%w: it was closed", ErrLost)
	}
	failure := f.driver.Failure()
	if lost := f.lostError.Load(); lost != nil {
		return *lost
	}
	return failure
}

func (f *Frame[B, R]) ready(ctx context.Context) error {
	if err := f.Alive(); err != nil {
		return err
	}
	return ctx.Err()
}

// addNames puts the names of device and method before an error.
func (f *Frame[B, R]) addNames(method string, err *error) {
	if *err != nil && f.name != "" {
		*err = fmt.Errorf("%s: %s: %w", f.name, method, *err)
	}
}

type frameBuffer[B, R any] struct {
	frame    *Frame[B, R]
	spec     BufferSpec
	own      B
	released bool
}

func (b *frameBuffer[B, R]) Spec() BufferSpec { return b.spec }

func (b *frameBuffer[B, R]) Release() {
	if !b.released {
		b.released = true
		delete(b.frame.buffers, b)
		b.frame.driver.Free(b.own)
	}
}

// ownBuffer returns the device's buffer behind a buffer or view, and the bytes of b in it.
func (f *Frame[B, R]) ownBuffer(b Buffer) (*frameBuffer[B, R], Bound[B], error) {
	whole, first := Whole(b)
	own, ok := whole.(*frameBuffer[B, R])
	switch {
	case !ok || own.frame != f:
		return nil, Bound[B]{}, fmt.Errorf("%w: a buffer of another device", ErrValidation)
	case own.released:
		return nil, Bound[B]{}, fmt.Errorf("%w: buffer %q was released", ErrValidation, own.spec.Label)
	}
	spec, size := b.Spec(), own.spec.Type.Size()
	return own, Bound[B]{own.own, first * size, spec.Elements * size, spec.Bytes()}, nil
}

// Bind returns the bytes of a buffer or view of the device.
func (f *Frame[B, R]) Bind(b Buffer) (Bound[B], error) {
	_, bound, err := f.ownBuffer(b)
	return bound, err
}

// Allocate creates zeroed buffers, all or none.
func (f *Frame[B, R]) Allocate(ctx context.Context, specs []BufferSpec) (_ []Buffer, err error) {
	defer f.addNames("allocate", &err)
	if err := f.ready(ctx); err != nil {
		return nil, err
	}
	for _, s := range specs {
		if err := s.Validate(f.About.Limits); err != nil {
			return nil, err
		}
	}
	created, err := f.driver.Create(ctx, specs)
	if err != nil {
		return nil, err
	}
	buffers := make([]Buffer, len(specs))
	for i, own := range created {
		b := &frameBuffer[B, R]{frame: f, spec: specs[i], own: own}
		f.buffers[b] = true
		buffers[i] = b
	}
	return buffers, nil
}

// Write copies src into dst starting at element offset.
func (f *Frame[B, R]) Write(dst Buffer, offset int, src []byte) (err error) {
	defer f.addNames("write", &err)
	if err := f.Alive(); err != nil {
		return err
	}
	to, err := f.Bind(dst)
	if err != nil {
		return err
	}
	spec := dst.Spec()
	if err := spec.ValidateWrite(offset, len(src)); err != nil || len(src) == 0 {
		return err
	}
	if n := len(src) % 4; n != 0 { // the write ends where the buffer does, which has padding
		src = append(append([]byte(nil), src...), make([]byte, 4-n)...)
	}
	if err := f.driver.Upload(to.Buffer, to.From+offset*spec.Type.Size(), src); err != nil {
		return fmt.Errorf("buffer %q: %w", spec.Label, err)
	}
	return nil
}

// Read waits for all submitted work and fills the ranges.
func (f *Frame[B, R]) Read(ctx context.Context, ranges ...Range) (err error) {
	defer f.addNames("read", &err)
	if err := f.ready(ctx); err != nil {
		return err
	}
	var pieces []Piece[B]
	for _, r := range ranges {
		whole, err := f.Bind(r.Buffer)
		if err != nil {
			return err
		}
		spec := r.Buffer.Spec()
		if err := spec.ValidateRead(r.Offset, len(r.Dst)); err != nil {
			return err
		}
		for from, dst := whole.From+r.Offset*spec.Type.Size(), r.Dst; len(dst) > 0; {
			skip := from % 4
			n := min(len(dst), f.staging-skip)
			pieces = append(pieces, Piece[B]{Buffer: whole.Buffer, From: from - skip, Size: (skip + n + 3) / 4 * 4, Skip: skip, Dst: dst[:n]})
			from, dst = from+n, dst[n:]
		}
	}
	for {
		n, total := 0, 0
		for n < len(pieces) && total+pieces[n].Size <= f.staging {
			total += pieces[n].Size
			n++
		}
		if err := f.driver.Download(ctx, pieces[:n], total); err != nil {
			return err
		}
		if pieces = pieces[n:]; len(pieces) == 0 {
			return nil
		}
	}
}

// Prepare compiles the programs that are new.
func (f *Frame[B, R]) Prepare(ctx context.Context, programs []*Program) (err error) {
	defer f.addNames("prepare", &err)
	if err := f.ready(ctx); err != nil {
		return err
	}
	var missing []*Program
	for _, p := range programs {
		if f.driver.Compiled(p) {
			continue
		}
		if err := p.Validate(f.About.Limits); err != nil {
			return err
		}
		missing = append(missing, p)
	}
	if len(missing) == 0 {
		return nil
	}
	return f.driver.Compile(ctx, missing)
}

type frameRecording[B, R any] struct {
	frame    *Frame[B, R]
	own      R
	buffers  []*frameBuffer[B, R] // of all commands
	released bool
}

func (r *frameRecording[B, R]) Release() {
	if !r.released {
		r.released = true
		delete(r.frame.recordings, r)
		r.frame.driver.Drop(r.own)
	}
}

// Own is the driver's own recording.
func (f *Frame[B, R]) Own(recording Recording) (own R, err error) {
	r, ok := recording.(*frameRecording[B, R])
	if !ok || r.frame != f || r.released {
		return own, fmt.Errorf("%w: a recording of another device, or released", ErrValidation)
	}
	return r.own, nil
}

// Record checks the commands and lets the driver build what it needs to run them.
func (f *Frame[B, R]) Record(commands []Command) (_ Recording, err error) {
	defer f.addNames("record", &err)
	if err := f.Alive(); err != nil {
		return nil, err
	}
	r, used := &frameRecording[B, R]{frame: f}, map[*frameBuffer[B, R]]bool{}
	steps := make([]Step[B], len(commands))
	var params []byte
	for i, c := range commands {
		if err := c.Validate(f.About.Limits); err != nil {
			return nil, fmt.Errorf("command %d: %w", i, err)
		}
		s, arguments := &steps[i], c.Arguments
		s.Command = c
		if c.Program == nil {
			s.Name, arguments = "clear "+c.Clear.Spec().Label, []Buffer{c.Clear}
		} else {
			s.Name = c.Program.Name
			if !f.driver.Compiled(c.Program) {
				return nil, fmt.Errorf("%w: command %d: %s was recorded but never prepared", ErrValidation, i, s.Name)
			}
			encoded, err := EncodeParams(c.Params)
			if err != nil {
				return nil, err
			}
			s.ParamsSize = len(encoded)
			params = append(append(params, encoded...), make([]byte, ParamsStride-len(encoded))...)
		}
		for at, b := range arguments {
			own, bound, err := f.ownBuffer(b)
			if err != nil {
				return nil, fmt.Errorf("command %d: %s: argument %d: %w", i, s.Name, at, err)
			}
			if !used[own] {
				used[own] = true
				r.buffers = append(r.buffers, own)
			}
			s.Bound = append(s.Bound, bound)
		}
	}
	if r.own, err = f.driver.Build(steps, params); err != nil {
		return nil, err
	}
	f.recordings[r] = true
	return r, nil
}

// Run submits the recordings in order.
func (f *Frame[B, R]) Run(ctx context.Context, recordings ...Recording) (err error) {
	defer f.addNames("run", &err)
	if err := f.ready(ctx); err != nil {
		return err
	}
	own := make([]R, len(recordings))
	for i, given := range recordings {
		r, ok := given.(*frameRecording[B, R])
		if !ok || r.frame != f || r.released {
			return fmt.Errorf("%w: recording %d is of another device, or was released", ErrValidation, i)
		}
		for _, b := range r.buffers { // some libraries abort the process if a buffer has been freed
			if b.released {
				return fmt.Errorf("%w: recording %d uses buffer %q, which was released", ErrValidation, i, b.spec.Label)
			}
		}
		own[i] = r.own
	}
	return f.driver.Submit(ctx, own)
}

// Close releases the device with its buffers and recordings. It may be called again.
func (f *Frame[B, R]) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	return f.driver.Shut(func() {
		for r := range f.recordings {
			r.Release()
		}
		for b := range f.buffers {
			b.Release()
		}
	})
}
