package page

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/png"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mrprism/internal/data/instances"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/internal/segment/segmenttest"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

var (
	card      = gpu.Info{Backend: "browser", Adapter: "card", Kind: gpu.KindDiscrete}
	software  = gpu.Info{Backend: "browser", Adapter: "software", Kind: gpu.KindCPU}
	processor = gpu.Info{Backend: "processor", Adapter: "Go", Kind: gpu.KindProcessor}
	noAdapter = fmt.Errorf("%w: the browser offers none", gpu.ErrNoAdapter)
)

// world is a host with its surroundings in a test: devices and engines are fakes, and time stands
// still.
type world struct {
	*Host
	t        *testing.T
	platform Platform
	offers   []any // what opening a device gives in turn, gpu.Info or error; the last one stays
	time     time.Time
	waiting  atomic.Bool
	misfit   atomic.Bool       // the processor refuses weights
	files    map[string][]byte // what Fetch has
	kept     map[string][]byte // the files of which the browser has a copy, which may be damaged
	told     []Device          // by Changed
	notes    []string
	stages   []string // of progress

	// What engines do; nil: they succeed.
	compile func(d *fakeDevice, m *weights.Model) error
	prove   func(d *fakeDevice) error
	segment func(ctx context.Context, d *fakeDevice, o segment.Options) error

	mu    sync.Mutex
	log   []string // what was compiled and proved, in order
	alive int      // devices and engines that are not closed
}

// here makes a world that offers devices, in which the host has not started.
func here(t *testing.T, offers ...any) *world {
	w := &world{t: t, offers: offers, time: time.Unix(1e9, 0), files: map[string][]byte{}, kept: map[string][]byte{}}
	w.platform = Platform{
		Returns: true, Models: shipped(t, w.files), Waiting: w.waiting.Load,
		Fetch: func(ctx context.Context, file string, anew bool, tell func(done int)) ([]byte, error) {
			data := w.kept[file]
			if data == nil || anew {
				data = w.files[file]
			}
			if data == nil {
				return nil, errors.New("the server answered 404")
			}
			tell(len(data) / 2)
			return data, ctx.Err()
		},
		Changed: func(d Device, note string) { w.told, w.notes = append(w.told, d), append(w.notes, note) },
	}
	return w
}

// start starts the host. At the end of the test everything is closed.
func (w *world) start() *world {
	w.Host = start(w.t.Context(), w.platform, system{
		open: func(ctx context.Context) (gpu.Device, error) {
			require.NoError(w.t, ctx.Err())
			offer := w.offers[0]
			w.offers = w.offers[min(1, len(w.offers)-1):]
			if err, ok := offer.(error); ok {
				return nil, err
			}
			return w.device(offer.(gpu.Info)), nil
		},
		processor: func() gpu.Device { return w.device(processor) },
		compile: func(_ context.Context, d gpu.Device, m *weights.Model, p model.Precision) (Engine, error) {
			f := d.(*fakeDevice)
			w.note("compile %s %s on %s", m.Metadata.Name, p, f.info.Adapter)
			if w.compile != nil {
				if err := w.compile(f, m); err != nil {
					return nil, err
				}
			}
			w.count(1)
			return &fakeEngine{w: w, device: f, about: m.Metadata}, nil
		},
		warm: func(_ context.Context, d gpu.Device, about weights.Entry, p model.Precision) error {
			w.note("warm %s %s on %s", about.Name, p, d.(*fakeDevice).info.Adapter)
			return errors.New("as asked; nobody hears of it")
		},
		now: func() time.Time { return w.time },
	})
	if mk := w.engines.making; mk != nil { // warming, which whoever makes an engine at once would skip
		<-mk.done
	}
	w.t.Cleanup(func() {
		w.closeDevice()
		require.Zero(w.t, w.alive, "devices and engines that are not closed")
	})
	return w
}

func (w *world) device(info gpu.Info) *fakeDevice {
	w.count(1)
	return &fakeDevice{w: w, info: info}
}

func (w *world) count(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.alive += n
}

func (w *world) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// take returns what was noted since the last call.
func (w *world) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

var requestsMade int

// ask segments a picture and returns what computed the result.
func (w *world) ask(name string) (computer string, err error) {
	requestsMade++
	return w.askAs(requestsMade, name)
}

func (w *world) askAs(request int, name string) (computer string, err error) {
	r, err := w.Segment(w.job(request, name))
	if err != nil {
		return "", err
	}
	return r.Adapter, nil
}

func (w *world) job(request int, name string) Job {
	return Job{Request: request, Key: 1, Name: "a.png", Model: name, Read: func() []byte { return picture(w.t) },
		Options: segment.Options{Progress: func(stage string, _, _ int) { w.stages = append(w.stages, stage) }}}
}

