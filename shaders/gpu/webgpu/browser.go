//go:build js

package webgpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"syscall/js"
	"time"

	"mrprism/shaders/gpu"
)

// device is the browser's device through site/worker/gpu.js, which numbers buffers, pipelines and
// recordings. The module cogentcore/webgpu is not used, because its browser half reports failures
// as success.
type device struct {
	gpu.Frame[int, int]
	object    js.Value
	onLost    js.Func
	pipelines map[*gpu.Program]int
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
	d := &device{pipelines: map[*gpu.Program]int{}}
	d.Init(d, "", stagingBytes)
	d.onLost = js.FuncOf(func(_ js.Value, arguments []js.Value) any {
		_ = d.Lose(arguments[0].String())
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
	d.About = gpu.Info{
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
		d.About.Features = append(d.About.Features, features.Index(i).String())
	}
	if language := js.Global().Get("navigator").Get("gpu").Get("wgslLanguageFeatures"); language.Truthy() && language.Call("has", gpu.PackedDot).Bool() {
		d.About.Features = append(d.About.Features, gpu.PackedDot)
	}
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

// Failure returns nil: gpu.js answers each call with the failures so far.
func (d *device) Failure() error { return nil }

func (d *device) Create(_ context.Context, specs []gpu.BufferSpec) ([]int, error) {
	sizes, labels, bytes := make([]any, len(specs)), make([]any, len(specs)), 0
	for i, s := range specs {
		sizes[i], labels[i] = s.Bytes(), s.Label
		bytes += s.Bytes()
	}
	answer, err := d.ask(fmt.Sprintf("%d buffers of together %d bytes", len(specs), bytes), "allocate", sizes, labels)
	if err != nil {
		return nil, err
	}
	return numbers(answer), nil
}

// numbers are the ids in an answer of gpu.js.
func numbers(answer js.Value) []int {
	ids := answer.Get("ids")
	all := make([]int, ids.Length())
	for i := range all {
		all[i] = ids.Index(i).Int()
	}
	return all
}

func (d *device) Free(b int) { d.object.Call("releaseBuffer", b) }

func (d *device) Upload(to, at int, src []byte) error {
	for part := range slices.Chunk(src, stagingBytes) {
		d.object.Call("write", to, at, bytesToJS(part))
		at += len(part)
	}
	return nil
}

func (d *device) Download(ctx context.Context, pieces []gpu.Piece[int], total int) error {
	wanted := make([]any, 0, 3*len(pieces))
	for _, p := range pieces {
		wanted = append(wanted, p.Buffer, p.From, p.Size)
	}
	answer, err := askUntil(ctx, "reading", d.object, "read", wanted)
	if err != nil {
		return err
	}
	bytes := make([]byte, total)
	js.CopyBytesToGo(bytes, answer.Get("bytes"))
	gpu.Deliver(pieces, bytes)
	return nil
}

func (d *device) Compiled(p *gpu.Program) bool { return d.pipelines[p] != 0 }

func (d *device) Compile(ctx context.Context, programs []*gpu.Program) error {
	descriptions := make([]any, len(programs))
	for i, p := range programs {
		accesses := make([]byte, len(p.Arguments))
		for i, a := range p.Arguments {
			accesses[i] = "rw"[a]
		}
		descriptions[i] = map[string]any{
			"name": p.Name, "source": p.Source, "entry": p.Entry, "accesses": string(accesses),
		}
	}
	answer, err := ask(ctx, "compiling", d.object, "prepare", descriptions)
	if err != nil {
		if answer.Type() == js.TypeObject && answer.Get("name").Type() == js.TypeString {
			return fmt.Errorf("%s: %w", answer.Get("name").String(), err)
		}
		return err
	}
	for i, id := range numbers(answer) {
		d.pipelines[programs[i]] = id
	}
	return nil
}

// Build gives gpu.js the commands as words, in the order in which it reads them.
func (d *device) Build(steps []gpu.Step[int], params []byte) (int, error) {
	var words []byte
	add := func(values ...int) {
		for _, v := range values {
			words = binary.LittleEndian.AppendUint32(words, uint32(v))
		}
	}
	for _, s := range steps {
		if s.Program == nil {
			add(0)
		} else {
			add(d.pipelines[s.Program], s.Groups[0], s.Groups[1], s.Groups[2], len(s.Bound))
		}
		for _, b := range s.Bound {
			add(b.Buffer, b.From, b.Padded)
		}
	}
	array := js.Global().Get("Uint32Array").New(bytesToJS(words).Get("buffer"))
	answer, err := d.ask("recording", "record", array, bytesToJS(params))
	if err != nil {
		return 0, err
	}
	return answer.Get("id").Int(), nil
}

func (d *device) Drop(recording int) { d.object.Call("releaseRecording", recording) }

func (d *device) Submit(ctx context.Context, recordings []int) error {
	ids := make([]any, len(recordings))
	for i, r := range recordings {
		ids[i] = r
	}
	_, err := askUntil(ctx, "running", d.object, "run", ids)
	return err
}

// Shut drops unfinished work.
func (d *device) Shut(release func()) error {
	release()
	d.object.Call("close")
	return nil
}
