// Package tensor builds a computation once, compiles it for a device and replays it (ARCHITECTURE.md, "Build, compile, replay").
//
// A Graph is a list of dispatches over Tensors. Building does no device work; mistakes in shapes panic, naming operator and
// shapes. Backward appends every operator's gradient. Compile drops what nobody reads, gives tensors whose lives do not
// overlap the same memory, and records one command list, the Plan. Variables (parameters, statistics, features shared by two
// plans) live in a Set and outlast any plan.
//
// Tensors are channels-last: images are (B, H, W, C), tokens (B, N, C).
package tensor
