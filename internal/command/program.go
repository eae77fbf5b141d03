package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"

	"mrprism/weights"
)

// Program is what one call of a program needs to parse its flags, to run and to end.
type Program struct {
	Name            string // as messages begin
	Intro, Examples string // of -h, before and after the flags
	Stdout, Stderr  io.Writer
}

// usageError is a wrong usage.
type usageError struct{ error }

// Wrong makes an error of wrong usage. Run shows it with a hint to -h and returns Usage.
func Wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Exit is an error for which Run prints nothing more, because the program has already said
// everything. Run returns the number as the exit code.
type Exit int

func (e Exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Run parses args, calls body with the arguments that are not flags and returns the exit code. With
// -h it prints help instead.
func (p *Program) Run(ctx context.Context, flags *Groups, args []string, body func(rest []string) error) int {
	rest, code, done := ParseGroups(flags, p.Intro, p.Examples, args, p.Stdout, p.Stderr)
	if done {
		return code
	}
	err := body(rest)
	var wrong usageError
	var exit Exit
	switch {
	case err == nil:
		return Done
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &wrong):
		return Misused(p.Stderr, p.Name, "%v", err)
	}
	return Fail(ctx, p.Stderr, p.Name, err)
}

// Given lists the flags that were set to something. An empty text counts as not given.
func (g *Groups) Given() map[string]bool {
	given := map[string]bool{}
	g.Visit(func(f *flag.Flag) { given[f.Name] = f.Value.String() != "" })
	return given
}

// WriteJSON writes a value with an indent of two spaces.
func WriteJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// WriteFile writes a whole file. If it fails, a file of that name from before stays unchanged.
func WriteFile(path string, data []byte) error {
	return weights.WriteAtomic(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
