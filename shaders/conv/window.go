package conv

import "fmt"

// Window is how a kernel moves over an image: its strides, and the padding on each side, in pixels.
type Window struct{ StrideY, StrideX, Top, Left, Bottom, Right int }

// Square is a window of one stride and one padding in both directions.
func Square(stride, pad int) Window { return Window{stride, stride, pad, pad, pad, pad} }

// Output is the extent of the result for an image of height × width and a kernel of kh × kw. It
// panics, naming the operator, where the kernel does not fit.
func (w Window) Output(operator string, height, width, kh, kw int) (int, int) {
	if w.StrideY < 1 || w.StrideX < 1 || min(w.Top, w.Left, w.Bottom, w.Right) < 0 || min(kh, kw) < 1 ||
		height+w.Top+w.Bottom < kh || width+w.Left+w.Right < kw {
		panic(fmt.Sprintf("%s: a kernel of %d×%d with %+v does not fit an image of %d×%d", operator, kh, kw, w, height, width))
	}
	return (height+w.Top+w.Bottom-kh)/w.StrideY + 1, (width+w.Left+w.Right-kw)/w.StrideX + 1
}
