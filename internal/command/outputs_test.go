package command

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/weights"
)

func TestCheckOutputs(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "a.csv")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.NoError(t, CheckOutputs())
	require.NoError(t, CheckOutputs("", file, "", filepath.Join(folder, "b.csv")), "what is there is replaced")
	assert.ErrorContains(t, CheckOutputs(filepath.Join(folder, "none", "a.csv")), "there is no folder "+filepath.Join(folder, "none"))
	assert.ErrorContains(t, CheckOutputs(filepath.Join(file, "a.csv")), "there is no folder "+file)
	assert.ErrorContains(t, CheckOutputs(folder), "is a folder")
	assert.ErrorContains(t, CheckOutputs(os.DevNull), "is a device")
	link := filepath.Join(folder, "link.csv")
	require.NoError(t, os.Symlink(file, link))
	assert.ErrorContains(t, CheckOutputs(link), "is a link")
	assert.ErrorContains(t, weights.WriteFile(link, []byte("text")), "is a link")
	assert.ErrorContains(t, CheckOutputs(file, folder+"/./a.csv"), "written twice")
}

func TestFigures(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.json")
	table := func(w io.Writer) error { _, err := io.WriteString(w, "table"); return err }
	for _, c := range [][3]string{{"", "table", ""}, {"-", "3\n", ""}, {file, "table", file}} {
		flags := flag.NewFlagSet("", flag.ContinueOnError)
		figures := FiguresFlag(flags, "a number")
		require.NoError(t, flags.Parse([]string{"-json", c[0]}))
		assert.Equal(t, c[2], figures.File())
		var out strings.Builder
		require.NoError(t, figures.Write(&out, 3, table))
		assert.Equal(t, c[1], out.String())
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "3\n", string(data))
}
