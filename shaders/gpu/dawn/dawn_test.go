//go:build ((linux || darwin) && (amd64 || arm64)) || (windows && amd64)

package dawn

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu"
)

// Tests use the software driver, which is equal on every machine, unless VK_DRIVER_FILES names
// another one. (gputest does this for packages above this one.)
func TestMain(m *testing.M) {
	if os.Getenv(planted) != "" {
		openPlanted()
	}
	const lavapipe = "/usr/share/vulkan/icd.d/lvp_icd.json"
	if _, err := os.Stat(lavapipe); err == nil && os.Getenv("VK_DRIVER_FILES") == "" {
		_ = os.Setenv("VK_DRIVER_FILES", lavapipe)
	}
	os.Exit(m.Run())
}

// open opens a device, or skips the test and says what is missing. With CI=true a missing device
// fails the test.
func open(t *testing.T) *device {
	t.Helper()
	d, err := Open(t.Context(), func(string) {})
	if errors.Is(err, gpu.ErrNoAdapter) && os.Getenv("CI") != "true" {
		t.Skipf("no Dawn: %v", err)
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d.(*device)
}

// noBody stands for the Go body, which this backend never calls.
func noBody(any, []gpu.Array) { panic("a GPU backend ran the Go body") }

const saxpySource = `
struct Params { n: u32, a: f32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3u) {
  if (id.x < params.n) { y[id.x] += params.a * x[id.x]; }
}`

var saxpy = &gpu.Program{Name: "saxpy", Source: saxpySource, Entry: "saxpy", Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite}, Body: noBody}

type saxpyParams struct {
	N uint32
	A float32
}

const sumSource = `
struct Params { n: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
var<workgroup> part: array<f32, 64>;
@compute @workgroup_size(64) fn sum(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) group: vec3u) {
  let at = group.x * 64u + i;
  part[i] = select(0.0, x[min(at, params.n - 1u)], at < params.n);
  for (var half = 32u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (i < half) { part[i] += part[i + half]; }
  }
  if (i == 0u) { y[group.x] = part[0]; }
}`

var sum = &gpu.Program{Name: "sum", Source: sumSource, Entry: "sum", Arguments: []gpu.Access{gpu.Read, gpu.ReadWrite}, Body: noBody}

func floats(t *testing.T, d gpu.Device, b gpu.Buffer) []float32 {
	t.Helper()
	dst := make([]byte, 4*b.Spec().Elements)
	require.NoError(t, d.Read(t.Context(), gpu.Range{Buffer: b, Dst: dst}))
	return gpu.BytesFloat32(dst)
}

// A recording that scales, adds and sums runs twice with exact results: all values are small
// integers.
func TestSaxpyAndSum(t *testing.T) {
	d := open(t)
	const n = 1000
	groups := (n + 63) / 64
	buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{
		{Label: "x", Elements: n}, {Label: "y", Elements: n}, {Label: "parts", Elements: groups}, {Label: "total", Elements: 1},
	})
	require.NoError(t, err)
	x, y, parts, total := buffers[0], buffers[1], buffers[2], buffers[3]
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(i % 7)
	}
	require.NoError(t, d.Write(x, 0, gpu.Float32Bytes(values)))
	require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{saxpy, sum, saxpy}))
	r, err := d.Record([]gpu.Command{
		{Clear: parts},
		{Program: saxpy, Params: &saxpyParams{n, 2}, Arguments: []gpu.Buffer{x, y}, Groups: [3]int{groups, 1, 1}},
		{Program: saxpy, Params: &saxpyParams{n, 1}, Arguments: []gpu.Buffer{x, y}, Groups: [3]int{groups, 1, 1}},
		{Program: sum, Params: &struct{ N uint32 }{n}, Arguments: []gpu.Buffer{y, parts}, Groups: [3]int{groups, 1, 1}},
		{Program: sum, Params: &struct{ N uint32 }{uint32(groups)}, Arguments: []gpu.Buffer{parts, total}, Groups: [3]int{1, 1, 1}},
	})
	require.NoError(t, err)
	want := float32(0)
	for run := 1; run <= 2; run++ {
		require.NoError(t, d.Run(t.Context(), r))
		want = 0
		got := floats(t, d, y)
		for i, v := range values {
			require.Equal(t, 3*float32(run)*v, got[i], "element %d of run %d", i, run)
			want += got[i]
		}
		assert.Equal(t, want, floats(t, d, total)[0])
	}
	require.NoError(t, d.Run(t.Context(), r, r))
	assert.Equal(t, 2*want, floats(t, d, total)[0], "four runs add twice what two did")
}

