package shaders

import (
	"fmt"
	"strings"

	"mrprism/internal/compute/gpu"
)

// Work says for people what a dispatch computes, and how many floating-point operations that takes: the multiply-adds of convolutions,
// linear maps, attention and blurring, each counted as two, with those that meet the zeros around an image. All else, exponentials among it,
// counts as none: such a kernel is as fast as memory at best.
func Work(c gpu.Command) (shape string, operations float64) {
	kernel, _, _ := strings.Cut(c.Program.Name, "/")
	switch p := c.Params.(type) {
	case *conv2dParams:
		return p.work(kernel)
	case *conv2dInt8Params:
		return p.work(kernel)
	case *attentionParams:
		shape = fmt.Sprintf("%d×%d queries, %d keys, %d×%d", p.Batch, p.Queries, p.Keys, p.Heads, p.Width)
		products := map[string]float64{ // matrix products of queries, keys and channels
			attentionForward.Name: 2, attentionInt8.Name: 2, attentionBackwardQ.Name: 3, attentionBackwardKV.Name: 4,
		}[kernel]
		return shape, 2 * products * float64(p.Batch*p.Heads*p.Width) * float64(p.Queries) * float64(p.Keys)
	case *groupedLinearParams:
		shape = fmt.Sprintf("%d pixels, %d of %d→%d", p.Pixels, p.Groups, p.Inputs, p.Outputs)
		return shape, 2 * float64(p.Pixels*p.Groups) * float64(p.Inputs*p.Outputs)
	case *linearNormParams:
		return fmt.Sprintf("%d rows, %d→%d", p.Rows, p.Inputs, p.Outputs), 2 * float64(p.Rows) * float64(p.Inputs*p.Outputs)
	case *blurParams:
		return fmt.Sprintf("%d×%d×%d", p.Outer, p.Length, p.Inner), 2 * float64(p.elements()) * float64(2*p.Radius+1)
	case nil:
		return "", 0
	default:
		return strings.Trim(fmt.Sprintf("%+v", p), "&{}"), 0
	}
}

// work is that of a kernel whose geometry is a convolution's.
func (p *conv2dParams) work(kernel string) (shape string, operations float64) {
	phases := 1
	if kernel == conv2dForward.Name || kernel == conv2dSplit.Name || kernel == conv2dInt8.Name {
		phases = int(p.Parts * p.Parts)
	}
	channels, products := fmt.Sprintf("%d→%d", p.Inputs, p.Outputs), float64(p.Inputs)*float64(p.Outputs)
	if strings.HasPrefix(kernel, "depthwise") {
		channels, products = fmt.Sprint(p.Inputs), float64(p.Inputs)
	}
	shape = fmt.Sprintf("%d×%d×%d, %s, %d×%d", p.Batch, p.Rows.Count, p.Cols.Count, channels, p.Rows.Taps, p.Cols.Taps)
	if phases > 1 {
		shape += fmt.Sprintf(", %d phases", phases)
	}
	return shape, 2 * products * float64(p.pixels()*p.taps()*phases)
}
