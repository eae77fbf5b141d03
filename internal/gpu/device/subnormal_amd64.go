package device

import "runtime"

// The control register of vector arithmetic: as programs begin with it, and the bits that take subnormal arguments and results for 0.
const (
	controlDefault    = 0x1f80
	subnormalResult   = 1 << 15
	subnormalArgument = 1 << 6
)

// exchangeControl sets the calling thread's control register of vector arithmetic.
func exchangeControl(control uint32) (before uint32)

// withoutSubnormals calls f on a thread that takes numbers below 2^-126 for 0, as do all threads that f starts in a library, for good: those of a
// software adapter, which compute the shaders. WebGPU allows it, and GPUs do it; a processor takes many times as long for an operation on such
// a number, and products of weights of attention with gradients are full of them.
func withoutSubnormals(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := exchangeControl(controlDefault | subnormalResult | subnormalArgument)
	defer exchangeControl(before)
	f()
}
