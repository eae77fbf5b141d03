package measure

import (
	"context"
	"fmt"
	"strings"

	"mrprism/shaders/gpu"
)

// ceilings are the largest rates of the device. Each is measured with a kernel that does nothing
// else.
type ceilings struct {
	Arithmetic Spread `json:"gflop_per_s"` // multiply-adds on registers, two operations each
	Int8       Spread `json:"gop8_per_s"`  // multiply-adds of int8; empty if not measured
	Memory     Spread `json:"gb_per_s"`    // read and written by a copy of copyBytes
	Dispatch   Spread `json:"dispatch_us"` // a dispatch of one invocation
}

// Constants of the kernels. An invocation has eight chains of multiply-adds, which hide their
// latency; the invocations fill any GPU.
const (
	ceilingSize  = 256 // invocations in a workgroup
	addsGroups   = 1024
	addsChains   = 8
	addsUnrolled = 16
	mostLoops    = 1 << 16
	copyBytes    = 64 << 20
)

const ceilingSource = `
struct Params { loops: u32, factor: f32, term: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> result: array<f32>;

@compute @workgroup_size(256)
fn multiply_adds(@builtin(global_invocation_id) id: vec3u) {
  let f = params.factor;
  let t = params.term;
START
  for (var i = 0u; i < params.loops; i++) {
BODY
  }
  result[id.x] = SUM;
}

@group(0) @binding(1) var<storage, read> source: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> copied: array<vec4f>;

@compute @workgroup_size(256)
fn copy(@builtin(global_invocation_id) id: vec3u) {
  copied[id.x] = source[id.x];
}

@compute @workgroup_size(1)
fn nothing() {
  result[0] = 0.0;
}
`

type ceilingParams struct {
	Loops        uint32
	Factor, Term float32
}

func ceilingPrograms() (adds, copying, nothing *gpu.Program) {
	var start, body []string
	var names []string
	for i := range addsChains {
		name := fmt.Sprintf("a%d", i)
		names = append(names, name)
		start = append(start, fmt.Sprintf("  var %s = f32(id.x + %du);", name, i))
		body = append(body, fmt.Sprintf("    %s = %[1]s * f + t;", name))
	}
	source := strings.NewReplacer("START", strings.Join(start, "\n"), "SUM", strings.Join(names, " + "),
		"BODY", strings.TrimSuffix(strings.Repeat(strings.Join(body, "\n")+"\n", addsUnrolled), "\n")).Replace(ceilingSource)
	program := func(name string, arguments ...gpu.Access) *gpu.Program {
		return &gpu.Program{Name: name, Entry: name, Source: source, Arguments: arguments}
	}
	adds = program("multiply_adds", gpu.ReadWrite)
	adds.Body = func(params any, a []gpu.Array) { multiplyAdds(params.(*ceilingParams), a[0].F) }
	copying = program("copy", gpu.Read, gpu.ReadWrite)
	copying.Body = func(_ any, a []gpu.Array) { copy(a[1].F, a[0].F) }
	copying.Fast = func(_ any, a []gpu.Array32, split gpu.Split) {
		split(len(a[0].F), func(from, to int) { copy(a[1].F[from:to], a[0].F[from:to]) })
	}
	nothing = program("nothing", gpu.ReadWrite)
	nothing.Body = func(_ any, a []gpu.Array) { a[0].F[0] = 0 }
	nothing.Fast = func(_ any, a []gpu.Array32, _ gpu.Split) { a[0].F[0] = 0 }
	return adds, copying, nothing
}

// multiplyAdds is the kernel of multiply-adds in Go.
func multiplyAdds(p *ceilingParams, result []float64) {
	f, t := float64(p.Factor), float64(p.Term)
	for i := range result {
		x := float64(i)
		a, b, c, d, e, g, h, k := x, x+1, x+2, x+3, x+4, x+5, x+6, x+7
		for range p.Loops * addsUnrolled {
			a, b, c, d = a*f+t, b*f+t, c*f+t, d*f+t
			e, g, h, k = e*f+t, g*f+t, h*f+t, k*f+t
		}
		result[i] = a + b + c + d + e + g + h + k
	}
}

// findCeilings measures the ceilings.
func findCeilings(ctx context.Context, d gpu.Device, repeats int) (*ceilings, error) {
	adds, copying, nothing := ceilingPrograms()
	if err := d.Prepare(ctx, []*gpu.Program{adds, copying, nothing}); err != nil {
		return nil, err
	}
	const elements = copyBytes / 4
	buffers, err := d.Allocate(ctx, []gpu.BufferSpec{
		{Label: "results", Elements: ceilingSize * addsGroups}, {Label: "from", Elements: elements}, {Label: "to", Elements: elements},
	})
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, b := range buffers {
			b.Release()
		}
	}()
	c := &ceilings{}
	if d.Info().Kind == gpu.KindProcessor {
		err = c.measureVectors(ctx, d, repeats)
	} else {
		c.Arithmetic, err = fullRate(ctx, d, repeats, func(loops uint32) (gpu.Command, float64) {
			p := &ceilingParams{Loops: loops, Factor: 0.999, Term: 0.5}
			return gpu.Command{Program: adds, Params: p, Arguments: buffers[:1], Groups: [3]int{addsGroups, 1, 1}},
				ceilingSize * addsGroups * addsChains * addsUnrolled * float64(loops)
		})
	}
	if err != nil {
		return nil, err
	}
	ms, err := replay(ctx, d, gpu.Command{Program: copying, Arguments: buffers[1:], Groups: [3]int{elements / 4 / ceilingSize, 1, 1}}, repeats)
	if err != nil {
		return nil, err
	}
	c.Memory = ms.rate(2e-6 * copyBytes)
	ms, err = replay(ctx, d, gpu.Command{Program: nothing, Arguments: buffers[:1], Groups: [3]int{1, 1, 1}}, repeats)
	c.Dispatch = ms.scaled(1000)
	return c, err
}

// fullRate is the rate of a command in billions of operations per second. It doubles the loops
// until the cost of starting does not count. command returns the command and its multiply-adds,
// which are two operations each.
func fullRate(ctx context.Context, d gpu.Device, repeats int, command func(loops uint32) (gpu.Command, float64)) (Spread, error) {
	for loops := uint32(1); ; loops *= 2 {
		command, adds := command(loops)
		ms, err := replay(ctx, d, command, repeats)
		if err != nil || ms.Median > milliseconds(replayTime) || loops == mostLoops {
			return ms.rate(2e-6 * adds), err
		}
	}
}
