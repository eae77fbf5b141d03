package device

import "runtime"

// The control register of vector arithmetic: its value at a program's start, and the bits that turn
// subnormal arguments and results into 0.
const (
	controlDefault    = 0x1f80
	subnormalResult   = 1 << 15
	subnormalArgument = 1 << 6
)

// exchangeControl sets the calling thread's control register of vector arithmetic.
func exchangeControl(control uint32) (before uint32)

// withoutSubnormals calls f on a thread that turns numbers below 2^-126 into 0. The threads that f
// starts in a library inherit this for good: those of a software adapter, which compute the
// shaders. WebGPU allows it, and GPUs do it. A processor takes many times as long for an operation
// on a subnormal number, and products of attention weights with gradients have many of them.
func withoutSubnormals(f func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := exchangeControl(controlDefault | subnormalResult | subnormalArgument)
	defer exchangeControl(before)
	f()
}
