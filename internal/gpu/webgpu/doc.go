// Package webgpu is the gpu.Device on github.com/cogentcore/webgpu: wgpu-native in programs built with cgo, the browser's WebGPU
// in wasm. The library's defects (ARCHITECTURE.md) end here: whatever it reports wrongly, or answers by aborting the process, is
// checked before or asked underneath it.
package webgpu
