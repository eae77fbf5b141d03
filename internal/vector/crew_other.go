//go:build !simd128

package vector

// Elsewhere Go has threads of its own.

func threads() int { return 0 }

func publish(int) {}

func finish(int) bool { return false }

func isDone(int) bool { return false }
