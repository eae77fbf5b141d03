// Package page decides for the page's worker: which device computes, when the processor takes over
// from a GPU that fails, and when to return to the GPU. It makes engines and keeps results. It
// knows nothing of browsers: wasm/segmenter turns the page's messages into its calls.
package page

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mrprism/internal/data/instances"
	"mrprism/internal/files/imageio"
	"mrprism/internal/segment"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
)

const (
	keptPictures = 2
	keptResults  = 4
)

// Platform is the surroundings of a host: the user's wishes and what the browser does for it.
type Platform struct {
	Device    string            // wished by the user, one of device.Names; empty: auto
	Precision model.Precision   // wished by the user; empty: F32
	Returns   bool              // a GPU that is refused now may be offered later
	Models    *weights.Manifest // the models that Fetch can download

	// Fetch downloads the weights of a shipped model and tells the bytes received. With anew it
	// does not use copies that caches or proxies keep.
	Fetch func(ctx context.Context, file string, anew bool, tell func(done int)) ([]byte, error)
	// Waiting reports whether another message waits. It may be called by any goroutine.
	Waiting func() bool
	// Changed is told that another device computes, and what the user should know about it.
	Changed func(d Device, note string)
}

// Engine is a model on a device: a segment.Engine, or a fake in tests.
type Engine interface {
	Segment(ctx context.Context, img *imageio.Image, o segment.Options) (*segment.Result, error)
	Field(ctx context.Context, img *imageio.Image, o segment.Options) (*instances.Field, error)
	Object(ctx context.Context, img *imageio.Image, field *instances.Field, square imageio.Square, number uint16, o segment.Options) (uint16, error)
	Repeat(ctx context.Context, img *imageio.Image, r *segment.Maps, o segment.Options) (*segment.Repeats, error)
	Prove(ctx context.Context, proof string) error
	Close()
}

// system opens devices, compiles networks and tells the time. Tests have a fake one.
type system struct {
	open      func(ctx context.Context) (gpu.Device, error) // the wished device
	processor func() gpu.Device
	compile   func(ctx context.Context, d gpu.Device, m *weights.Model, p model.Precision) (Engine, error)
	warm      func(ctx context.Context, d gpu.Device, about weights.Entry, p model.Precision) error
	now       func() time.Time
}

// Host keeps devices, engines, pictures and results from one message to the next. One goroutine
// calls it; any goroutine may call Cancel and Interrupt.
type Host struct {
	Platform
	system
	requests
	computer choice
	engines  engines
	own      []*weights.Model // the user's files
	pictures recent[*imageio.Image]
	results  recent[*Segmented]
	passing  recent[*Segmented] // the last of Job.Passing
	fields   recent[*instances.History]
	stack    *stack // nil: the list is no series
}

// New opens a device and returns a host that computes with it.
func New(ctx context.Context, p Platform) *Host {
	name := p.Device
	if name == "" {
		name = device.Auto
	}
	return start(ctx, p, system{
		open: func(ctx context.Context) (gpu.Device, error) { return device.Open(ctx, name, device.Options{}) },
		processor: func() gpu.Device {
			d, err := device.Open(context.Background(), device.Processor, device.Options{})
			if err != nil {
				panic(err) // the processor opens everywhere
			}
			return d
		},
		compile: func(ctx context.Context, d gpu.Device, m *weights.Model, p model.Precision) (Engine, error) {
			e, err := segment.New(ctx, d, m, p)
			if err != nil {
				return nil, err
			}
			return e, nil
		},
		warm: segment.Warm,
		now:  time.Now,
	})
}

func start(ctx context.Context, p Platform, s system) *Host {
	h := &Host{Platform: p, system: s, requests: newRequests()}
	h.pictures.most, h.results.most, h.passing.most = keptPictures, keptResults, 1
	h.fields.most = keptPictures
	h.openDevice(ctx)
	if h.computer.reason != "" && p.Returns {
		// After losses Chrome refuses adapters for a while, even to a page that is loaded again.
		h.computer.retry = s.now().Add(gpuPause)
	}
	return h
}

// Job is an image to segment.
type Job struct {
	Request int                // its number: Result finds the result by it
	Key     int                // of the picture: an equal key finds the decoded picture
	Name    string             // of the image's file
	Read    func() []byte      // reads the file; nil: the host should have the picture
	Turn    int                // quarter turns clockwise after decoding, 0 to 3
	Slice   int                // of the file, from 1; 0: as imageio.DecodeSlice chooses
	Part    int                // the file's number in the host's series, from 1; 0: it is none of it
	Model   string             // the name of a shipped model, or of one that OpenWeights opened
	Options segment.Options    // Progress is told every stage
	Marks   []segment.MarkFile // evidence in files, beside that of Options
	// Replaces is an earlier request whose result nobody needs once this one is there, such as a
	// preview; 0: none.
	Replaces int
	Show     func(*imageio.Image) // receives the decoded picture; nil: nobody needs it
	// Known is the request of an earlier result of the same picture, model and options. If the host
	// still keeps that result, it is the answer.
	Known int
	// Passing says that nobody looks at the result. The host keeps only the last such result, apart
	// from the others.
	Passing bool
}

