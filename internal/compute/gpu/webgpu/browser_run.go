//go:build js

package webgpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"syscall/js"

	"mrprism/internal/compute/gpu"
)

func (d *device) Prepare(ctx context.Context, programs []*gpu.Program) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	var missing []*gpu.Program
	var descriptions []any
	for _, p := range programs {
		if d.pipelines[p] != 0 {
			continue
		}
		if err := p.Validate(d.info.Limits); err != nil {
			return err
		}
		accesses := make([]byte, len(p.Arguments))
		for i, a := range p.Arguments {
			accesses[i] = "rw"[a]
		}
		missing = append(missing, p)
		descriptions = append(descriptions, map[string]any{
			"name": p.Name, "source": p.Source, "entry": p.Entry, "accesses": string(accesses),
		})
	}
	if len(missing) == 0 {
		return nil
	}
	answer, err := ask(ctx, "compiling", d.object, "prepare", descriptions)
	if err != nil {
		if answer.Type() == js.TypeObject && answer.Get("name").Type() == js.TypeString {
			return fmt.Errorf("%s: %w", answer.Get("name").String(), err)
		}
		return err
	}
	ids := answer.Get("ids")
	for i, p := range missing {
		d.pipelines[p] = ids.Index(i).Int()
	}
	return nil
}

type recording struct {
	device   *device
	id       int
	buffers  map[*buffer]bool // of all commands
	released bool
}

func (r *recording) Release() {
	if !r.released {
		r.released = true
		delete(r.device.recordings, r)
		r.device.object.Call("releaseRecording", r.id)
	}
}

func (d *device) Record(commands []gpu.Command) (gpu.Recording, error) {
	if err := d.ready(context.Background()); err != nil {
		return nil, err
	}
	params, _, err := gpu.CheckCommands(commands, d.info.Limits, func(p *gpu.Program) bool { return d.pipelines[p] != 0 }, d.own)
	if err != nil {
		return nil, err
	}
	r := &recording{device: d, buffers: map[*buffer]bool{}}
	var words []int // in the order in which gpu.js reads them
	place := func(b gpu.Buffer) {
		own, from, _ := d.own(b) // as checked
		r.buffers[own] = true
		words = append(words, own.id, from, b.Spec().Bytes())
	}
	for _, c := range commands {
		if c.Program == nil {
			words = append(words, 0)
			place(c.Clear)
			continue
		}
		words = append(words, d.pipelines[c.Program], c.Groups[0], c.Groups[1], c.Groups[2], len(c.Arguments))
		for _, b := range c.Arguments {
			place(b)
		}
	}
	answer, err := d.ask("recording", "record", wordsToJS(words), bytesToJS(params))
	if err != nil {
		return nil, err
	}
	r.id = answer.Get("id").Int()
	d.recordings[r] = true
	return r, nil
}

func wordsToJS(words []int) js.Value {
	b := make([]byte, 0, 4*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint32(b, uint32(w))
	}
	return js.Global().Get("Uint32Array").New(bytesToJS(b).Get("buffer"))
}

func (d *device) Run(ctx context.Context, recordings ...gpu.Recording) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	ids := make([]any, len(recordings))
	for i, given := range recordings {
		r, ok := given.(*recording)
		if !ok || r.device != d || r.released {
			return fmt.Errorf("%w: a recording of another device, or a released one", gpu.ErrValidation)
		}
		for b := range r.buffers {
			if b.released {
				return fmt.Errorf("%w: a recording uses buffer %q, which was released", gpu.ErrValidation, b.spec.Label)
			}
		}
		ids[i] = r.id
	}
	_, err := askUntil(ctx, "running", d.object, "run", ids)
	return err
}

func (d *device) Write(dst gpu.Buffer, offset int, src []byte) error {
	if err := d.ready(context.Background()); err != nil {
		return err
	}
	b, from, err := d.own(dst)
	if err != nil {
		return err
	}
	if err := dst.Spec().ValidateWrite(offset, len(src)); err != nil {
		return err
	}
	at := from + offset*b.spec.Type.Size()
	for len(src) > 0 {
		n := min(len(src), stagingBytes)
		d.object.Call("write", b.id, at, bytesToJS(gpu.WholeWords(src[:n])))
		src, at = src[n:], at+n
	}
	return nil
}

func (d *device) Read(ctx context.Context, ranges ...gpu.Range) error {
	if err := d.ready(ctx); err != nil {
		return err
	}
	pieces, err := gpu.Pieces(ranges, stagingBytes, d.own)
	if err != nil {
		return err
	}
	for {
		n, total := gpu.Batch(pieces, stagingBytes)
		wanted := make([]any, 0, 3*n)
		for _, p := range pieces[:n] {
			wanted = append(wanted, p.Buffer.id, p.From, p.Size)
		}
		answer, err := askUntil(ctx, "reading", d.object, "read", wanted)
		if err != nil {
			return err
		}
		bytes := make([]byte, total)
		js.CopyBytesToGo(bytes, answer.Get("bytes"))
		gpu.Deliver(pieces[:n], bytes)
		if pieces = pieces[n:]; len(pieces) == 0 {
			return nil
		}
	}
}
