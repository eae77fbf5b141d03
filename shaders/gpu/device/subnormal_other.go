//go:build !amd64

package device

// withoutSubnormals calls f. Subnormals were measured to matter only on amd64: see
// subnormal_amd64.go.
func withoutSubnormals(f func()) { f() }
