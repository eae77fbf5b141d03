// Package webgpu is the gpu.Device on wgpu-native, in programs built with cgo, and on the browser's WebGPU, in wasm.
//
// Natively it uses github.com/cogentcore/webgpu, with a few C functions beside it (native.c) where the bindings would abort the
// process or lose an error. In the browser that module reports most failures as success and drops limits and features, so
// browser.go talks to site/gpu.js instead.
package webgpu
