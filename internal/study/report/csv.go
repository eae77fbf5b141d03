package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"

	"mrprism/internal/data/metric"
	"mrprism/internal/data/statistics"
	"mrprism/internal/files/cells"
)

// WriteCSV writes a CSV for spreadsheets, as package cells has them. Numbers have six digits; cells
// of NaN and of nil numbers are empty. An interval fills three cells: mean, low and high.
func WriteCSV(w io.Writer, header []string, each func(line func(row ...any))) error {
	t := &cells.Table{Columns: header}
	each(func(row ...any) {
		var line []string
		for _, cell := range row {
			if i, is := cell.(*metric.Interval); is {
				i = cmp.Or(i, &metric.Interval{Mean: math.NaN()})
				line = append(line, text(i.Mean), text(i.Low), text(i.High))
				continue
			}
			line = append(line, text(cell))
		}
		t.Lines = append(t.Lines, line)
	})
	data, err := t.Bytes()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// text is a cell of a CSV.
func text(cell any) string {
	switch v := cell.(type) {
	case *float64:
		return text(statistics.Number(v))
	case float64:
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', 6, 64)
	case string:
		return cells.Guarded(v)
	}
	return fmt.Sprint(cell)
}
