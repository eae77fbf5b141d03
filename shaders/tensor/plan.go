package tensor

import (
	"context"
	"fmt"
	"slices"

	"mrprism/shaders/gpu"
)

// Plan is a graph compiled for a device: memory and recorded command lists, ready to be replayed.
type Plan struct {
	device  gpu.Device
	set     *Set
	floats  gpu.ElementType // of the graph
	buffers map[*storage]gpu.Buffer
	owned   []gpu.Buffer
	parts   [everyRun + 1]part
	folded  int  // the set's version when the constants were computed
	trains  bool // writes learned variables
	bytes   int64
}

// part is the nodes of one stage of a plan, which run equally often.
type part struct {
	nodes      []node
	legs       []*leg
	results    []*storage // storages whose means no command needs
	dispatches int
}

// Compile makes a plan of a graph. It drops operators whose results nobody reads, applies the
// rewrites phase by phase, turns operators into dispatches, and removes copies to variables. It
// separates the dispatches that depend on parameters alone, and those that depend on early inputs,
// from the rest. It lets storages share memory if their lives do not overlap, compiles pipelines
// and records the commands. The graph can be compiled again.
func Compile(ctx context.Context, device gpu.Device, set *Set, g *Graph, phases ...[]Rewrite) (*Plan, error) {
	if err := set.Allocate(ctx, device); err != nil {
		return nil, err
	}
	nodes := elide(sloped(fresh(g.lower(g.rewritten(device.Info(), phases)))))
	parts, held := fold(hurried(gathered(g.direct(g.spread(nodes)))))
	p := &Plan{device: device, set: set, floats: g.floats, buffers: map[*storage]gpu.Buffer{}, trains: writeLearned(parts[everyRun]), folded: -1}
	if err := p.record(ctx, parts, held); err != nil {
		p.Release()
		return nil, err
	}
	return p, nil
}

// record gives the plan memory and records the commands of each part.
func (p *Plan) record(ctx context.Context, parts [everyRun + 1][]node, held map[*storage]bool) error {
	if err := p.allocate(ctx, slices.Concat(parts[:]...), held); err != nil {
		return err
	}
	var programs []*gpu.Program
	for at, nodes := range parts {
		p.parts[at].nodes = nodes
		for _, l := range cut(nodes) {
			l.commands, programs = p.commands(l.nodes, programs)
			p.parts[at].add(l)
		}
	}
	if err := p.device.Prepare(ctx, programs); err != nil {
		return err
	}
	for _, part := range p.parts {
		for _, l := range part.legs {
			if len(l.commands) == 0 {
				continue
			}
			var err error
			if l.recording, err = p.device.Record(l.commands); err != nil {
				return err
			}
			l.commands = nil
		}
	}
	return nil
}

// add appends a leg.
func (at *part) add(l *leg) {
	at.legs = append(at.legs, l)
	for _, c := range l.commands {
		if c.Program != nil {
			at.dispatches++
		}
	}
	l.awaits = l.needs(at.results)
	at.results = slices.DeleteFunc(at.results, func(s *storage) bool { return slices.Contains(l.awaits, s) })
	for _, n := range l.meets {
		at.results = append(at.results, n.target.root())
	}
}

// rewritten returns copies of the operators whose results are needed, after the rewrites.
func (g *Graph) rewritten(info gpu.Info, phases [][]Rewrite) []*Op {
	var ops []*Op
	copies := map[*Op]*Op{}
	for _, op := range live(g.ops) {
		c := *op
		c.Inputs, c.Outputs = slices.Clone(op.Inputs), slices.Clone(op.Outputs)
		if c.first != nil && copies[c.first] != nil {
			c.first = copies[c.first]
		}
		copies[op] = &c
		ops = append(ops, &c)
	}
	for _, rules := range phases {
		if !g.trains {
			ops = staged(ops)
		}
		ops = g.rewrite(info, ops, rules)
	}
	return ops
}

// commands are the nodes with their buffers. It returns programs with the new ones appended.
func (p *Plan) commands(nodes []node, programs []*gpu.Program) ([]gpu.Command, []*gpu.Program) {
	commands := make([]gpu.Command, 0, len(nodes))
	for _, n := range nodes {
		if n.kernel == nil {
			commands = append(commands, gpu.Command{Clear: p.buffer(n.target)})
			continue
		}
		program, groups := p.program(&n)
		if !slices.Contains(programs, program) {
			programs = append(programs, program)
		}
		c := gpu.Command{Program: program, Params: n.params, Groups: groups, Fresh: n.fresh}
		for _, a := range n.arguments {
			c.Arguments = append(c.Arguments, p.buffer(a))
		}
		commands = append(commands, c)
	}
	return commands, programs
}

// allocate makes the plan's own buffers: one for each kept or held storage, and slots that the
// other storages share.
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
		return fmt.Errorf("allocating %.1f MiB for a plan: %w", float64(p.bytes)/(1<<20), err)
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
	if b := p.buffers[s]; b != nil || s.whole == nil || p.buffers[s.whole] == nil {
		return b
	}
	return gpu.NewView(s.label, p.buffers[s.whole], s.first, s.elements) // no command touches this part by itself
}

// Run replays the commands that depend on more than parameters and early inputs. Read waits for the
// results.
func (p *Plan) Run(ctx context.Context) error { return p.run(ctx, everyRun, false) }

