// Package computing opens weights and devices for the programs that compute, and has their flags.
package computing

import (
	"cmp"
	"context"
	"flag"
	"os"
	"slices"
	"strings"

	"mrprism/internal/choice"
	"mrprism/internal/program/cli"
	"mrprism/model"
	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/device"
	"mrprism/weights"
	_ "mrprism/weights/shipped"
)

// Weights opens a shipped model by name, or a file: this package brings the shipped files.
var Weights = weights.Load

// Shipped lists the names of the shipped models.
func Shipped() string {
	if names := weights.Shipped().Names(); len(names) > 0 {
		return strings.Join(names, ", ")
	}
	return "none in this build; give a .safetensors file"
}

// EnsembleFlag declares -weights of programs that take ensembles.
func EnsembleFlag(flags *flag.FlagSet) *string {
	return flags.String("weights", "", "`NAME` of a shipped model, or a .safetensors FILE, or several as A+B+C for the mean of their maps (required)")
}

// WeightsFlag declares -weights.
func WeightsFlag(flags *flag.FlagSet) *string {
	return flags.String("weights", "", "`NAME` of a shipped model, or a .safetensors FILE (required)")
}

// Flags declares -precision and -device.
func Flags(flags *flag.FlagSet) (*model.Precision, *Device) {
	return PrecisionFlag(flags), DeviceFlag(flags)
}

// PrecisionFlag declares -precision.
func PrecisionFlag(flags *flag.FlagSet) *model.Precision {
	p := model.F32
	cli.Parsed(flags, &p, "precision", "`NUMBERS` to compute in: f32; f16, with half the memory, if the GPU supports it; int8, if the weights have ranges (\"export -h\" says how they get them) (default f32)", model.ParsePrecision)
	return &p
}

// Device is the name of what the user wants to compute on; empty: what the environment says.
type Device string

// DeviceFlag declares -device.
func DeviceFlag(flags *flag.FlagSet) *Device {
	return (*Device)(flags.String("device", "", "`DEVICE` that computes: "+strings.Join(device.Names(), ", ")+" (default "+device.Variable+", else auto). "+
		"auto is the GPU, and processor if the CPU only emulates one"))
}

// Check returns an error of wrong usage if the flag or the environment names an unknown device.
func (d Device) Check() error {
	from := "-device "
	if d == "" {
		from = device.Variable + "="
	}
	if name := d.wished(); name != "" && !slices.Contains(device.Names(), name) {
		return cli.Wrong("%s%s%s: choose one of %s", from, name, choice.Guess(name, device.Names()), strings.Join(device.Names(), ", "))
	}
	return nil
}

// wished is the name of the device that the user wants; empty for none.
func (d Device) wished() string { return cmp.Or(string(d), os.Getenv(device.Variable)) }

// Open opens the device, as device.OpenAny does.
func (d Device) Open(ctx context.Context, note func(string)) (gpu.Device, error) {
	return device.OpenAny(ctx, string(d), device.Options{Note: note})
}

// OpenNamed is Open without that fallback: if no GPU can be used and the user named no device, it
// returns an error.
func (d Device) OpenNamed(ctx context.Context, note func(string)) (gpu.Device, error) {
	return device.Open(ctx, string(d), device.Options{Note: note})
}
