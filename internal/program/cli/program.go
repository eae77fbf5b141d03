// Package cli has what every program has: flags, help, version, exit codes and Ctrl-C. It imports
// nothing that computes.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"mrprism/internal/choice"
	"mrprism/internal/program/version"
)

// Exit codes.
const (
	Done        = 0
	Failed      = 1
	Usage       = 2
	Interrupted = 130 // 128 + SIGINT, as in shells
)

// Main runs a program and ends the process with its exit code. The first Ctrl-C ends ctx, the
// second Ctrl-C ends the process.
func Main(run func(ctx context.Context, args []string, stdout, stderr io.Writer) int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the next signal has its default effect
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// Program is what one call of a program needs to parse its flags, to run and to end.
type Program struct {
	Name            string // as messages begin
	Subprograms     Subprograms
	Intro, Examples string // of -h, before and after the flags
	Details         string // of -h all, before the flags
	Stdout, Stderr  io.Writer
}

// Subprograms has the function of each subprogram that the first argument can name.
type Subprograms map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) int

// usageError marks an error of wrong usage.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// Wrong makes an error of wrong usage. Run shows it with a hint to -h and returns Usage.
func Wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Exit is an error for which Run prints nothing more, because the program has already said
// everything. Run returns the number as the exit code.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Printable is a text, of one line or several, that is safe for a terminal. A character that moves
// the cursor or changes the order of writing, as a file's name may have, is written as its code.
func Printable(text string) string {
	var out strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case r == '\n' || r == '\t' || unicode.IsGraphic(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// Message is a printable text of one message. Lines after the first are indented, so that a name
// with a newline does not look like a new message in a log.
func Message(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(Printable(text), "\n", "\n  "), "\n    ", "\n  ")
}

// Run parses args, calls body with the arguments that are not flags and returns the exit code. For
// -h and -version it prints their text instead. A first argument that is no flag names a
// subprogram, if there are some.
func (p *Program) Run(ctx context.Context, flags *Groups, args []string, body func(rest []string) error) int {
	if len(args) > 0 && p.Subprograms[args[0]] != nil {
		return p.Subprograms[args[0]](ctx, args[1:], p.Stdout, p.Stderr)
	}
	var asked bool
	if !strings.Contains(p.Name, " ") { // a subprogram's version is the program's
		flags.Add("this program", func(f *flag.FlagSet) {
			f.BoolVar(&asked, "version", false, "print version, commit and licence, and end")
		})
	}
	if slices.Equal(args, []string{Describe}) {
		args, body = nil, func([]string) error { return json.NewEncoder(p.Stdout).Encode(p.description(flags)) }
	}
	rest, err := p.parse(flags, args)
	switch {
	case err != nil:
	case asked:
		_, err = io.WriteString(p.Stdout, version.About(p.Name))
	default:
		err = body(rest)
	}
	var wrong usageError
	var exit Exit
	if err == nil {
		return Done
	}
	text := Message(choice.Text(err, flags.Shown))
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(p.Stdout, p.Intro)
		all := slices.Equal(rest, []string{"all"})
		if all {
			fmt.Fprint(p.Stdout, p.Details)
		}
		flags.describe(p.Stdout, all)
		fmt.Fprint(p.Stdout, p.Examples)
		return Done
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &wrong):
		fmt.Fprintf(p.Stderr, "%s: %s; see %s -h\n", p.Name, text, p.Name)
		return Usage
	case ctx.Err() != nil:
		fmt.Fprintf(p.Stderr, "%s: interrupted\n", p.Name)
		return Interrupted
	}
	fmt.Fprintf(p.Stderr, "%s: %s\n", p.Name, text)
	return Failed
}

// parse parses args. A program with subprograms takes no other arguments than flags.
func (p *Program) parse(flags *Groups, args []string) (rest []string, err error) {
	if len(args) > 0 && len(p.Subprograms) > 0 && !strings.HasPrefix(args[0], "-") {
		names := slices.Sorted(maps.Keys(p.Subprograms))
		return nil, Wrong("%w; or begin with a flag", choice.Known("subprogram of "+p.Name, args[0], names))
	}
	return flags.Parse(args)
}
