package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"strings"
	"testing"

	"mrprism/internal/compute/gpu/device"

	"github.com/stretchr/testify/require"
)

// prog runs a program with a flag and returns its arguments that are not flags.
func prog(ctx context.Context, fails error, args ...string) (rest []string, n, code int, stdout, stderr string) {
	flags := NewGroups()
	var out, err bytes.Buffer
	flags.Add("numbers", func(f *flag.FlagSet) { f.IntVar(&n, "n", 3, "a `NUMBER`") })
	flags.Add("manners", func(f *flag.FlagSet) { f.Bool("loud", false, "say it `LOUD`ly") })
	p := Program{"prog", "prog - does\n", "examples\n", &out, &err}
	code = p.Run(ctx, flags, args, func(given []string) error {
		rest = given
		return fails
	})
	return rest, n, code, out.String(), err.String()
}

func TestParse(t *testing.T) {
	rest, n, code, _, _ := prog(t.Context(), nil, "a", "-n", "5", "b", "-loud")
	require.Equal(t, Done, code)
	require.Equal(t, []string{"a", "b"}, rest, "flags may stand after files")
	require.Equal(t, 5, n)
	rest, n, _, _, _ = prog(t.Context(), nil, "a", "--", "-n", "5")
	require.Equal(t, []string{"a", "-n", "5"}, rest, "after -- everything is a file")
	require.Equal(t, 3, n)
	_, _, code, stdout, stderr := prog(t.Context(), nil, "-n", "x")
	require.Equal(t, Usage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "see prog -h")
}

// Help lists the groups in the order in which they were added, each with its flags.
func TestHelp(t *testing.T) {
	rest, _, code, stdout, stderr := prog(t.Context(), errors.New("not reached"), "a", "-h")
	require.Equal(t, Done, code)
	require.Empty(t, stderr)
	require.Empty(t, rest)
	require.Regexp(t, "(?s)^prog - does\n\nnumbers:.*a NUMBER \\(default 3\\)\n\nmanners:.*say it LOUDly.*examples\n$", stdout)
}

func TestWrapped(t *testing.T) {
	long := strings.Repeat("word ", 45)
	lines := strings.Split(wrapped(long), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, strings.TrimSpace(strings.Repeat("word ", 20)), lines[0])
	require.Equal(t, "a short text", wrapped("a short text"))
	require.Empty(t, wrapped(""))
}

func TestExitCodes(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx    context.Context
		err    error
		code   int
		stderr string
	}{
		{t.Context(), errors.New("no disk"), Failed, "prog: no disk\n"},
		{t.Context(), Wrong("n %d", 3), Usage, "prog: n 3; see prog -h\n"},
		{t.Context(), Exit(7), 7, ""},
		{canceled, canceled.Err(), Interrupted, "prog: interrupted\n"},
	} {
		_, _, code, _, stderr := prog(c.ctx, c.err)
		require.Equal(t, c.code, code)
		require.Equal(t, c.stderr, stderr)
	}
}

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
