//go:build !simd128

package vector

// Outside of WebAssembly Go has its own threads, and there is no crew.

func startCrew(*int32)        {}
func readyCrew() int32        { return 0 }
func publishPiece(int32)      {}
func finishPiece(int32) int32 { return 0 }
func donePiece(int32) int32   { return 0 }
