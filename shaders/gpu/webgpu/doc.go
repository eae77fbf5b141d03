// Package webgpu is the gpu.Device on wgpu-native, in programs built with cgo, and on the browser's
// WebGPU, in wasm.
//
// Native programs use github.com/cogentcore/webgpu. A few C functions (native.c) replace calls of
// the bindings that would abort the process or lose an error. In the browser that module reports
// most failures as success, and drops limits and features: browser.go uses worker/gpu.js instead.
package webgpu
