package computing

import (
	"flag"
	"testing"

	"mrprism/shaders/gpu/device"

	"github.com/stretchr/testify/require"
)

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
	wish := DeviceFlag(flags)
	require.ErrorContains(t, wish.Check(), device.Variable+"=abacus: choose one of auto, ")
	require.NoError(t, flags.Parse([]string{"-device", "processor"}))
	require.NoError(t, wish.Check())
}
