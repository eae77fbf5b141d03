//go:build !amd64 && !js

package device

// withoutSubnormals calls f: see subnormal_amd64.go, where alone it was measured to matter.
func withoutSubnormals(f func()) { f() }
