package dataset

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mrprism/weights/disk"
)

// DiagnosisFile is the file of a data set's folder that says what was diagnosed in its images: a
// CSV with the columns name (without extension) and label, 0 or 1. The file may lack images, and
// may have images of other folders.
const DiagnosisFile = "diagnosis.csv"

// Diagnosis is the label of an image in diagnosis.csv.
type Diagnosis int8

const (
	Undiagnosed Diagnosis = iota
	Negative              // label 0
	Positive              // label 1
)

// diagnose reads diagnosis.csv, if there is one.
func (d *Dataset) diagnose(dir string, problems *Problems) {
	path := filepath.Join(dir, DiagnosisFile)
	d.table(path, "case0001,1", problems, func(c *Case, line int, name, label string) {
		switch {
		case c == nil:
		case c.Diagnosis != Undiagnosed:
			problems.add("%s, line %d: a second label of %s", path, line, name)
		case label == "0":
			c.Diagnosis = Negative
		case label == "1":
			c.Diagnosis = Positive
		default:
			problems.add("%s, line %d: the label of %s is %q: give 0 or 1", path, line, name, label)
		}
	})
}

// table reads a CSV with the column name, of an image, and one other column. It calls visit with
// every line; c is nil if the folder has no such image. found is false if there is no such file.
func (d *Dataset) table(path, example string, problems *Problems, visit func(c *Case, line int, name, value string)) (found bool) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	if err != nil {
		problems.add("%s: cannot be read (%v)", path, disk.Cause(err))
		return false
	}
	defer file.Close()
	cases := map[string]*Case{}
	for i := range d.Cases {
		cases[d.Cases[i].Name] = &d.Cases[i]
	}
	lines := csv.NewReader(file)
	lines.FieldsPerRecord, lines.Comment = 2, '#'
	for n := 1; ; n++ {
		line, err := lines.Read()
		switch {
		case err == io.EOF:
			return true
		case err != nil:
			problems.add("%s: %v; give lines such as %s", path, err, example)
			return true
		case n == 1 && strings.EqualFold(line[0], "name"):
			continue
		}
		name := strings.TrimSpace(line[0])
		visit(cases[name], n, name, strings.TrimSpace(line[1]))
	}
}