// Segmented is a result with the model that computed it.
type Segmented struct {
	*segment.Result
	Model *weights.Model
}

// Segment decodes an image, or takes the picture that it kept, calls Show with it, and segments it.
// It keeps the last results for Result.
func (h *Host) Segment(job Job) (*Segmented, error) {
	ctx, end := h.begin(job.Request)
	defer end()
	h.settle()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	begun, tell := h.now(), h.paced(job.Options.Progress)
	job.Options.Progress, job.Options.Name = tell, job.Name
	img, err := h.picture(&job, tell)
	if err != nil {
		return nil, err
	}
	if job.Show != nil {
		job.Show(img)
	}
	for _, file := range job.Marks {
		mark, err := file.Evidence(img)
		if err != nil {
			return nil, err
		}
		job.Options.Evidence = append(job.Options.Evidence, mark)
	}
	if known, ok := h.results.find(job.Known); ok {
		h.results.add(job.Request, known)
		return known, nil
	}
	h.returnToGPU(ctx, job.Model)
	if err := h.useModel(ctx, job.Model, tell); err != nil {
		return nil, err
	}
	if err := segment.CheckRecurrences(&h.engines.model.Metadata, job.Options.Recurrences); err != nil {
		return nil, &segment.OptionError{Err: err}
	}
	r, err := h.run(ctx, img, job.Options)
	// At most two runs follow: on the GPU opened again, then on the processor.
	for again := false; err != nil && h.recover(ctx, err, again); again = true {
		r, err = h.run(ctx, img, job.Options)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", job.Name, err)
	}
	made := &Segmented{r, h.engines.model}
	if err := h.stack.add(job.Part, made); err != nil {
		return nil, err
	}
	h.results.drop(job.Replaces)
	if job.Passing {
		h.passing.add(job.Request, made)
	} else {
		h.results.add(job.Request, made)
	}
	// The engine's total is the network's time. The user also waited for downloads and decoding.
	r.Timings["network"] = r.Timings["total"]
	r.Timings["total"] = float64(h.now().Sub(begun).Microseconds()) / 1000
	return made, nil
}

// Decode decodes a job's picture, or takes the one that it kept, and calls Show with it.
func (h *Host) Decode(job Job) error {
	img, err := h.picture(&job, job.Options.Progress)
	if err == nil {
		job.Show(img)
	}
	return err
}

// Prepare downloads and compiles a model. It returns when that is done. If another message waits,
// it returns once the model is downloaded, and the engine is made in the background. Prepare
// returns no failure of the device: Segment meets and handles it.
func (h *Host) Prepare(request int, name string, tell func(stage string, done, total int)) error {
	ctx, end := h.begin(request)
	defer end()
	h.settle()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := h.useModel(ctx, name, h.paced(tell)); err != nil {
		return err
	}
	if h.make(false); h.engines.making != nil {
		h.whileIdle(ctx, h.engines.making.done, h.Waiting)
	}
	return ctx.Err()
}

// Result returns the result of a request, if the host still keeps it.
func (h *Host) Result(request int) (*Segmented, error) {
	h.settle()
	for _, kept := range []recent[*Segmented]{h.results, h.passing} {
		if r, ok := kept.find(request); ok {
			return r, nil
		}
	}
	return nil, Fault{"gone", "That result is no longer in memory.", "Segment the image again."}
}

// picture finds a job's picture, or decodes it.
func (h *Host) picture(job *Job, tell func(string, int, int)) (*imageio.Image, error) {
	if img, ok := h.pictures.find(job.Key); ok {
		return img, nil
	}
	tell("decode", 0, 0)
	var img *imageio.Image
	var err error
	if job.Read == nil {
		img, err = h.stack.read(job)
	} else {
		img, err = imageio.DecodeSlice(job.Name, job.Read(), job.Slice)
	}
	if err != nil {
		return nil, err
	}
	img = img.Turned(job.Turn)
	h.pictures.add(job.Key, img)
	return img, nil
}

// recent keeps the values that were added last.
type recent[T any] struct {
	most   int
	keys   []int
	values []T
}

func (r *recent[T]) add(key int, value T) {
	from := max(0, len(r.keys)+1-r.most)
	r.keys = append(append([]int(nil), r.keys[from:]...), key)
	r.values = append(append([]T(nil), r.values[from:]...), value)
}

func (r *recent[T]) drop(key int) {
	if i := slices.Index(r.keys, key); i >= 0 {
		r.keys = slices.Delete(slices.Clone(r.keys), i, i+1)
		r.values = slices.Delete(slices.Clone(r.values), i, i+1)
	}
}

func (r *recent[T]) find(key int) (value T, ok bool) {
	for i, k := range r.keys {
		if k == key {
			return r.values[i], true
		}
	}
	return value, false
}
