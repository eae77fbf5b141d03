// Package command is what the programs that use weights have in common: exit codes, help, Ctrl-C, opening weights and a device, and a
// progress line.
package command

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mrprism/internal/choose"
	"mrprism/internal/gpu"
	"mrprism/internal/gpu/device"
	"mrprism/model"
	"mrprism/weights"
	"mrprism/weights/shipped"
)

// Exit codes.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2
	Interrupted = 130 // 128 + SIGINT, as shells have it
)

// Main runs a program and ends the process with its exit code. The first Ctrl-C ends ctx, the second the process.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // from then on the signal does what it does by default
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Parse parses flags anywhere among the arguments and returns the others. Where the program is to end, done is true: help was asked for,
// and is on stdout, or the usage is wrong, and what is wrong is on stderr.
func Parse(flags *flag.FlagSet, intro, examples string, args []string, stdout, stderr io.Writer) (rest []string, code int, done bool) {
	describe := func(w io.Writer) {
		fmt.Fprint(w, "\nflags:\n")
		flags.SetOutput(w)
		flags.PrintDefaults()
	}
	return parse(flags, describe, intro, examples, args, stdout, stderr)
}

// parse is Parse; describe lists the flags for help.
func parse(flags *flag.FlagSet, describe func(io.Writer), intro, examples string, args []string, stdout, stderr io.Writer) (rest []string, code int, done bool) {
	flags.Init(flags.Name(), flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	for len(args) > 0 {
		err := flags.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, intro)
			describe(stdout)
			fmt.Fprint(stdout, examples)
			return nil, Done, true
		}
		if err != nil {
			return nil, Misused(stderr, flags.Name(), "%v", err), true
		}
		consumed := args[:len(args)-flags.NArg()]
		args = flags.Args()
		if len(consumed) > 0 && consumed[len(consumed)-1] == "--" {
			return append(rest, args...), Done, false
		}
		if len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, Done, false
}

// Misused says what is wrong with the usage and where to read how it is right.
func Misused(stderr io.Writer, program, format string, args ...any) int {
	fmt.Fprintf(stderr, "%s: %s; see %s -h\n", program, fmt.Sprintf(format, args...), program)
	return Usage
}

// Fail says what failed. It is Interrupted where that was the user's wish.
func Fail(ctx context.Context, stderr io.Writer, program string, err error) int {
	if ctx.Err() != nil {
		fmt.Fprintf(stderr, "%s: interrupted\n", program)
		return Interrupted
	}
	fmt.Fprintf(stderr, "%s: %v\n", program, err)
	return Failed
}

// Weights opens a shipped model by name, or a file of the user's own.
func Weights(nameOrFile string) (*weights.Model, error) {
	manifest := weights.Shipped()
	if slices.ContainsFunc(manifest.Models, func(e weights.Entry) bool { return e.Name == nameOrFile }) {
		return shipped.Open(nameOrFile)
	}
	if _, err := os.Stat(nameOrFile); err != nil && !strings.HasSuffix(nameOrFile, ".safetensors") && filepath.Base(nameOrFile) == nameOrFile {
		return nil, fmt.Errorf("%s: there is no such file, and the models that ship are %s", nameOrFile, Shipped())
	}
	data, err := weights.ReadFile(nameOrFile)
	if err != nil {
		return nil, err
	}
	return manifest.Open(nameOrFile, data)
}

// Shipped lists the names of the models that ship, for help and messages.
func Shipped() string {
	var names []string
	for _, e := range weights.Shipped().Models {
		names = append(names, e.Name)
	}
	if len(names) == 0 {
		return "none in this build; give a .safetensors file"
	}
	return strings.Join(names, ", ")
}

// WeightsFlag declares -weights.
func WeightsFlag(flags *flag.FlagSet) *string {
	return flags.String("weights", "", "`NAME` of a model that ships, or a .safetensors FILE (required)")
}

// PrecisionFlag declares -precision.
func PrecisionFlag(flags *flag.FlagSet) *model.Precision {
	p := model.F32
	flags.Func("precision", "`NUMBERS` to compute with: f32; f16, where the GPU has it: half the memory; int8, with weights that know their ranges (default f32)",
		func(name string) (err error) {
			p, err = model.ParsePrecision(name)
			return err
		})
	return &p
}

// Device is the user's wish for a device.
type Device struct {
	name, dawn *string
}

// DeviceFlags declares -device and -dawn-lib.
func DeviceFlags(flags *flag.FlagSet) Device {
	return Device{
		flags.String("device", "", "`NAME` of what computes: "+strings.Join(device.Names(), ", ")+" (default "+device.Variable+
			", else auto: the GPU; where\n"+
			"there is none but one that the CPU plays, as lavapipe does, the faster of that and processor, as a second at most of\n"+
			"measuring has shown, which is remembered in the user's folder for caches; "+choose.Variable+"=off: processor)"),
		flags.String("dawn-lib", "", "`FILE` of the Dawn library (default MRPRISM_DAWN_LIB, else what make dawn fetched)"),
	}
}

// Check refuses a name that no device has, be it the flag's or the environment's.
func (d Device) Check() error {
	from := "-device "
	if *d.name == "" {
		from = device.Variable + "="
	}
	if name := d.wished(); name != "" && !slices.Contains(device.Names(), name) {
		return fmt.Errorf("%s%s: choose one of %s", from, name, strings.Join(device.Names(), ", "))
	}
	return nil
}

// wished is the name of the device that the user wants; empty where there is none.
func (d Device) wished() string { return cmp.Or(*d.name, os.Getenv(device.Variable)) }

// Open opens the device. Where nobody named one and no GPU can be used, the CPU computes, and note is told.
func (d Device) Open(ctx context.Context, note func(string)) (gpu.Device, error) {
	opened, err := d.OpenNamed(ctx, note)
	wished := d.wished()
	if errors.Is(err, gpu.ErrNoAdapter) && (wished == "" || wished == device.Auto) && ctx.Err() == nil {
		note(fmt.Sprintf("%v\nso the CPU computes: slower, with the same result", err))
		return device.Open(ctx, device.Processor, device.Options{})
	}
	return opened, err
}

// OpenNamed opens the device. It returns an error if no GPU can be used, unless the user named
// another device.
func (d Device) OpenNamed(ctx context.Context, note func(string)) (gpu.Device, error) {
	options := device.Options{DawnLibrary: *d.dawn, Note: note}
	if os.Getenv(choose.Variable) != "off" {
		options.Compare = choose.With(choose.Files{})
	}
	return device.Open(ctx, *d.name, options)
}
