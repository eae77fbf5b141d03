//go:build !js

package main

import "mrprism/internal/program/cli"

// programs are those that the first argument can name.
var programs = cli.Subprograms{"check": runCheck, "import": runImport, "synthetic": runSynthetic}
