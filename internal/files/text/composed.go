//go:build !js

package text

import "golang.org/x/text/unicode/norm"

// Composed is a text in composed Unicode (NFC).
func Composed(s string) string { return norm.NFC.String(s) }
