//go:build js

package webgpu_test

const backend = "browser"