// asks requires that a device computes the next result.
func (w *world) asks(name string, want gpu.Info) {
	w.t.Helper()
	got, err := w.ask(name)
	require.NoError(w.t, err)
	require.Equal(w.t, want.Adapter, got)
	require.Equal(w.t, want.String(), w.Computer().Name)
}

// fails makes the engines of a device fail once with each of the errors, then work.
func (w *world) fails(adapter string, causes ...error) {
	w.segment = func(_ context.Context, d *fakeDevice, _ segment.Options) error {
		if d.info.Adapter != adapter || len(causes) == 0 {
			return nil
		}
		cause := causes[0]
		causes = causes[1:]
		return cause
	}
}

// fakeDevice has a name and can be closed.
type fakeDevice struct {
	gpu.Device
	w      *world
	info   gpu.Info
	closed bool
}

func (d *fakeDevice) Info() gpu.Info { return d.info }

func (d *fakeDevice) Close() error {
	require.False(d.w.t, d.closed, "%s is closed twice", d.info)
	d.closed = true
	d.w.count(-1)
	return errors.New("as asked; nobody hears of it")
}

// fakeEngine does what the world says.
type fakeEngine struct {
	w      *world
	device *fakeDevice
	about  weights.Metadata
	closed bool
}

func (e *fakeEngine) Segment(ctx context.Context, _ *imageio.Image, o segment.Options) (*segment.Result, error) {
	require.False(e.w.t, e.closed || e.device.closed, "an engine works on after its end")
	if e.w.segment != nil {
		if err := e.w.segment(ctx, e.device, o); err != nil {
			return nil, err
		}
	}
	return &segment.Result{Maps: segment.Maps{Classes: e.about.Classes}, Adapter: e.device.info.Adapter, Timings: map[string]float64{"total": 1}}, nil
}

func (e *fakeEngine) Field(ctx context.Context, img *imageio.Image, o segment.Options) (*instances.Field, error) {
	f := instances.New(img.W, img.H, "cell")
	for x := range 2 {
		if _, err := e.Object(ctx, img, f, imageio.Square{X: 20 * x, Side: 10}, 0, o); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Object draws the whole square.
func (e *fakeEngine) Object(ctx context.Context, _ *imageio.Image, f *instances.Field, s imageio.Square, number uint16, o segment.Options) (uint16, error) {
	if _, err := e.Segment(ctx, nil, o); err != nil {
		return 0, err
	}
	return f.Add(image.Rect(s.X, s.Y, s.X+s.Side, s.Y+s.Side), bytes.Repeat([]byte{255}, s.Side*s.Side), instances.Object{Number: number, By: instances.Model})
}

func (e *fakeEngine) Repeat(ctx context.Context, _ *imageio.Image, r *segment.Maps, o segment.Options) (*segment.Repeats, error) {
	_, err := e.Segment(ctx, nil, o)
	return &segment.Repeats{Views: len(r.Classes)}, err
}

func (e *fakeEngine) Prove(context.Context, string) error {
	e.w.note("prove %s on %s", e.about.Name, e.device.info.Adapter)
	if e.w.prove == nil {
		return nil
	}
	return e.w.prove(e.device)
}

func (e *fakeEngine) Close() {
	require.False(e.w.t, e.closed || e.device.closed, "an engine is closed twice, or after its device")
	e.closed = true
	e.w.count(-1)
}

// untrained is a weights file.
func untrained(t *testing.T, about weights.Metadata) []byte {
	t.Helper()
	file, err := segmenttest.Untrained(about)
	require.NoError(t, err)
	data, err := segmenttest.Encode(file)
	require.NoError(t, err)
	return data
}

// named is a model of raters with a name and a side; for side 0 it is 64.
func named(name string, side int) weights.Metadata {
	about := segmenttest.Raters()
	about.Name, about.Side = name, cmp.Or(side, about.Side)
	return about
}

// encoded are the weights of the shipped models.
var encoded = map[string][]byte{}

// shipped makes a manifest of models, one too large for the processor, and puts their weights into
// files.
func shipped(t *testing.T, files map[string][]byte) *weights.Manifest {
	var models weights.Manifest
	for name, side := range map[string]int{"brain": 0, "cells": 0, "large": 512} {
		if encoded[name] == nil {
			encoded[name] = untrained(t, named(name, side))
		}
		data, file := encoded[name], name+".safetensors"
		sum := sha256.Sum256(data)
		models.Models = append(models.Models, weights.Entry{Name: name, File: file, Bytes: len(data), SHA256: hex.EncodeToString(sum[:])})
		files[file] = data
	}
	return &models
}

// picture is a small PNG.
func picture(t *testing.T) []byte { return encodedPNG(t, 4, 3) }

// encodedPNG is a black PNG.
func encodedPNG(t *testing.T, w, h int) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, png.Encode(&out, image.NewGray(image.Rect(0, 0, w, h))))
	return out.Bytes()
}
