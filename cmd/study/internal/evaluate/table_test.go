package evaluate

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// stream is a standard output whose reader has gone away.
type stream struct{}

func (stream) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// The files are written even if the table or another file cannot be written.
func TestDeliver(t *testing.T) {
	folder := t.TempDir()
	lines, figures := filepath.Join(folder, "a.csv"), filepath.Join(folder, "a.json")
	err := (&Report{}).deliver(Outputs{CSV: lines, JSON: figures}, stream{})
	assert.ErrorContains(t, err, "broken pipe")
	assert.FileExists(t, lines)
	assert.FileExists(t, figures)

	nowhere := filepath.Join(folder, "nowhere", "a.csv")
	for range 20 { // in whatever order
		figures = filepath.Join(t.TempDir(), "a.json")
		var out strings.Builder
		err = (&Report{}).deliver(Outputs{CSV: nowhere, JSON: figures}, &out)
		assert.ErrorContains(t, err, nowhere)
		assert.FileExists(t, figures)
		assert.NotEmpty(t, out.String())
	}
	assert.ErrorContains(t, (&Report{}).deliver(Outputs{CSV: nowhere, JSON: nowhere + "x"}, stream{}), "broken pipe")
}
