package gputest_test

import (
	"context"
	"math"
	"strings"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/reference"
)

// testRefusals gives the device invalid commands, on which a backend's library may abort, do
// nothing or answer later. All of them must return ErrValidation, and the device must work
// afterwards.
func testRefusals(h *harness) {
	p := vectorParams{N: 1, Factor: 1}
	x, y, twice := h.vector(1), h.vector(2), h.allocate(gpu.F32, 65)
	h.check(h.d.Prepare(h.ctx, []*gpu.Program{add, both, increment, gather}), "Prepare")
	other := reference.Open()
	defer other.Close()
	foreign, err := other.Allocate(context.Background(), []gpu.BufferSpec{{Label: "foreign", Type: gpu.F32, Elements: 1}})
	h.check(err, "Allocate elsewhere")
	released, err := h.d.Allocate(h.ctx, []gpu.BufferSpec{{Label: "released", Type: gpu.F32, Elements: 1}})
	h.check(err, "Allocate")
	released[0].Release()
	unprepared := *increment
	groups := func(i, j, k int) gpu.Command {
		return gpu.Command{Program: increment, Params: &p, Arguments: []gpu.Buffer{y}, Groups: [3]int{i, j, k}}
	}
	for _, c := range []struct {
		name    string
		command gpu.Command
	}{
		{"too few arguments", dispatch(add, p, x)},
		{"too many arguments", dispatch(add, p, x, y, h.vector(3))},
		{"no argument", dispatch(add, p, nil, y)},
		{"0 workgroups", groups(0, 1, 1)},
		{"-1 workgroups", groups(1, -1, 1)},
		{"65,536 workgroups", groups(1, 1, 65536)},
		{"one buffer read and written", dispatch(add, p, y, y)},
		{"two views of a buffer, one read and one written", dispatch(add, p, gpu.NewView("", twice, 0, 1), gpu.NewView("", twice, 64, 1))},
		{"a buffer read and its view written", dispatch(add, p, twice, gpu.NewView("", twice, 64, 1))},
		{"a view written twice", dispatch(both, p, gpu.NewView("", twice, 64, 1), twice)},
		{"a view of a released buffer", dispatch(add, p, gpu.NewView("", released[0], 0, 1), y)},
		{"a view of another device's buffer", dispatch(add, p, gpu.NewView("", foreign[0], 0, 1), y)},
		{"a program never prepared", dispatch(&unprepared, p, y)},
		{"another device's buffer", dispatch(add, p, foreign[0], y)},
		{"a released buffer", dispatch(add, p, released[0], y)},
		{"clearing a released buffer", gpu.Command{Clear: released[0]}},
		{"an empty command", gpu.Command{}},
		{"a dispatch that also clears", gpu.Command{Program: add, Params: &p, Arguments: []gpu.Buffer{x, y}, Groups: [3]int{1, 1, 1}, Clear: y}},
		{"parameters of no fixed size", gpu.Command{Program: increment, Params: &struct{ S string }{}, Arguments: []gpu.Buffer{y}, Groups: [3]int{1, 1, 1}}},
	} {
		_, err := h.d.Record([]gpu.Command{dispatch(add, p, x, y), c.command})
		h.refuse(err, gpu.ErrValidation, "recording "+c.name)
	}

	// A buffer released after the recording was made is found when it runs.
	soon, err := h.d.Allocate(h.ctx, []gpu.BufferSpec{{Label: "soon", Type: gpu.F32, Elements: 1}})
	h.check(err, "Allocate")
	stale, zeroing := h.record(dispatch(add, p, soon[0], y)), h.record(gpu.Command{Clear: soon[0]})
	soon[0].Release()
	h.refuse(h.d.Run(h.ctx, stale), gpu.ErrValidation, "running with a released buffer")
	h.refuse(h.d.Run(h.ctx, zeroing), gpu.ErrValidation, "zeroing a released buffer")
	gone := h.record(dispatch(add, p, x, y))
	gone.Release()
	gone.Release()
	h.refuse(h.d.Run(h.ctx, gone), gpu.ErrValidation, "running a released recording")

	h.run(dispatch(add, p, x, y))
	equal(h, h.floats(y), []float32{3}, "y after the refusals")
}

