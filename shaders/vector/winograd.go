package vector

// Winograd's convolution F(4×4, 3×3) (Lavin and Gray, 2016) computes four by four sums of nine
// products each with 36 products instead of 144. These are its transforms along one axis: input
// takes six pixels to six, weights three taps to six, and sums six products to four sums. The points
// are 0, ±3/4 and ±3/2, which halve the error of Lavin's 0, ±1 and ±2.
type Winograd int

const (
	WinogradInput Winograd = iota
	WinogradWeights
	WinogradSums
)

// winograd has functions for multiples of lanes elements.
type winograd struct {
	lanes      int
	transforms [3]transform
}

type transform = func(y *float32, yStep, yNext int, x *float32, xStep, xNext, n, count int)

// winogradSizes are how many elements each transform takes and gives.
var winogradSizes = [3][2]int{{6, 6}, {3, 6}, {6, 4}}

// HasWinograd says whether the level in use has the transforms for channels.
func HasWinograd(channels int) bool {
	l := Current()
	return l.winograd.lanes > 0 && channels%l.winograd.lanes == 0
}

// Steps are the distances, in elements, between what one transform takes or gives, and from a block
// to the next one.
type Steps struct{ Step, Next int }

// Transform transforms n elements, a multiple of those of HasWinograd, in each of count blocks:
// element i of place j of block b is x[b*Next + j*Step + i], and of the results y likewise.
func (w Winograd) Transform(y []float32, to Steps, x []float32, from Steps, n, count int) {
	if count == 0 {
		return
	}
	sizes := winogradSizes[w]
	_ = x[(sizes[0]-1)*from.Step+(count-1)*from.Next+n-1] // vectors check no bounds
	_ = y[(sizes[1]-1)*to.Step+(count-1)*to.Next+n-1]
	Current().winograd.transforms[w](&y[0], to.Step, to.Next, &x[0], from.Step, from.Next, n, count)
}

// PackWinograd sets a panel that has no column beyond N. m has 36 right factors (K/36, N), one below
// the other: the weights w (3, 3, K/36, N), transformed along both axes.
func (m *Matrix) PackWinograd(panel int, w []float32) {
	width, inputs := m.level.columns, m.k/36
	size := inputs * width
	half := make([]float32, 3*6*size) // (columns of taps, 6, inputs, width)
	for column := range 3 {
		WinogradWeights.Transform(half[column*6*size:], Steps{size, width}, w[column*inputs*m.n+panel*width:],
			Steps{3 * inputs * m.n, m.n}, width, inputs)
	}
	for row := range 6 {
		WinogradWeights.Transform(m.data[(panel*36+row*6)*size:], Steps{size, 0}, half[row*size:], Steps{6 * size, 0}, size, 1)
	}
}

// PackWinogradColumns is PackWinograd for 18 factors: six for each row of taps, transformed along
// columns alone.
func (m *Matrix) PackWinogradColumns(panel int, w []float32) {
	width, inputs := m.level.columns, m.k/18
	size := inputs * width
	for row := range 3 {
		WinogradWeights.Transform(m.data[(panel*18+row)*size:], Steps{3 * size, width}, w[row*3*inputs*m.n+panel*width:],
			Steps{inputs * m.n, m.n}, width, inputs)
	}
}
