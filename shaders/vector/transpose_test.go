package vector

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTranspose(t *testing.T) {
	asLevels(t, func(l *Level) {
		for _, rows := range []int{0, 1, 2, 4, 7, 8, 13, 24} {
			for _, columns := range []int{0, 1, 2, 4, 7, 8, 13, 24} {
				for _, add := range []bool{false, true} {
					from, to := columns+3, rows+2
					x, y := random(rows*from, 1), random(columns*to+rows+1, 2)
					want := append([]float32(nil), y...)
					for i := range rows {
						for j := range columns {
							if add {
								want[j*to+i] += x[i*from+j]
							} else {
								want[j*to+i] = x[i*from+j]
							}
						}
					}
					Transpose(y, to, x, from, rows, columns, add)
					require.Equal(t, want, y, "%s: %d rows, %d columns", l.Name, rows, columns)
				}
			}
		}
	})
}

func BenchmarkTranspose(b *testing.B) {
	const rows, columns = 256, 8
	asLevels(b, func(l *Level) {
		b.Run(l.Name, func(b *testing.B) {
			x, y := random(rows*columns, 1), make([]float32, rows*columns)
			for b.Loop() {
				Transpose(y, rows, x, columns, rows, columns, false)
				Transpose(x, columns, y, rows, columns, rows, true)
			}
		})
	})
}