func testTransfers(h *harness) {
	b, i8 := h.vector(1, 2, 3, 4), h.allocate(gpu.I8, 10)
	four := make([]byte, 4)
	h.refuse(h.d.Write(b, 4, four), gpu.ErrValidation, "writing past the end")
	h.refuse(h.d.Write(b, -1, four), gpu.ErrValidation, "writing before the beginning")
	h.refuse(h.d.Write(b, math.MaxInt, four), gpu.ErrValidation, "writing far past the end")
	h.refuse(h.d.Read(h.ctx, gpu.Range{Buffer: b, Offset: math.MaxInt, Dst: four}), gpu.ErrValidation, "reading far past the end")
	h.refuse(h.d.Write(b, 0, make([]byte, 20)), gpu.ErrValidation, "writing too much")
	h.refuse(h.d.Write(b, 0, make([]byte, 3)), gpu.ErrValidation, "writing part of an element")
	h.refuse(h.d.Write(i8, 2, four), gpu.ErrValidation, "writing int8 from the middle of a word")
	h.refuse(h.d.Write(i8, 4, make([]byte, 3)), gpu.ErrValidation, "writing int8 up to the middle of a word")
	h.refuse(h.d.Read(h.ctx, gpu.Range{Buffer: b, Offset: 4, Dst: four}), gpu.ErrValidation, "reading past the end")
	h.refuse(h.d.Read(h.ctx, gpu.Range{Buffer: b, Offset: -1, Dst: four}), gpu.ErrValidation, "reading before the beginning")
	h.refuse(h.d.Read(h.ctx, gpu.Range{Buffer: i8, Offset: 8, Dst: four}), gpu.ErrValidation, "reading padding")
	equal(h, h.floats(b), []float32{1, 2, 3, 4}, "the buffer after refused writes")
}

func testTooLarge(h *harness) {
	limit := int(h.d.Info().Limits.BufferSize)
	for _, elements := range []int{limit/4 + 1, 1 << 38, math.MaxInt} {
		_, err := h.d.Allocate(h.ctx, []gpu.BufferSpec{
			{Label: "small", Type: gpu.F32, Elements: 16}, {Label: "huge", Type: gpu.F32, Elements: elements},
		})
		h.refuse(err, gpu.ErrOutOfMemory, "allocating too much")
		if err != nil && !strings.Contains(err.Error(), "huge") {
			h.Errorf("the error does not name the buffer: %v", err)
		}
	}
	for _, elements := range []int{0, -1} {
		_, err := h.d.Allocate(h.ctx, []gpu.BufferSpec{{Label: "empty", Type: gpu.F32, Elements: elements}})
		h.refuse(err, gpu.ErrValidation, "allocating nothing")
	}
	equal(h, h.floats(h.vector(1, 2)), []float32{1, 2}, "a buffer afterwards")
}

func testBadPrograms(h *harness) {
	if h.d.Info().InGo() {
		h.Skip("the devices in Go do not compile WGSL")
	}
	change := func(name, from, to string) *gpu.Program {
		p := *increment
		p.Name, p.Source = name, strings.Replace(p.Source, from, to, 1)
		if p.Source == increment.Source && from != "" {
			h.Fatalf("%q is not in the source", from)
		}
		return &p
	}
	noEntry := change("bad_entry", "", "")
	noEntry.Entry = "absent"
	writesReadOnly := *increment
	writesReadOnly.Name, writesReadOnly.Arguments = "bad_access", []gpu.Access{gpu.Read}
	tooMany := *gather
	tooMany.Name = "bad_arguments"
	for range int(h.d.Info().Limits.StorageBuffersAStage) {
		tooMany.Arguments = append(tooMany.Arguments, gpu.Read)
	}
	for _, p := range []*gpu.Program{
		change("bad_syntax", "z[id.x] += 1.0", "z[id.x] += += 1.0"),
		change("bad_type", "z[id.x] += 1.0", "z[id.x] += vec2f(1.0, 2.0)"),
		change("bad_name", "z[id.x] += 1.0", "z[id.x] += nothing"),
		noEntry, &writesReadOnly, &tooMany,
	} {
		err := h.d.Prepare(h.ctx, []*gpu.Program{p})
		h.refuse(err, gpu.ErrValidation, p.Name)
		if err != nil && !strings.Contains(err.Error(), p.Name) {
			h.Errorf("the error does not name program %s: %v", p.Name, err)
		}
		if _, err := h.d.Record([]gpu.Command{dispatch(p, vectorParams{N: 1}, h.vector(1))}); err == nil {
			h.Errorf("%s could be recorded", p.Name)
		}
	}
	z := h.vector(1)
	h.run(dispatch(increment, vectorParams{N: 1}, z))
	equal(h, h.floats(z), []float32{2}, "z afterwards")
}
