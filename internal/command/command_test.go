package command

import (
	"bytes"
	"flag"
	"testing"

	"mrprism/shaders/gpu/device"

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

func TestUnknownWeights(t *testing.T) {
	_, err := Weights("nonesuch")
	require.ErrorContains(t, err, "nonesuch: there is no such file")
	_, err = Weights(t.TempDir() + "/absent.safetensors")
	require.ErrorContains(t, err, "absent.safetensors")
}

// An unknown device is a wrong usage, in the flag and in the environment.
func TestUnknownDevice(t *testing.T) {
	t.Setenv(device.Variable, "abacus")
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	wish := DeviceFlags(flags)
	require.ErrorContains(t, wish.Check(), device.Variable+"=abacus: choose one of auto, ")
	require.NoError(t, flags.Parse([]string{"-device", "processor"}))
	require.NoError(t, wish.Check())
}
