// Package dawn is the gpu.Device that computes with Dawn, Chrome's WebGPU, through its C interface (webgpu.h) and without cgo.
// The library is loaded when a device is opened; see Open for where it is looked for.
package dawn

import (
	"fmt"
	"strings"

	"mrprism/internal/gpu"
)

// Options choose the library. The zero value is what programs want.
type Options struct {
	// Library is the path of the Dawn library, or of a folder that holds it. Where empty, MRPRISM_DAWN_LIB is used, then the
	// usual places are searched.
	Library string
}

// LibraryVariable is the environment variable that names the Dawn library.
const LibraryVariable = "MRPRISM_DAWN_LIB"

// LibraryError lists every place where the Dawn library was looked for. It is a gpu.ErrNoAdapter.
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
