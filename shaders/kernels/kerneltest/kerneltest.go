// Package kerneltest checks which variants kernels choose. Only tests import it.
package kerneltest

import (
	"testing"

	"mrprism/shaders/gpu"
	"mrprism/shaders/tensor"

	"github.com/stretchr/testify/require"
)

// Guises are made-up devices: a software adapter with subgroups of eight lanes, another software
// adapter, and a GPU. Every variant that some real device chooses is chosen by one of them.
func Guises() []gpu.Info {
	all := []string{"shader-f16", "subgroups", gpu.PackedDot} // what a kernel variant may ask for
	return []gpu.Info{
		{Kind: gpu.KindCPU, Adapter: "llvmpipe (LLVM 19.1.7, 256 bits)", Features: all}, {Kind: gpu.KindCPU, Adapter: "SwiftShader"},
		{Kind: gpu.KindDiscrete, Features: all},
	}
}

// Choice is a kernel with parameters, and the names of the variants that the three Guises should
// prefer for it. The plain variant's name is empty.
type Choice struct {
	Kernel *tensor.Kernel
	Params any
	Want   [3]string
}

// Check fails the test unless the devices choose these variants.
func Check(t *testing.T, choices []Choice) {
	t.Helper()
	for _, c := range choices {
		for i, info := range Guises() {
			want := c.Kernel.Name
			if c.Want[i] != "" {
				want += "/" + c.Want[i]
			}
			got, _ := c.Kernel.Program(info, gpu.F32, c.Params)
			require.Equal(t, want, got.Name, "%+v on %s", c.Params, info)
		}
	}
}
