// Package dawn is the gpu.Device on Dawn, Chrome's WebGPU. It uses Dawn's C interface (webgpu.h)
// without cgo. Open loads the library, and says where it looks for it.
package dawn

// LibraryVariable is the environment variable that names the Dawn library.
const LibraryVariable = "MRPRISM_DAWN_LIB"
