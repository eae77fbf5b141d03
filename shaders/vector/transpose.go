package vector

// Transpose sets y[j*to + i] to x[i*from + j], or adds it, for all rows i and columns j of x.
func Transpose[F Float](y []F, to int, x []F, from, rows, columns int, add bool) {
	if rows == 0 || columns == 0 {
		return
	}
	_, _ = y[(columns-1)*to+rows-1], x[(rows-1)*from+columns-1] // assembly checks no bounds
	first, single := 0, Singles(y)
	for _, t := range Current().transpose {
		if single == nil {
			break
		}
		n, width := (rows-first)/t.rows*t.rows, columns/t.columns*t.columns
		if n == 0 || width == 0 {
			continue
		}
		t.blocks(&single[first], to, &Singles(x)[first*from], from, n, width, add)
		plainTranspose(y[first:], to, x[first*from:], from, n, width, columns, add)
		first += n
	}
	plainTranspose(y[first:], to, x[min(first*from, len(x)):], from, rows-first, 0, columns, add)
}

// blocksTransposed transposes blocks of rows × columns.
type blocksTransposed struct {
	rows, columns int
	blocks        func(y *float32, to int, x *float32, from, rows, columns int, add bool)
}

// plainTranspose is Transpose from column first of x on.
func plainTranspose[F Float](y []F, to int, x []F, from, rows, first, columns int, add bool) {
	if first == columns {
		return
	}
	for i := range rows {
		row, y := x[i*from+first:i*from+columns], y[first*to+i:]
		if add {
			for j, v := range row {
				y[j*to] += v
			}
		} else {
			for j, v := range row {
				y[j*to] = v
			}
		}
	}
}
