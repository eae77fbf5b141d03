package shadertest

import (
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/gpu/gputest"
)

// EachKind calls f with every device of the machine. GPUs come twice: with the kernels for emulated
// GPUs, and with those for discrete ones.
func EachKind(t *testing.T, f func(name string, d gpu.Device)) {
	t.Helper()
	for _, d := range gputest.Devices(t) {
		if d.Info().InGo() {
			inGo(d, func(name string) { f(name, d) })
			continue
		}
		for _, kind := range []gpu.Kind{gpu.KindCPU, gpu.KindDiscrete} {
			f(d.Info().Backend+" as "+string(kind), disguised{Device: d, info: ofKind(d, kind)})
		}
	}
}
