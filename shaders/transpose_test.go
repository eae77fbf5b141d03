package shaders

import "testing"

// The kind of device decides which variant runs, and what a kernel can do.
func TestTransposeVariants(t *testing.T) {
	checkChoices(t, []choice{
		{transposeForward, &transposeParams{1, 8, 4}, [3]string{"quads", "quads", "quads"}},
		{transposeForward, &transposeParams{1, 8, 6}, [3]string{"", "", ""}},
	})
}
