package shaders

import (
	"fmt"
	"strings"

	"mrprism/shaders/gpu"
)

// Work says for people what a dispatch computes, and how many floating-point operations that takes:
// the multiply-adds of convolutions, linear maps, attention and blurring, each counted as two, with
// those that meet the zeros around an image. Work counts no other operations, not even
// exponentials: kernels without multiply-adds are as fast as memory at best.
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
