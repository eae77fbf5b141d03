package shaders

import (
	_ "embed"
	"fmt"
	"math"

	"mrprism/internal/gpu"
	"mrprism/internal/tensor"
)

//go:embed prepare.wgsl
var prepareSource string

type prepareParams struct {
	Width, Height, Size int32
	Mean, Deviation     float32
}

// share calls f with the pixels of an axis of n pixels that output pixel i sees, and their weights, which sum to 1.
func (p *prepareParams) share(i, origin, side, n int, f func(pixel int, weight float64)) {
	step := float64(side) / float64(p.Size)
	inside := func(j int) int { return min(max(j, 0), n-1) }
	if side <= int(p.Size) {
		centre := float64(origin) + (float64(i)+0.5)*step - 0.5
		first := math.Floor(centre)
		f(inside(int(first)), 1-(centre-first))
		f(inside(int(first)+1), centre-first)
		return
	}
	from := float64(origin) + float64(i)*step
	for j := int(math.Floor(from)); float64(j) < from+step; j++ {
		f(inside(j), max(0, min(from+step, float64(j+1))-max(from, float64(j)))/step)
	}
}

var prepareForward = &tensor.Kernel{
	Name: "prepare", Arguments: []gpu.Access{read, read, write},
	Body: tensor.Body(func(p *prepareParams, a []gpu.Array) {
		pixels, region, y, s := a[0].U, a[1].I, a[2].F, int(p.Size)
		side := max(int(region[2]), 1)
		for row := range s {
			for column := range s {
				var sum [3]float64
				p.share(row, int(region[1]), side, int(p.Height), func(j int, down float64) {
					p.share(column, int(region[0]), side, int(p.Width), func(i int, across float64) {
						for c := range sum {
							sum[c] += down * across * float64(pixels[j*int(p.Width)+i]>>(8*c)&0xff)
						}
					})
				})
				for c, v := range sum {
					y[3*(row*s+column)+c] = (v/255 - float64(p.Mean)) / float64(p.Deviation)
				}
			}
		}
	}),
	Variants: []tensor.Variant{{Source: prepareSource, Groups: func(params any) [3]int {
		size := int(params.(*prepareParams).Size)
		return [3]int{(size + elementwise - 1) / elementwise, size, 1}
	}}},
}

// Prepare resamples a square of a photograph to the network's input (1, size, size, 3), normalised: (v/255 - mean) / deviation.
// pixels (H, W) of u32 are packed RGBA, red in the low byte; alpha is ignored. region (3) of i32 is data, so that one plan serves
// every region: x, y and side in pixels; it may reach beyond the border, where the edge continues, so that a letterbox is a
// region too. Resampling is that of imageio.Crop. Coordinates times size must stay below 2^29. No gradient.
func Prepare(pixels, region *Tensor, size int, mean, deviation float32) *Tensor {
	requireShape("Prepare", "pixels", pixels, -1, -1)
	requireShape("Prepare", "region", region, 3)
	if pixels.Type() != gpu.U32 || region.Type() != gpu.I32 || size < 1 || !(deviation > 0) {
		panic(fmt.Sprintf("Prepare: pixels of %v, region of %v, size %d, deviation %g", pixels.Type(), region.Type(), size, deviation))
	}
	g := pixels.Graph()
	y := g.New("prepared", []int{1, size, size, 3})
	g.Dispatch(prepareForward, &prepareParams{int32(pixels.Dim(1)), int32(pixels.Dim(0)), int32(size), mean, deviation}, pixels, region, y)
	return y
}
