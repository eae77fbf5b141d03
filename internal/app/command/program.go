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
	rest, err := flags.Parse(args)
	if err == nil {
		err = body(rest)
	}
	var wrong usageError
	var exit Exit
	switch {
	case err == nil:
		return Done
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(p.Stdout, p.Intro)
		flags.describe(p.Stdout)
		fmt.Fprint(p.Stdout, p.Examples)
		return Done
	case errors.As(err, &exit):
		return int(exit)
	case errors.As(err, &wrong):
		fmt.Fprintf(p.Stderr, "%s: %v; see %s -h\n", p.Name, err, p.Name)
		return Usage
	case ctx.Err() != nil:
		fmt.Fprintf(p.Stderr, "%s: interrupted\n", p.Name)
		return Interrupted
	}
	fmt.Fprintf(p.Stderr, "%s: %v\n", p.Name, err)
	return Failed
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
