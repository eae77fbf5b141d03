package shaders

import (
	"mrprism/internal/gpu"
	"mrprism/internal/vector"
)

// groups calls f for each group of each pixel of a run, with the first elements of its x, weight
// and y.
func (p *groupedLinearParams) groups(from, to int, f func(x, w, y int)) {
	for i := from * int(p.Groups); i < to*int(p.Groups); i++ {
		f(i*int(p.Inputs), i%int(p.Groups)*int(p.Inputs*p.Outputs), i*int(p.Outputs))
	}
}

func groupedLinearForwardFast(p *groupedLinearParams, a []gpu.Array32, split gpu.Split) {
	inputs, outputs, width := int(p.Inputs), int(p.Outputs), int(p.Groups*p.Outputs)
	split(int(p.Pixels), func(from, to int) {
		all := a[3].F[from*width : to*width]
		clear(all)
		for i := 0; i < len(all) && p.HasBias == 1; i += width {
			copy(all[i:], a[2].F[:width])
		}
		p.groups(from, to, func(x, w, y int) {
			for i, v := range a[0].F[x:][:inputs] {
				vector.AddScaled(a[3].F[y:][:outputs], a[1].F[w+i*outputs:][:outputs], v)
			}
		})
		if p.Sigmoid == 1 {
			vector.Sigmoid(all)
		}
	})
}

func groupedLinearBackwardXFast(p *groupedLinearParams, a []gpu.Array32, split gpu.Split) {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	split(int(p.Pixels), func(from, to int) {
		p.groups(from, to, func(x, w, y int) {
			for i := range inputs {
				a[2].F[x+i] += vector.Dot(a[0].F[y:][:outputs], a[1].F[w+i*outputs:][:outputs])
			}
		})
	})
}

func groupedLinearBackwardWeightFast(p *groupedLinearParams, a []gpu.Array32, split gpu.Split) {
	inputs, outputs := int(p.Inputs), int(p.Outputs)
	weights := int(p.Groups) * inputs * outputs
	split(int(p.Splits), func(from, to int) {
		for part := from; part < to; part++ {
			dw := a[2].F[part*weights:][:weights]
			clear(dw)
			p.groups(part*int(p.Chunk), min((part+1)*int(p.Chunk), int(p.Pixels)), func(x, w, y int) {
				for i, v := range a[1].F[x:][:inputs] {
					vector.AddScaled(dw[w+i*outputs:][:outputs], a[0].F[y:][:outputs], v)
				}
			})
		}
	})
}
