package device

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"mrprism/internal/gpu"
)

// DebugVariable is the environment variable for the levels of debugging, each with those below: 1 the device, 2 the time of every
// program (a table when the device is closed; replays become slower, a submission a command), 3 commands with shapes as they are
// recorded, 4 the specialised WGSL, and a run that fails at the first command that makes a NaN.
const DebugVariable = "MRPRISM_DEBUG"

// The levels of DebugVariable.
const (
	debugDevice = iota + 1
	debugTimes
	debugCommands
	debugValues
)

// debugged wraps a device that was just opened as MRPRISM_DEBUG says.
func debugged(d gpu.Device) gpu.Device {
	level, err := strconv.Atoi(os.Getenv(DebugVariable))
	if err != nil || level < debugDevice {
		return d
	}
	return Debug(d, level, os.Stderr)
}

// Debug wraps a device so that it tells w what the level of DebugVariable asks for.
func Debug(d gpu.Device, level int, w io.Writer) gpu.Device {
	info := d.Info()
	fmt.Fprintf(w, "device %s, driver %s, features %v, limits %+v\n", info, info.Driver, info.Features, info.Limits)
	if level < debugTimes {
		return d
	}
	return &debugger{Device: d, level: level, w: w, times: map[string]*spent{}, nan: map[gpu.Buffer]bool{}, told: map[*gpu.Program]bool{}}
}

type debugger struct {
	gpu.Device
	level int
	w     io.Writer
	times map[string]*spent // by program name
	nan   map[gpu.Buffer]bool
	told  map[*gpu.Program]bool
}

type spent struct {
	count int
	total time.Duration
}

// steps is a recording taken apart, a recording a command.
type steps struct {
	commands   []gpu.Command
	recordings []gpu.Recording
}

func (s *steps) Release() {
	for _, r := range s.recordings {
		r.Release()
	}
}

func (d *debugger) Prepare(ctx context.Context, programs []*gpu.Program) error {
	for _, p := range programs {
		if d.level >= debugValues && !d.told[p] {
			d.told[p] = true
			fmt.Fprintf(d.w, "// %s\n%s\n", p.Name, p.Source)
		}
	}
	return d.Device.Prepare(ctx, programs)
}

func (d *debugger) Record(commands []gpu.Command) (gpu.Recording, error) {
	empty, err := d.Device.Record(nil)
	if err != nil { // what is wrong with the device itself
		return nil, err
	}
	empty.Release()
	s := &steps{commands: slices.Clone(commands)}
	for _, c := range commands {
		if d.level >= debugCommands {
			fmt.Fprintln(d.w, describe(c))
		}
		c.Arguments = slices.Clone(c.Arguments)
		r, err := d.Device.Record([]gpu.Command{c})
		if err != nil {
			s.Release()
			return nil, err
		}
		s.recordings = append(s.recordings, r)
	}
	return s, nil
}

// describe names a command with its workgroups and the sizes of its buffers.
func describe(c gpu.Command) string {
	if c.Program == nil {
		return fmt.Sprintf("clear %s [%d %s]", c.Clear.Spec().Label, c.Clear.Spec().Elements, c.Clear.Spec().Type)
	}
	text := fmt.Sprintf("%s %v", c.Program.Name, c.Groups)
	for i, b := range c.Arguments {
		text += fmt.Sprintf(" %s[%d %s]%s", b.Spec().Label, b.Spec().Elements, b.Spec().Type, [...]string{"", "*"}[c.Program.Arguments[i]])
	}
	return text + fmt.Sprintf(" %+v", c.Params)
}

func (d *debugger) Run(ctx context.Context, recordings ...gpu.Recording) error {
	for _, r := range recordings {
		s, ok := r.(*steps)
		if !ok {
			return fmt.Errorf("%w: a recording of another device", gpu.ErrValidation)
		}
		for i, c := range s.commands {
			if err := d.step(ctx, c, s.recordings[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *debugger) step(ctx context.Context, c gpu.Command, r gpu.Recording) error {
	name := "clear"
	if c.Program != nil {
		name = c.Program.Name
	}
	start := time.Now()
	err := d.Device.Run(ctx, r)
	if err == nil {
		err = d.Device.Read(ctx) // waits
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	t := d.times[name]
	if t == nil {
		t = &spent{}
		d.times[name] = t
	}
	t.count++
	t.total += time.Since(start)
	if d.level < debugValues || c.Program == nil {
		return nil
	}
	return d.checkNaN(ctx, c)
}

// checkNaN fails where the command wrote a NaN into a buffer that had none.
func (d *debugger) checkNaN(ctx context.Context, c gpu.Command) error {
	var found error
	for i, b := range c.Arguments {
		if spec := b.Spec(); spec.Type == gpu.F32 {
			raw := make([]byte, spec.Bytes())
			if err := d.Device.Read(ctx, gpu.Range{Buffer: b, Dst: raw}); err != nil {
				return err
			}
			at := slices.IndexFunc(gpu.BytesFloat32(raw), func(v float32) bool { return math.IsNaN(float64(v)) })
			if at >= 0 && c.Program.Arguments[i] == gpu.ReadWrite && !d.nan[b] {
				found = fmt.Errorf("%s made a NaN in %s[%d]: %s", c.Program.Name, spec.Label, at, describe(c))
			}
			d.nan[b] = at >= 0
		}
	}
	return found
}

// Close tells where the time went, most first.
func (d *debugger) Close() error {
	names := make([]string, 0, len(d.times))
	var total time.Duration
	for name, t := range d.times {
		names = append(names, name)
		total += t.total
	}
	slices.SortFunc(names, func(a, b string) int { return int(d.times[b].total - d.times[a].total) })
	for _, name := range names {
		t := d.times[name]
		fmt.Fprintf(d.w, "%10.3f ms %5.1f%% %7d × %s\n", float64(t.total.Microseconds())/1000,
			100*float64(t.total)/float64(total), t.count, name)
	}
	clear(d.times)
	return d.Device.Close()
}
