package report

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
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

// WriteCSV writes a CSV.
func WriteCSV(w io.Writer, header []string, each func(line func(cells ...string))) error {
	out := csv.NewWriter(w)
	_ = out.Write(header) // Error has it
	each(func(cells ...string) { _ = out.Write(cells) })
	out.Flush()
	return out.Error()
}
