//go:build !simd128

package vector

// Outside of WebAssembly Go has its own threads.

func threads() int { return 0 }

func publish(int) {}

func finish(int) bool { return false }

func isDone(int) bool { return false }
