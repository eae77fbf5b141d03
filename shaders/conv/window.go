package conv

import "fmt"

// Window is how a kernel moves over an image: its strides, and the padding on each side, in pixels.
type Window struct{ StrideY, StrideX, Top, Left, Bottom, Right int }

// Square is a window of one stride and one padding in both directions.
func Square(stride, pad int) Window { return Window{stride, stride, pad, pad, pad, pad} }

// Same is TensorFlow's SAME window of a k×k kernel, for images whose sides are multiples of the
// stride: a side of the result is side / stride, and an odd pixel of padding lies after the image.
func Same(k, stride int) Window {
	padding := max(k-stride, 0)
	before, after := padding/2, padding-padding/2
	return Window{stride, stride, before, before, after, after}
}

// Output is the height and width of the result for an image of height × width and a kernel of kh ×
// kw. It panics, naming the operator, if the kernel does not fit.
func (w Window) Output(operator string, height, width, kh, kw int) (int, int) {
	if w.StrideY < 1 || w.StrideX < 1 || min(w.Top, w.Left, w.Bottom, w.Right) < 0 || min(kh, kw) < 1 ||
		height+w.Top+w.Bottom < kh || width+w.Left+w.Right < kw {
		panic(fmt.Sprintf("%s: a kernel of %d×%d with %+v does not fit an image of %d×%d", operator, kh, kw, w, height, width))
	}
	return (height+w.Top+w.Bottom-kh)/w.StrideY + 1, (width+w.Left+w.Right-kw)/w.StrideX + 1
}