// A read larger than the staging buffer arrives in parts.
func TestReadLarge(t *testing.T) {
	d := open(t)
	const n = stagingMost/4 + 12345
	buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "large", Type: gpu.U32, Elements: n}})
	require.NoError(t, err)
	values := make([]uint32, n)
	for i := range values {
		values[i] = uint32(i) * 2654435761
	}
	want := gpu.Uint32Bytes(values)
	require.NoError(t, d.Write(buffers[0], 0, want))
	got := make([]byte, len(want))
	require.NoError(t, d.Read(t.Context(), gpu.Range{Buffer: buffers[0], Dst: got}))
	assert.True(t, string(want) == string(got), "the bytes differ")
}

// The conformance test has the errors of all backends. These have messages of Dawn.
func TestErrors(t *testing.T) {
	d := open(t)
	ctx := t.Context()
	buffers, err := d.Allocate(ctx, []gpu.BufferSpec{{Label: "x", Elements: 64}, {Label: "y", Elements: 64}})
	require.NoError(t, err)
	t.Run("WGSL", func(t *testing.T) {
		bad := &gpu.Program{Name: "broken/variant", Entry: "f", Body: noBody, Source: "\n\n@compute @workgroup_size(1) fn f() { nonsense(); }"}
		fine := &gpu.Program{Name: "fine", Entry: "f", Body: noBody, Source: "@compute @workgroup_size(1) fn f() {}"}
		err := d.Prepare(ctx, []*gpu.Program{fine, bad})
		require.ErrorIs(t, err, gpu.ErrValidation)
		assert.Contains(t, err.Error(), "broken/variant")
		assert.Contains(t, err.Error(), ":3:", "the line")
		assert.Contains(t, err.Error(), "nonsense")
		assert.NotContains(t, err.Error(), "program fine")
		_, err = d.Record([]gpu.Command{{Program: bad, Groups: [3]int{1, 1, 1}}})
		require.ErrorIs(t, err, gpu.ErrValidation)
		_, err = d.Record([]gpu.Command{{Program: fine, Groups: [3]int{1, 1, 1}}})
		require.NoError(t, err)
	})
	t.Run("entry point", func(t *testing.T) {
		err := d.Prepare(ctx, []*gpu.Program{{Name: "elsewhere", Entry: "g", Body: noBody, Source: "@compute @workgroup_size(1) fn f() {}"}})
		require.ErrorIs(t, err, gpu.ErrValidation)
		assert.Contains(t, err.Error(), "elsewhere")
	})
	t.Run("layout", func(t *testing.T) {
		wrong := *saxpy
		wrong.Name, wrong.Arguments = "saxpy/wrong", []gpu.Access{gpu.ReadWrite, gpu.Read}
		err := d.Prepare(ctx, []*gpu.Program{&wrong})
		require.ErrorIs(t, err, gpu.ErrValidation)
		assert.Contains(t, err.Error(), "saxpy/wrong")
	})
	t.Run("parameters too short", func(t *testing.T) {
		long := *saxpy
		long.Name = "saxpy/long"
		long.Source = strings.Replace(saxpySource, "n: u32, a: f32", "n: u32, a: f32, b: vec4f", 1)
		require.NoError(t, d.Prepare(ctx, []*gpu.Program{&long}))
		r, err := d.Record([]gpu.Command{{Program: &long, Params: &saxpyParams{64, 1}, Arguments: buffers, Groups: [3]int{1, 1, 1}}})
		if err == nil {
			err = d.Run(ctx, r)
		}
		require.ErrorIs(t, err, gpu.ErrValidation)
		assert.Contains(t, err.Error(), "saxpy/long")
	})
	require.NoError(t, d.Read(ctx, gpu.Range{Buffer: buffers[0], Dst: make([]byte, 256)}), "the device survives all of that")
}

