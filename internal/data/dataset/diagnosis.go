package dataset

import (
	"errors"
	"path/filepath"
)

// DiagnosisFile is the file of a data set's folder that says what was diagnosed in its images: a
// table of name and label, 0 or 1. The file may lack images.
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
	d.table(filepath.Join(dir, DiagnosisFile), "case0001,1", problems, func(c *Case, label string) (err error) {
		switch label {
		case "0":
			c.Diagnosis = Negative
		case "1":
			c.Diagnosis = Positive
		default:
			err = errors.New("give 0 or 1")
		}
		return err
	})
}
