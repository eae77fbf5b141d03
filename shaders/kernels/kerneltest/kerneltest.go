// Package kerneltest checks which variants kernels choose. Only tests import it.
package kerneltest

import (
	"maps"
	"slices"
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// Features are the features that a kernel variant may ask for, each with the WGSL extension that
// the variant then enables or requires.
var Features = map[string]string{"shader-f16": "f16", "subgroups": "subgroups", gpu.PackedDot: gpu.PackedDot}

// Guises are made-up devices. Every variant that some real device chooses is chosen by one of them.
func Guises() []gpu.Info {
	all := slices.Sorted(maps.Keys(Features))
	return []gpu.Info{
		{Kind: gpu.KindCPU, Adapter: "llvmpipe (LLVM 19.1.7, 256 bits)", Features: all}, {Kind: gpu.KindCPU, Adapter: "SwiftShader"},
		{Kind: gpu.KindDiscrete, Features: all}, {Kind: gpu.KindDiscrete},
		{Kind: gpu.KindIntegrated, Features: all}, {Kind: gpu.KindIntegrated}, {Kind: gpu.KindUnknown},
	}
}

// Choice is a kernel with parameters, and the names of the variants that three devices should
// prefer for it: a software adapter with subgroups of eight lanes, another software adapter, and a
// GPU. The plain variant's name is empty.
type Choice struct {
	Kernel *tensor.Kernel
	Params any
	Want   [3]string
}

// Check fails the test unless the devices choose these variants.
func Check(t *testing.T, choices []Choice) {
	t.Helper()
	subgroups := Guises()[0]
	software, discrete := gpu.Info{Kind: gpu.KindCPU, Adapter: "SwiftShader"}, gpu.Info{Kind: gpu.KindDiscrete, Features: subgroups.Features}
	for _, c := range choices {
		for i, info := range []gpu.Info{subgroups, software, discrete} {
			want := c.Kernel.Name
			if c.Want[i] != "" {
				want += "/" + c.Want[i]
			}
			got, _ := c.Kernel.Program(info, gpu.F32, c.Params)
			require.Equal(t, want, got.Name, "%+v on %s", c.Params, info)
		}
	}
}
