package shaders

import _ "embed"

// singlesPart and quadsPart make of one file a kernel that takes one element at a time, and one that takes four.
var (
	//go:embed widths_singles.wgsl
	singlesPart string
	//go:embed widths_quads.wgsl
	quadsPart string
)
