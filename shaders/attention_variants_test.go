package shaders

import "testing"

// The kind of device decides which variant runs, and what a kernel can do.
func TestAttentionVariants(t *testing.T) {
	width := func(n uint32) any { return &attentionParams{Width: n} }
	checkChoices(t, []choice{
		{attentionForward, width(8), [3]string{"lanes", "narrow", "tiles"}},
		{attentionForward, width(16), [3]string{"lanes", "", "tiles"}},
		{attentionForward, width(32), [3]string{"lanes", "", "tiles"}},
		{attentionForward, width(64), [3]string{"lanes", "", "tiles"}},
		{attentionInt8, width(8), [3]string{"lanes", "tiles", "tiles"}},
		{attentionForward, width(48), [3]string{"", "", "tiles"}},
		{attentionForward, width(6), [3]string{"", "", ""}},
		{attentionBackwardQ, width(8), [3]string{"lanes", "narrow", "tiles"}},
		{attentionBackwardQ, width(16), [3]string{"lanes", "", "tiles"}},
		{attentionBackwardKV, width(64), [3]string{"lanes", "", "tiles"}},
	})
}