const spinSource = `
struct Params { n: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn spin(@builtin(global_invocation_id) id: vec3u) {
  var v = f32(id.x);
  for (var i = 0u; i < params.n; i++) { v = fract(v * 1.37 + 0.11); }
  y[id.x] = v;
}`

var spin = &gpu.Program{Name: "spin", Source: spinSource, Entry: "spin", Arguments: []gpu.Access{gpu.ReadWrite}, Body: noBody}

// The end of a context stops a long run between submissions, and the device works afterwards.
func TestCancel(t *testing.T) {
	d := open(t)
	if d.Info().Kind != gpu.KindCPU {
		t.Skip("the length of this work is made for a software adapter")
	}
	buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "y", Elements: 1 << 14}})
	require.NoError(t, err)
	require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{spin}))
	commands := make([]gpu.Command, 2000)
	for i := range commands {
		commands[i] = gpu.Command{Program: spin, Params: &struct{ N uint32 }{500}, Arguments: buffers, Groups: [3]int{256, 1, 1}}
	}
	r, err := d.Record(commands)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	began := time.Now()
	err = d.Run(ctx, r)
	if err == nil {
		err = d.Read(ctx, gpu.Range{Buffer: buffers[0], Dst: make([]byte, 4)})
	}
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(began), 20*time.Second, "all of it would take a minute")
	require.NotEmpty(t, d.flight)
	require.NoError(t, d.Read(t.Context(), gpu.Range{Buffer: buffers[0], Dst: make([]byte, 4)}))
	assert.Empty(t, d.flight, "the read waited for what was still under way")
}

func TestCloseAndReopen(t *testing.T) {
	for range 5 {
		d := open(t)
		buffers, err := d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Elements: 64}, {Label: "y", Elements: 64}})
		require.NoError(t, err)
		require.NoError(t, d.Prepare(t.Context(), []*gpu.Program{saxpy}))
		r, err := d.Record([]gpu.Command{{Program: saxpy, Params: &saxpyParams{64, 1}, Arguments: buffers, Groups: [3]int{1, 1, 1}}})
		require.NoError(t, err)
		require.NoError(t, d.Run(t.Context(), r))
		require.NoError(t, d.Close())
		require.NoError(t, d.Close())
		assert.ErrorIs(t, d.Run(t.Context(), r), gpu.ErrLost)
		_, err = d.Allocate(t.Context(), []gpu.BufferSpec{{Label: "x", Elements: 64}})
		assert.ErrorIs(t, err, gpu.ErrLost)
		buffers[0].Release()
		r.Release()
		select {
		case err := <-d.Lost():
			t.Fatalf("closing is no loss: %v", err)
		default:
		}
	}
	assertNoHandlers(t)
}

// assertNoHandlers fails if Dawn can still call Go, for a device or a compilation that nobody
// wants.
func assertNoHandlers(t *testing.T) {
	t.Helper()
	handlers.Range(func(user, _ any) bool { return assert.Fail(t, "a handler stays", "number %v", user) })
}

// TestToggles looks at a toggle that does something on every driver: without validation nobody
// refuses a buffer for contradicting uses.
func TestToggles(t *testing.T) {
	contradicting := func() error {
		d := open(t)
		h, err := d.createBuffer("contradicting", usageMapRead|usageStorage, 16)
		release(d.l.BufferRelease, h)
		return err
	}
	require.Error(t, contradicting())
	t.Setenv(ToggleVariable, "no_such_toggle,skip_validation")
	require.NoError(t, contradicting())
}
