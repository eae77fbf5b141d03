// Package webgpu is the gpu.Device on the browser's WebGPU, in wasm, through site/worker/gpu.js.
package webgpu
