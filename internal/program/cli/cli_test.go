package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"mrprism/internal/choice"
)

// prog runs a program with a flag and returns its arguments that are not flags.
func prog(ctx context.Context, fails error, args ...string) (rest []string, n, code int, stdout, stderr string) {
	flags := NewGroups()
	var out, err bytes.Buffer
	flags.Add("numbers", func(f *flag.FlagSet) { f.IntVar(&n, "n", 3, "a `NUMBER`") })
	flags.Add("manners", func(f *flag.FlagSet) { f.Bool("loud", false, "say it `LOUD`ly") })
	p := Program{Name: "prog", Intro: "prog - does\n", Examples: "examples\n", Stdout: &out, Stderr: &err}
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

func TestLine(t *testing.T) {
	flags := NewGroups()
	flags.Add("all", func(f *flag.FlagSet) { f.Bool("loud", false, ""); f.Int("n", 0, ""); f.String("out", "", "") })
	_, err := flags.Parse([]string{"a", "-loud", "--out", "b", "-n", "-3", "-out=c", "-loud=false", "d", "--", "-out", "e"})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "-loud", "-n", "-3", "-loud=false", "d", "--", "-out", "e"}, flags.Line("out"))
}

// Help lists the groups in the order in which they were added, each with its flags.
func TestHelp(t *testing.T) {
	rest, _, code, stdout, stderr := prog(t.Context(), errors.New("not reached"), "a", "-h")
	require.Equal(t, Done, code)
	require.Empty(t, stderr)
	require.Empty(t, rest)
	require.Regexp(t, "(?s)^prog - does\n\nnumbers:.*a NUMBER \\(default 3\\)\n\nmanners:.*say it LOUDly.*-version.*examples\n$", stdout)
}

// Help lists flags for experts and fields of a file by -h all alone. A field is no flag.
func TestExperts(t *testing.T) {
	call := func(args ...string) (int, string, string) {
		flags := NewGroups()
		var out, err bytes.Buffer
		flags.Add("numbers", func(f *flag.FlagSet) { f.Int("n", 3, "a `NUMBER`") })
		flags.AddFrom("prog", func(f *flag.FlagSet) { f.String("device", "", "a `DEVICE`") })
		flags.AddForExperts("rare", func(f *flag.FlagSet) { f.Bool("odd", false, "be odd") })
		flags.AddFields("lines", "the file of -with", func(f *flag.FlagSet) { f.Float64("grain", 0, "a `SHARE` of noise") })
		p := Program{Name: "prog sub", Stdout: &out, Stderr: &err}
		code := p.Run(t.Context(), flags, args, func([]string) error { return choice.Errorf("$grain and $n: $other") })
		return code, out.String(), err.String()
	}
	_, few, _ := call("-h")
	require.Contains(t, few, "as prog -h says:\n  -device\n")
	require.Contains(t, few, "-h all also lists 2 options")
	require.NotRegexp(t, "-odd|grain|-version|DEVICE", few)
	_, all, _ := call("-h", "all")
	require.Regexp(t, "(?s)rare:\n  -odd.*lines:\n  grain: SHARE\n    \ta SHARE of noise\n$", all)
	code, _, said := call("-grain", "0.5")
	require.Equal(t, Usage, code)
	require.Equal(t, "prog sub: -grain is no flag: put the line \"grain: 0.5\" into the file of -with; see prog sub -h\n", said)
	_, _, said = call("-grian", "0.5")
	require.Equal(t, "prog sub: there is no flag -grian (did you mean -grain?); see prog sub -h\n", said)
	_, _, said = call("-odd")
	require.Equal(t, "prog sub: grain and -n: other\n", said)
}

// Every program says its version, and with Describe what manual pages are made of.
func TestVersionAndDescription(t *testing.T) {
	_, _, code, stdout, stderr := prog(t.Context(), errors.New("not reached"), "-version")
	require.Equal(t, Done, code)
	require.Empty(t, stderr)
	require.Regexp(t, "^MrPrism prog, version .+\ncommit .+, go1.+\nMIT licence", stdout)

	rest, _, code, stdout, _ := prog(t.Context(), errors.New("not reached"), Describe)
	require.Equal(t, Done, code)
	require.Empty(t, rest)
	var d Description
	require.NoError(t, json.Unmarshal([]byte(stdout), &d))
	require.Equal(t, []Flag{
		{Group: "numbers", Name: "n", Usage: "a NUMBER", Argument: "NUMBER", Default: "3"},
		{Group: "manners", Name: "loud", Usage: "say it LOUDly", Argument: "LOUD"},
		{Group: "this program", Name: "version", Usage: "print version, commit and licence, and end"},
	}, d.Flags)
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
		{t.Context(), errors.New("a\u202egnp\x1b[2J\xff.é: no"), Failed, "prog: a\\u202egnp\\u001b[2J\\xff.é: no\n"},
		{t.Context(), Wrong("n %d", 3), Usage, "prog: n 3; see prog -h\n"},
		{t.Context(), Exit(7), 7, ""},
		{canceled, canceled.Err(), Interrupted, "prog: interrupted\n"},
	} {
		_, _, code, _, stderr := prog(c.ctx, c.err)
		require.Equal(t, c.code, code)
		require.Equal(t, c.stderr, stderr)
	}
}

// A file's name begins no message of its own in a log.
func TestMessage(t *testing.T) {
	_, _, _, _, stderr := prog(t.Context(), errors.New("open a\nprog: all is well\x1b[A: no such file"))
	require.Equal(t, "prog: open a\n  prog: all is well\\u001b[A: no such file\n", stderr)
	list := "2 problems:\n  Auge, 眼睛, 45\u202f823\n    as displayed"
	require.Equal(t, list, Message(list))
}
