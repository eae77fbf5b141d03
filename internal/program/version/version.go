// Package version tells a program's version.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// built is NUMBER+COMMIT. The Makefile sets it: -ldflags "-X
// mrprism/internal/program/version.built=…".
var built string

// Number is the version: 1.2.3 at the tag v1.2.3, and 0.0.DATE at other commits.
func Number() string {
	number, _, _ := strings.Cut(built, "+")
	return cmp.Or(number, "unknown")
}

// Commit is the commit from which the program was built.
func Commit() string {
	_, commit, _ := strings.Cut(built, "+")
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" { // built without the Makefile
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	return cmp.Or(commit, "unknown")
}

// Source is the commit and Go's version. The bits of a result may depend on both.
func Source() string { return Commit() + " " + runtime.Version() }

// About is what a program prints with -version.
func About(program string) string {
	return fmt.Sprintf("MrPrism %s, version %s\ncommit %s, %s, %s/%s\nMIT licence; LICENSES.txt of a release has those of the libraries inside\n",
		program, Number(), Commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
