package main

// Fields of vector.windows.
const (
	windowsY = iota
	windowsStart
	windowsX
	windowsWeights
	windowsYStep // bytes, like all distances
	windowsStartStep
	windowsXStep
	windowsPositions
	windowsDone
	windowsChannels // bytes, a multiple of 8 channels
	windowsRows     // of taps
	windowsColumns
	windowsXColumn
	windowsWeightColumn
	windowsXRow
	windowsWeightRow
	windowsLeast // float32, and the largest after it
)

// windowsSums writes the function that computes the sums of vector.windows: first four positions at
// once, then the rest one by one, and 8 channels at a time.
type windowsSums struct {
	*function
	p                                      *variable // parameter
	y, start, x, xStep                     *variable // of the first position of a block
	at, weight, rows, columns              *variable
	xColumn, weightColumn, xRow, weightRow *variable
	from                                   [mostRows]*variable
	right                                  [mostVectors]*variable
	sums                                   [mostRows][mostVectors]*variable
}

func (m *module) windows() {
	f := m.function("windows")
	w := &windowsSums{function: f, p: f.parameter(i32)}
	for _, v := range []**variable{
		&w.y, &w.start, &w.x, &w.at, &w.weight, &w.rows, &w.columns,
		&w.xStep, &w.xColumn, &w.weightColumn, &w.xRow, &w.weightRow,
	} {
		*v = f.local(i32)
	}
	for r := range w.from {
		w.from[r] = f.local(i32)
		for v := range w.sums[r] {
			w.sums[r][v] = f.local(v128)
		}
	}
	for v := range w.right {
		w.right[v] = f.local(v128)
	}
	positions, channels := f.local(i32), f.local(i32)
	w.xStep.set(field(w.p, windowsXStep))
	w.xColumn.set(field(w.p, windowsXColumn))
	w.weightColumn.set(field(w.p, windowsWeightColumn))
	w.xRow.set(field(w.p, windowsXRow))
	w.weightRow.set(field(w.p, windowsWeightRow))
	positions.set(field(w.p, windowsPositions))
	done := f.local(i32)
	for _, count := range []int{mostRows, 1} {
		f.while(atLeast(positions, integer(count)), func() {
			channels.set(integer(0))
			f.while(atLeast(field(w.p, windowsChannels), plus(channels, integer(1))), func() {
				of := func(slice, step int) value {
					return plus(plus(field(w.p, slice), channels), times(done, field(w.p, step)))
				}
				w.y.set(of(windowsY, windowsYStep))
				w.start.set(of(windowsStart, windowsStartStep))
				w.x.set(of(windowsX, windowsXStep))
				w.weight.set(plus(field(w.p, windowsWeights), channels))
				w.block(count)
				channels.set(plus(channels, integer(mostVectors*bytesOfVector)))
			})
			done.set(plus(done, integer(count)))
			positions.set(minus(positions, integer(count)))
		})
	}
}

// block writes the code of 8 channels of some positions.
func (w *windowsSums) block(positions int) {
	w.when(field(w.p, windowsStart), func() {
		w.eachSum(positions, w.start, windowsStartStep, func(sum *variable, offset int) { sum.set(load(w.at, offset)) })
	})
	w.otherwise(func() {
		w.eachSum(positions, w.start, windowsStartStep, func(sum *variable, _ int) { sum.set(constant(0)) })
	})
	w.from[0].set(w.x)
	for i := 1; i < positions; i++ {
		w.from[i].set(plus(w.from[i-1], w.xStep))
	}
	w.rows.set(field(w.p, windowsRows))
	move := func(x, weight *variable) {
		for _, from := range w.from[:positions] {
			from.set(plus(from, x))
		}
		w.weight.set(plus(w.weight, weight))
	}
	w.repeat(w.rows, 1, func() {
		w.columns.set(field(w.p, windowsColumns))
		w.repeat(w.columns, 1, func() {
			for v, right := range w.right {
				right.set(load(w.weight, v*bytesOfVector))
			}
			for i, from := range w.from[:positions] {
				for v, right := range w.right {
					w.sums[i][v].set(w.madd(load(from, v*bytesOfVector), right, w.sums[i][v]))
				}
			}
			move(w.xColumn, w.weightColumn)
		})
		move(w.xRow, w.weightRow)
	})
	least, most := splat(w.p, 8*windowsLeast), splat(w.p, 8*windowsLeast+4)
	w.eachSum(positions, w.y, windowsYStep, func(sum *variable, offset int) {
		w.store(w.at, offset, lower(raise(sum, least), most))
	})
}

// eachSum calls do for the sums of positions and their places in a slice.
func (w *windowsSums) eachSum(positions int, slice *variable, step int, do func(sum *variable, offset int)) {
	w.at.set(slice)
	for _, sums := range w.sums[:positions] {
		for v, sum := range sums {
			do(sum, v*bytesOfVector)
		}
		w.at.set(plus(w.at, field(w.p, step)))
	}
}
