package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"mrprism/internal/study/statistics"
)

// CheckVacant returns an error if a folder of that name has files, or cannot be read.
func CheckVacant(folder string) error {
	entries, err := os.ReadDir(folder)
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("%s: cannot be read (%w); name a new folder as -out", folder, errors.Unwrap(err))
	case len(entries) > 0:
		return fmt.Errorf("%s is not empty; name a new folder as -out", folder)
	}
	return nil
}

// WriteCSV writes a CSV. Numbers have six digits; cells of NaN and of nil numbers are empty.
func WriteCSV(w io.Writer, header []string, each func(line func(cells ...any))) error {
	out := csv.NewWriter(w)
	_ = out.Write(header) // Error has it
	each(func(cells ...any) {
		_ = out.Write(statistics.Tabulate(len(cells), func(i int) string { return text(cells[i]) }))
	})
	out.Flush()
	return out.Error()
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
	}
	return fmt.Sprint(cell)
}
