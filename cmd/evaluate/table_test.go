package main

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"mrprism/internal/data/metric"

	"github.com/stretchr/testify/assert"
)

func TestIntervalsAreWritten(t *testing.T) {
	low, high := -0.00006, 0.0123
	i := metric.Interval{Mean: -0.00004, Low: &low, High: &high}
	assert.Equal(t, "+0.00 [-0.01, +1.23]", signed(&i, 100, 2))
	assert.Equal(t, "0.00 [-0.01, 1.23]", plain(&i, 100, 2))

	// Of one image there is a mean, and nothing that says how far to trust it.
	one := interval([]float64{.5})
	assert.Equal(t, "+50.0", signed(one, 100, 1))
	text, err := json.Marshal(one)
	assert.NoError(t, err)
	assert.JSONEq(t, `{"mean": 0.5}`, string(text))
}

// stream is a standard output whose reader has gone away.
type stream struct{}

func (stream) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// The files are written even if the table or another file cannot be written.
func TestDeliver(t *testing.T) {
	folder := t.TempDir()
	lines, figures := filepath.Join(folder, "a.csv"), filepath.Join(folder, "a.json")
	err := (&report{}).deliver(outputs{csv: lines, json: figures}, stream{})
	assert.ErrorContains(t, err, "broken pipe")
	assert.FileExists(t, lines)
	assert.FileExists(t, figures)

	nowhere := filepath.Join(folder, "nowhere", "a.csv")
	for range 20 { // in whatever order
		figures = filepath.Join(t.TempDir(), "a.json")
		var out strings.Builder
		err = (&report{}).deliver(outputs{csv: nowhere, json: figures}, &out)
		assert.ErrorContains(t, err, nowhere)
		assert.FileExists(t, figures)
		assert.NotEmpty(t, out.String())
	}
	assert.ErrorContains(t, (&report{}).deliver(outputs{csv: nowhere, json: nowhere + "x"}, stream{}), "broken pipe")
}
