package command

import (
	"context"
	"flag"
	"fmt"
	"io"
)

// Parse is the parser of programs that do not use Run yet.
func Parse(flags *flag.FlagSet, intro, examples string, args []string, stdout, stderr io.Writer) (rest []string, code int, done bool) {
	g := NewGroups()
	g.Add("flags", func(f *flag.FlagSet) { flags.VisitAll(func(one *flag.Flag) { f.Var(one.Value, one.Name, one.Usage) }) })
	p := Program{flags.Name(), intro, examples, stdout, stderr}
	done = true
	code = p.Run(context.Background(), g, args, func(given []string) error {
		rest, done = given, false
		return nil
	})
	g.all.Visit(func(f *flag.Flag) { _ = flags.Set(f.Name, f.Value.String()) })
	return rest, code, done
}

// Misused is the end of programs that do not use Run yet.
func Misused(stderr io.Writer, program, format string, args ...any) int {
	fmt.Fprintf(stderr, "%s: %s; see %s -h\n", program, fmt.Sprintf(format, args...), program)
	return Usage
}

// Fail is the end of programs that do not use Run yet.
func Fail(ctx context.Context, stderr io.Writer, program string, err error) int {
	p := Program{Name: program, Stderr: stderr}
	return p.Run(ctx, NewGroups(), nil, func([]string) error { return err })
}
