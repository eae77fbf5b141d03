package command

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"testing"

	"mrprism/internal/gpu/device"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	parse := func(args ...string) (rest []string, n int, code int, done bool, stdout, stderr string) {
		flags := flag.NewFlagSet("prog", flag.ContinueOnError)
		v := flags.Int("n", 3, "a `NUMBER`")
		var out, err bytes.Buffer
		rest, code, done = Parse(flags, "prog - does\n", "examples\n", args, &out, &err)
		return rest, *v, code, done, out.String(), err.String()
	}
	rest, n, _, done, _, _ := parse("a", "-n", "5", "b")
	require.False(t, done)
	require.Equal(t, []string{"a", "b"}, rest, "flags may stand after files")
	require.Equal(t, 5, n)
	rest, n, _, done, _, _ = parse("a", "--", "-n", "5")
	require.False(t, done)
	require.Equal(t, []string{"a", "-n", "5"}, rest, "after -- everything is a file")
	require.Equal(t, 3, n)
	_, _, code, done, stdout, stderr := parse("a", "-h")
	require.True(t, done)
	require.Equal(t, Done, code)
	require.Empty(t, stderr)
	require.Contains(t, stdout, "a NUMBER (default 3)")
	_, _, code, done, stdout, stderr = parse("-n", "x")
	require.True(t, done)
	require.Equal(t, Usage, code)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "see prog -h")
}

// Help lists groups in the order of their making, each with its flags; all are parsed as one.
func TestGroups(t *testing.T) {
	g := NewGroups("prog")
	var n *int
	var loud *bool
	g.Add("numbers", func(f *flag.FlagSet) { n = f.Int("n", 3, "a `NUMBER`") })
	g.Add("manners", func(f *flag.FlagSet) { loud = f.Bool("loud", false, "say it `LOUD`ly") })
	var out, err bytes.Buffer
	rest, _, done := ParseGroups(g, "prog - does\n", "examples\n", []string{"-loud", "a", "-n", "5"}, &out, &err)
	require.False(t, done)
	require.Equal(t, []string{"a"}, rest)
	require.Equal(t, 5, *n)
	require.True(t, *loud)
	_, code, done := ParseGroups(g, "prog - does\n", "examples\n", []string{"-h"}, &out, &err)
	require.True(t, done)
	require.Equal(t, Done, code)
	require.Regexp(t, "(?s)^prog - does\n\nnumbers:.*a NUMBER \\(default 3\\)\n\nmanners:.*say it LOUDly.*examples\n$", out.String())
}

func TestFail(t *testing.T) {
	var b bytes.Buffer
	require.Equal(t, Failed, Fail(t.Context(), &b, "prog", errors.New("no disk")))
	require.Equal(t, "prog: no disk\n", b.String())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, Interrupted, Fail(ctx, &b, "prog", ctx.Err()))
}

// What is no terminal is not written to.
func TestProgressIsSilentInFiles(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, 2)
	p.Begin()
	p.Show("a")
	p.Clear()
	require.Empty(t, b.String())
}

func TestUnknownWeights(t *testing.T) {
	_, err := Weights("nonesuch")
	require.ErrorContains(t, err, "nonesuch: there is no such file")
	_, err = Weights(t.TempDir() + "/absent.safetensors")
	require.ErrorContains(t, err, "absent.safetensors")
}

// A device that there is none of is a wrong usage, whoever names it.
func TestUnknownDevice(t *testing.T) {
	t.Setenv(device.Variable, "abacus")
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	wish := DeviceFlags(flags)
	require.ErrorContains(t, wish.Check(), device.Variable+"=abacus: choose one of auto, ")
	require.NoError(t, flags.Parse([]string{"-device", "processor"}))
	require.NoError(t, wish.Check())
}
