package command

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/internal/gpu/device"
	"mrprism/internal/gpu/gputest"
	"mrprism/internal/tune"
)

// A device that there is none of is a wrong usage, whoever names it.
func TestUnknownDevice(t *testing.T) {
	t.Setenv(device.Variable, "abacus")
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	wish := DeviceFlags(flags)
	require.ErrorContains(t, wish.Check(), device.Variable+"=abacus: choose one of auto, ")
	require.NoError(t, flags.Parse([]string{"-device", "processor"}))
	require.NoError(t, wish.Check())
}

// What was measured on a device is used by whoever opens it, unless asked not to.
func TestDevicesAreOpenedAsMeasured(t *testing.T) {
	for _, variable := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // where caches are on Linux, macOS and Windows
		t.Setenv(variable, t.TempDir())
	}
	t.Setenv(tune.Variable, "")
	choices := tune.Choices{"conv2d_forward 00000000 &{}": "tiles"}
	_, err := tune.Save(gputest.Require(t, "dawn").Info(), choices)
	require.NoError(t, err)
	opened := func(args ...string) map[string]string {
		flags := flag.NewFlagSet("prog", flag.ContinueOnError)
		wish := DeviceFlags(flags)
		require.NoError(t, flags.Parse(append(args, "-device", "dawn")))
		d, err := wish.Open(t.Context(), func(note string) { t.Error(note) })
		require.NoError(t, err)
		defer d.Close()
		return d.Info().Tuned
	}
	require.Equal(t, map[string]string(choices), opened())
	require.Empty(t, opened("-untuned"))
	t.Setenv(tune.Variable, "off")
	require.Empty(t, opened())
}
