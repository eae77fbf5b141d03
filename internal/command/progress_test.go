package command

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Progress is shown on terminals only.
func TestProgressIsSilentInFiles(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, 2)
	p.Begin()
	p.Show("a")
	p.Clear()
	require.Empty(t, b.String())
}

// A line on a terminal is not wider than the terminal.
func TestCut(t *testing.T) {
	require.Equal(t, "Rec1", Cut("Rec1", 4))
	require.Equal(t, "2²", Cut("2²: a long line", 2))
	require.Empty(t, Cut("a", 0))
}
