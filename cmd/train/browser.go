//go:build js

package main

import "mrprism/internal/program/cli"

// programs are those that the first argument can name, here in the page's worker (site/trainer.js).
var programs = cli.Subprograms{"check": runCheck}

// drawCurves does nothing: the page draws the lines of the log while they are written.
func drawCurves(string, string) error { return nil }
