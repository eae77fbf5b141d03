package command

import (
	"flag"
	"fmt"
	"io"
)

// Groups are flags that help lists group by group.
type Groups struct {
	*flag.FlagSet // all of them
	groups        []*flag.FlagSet
}

// NewGroups makes a program's flags, none yet.
func NewGroups(program string) *Groups {
	return &Groups{FlagSet: flag.NewFlagSet(program, flag.ContinueOnError)}
}

// Add makes a group of the flags that declare declares.
func (g *Groups) Add(title string, declare func(f *flag.FlagSet)) {
	group := flag.NewFlagSet(title, flag.ContinueOnError)
	declare(group)
	group.VisitAll(func(f *flag.Flag) { g.Var(f.Value, f.Name, f.Usage) })
	g.groups = append(g.groups, group)
}

// Each calls f for every flag, group by group.
func (g *Groups) Each(f func(group string, flag *flag.Flag)) {
	for _, group := range g.groups {
		group.VisitAll(func(one *flag.Flag) { f(group.Name(), one) })
	}
}

// describe lists the flags for help.
func (g *Groups) describe(w io.Writer) {
	for _, group := range g.groups {
		fmt.Fprintf(w, "\n%s:\n", group.Name())
		group.SetOutput(w)
		group.PrintDefaults()
	}
}

// ParseGroups is Parse for flags in groups.
func ParseGroups(g *Groups, intro, examples string, args []string, stdout, stderr io.Writer) (rest []string, code int, done bool) {
	return parse(g.FlagSet, g.describe, intro, examples, args, stdout, stderr)
}
