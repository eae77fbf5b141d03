// Package tensor builds a computation once, compiles it for a device and replays it
// (ARCHITECTURE.md, "Build, compile, replay").
//
// A Graph is a list of operators over Tensors. Building does no device work; a mistake in shapes
// panics with the operator and the shapes. Backward appends every operator's gradient. Compile
// drops operators whose results nobody reads, applies rewrites, turns operators into dispatches,
// lets tensors share memory if their lives do not overlap, and records the commands: the Plan.
// Variables (parameters, statistics, tensors that two plans share) live in a Set and outlast any
// plan.
//
// Tensors are channels-last: images are (B, H, W, C), tokens (B, N, C).
package tensor
