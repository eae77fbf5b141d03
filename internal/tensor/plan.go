package tensor

import (
	"context"
	"fmt"
	"slices"

	"mrprism/internal/gpu"
)

// Plan is a graph compiled for a device: memory and a recorded command list, ready to be replayed.
type Plan struct {
	device     gpu.Device
	set        *Set
	floats     gpu.ElementType // of the graph
	buffers    map[*storage]gpu.Buffer
	owned      []gpu.Buffer
	constants  gpu.Recording // what depends on parameters alone; nil: nothing does
	folded     int           // the set's version when it ran
	recording  gpu.Recording
	nodes      []node // of recording
	trains     bool   // writes learned variables
	dispatches int
	bytes      int64
}

// Compile drops nodes whose results nobody reads, lets kernels absorb what follows them and compute in place what is copied, sets apart what
// depends on parameters alone, lets storages whose lives do not overlap share memory, compiles pipelines and records the commands. Results
// are what was kept and what is written to variables.
func Compile(ctx context.Context, device gpu.Device, set *Set, g *Graph) (*Plan, error) {
	if err := set.Allocate(ctx, device); err != nil {
		return nil, err
	}
	once, each, held := fold(elide(fresh(fuse(live(g.nodes), device.Info()))))
	p := &Plan{device: device, set: set, floats: g.floats, buffers: map[*storage]gpu.Buffer{}, trains: writeLearned(each), folded: -1, nodes: each}
	if err := p.allocate(ctx, slices.Concat(once, each), held); err != nil {
		p.Release()
		return nil, err
	}
	constants, programs := p.commands(once, nil)
	commands, programs := p.commands(each, programs)
	for _, c := range commands {
		if c.Program != nil {
			p.dispatches++
		}
	}
	err := device.Prepare(ctx, programs)
	if err == nil && len(constants) > 0 {
		p.constants, err = device.Record(constants)
	}
	if err == nil {
		p.recording, err = device.Record(commands)
	}
	if err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// commands are the nodes with their buffers; programs grows by those that are new.
func (p *Plan) commands(nodes []node, programs []*gpu.Program) ([]gpu.Command, []*gpu.Program) {
	commands := make([]gpu.Command, 0, len(nodes))
	for _, n := range nodes {
		if n.kernel == nil {
			commands = append(commands, gpu.Command{Clear: p.buffer(n.clear)})
			continue
		}
		program, groups := p.program(&n)
		if !slices.Contains(programs, program) {
			programs = append(programs, program)
		}
		c := gpu.Command{Program: program, Params: n.params, Groups: groups}
		for _, a := range n.arguments {
			c.Arguments = append(c.Arguments, p.buffer(a))
		}
		commands = append(commands, c)
	}
	return commands, programs
}

// allocate makes the plan's own buffers: one for each kept or held storage, shared slots for the rest.
func (p *Plan) allocate(ctx context.Context, nodes []node, held map[*storage]bool) error {
	slots := assign(nodes, held)
	kept := map[*storage]bool{}
	var order []*storage
	for _, n := range nodes {
		for _, s := range n.touched() {
			if (s.kept || held[s]) && s.variable == nil && !kept[s] {
				kept[s] = true
				order = append(order, s)
			}
		}
	}
	var specs []gpu.BufferSpec
	for _, s := range slots.slots {
		specs = append(specs, gpu.BufferSpec{Label: s.label, Type: s.kind, Elements: s.elements})
	}
	for _, s := range order {
		specs = append(specs, gpu.BufferSpec{Label: s.label, Type: s.kind, Elements: s.elements})
	}
	for _, s := range specs {
		p.bytes += int64(s.Bytes())
	}
	owned, err := p.device.Allocate(ctx, specs)
	if err != nil {
		return fmt.Errorf("tensor: %.1f MiB for a plan: %w", float64(p.bytes)/(1<<20), err)
	}
	p.owned = owned
	for s, slot := range slots.of {
		p.buffers[s] = owned[slot]
	}
	for i, s := range order {
		b := owned[len(slots.slots)+i]
		p.buffers[s] = b
		if s.constant != nil {
			if err := p.device.Write(b, 0, s.constant); err != nil {
				return err
			}
		}
	}
	for _, n := range nodes {
		for _, s := range n.arguments {
			if s.whole != nil && s.variable == nil && p.buffers[s] == nil {
				p.buffers[s] = gpu.NewView(s.label, p.buffers[s.whole], s.first, s.elements)
			}
		}
	}
	return nil
}

func (p *Plan) buffer(s *storage) gpu.Buffer {
	if s.variable != nil {
		return p.set.Buffer(s.variable)
	}
	return p.buffers[s]
}

// Run replays the commands, after those that depend on parameters alone where one has been written since. Results are there when Read
// returns.
func (p *Plan) Run(ctx context.Context) error {
	recordings := []gpu.Recording{p.recording}
	if p.constants != nil && p.folded != p.set.version {
		recordings = []gpu.Recording{p.constants, p.recording}
	}
	if p.trains { // even where it fails half way
		p.set.version++
	}
	if err := p.device.Run(ctx, recordings...); err != nil {
		return err
	}
	p.folded = p.set.version
	return nil
}

// Write fills an input with floats. An input that no live node reads is ignored.
func (p *Plan) Write(t *Tensor, values []float32) error {
	b, err := encode(t.String(), t.Type(), values)
	if err != nil {
		return err
	}
	return p.write(t, len(values), b)
}

// WriteUint32 fills an input of u32.
func (p *Plan) WriteUint32(t *Tensor, values []uint32) error {
	return p.write(t, len(values), gpu.Uint32Bytes(values))
}

// WriteBytes fills an input of any type with little-endian elements.
func (p *Plan) WriteBytes(t *Tensor, b []byte) error { return p.write(t, len(b)/t.Type().Size(), b) }

func (p *Plan) write(t *Tensor, n int, b []byte) error {
	if n != t.Elements() {
		return fmt.Errorf("tensor: %v takes %d values, got %d", t, t.Elements(), n)
	}
	buffer := p.buffer(t.storage)
	if buffer == nil {
		return nil
	}
	return p.device.Write(buffer, 0, b)
}

// Read waits and returns kept tensors.
func (p *Plan) Read(ctx context.Context, tensors ...*Tensor) ([][]float32, error) {
	ranges := make([]gpu.Range, len(tensors))
	for i, t := range tensors {
		b := p.buffer(t.storage)
		if b == nil || (!t.storage.kept && t.storage.variable == nil) {
			return nil, fmt.Errorf("tensor: %v was not kept, or nothing computes it", t)
		}
		ranges[i] = gpu.Range{Buffer: b, Dst: make([]byte, t.Type().Size()*t.Elements())}
	}
	if err := p.device.Read(ctx, ranges...); err != nil {
		return nil, err
	}
	out := make([][]float32, len(tensors))
	for i, r := range ranges {
		out[i] = tensors[i].Type().Decode(r.Dst)
	}
	return out, nil
}

// Buffer is the memory of a kept tensor or variable, for tests; nil if the plan does not touch it.
func (p *Plan) Buffer(t *Tensor) gpu.Buffer { return p.buffer(t.storage) }

// Dispatches is the number of dispatches in one run, without those that depend on parameters alone.
func (p *Plan) Dispatches() int { return p.dispatches }

// Commands lists the commands of one run, without those that depend on parameters alone, and of each the bytes of the tensors that it
// touches, every one counted once (their buffers may be longer): for who measures them one at a time.
func (p *Plan) Commands() (commands []gpu.Command, bytes []int64) {
	commands, _ = p.commands(p.nodes, nil)
	for i := range p.nodes {
		seen, total := map[*storage]bool{}, int64(0)
		arguments := p.nodes[i].arguments
		if p.nodes[i].kernel == nil {
			arguments = []*storage{p.nodes[i].clear}
		}
		for _, s := range arguments {
			if !seen[s] {
				seen[s] = true
				total += int64(gpu.BufferSpec{Type: s.kind, Elements: s.elements}.Bytes())
			}
		}
		bytes = append(bytes, total)
	}
	return commands, bytes
}

// Bytes is the memory that the plan owns, variables not included.
func (p *Plan) Bytes() int64 { return p.bytes }

// Release returns the plan's memory and recording.
func (p *Plan) Release() {
	for _, r := range []gpu.Recording{p.constants, p.recording} {
		if r != nil {
			r.Release()
		}
	}
	p.constants, p.recording = nil, nil
	for _, b := range p.owned {
		b.Release()
	}
	p.owned = nil
}
