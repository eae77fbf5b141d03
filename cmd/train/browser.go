//go:build js

package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"mrprism/internal/program/cli"
)

// programs are those that the first argument can name, here in the page's worker
// (site/learn/trainer.js).
var programs = cli.Subprograms{"certify": runCertify, "check": runCheck}

// pairs are the lines of a file that this program wrote (quoted): the page reads no other, and
// spares the download of a YAML library.
func pairs(data []byte) (all []pair, err error) {
	at := 0
	for line := range strings.Lines(string(data)) {
		at++
		key, text, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok || key[0] == '#' {
			continue
		}
		if text[0] == '"' {
			if err := json.Unmarshal([]byte(text), &text); err != nil {
				return nil, fmt.Errorf("line %d: %w", at, err)
			}
		}
		all = append(all, pair{key, text, at, false})
	}
	return all, nil
}

// drawCurves does nothing: the page draws the lines of the log while they are written.
func drawCurves(string, string) error { return nil }
