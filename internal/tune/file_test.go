//go:build !js

package tune

import (
	"os"
	"path/filepath"
	"testing"

	"mrprism/internal/gpu"
	"mrprism/internal/gpu/reference"

	"github.com/stretchr/testify/require"
)

// cache gives the test a folder for caches of its own.
func cache(t *testing.T) {
	t.Helper()
	for _, variable := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} { // of Linux, macOS and Windows
		t.Setenv(variable, t.TempDir())
	}
	t.Setenv(Variable, "")
}

var (
	lavapipe = gpu.Info{Backend: "dawn", Adapter: "llvmpipe", Driver: "Mesa 25", Kind: gpu.KindCPU}
	newer    = gpu.Info{Backend: "dawn", Adapter: "llvmpipe", Driver: "Mesa 26", Kind: gpu.KindCPU}
)

func TestSaveAndLoad(t *testing.T) {
	cache(t)
	choices, err := Load(lavapipe)
	require.NoError(t, err)
	require.Empty(t, choices, "nothing was saved")

	first := Choices{"conv 00000001 &{4}": "tiles", "conv 00000001 &{8}": "", "attention 00000002 &{8}": "narrow"}
	_, err = Save(lavapipe, first)
	require.NoError(t, err)
	choices, err = Load(lavapipe)
	require.NoError(t, err)
	require.Equal(t, first, choices)
	choices, err = Load(newer)
	require.NoError(t, err)
	require.Empty(t, choices, "another driver is another device")

	_, err = Save(lavapipe, Choices{"attention 00000002 &{8}": "tiles", "conv 00000003 &{4}": "registers"})
	require.NoError(t, err)
	choices, err = Load(lavapipe)
	require.NoError(t, err)
	require.Equal(t, Choices{"attention 00000002 &{8}": "tiles", "conv 00000003 &{4}": "registers"}, choices, "older sources of conv are forgotten")
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	cache(t)
	path, err := Save(newer, Choices{"conv 00000001 &{4}": "tiles"})
	require.NoError(t, err)
	foreign, err := os.ReadFile(path)
	require.NoError(t, err)
	path, err = Path(lavapipe)
	require.NoError(t, err)
	for what, data := range map[string][]byte{"another's": foreign, "damaged": foreign[:len(foreign)/2], "empty": nil, "of another shape": []byte(`{"choices": 3}`)} {
		require.NoError(t, os.WriteFile(path, data, 0o600))
		_, err = Load(lavapipe)
		require.ErrorContains(t, err, filepath.Base(path), what)
		var notes []string
		d := guise{reference.Open(), lavapipe}
		require.Equal(t, gpu.Device(d), Remembered(d, func(note string) { notes = append(notes, note) }), what)
		require.Len(t, notes, 1, what)
		_, err = Save(lavapipe, Choices{"conv 00000001 &{8}": ""})
		require.NoError(t, err, what)
		choices, err := Load(lavapipe)
		require.NoError(t, err)
		require.Equal(t, Choices{"conv 00000001 &{8}": ""}, choices, what)
	}
}

// guise is the reference with the information of another device.
type guise struct {
	gpu.Device
	info gpu.Info
}

func (g guise) Info() gpu.Info { return g.info }

func TestRemembered(t *testing.T) {
	cache(t)
	choices := Choices{"conv 00000001 &{4}": "tiles"}
	_, err := Save(lavapipe, choices)
	require.NoError(t, err)
	silent := func(note string) { t.Error(note) }
	remembered := func(info gpu.Info) map[string]string {
		return Remembered(guise{reference.Open(), info}, silent).Info().Tuned
	}
	require.Equal(t, map[string]string(choices), remembered(lavapipe))
	require.Empty(t, remembered(newer))
	require.Empty(t, With(guise{reference.Open(), gpu.Info{Tuned: choices}}, nil).Info().Tuned)

	inGo := reference.Open()
	_, err = Save(inGo.Info(), choices)
	require.NoError(t, err)
	require.Equal(t, gpu.Device(inGo), Remembered(inGo, silent), "Go has no variants")

	t.Setenv(Variable, "off")
	require.Empty(t, remembered(lavapipe))
}
