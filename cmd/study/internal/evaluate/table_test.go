package evaluate

import (
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/internal/command"
)

// stream is a standard output whose reader has gone away.
type stream struct{}

func (stream) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// The files are written even if the table or another file cannot be written.
func TestDeliver(t *testing.T) {
	folder := t.TempDir()
	lines, figures := filepath.Join(folder, "a.csv"), filepath.Join(folder, "a.json")
	err := (&Report{}).deliver(Outputs{CSV: lines, Figures: figuresTo(t, figures)}, stream{})
	assert.ErrorContains(t, err, "broken pipe")
	assert.FileExists(t, lines)
	assert.FileExists(t, figures)

	nowhere := filepath.Join(folder, "nowhere", "a.csv")
	for range 20 { // in whatever order
		figures = filepath.Join(t.TempDir(), "a.json")
		var out strings.Builder
		err = (&Report{}).deliver(Outputs{CSV: nowhere, Figures: figuresTo(t, figures)}, &out)
		assert.ErrorContains(t, err, nowhere)
		assert.FileExists(t, figures)
		assert.NotEmpty(t, out.String())
	}
	assert.ErrorContains(t, (&Report{}).deliver(Outputs{CSV: nowhere, Figures: figuresTo(t, nowhere+"x")}, stream{}), "broken pipe")
}

// figuresTo is what -json FILE gives.
func figuresTo(t *testing.T, file string) *command.Figures {
	t.Helper()
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	f := command.FiguresFlag(flags, "")
	require.NoError(t, flags.Parse([]string{"-json", file}))
	return f
}
