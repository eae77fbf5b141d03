package device

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"mrprism/shaders/gpu"
)

// DebugVariable is the environment variable for the level of debugging. Level 1 prints the device.
// Level 2 also prints recorded commands with their shapes. Level 3 also prints the specialised
// WGSL, submits each command alone, and fails at the first command that makes a NaN.
const DebugVariable = "MRPRISM_DEBUG"

// The levels of DebugVariable.
const (
	debugDevice = iota + 1
	debugCommands
	debugValues
)

// debugged wraps a device for the level in MRPRISM_DEBUG.
func debugged(d gpu.Device) gpu.Device {
	level, err := strconv.Atoi(os.Getenv(DebugVariable))
	if err != nil || level < debugDevice {
		return d
	}
	return Debug(d, level, os.Stderr)
}

// Debug wraps a device. The wrapper prints to w, see DebugVariable.
func Debug(d gpu.Device, level int, w io.Writer) gpu.Device {
	info := d.Info()
	fmt.Fprintf(w, "device %s, driver %s, features %v, limits %+v\n", info, info.Driver, info.Features, info.Limits)
	if level < debugCommands {
		return d
	}
	return &debugger{Device: d, level: level, w: w, nan: map[gpu.Buffer]bool{}, told: map[*gpu.Program]bool{}}
}

type debugger struct {
	gpu.Device
	level int
	w     io.Writer
	nan   map[gpu.Buffer]bool
	told  map[*gpu.Program]bool
}

// steps has one recording for each command.
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
	recording, err := d.Device.Record(commands)
	if err != nil {
		return nil, err
	}
	for _, c := range commands {
		fmt.Fprintln(d.w, describe(c))
	}
	if d.level < debugValues {
		return recording, nil
	}
	recording.Release()
	s := &steps{commands: slices.Clone(commands)}
	for i := range s.commands {
		c := &s.commands[i]
		c.Arguments = slices.Clone(c.Arguments)
		r, err := d.Device.Record([]gpu.Command{*c})
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
	if d.level < debugValues {
		return d.Device.Run(ctx, recordings...)
	}
	clear(d.nan) // this run overwrites the results of the last one
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
	if c.Program == nil {
		delete(d.nan, c.Clear)
		return d.Device.Run(ctx, r)
	}
	if err := d.Device.Run(ctx, r); err != nil {
		return fmt.Errorf("%s: %w", c.Program.Name, err)
	}
	return d.checkNaN(ctx, c)
}

// checkNaN returns an error if the command wrote a NaN into a buffer that had none.
func (d *debugger) checkNaN(ctx context.Context, c gpu.Command) error {
	var found error
	for i, b := range c.Arguments {
		if spec := b.Spec(); spec.Type.IsFloat() {
			raw := make([]byte, spec.Elements*spec.Type.Size())
			if err := d.Device.Read(ctx, gpu.Range{Buffer: b, Dst: raw}); err != nil {
				return err
			}
			at := slices.IndexFunc(spec.Type.Decode(raw), func(v float32) bool { return math.IsNaN(float64(v)) })
			if at >= 0 && c.Program.Arguments[i] == gpu.ReadWrite && !d.nan[b] {
				found = fmt.Errorf("%s made a NaN in %s[%d]: %s", c.Program.Name, spec.Label, at, describe(c))
			}
			d.nan[b] = at >= 0
		}
	}
	return found
}
