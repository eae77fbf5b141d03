// Package dawn is the gpu.Device on Dawn, Chrome's WebGPU. It uses Dawn's C interface (webgpu.h)
// without cgo. Open loads the library, and says where it looks for it.
package dawn

import (
	"fmt"
	"strings"

	"mrprism/internal/compute/gpu"
)

// Options choose the library. The zero value searches the usual places.
type Options struct {
	// Library is the path of the Dawn library, or of its folder. If it is empty, Open uses
	// MRPRISM_DAWN_LIB, and then searches the usual places.
	Library string
}

// LibraryVariable is the environment variable that names the Dawn library.
const LibraryVariable = "MRPRISM_DAWN_LIB"

// LibraryError lists every place where Open looked for the Dawn library. It is a gpu.ErrNoAdapter.
type LibraryError struct {
	Tried []Attempt
}

// Attempt is one file that was tried.
type Attempt struct {
	Path string
	Err  error
}

func (e *LibraryError) Error() string {
	var b strings.Builder
	b.WriteString("no Dawn library could be loaded; `make dawn` fetches one, -dawn-lib or " + LibraryVariable + " names yours. Tried:")
	for _, a := range e.Tried {
		fmt.Fprintf(&b, "\n  %s: %v", a.Path, a.Err)
	}
	return b.String()
}

// Unwrap makes the error a gpu.ErrNoAdapter.
func (e *LibraryError) Unwrap() error { return gpu.ErrNoAdapter }
