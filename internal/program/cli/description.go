package cli

import (
	"flag"
	"maps"
	"slices"
)

// Describe is an argument that help does not list. A program with this argument alone prints its
// Description as JSON. Manual pages and completions are made of that.
const Describe = "-describe"

// Description says what -h says.
type Description struct {
	Name, Intro, Examples string
	Subprograms           []string
	Flags                 []Flag // group by group
}

// Flag describes a flag.
type Flag struct {
	Group, Name, Usage string
	Argument           string // what stands for its value; empty if it takes none
	Default            string // empty if usage says it, and for zeros
}

func (p *Program) description(flags *Groups) Description {
	d := Description{Name: p.Name, Intro: p.Intro, Examples: p.Examples, Subprograms: slices.Sorted(maps.Keys(p.Subprograms))}
	flags.Each(func(group string, f *flag.Flag) {
		one := Flag{Group: group, Name: f.Name}
		one.Argument, one.Usage = flag.UnquoteUsage(f)
		if !slices.Contains([]string{"0", "0s", "false"}, f.DefValue) {
			one.Default = f.DefValue
		}
		d.Flags = append(d.Flags, one)
	})
	return d
}
