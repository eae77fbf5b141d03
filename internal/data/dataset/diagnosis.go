package dataset

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mrprism/internal/data/disk"
)

// DiagnosisFile is the file of a data set's folder that says what was diagnosed in its images: a
// CSV with the columns name (without extension) and label, 0 or 1. Images may be missing, and it
// may have those of other folders.
const DiagnosisFile = "diagnosis.csv"

// Diagnosis is what diagnosis.csv says of an image.
type Diagnosis int8

const (
	Undiagnosed Diagnosis = iota
	Negative              // label 0
	Positive              // label 1
)

// diagnose reads diagnosis.csv, if there is one.
func (d *Dataset) diagnose(dir string, problems *Problems) {
	path := filepath.Join(dir, DiagnosisFile)
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err != nil {
		problems.add("%s: cannot be read (%v)", path, disk.Cause(err))
		return
	}
	defer file.Close()
	index := map[string]int{}
	for i, c := range d.Cases {
		index[c.Name] = i
	}
	lines := csv.NewReader(file)
	lines.FieldsPerRecord, lines.Comment = 2, '#'
	for n := 1; ; n++ {
		line, err := lines.Read()
		switch {
		case err == io.EOF:
			return
		case err != nil:
			problems.add("%s: %v; give lines such as case0001,1", path, err)
			return
		case n == 1 && strings.EqualFold(line[0], "name"):
			continue
		}
		name, label := strings.TrimSpace(line[0]), strings.TrimSpace(line[1])
		i, found := index[name]
		switch {
		case !found:
		case d.Cases[i].Diagnosis != Undiagnosed:
			problems.add("%s, line %d: a second label of %s", path, n, name)
		case label == "0":
			d.Cases[i].Diagnosis = Negative
		case label == "1":
			d.Cases[i].Diagnosis = Positive
		default:
			problems.add("%s, line %d: the label of %s is %q: give 0 or 1", path, n, name, label)
		}
	}
}
