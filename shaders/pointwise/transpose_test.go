package pointwise

import (
	"mrprism/shaders/kernels/kerneltest"
	"testing"
)

// The kind of device decides which variant runs, and what a kernel can do.
func TestTransposeVariants(t *testing.T) {
	kerneltest.Check(t, []kerneltest.Choice{
		{Kernel: transposeForward, Params: &transposeParams{1, 8, 4}, Want: [3]string{"quads", "quads", "quads"}},
		{Kernel: transposeForward, Params: &transposeParams{1, 8, 6}, Want: [3]string{"", "", ""}},
	})
}
