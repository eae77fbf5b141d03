package attention

import (
	"mrprism/shaders/kernels/kerneltest"
	"testing"
)

// The kind of device and what a kernel can do decide which variant runs.
func TestAttentionVariants(t *testing.T) {
	width := func(n uint32) any { return &Params{Width: n} }
	kerneltest.Check(t, []kerneltest.Choice{
		{Kernel: attentionForward, Params: width(8), Want: [3]string{"lanes", "narrow", "tiles"}},
		{Kernel: attentionForward, Params: width(16), Want: [3]string{"lanes", "", "tiles"}},
		{Kernel: attentionForward, Params: width(32), Want: [3]string{"lanes", "", "tiles"}},
		{Kernel: attentionForward, Params: width(64), Want: [3]string{"lanes", "", "tiles"}},
		{Kernel: attentionInt8, Params: width(8), Want: [3]string{"lanes", "tiles", "tiles"}},
		{Kernel: attentionForward, Params: width(48), Want: [3]string{"", "", "tiles"}},
		{Kernel: attentionForward, Params: width(6), Want: [3]string{"", "", ""}},
		{Kernel: attentionBackwardQ, Params: width(8), Want: [3]string{"lanes", "narrow", "tiles"}},
		{Kernel: attentionBackwardQ, Params: width(16), Want: [3]string{"lanes", "", "tiles"}},
		{Kernel: attentionBackwardKV, Params: width(64), Want: [3]string{"lanes", "", "tiles"}},
	})
}
