//go:build simd128

package vector

var asked bool // startCrew was called

// threads is the number of threads that are ready. The first call starts them.
func threads() int {
	if !asked {
		asked = true
		startCrew(&board[0])
	}
	return int(readyCrew())
}

func publish(slot int) { publishPiece(int32(slot)) }

func finish(slot int) bool { return finishPiece(int32(slot)) != 0 }

func isDone(slot int) bool { return donePiece(int32(slot)) != 0 }

//go:wasmimport vectors startCrew
func startCrew(board *int32)

//go:wasmimport vectors readyCrew
func readyCrew() int32

//go:wasmimport vectors publishPiece
func publishPiece(slot int32)

//go:wasmimport vectors finishPiece
func finishPiece(slot int32) int32

//go:wasmimport vectors donePiece
func donePiece(slot int32) int32
