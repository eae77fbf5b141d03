package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// imported is a module that another one imports as it starts.
var imported = regexp.MustCompile(`(?m)^import (?:[^";]* from )?"\./([^"]+)";`)

// modules are the modules that the page starts with: words.js, which lets it be painted, page.js,
// and what they import, each once and in the order of discovery.
func modules(files map[string][]byte) []string {
	names := []string{"words.js", "page.js"}
	for i := 0; i < len(names); i++ {
		for _, found := range imported.FindAllSubmatch(files[names[i]], -1) {
			if name := string(found[1]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// preloads are the lines of index.html by which a browser asks for all modules at once. Without them
// it learns of a module only when it has read one that imports it.
func preloads(files map[string][]byte) string {
	var lines []string
	for _, name := range modules(files) {
		lines = append(lines, fmt.Sprintf(`<link rel="modulepreload" href="%s">`, name))
	}
	return strings.Join(lines, "\n")
}