// RunApart is Run, but does not take the means over ranks that no command needs: those tensors keep
// the values of this rank.
func (p *Plan) RunApart(ctx context.Context) error { return p.run(ctx, everyRun, true) }

// RunEarly replays the commands that depend on early inputs and parameters alone. Call it after
// writing early inputs or parameters, before Run.
func (p *Plan) RunEarly(ctx context.Context) error { return p.run(ctx, early, false) }

// run replays a part, and before it the constant stage if a parameter has been written since.
func (p *Plan) run(ctx context.Context, at stage, apart bool) error {
	legs := p.parts[at].legs
	if p.folded != p.set.version {
		legs = slices.Concat(p.parts[constant].legs, legs)
	}
	if p.trains { // even if the run fails half way
		p.set.version++
	}
	var begun meetings
	var recordings []gpu.Recording
	for _, l := range legs {
		if err := begun.end(p, l.awaits); err != nil { // no command since touches them
			return err
		}
		if l.recording != nil {
			recordings = append(recordings, l.recording)
		}
		meets := slices.DeleteFunc(slices.Clone(l.meets), func(n node) bool { return apart && slices.Contains(p.parts[at].results, n.target.root()) })
		if len(meets) == 0 {
			continue
		}
		if err := p.device.Run(ctx, recordings...); err != nil {
			return err
		}
		recordings = nil
		if err := begun.begin(ctx, p, meets); err != nil {
			return err
		}
	}
	if err := p.device.Run(ctx, recordings...); err != nil {
		return err
	}
	p.folded = p.set.version
	return begun.end(p, p.parts[at].results)
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
	for s := t.storage; s != nil; s = s.repeated {
		buffer := p.buffer(s)
		for at := 0; buffer != nil && at < s.elements; at += n {
			if err := p.device.Write(buffer, at, b); err != nil {
				return err
			}
		}
	}
	return nil
}

// Read waits for the results, and returns the values of kept tensors.
func (p *Plan) Read(ctx context.Context, tensors ...*Tensor) ([][]float32, error) {
	buffers := make([]gpu.Buffer, len(tensors))
	lengths := make([]int, len(tensors))
	for i, t := range tensors {
		b := p.buffer(t.storage)
		if b == nil || !t.Kept() {
			return nil, fmt.Errorf("tensor: %v was not kept, or nothing computes it", t)
		}
		buffers[i], lengths[i] = b, t.Elements()
	}
	return readFloats(ctx, p.device, buffers, lengths)
}

// readFloats waits, and reads the first lengths[i] floats of buffer i.
func readFloats(ctx context.Context, device gpu.Device, buffers []gpu.Buffer, lengths []int) ([][]float32, error) {
	values, ranges := make([][]float32, len(buffers)), make([]gpu.Range, len(buffers))
	for i, b := range buffers {
		ranges[i].Buffer = b
		if t := b.Spec().Type; t == gpu.F32 {
			values[i] = make([]float32, lengths[i])
			ranges[i].Dst = gpu.InMemory(values[i])
		} else {
			ranges[i].Dst = make([]byte, t.Size()*lengths[i])
		}
	}
	if err := device.Read(ctx, ranges...); err != nil {
		return nil, err
	}
	for i, r := range ranges {
		if values[i] == nil {
			values[i] = r.Buffer.Spec().Type.Decode(r.Dst)
		}
	}
	return values, nil
}

// Buffer is the memory of a kept tensor or variable, for tests; nil if the plan does not touch it.
func (p *Plan) Buffer(t *Tensor) gpu.Buffer { return p.buffer(t.storage) }

// Dispatches is the number of dispatches that Run replays. It does not count those that depend on
// parameters alone.
func (p *Plan) Dispatches() int { return p.parts[everyRun].dispatches }

// EarlyDispatches is the number of dispatches that RunEarly replays.
func (p *Plan) EarlyDispatches() int { return p.parts[early].dispatches }

// Commands are the commands of a part of a plan. Bytes has, for each command, the bytes of the
// tensors that it touches, each counted once; their buffers may be longer.
type Commands struct {
	Commands []gpu.Command
	Bytes    []int64
}

// Commands lists the commands of Run, for programs that time them one by one.
func (p *Plan) Commands() Commands { return p.list(p.parts[everyRun].nodes) }

// EarlyCommands lists the commands of RunEarly.
func (p *Plan) EarlyCommands() Commands { return p.list(p.parts[early].nodes) }

func (p *Plan) list(nodes []node) (list Commands) {
	list.Commands, _ = p.commands(nodes, nil)
	for i := range nodes {
		seen, total := map[*storage]bool{}, int64(0)
		arguments := nodes[i].arguments
		if nodes[i].kernel == nil {
			arguments = []*storage{nodes[i].target}
		}
		for _, s := range arguments {
			if !seen[s] {
				seen[s] = true
				total += int64(gpu.BufferSpec{Type: s.kind, Elements: s.elements}.Bytes())
			}
		}
		list.Bytes = append(list.Bytes, total)
	}
	return list
}

// Bytes is the memory that the plan owns, variables not included.
func (p *Plan) Bytes() int64 { return p.bytes }

// Release returns the plan's memory and recordings.
func (p *Plan) Release() {
	for at := range p.parts {
		for _, l := range p.parts[at].legs {
			if l.recording != nil {
				l.recording.Release()
			}
		}
		p.parts[at] = part{}
	}
	for _, b := range p.owned {
		b.Release()
	}
	p.owned = nil
}
