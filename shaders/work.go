package shaders

import (
	"fmt"
	"strings"

	"mrprism/shaders/gpu"
)

// Work describes what a dispatch computes, and counts its floating-point operations: two for each
// multiply-add of convolutions, linear maps, attention and blurring, including multiplications by
// the zeros around an image. Work counts nothing else, not even exponentials: memory limits the
// speed of kernels without multiply-adds.
func Work(c gpu.Command) (shape string, operations float64) {
	kernel, _, _ := strings.Cut(c.Program.Name, "/")
	switch p := c.Params.(type) {
	case interface {
		Work(kernel string) (string, float64)
	}:
		return p.Work(kernel)
	case nil:
		return "", 0
	default:
		return strings.Trim(fmt.Sprintf("%+v", p), "&{}"), 0
	}
}
