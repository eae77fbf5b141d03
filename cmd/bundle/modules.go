package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// imported is a module that another one imports, as it starts or later.
var imported = regexp.MustCompile(`(?m)(?:^import (?:[^";]* from )?|\bimport\()"\./([^"]+)"`)

// modules are modules and what they import, each once and in the order of discovery.
func modules(files map[string][]byte, names ...string) []string {
	for i := 0; i < len(names); i++ {
		for _, found := range imported.FindAllSubmatch(files[names[i]], -1) {
			if name := string(found[1]); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// started are the scripts that page and workers start with, and the German of the page's start.
func started(files map[string][]byte) []string {
	return modules(files, "de.json", "intact.js", "speak.js", "page.js", "worker.js", "sw.js")
}

// preloads are the lines of index.html by which a browser asks for all modules at once: intact.js,
// which says what is missing, speak.js, which lets the page be painted, page.js, and what they
// import. Without them it learns of a module only when it has read one that imports it, and of the
// integrity of none: an import has none.
func preloads(files map[string][]byte) string {
	var lines []string
	for _, name := range modules(files, "intact.js", "speak.js", "page.js") {
		lines = append(lines, fmt.Sprintf(`<link rel="modulepreload" href="%s">`, name))
	}
	return strings.Join(lines, "\n")
}

// named is a script or a style that a page names.
var named = regexp.MustCompile(`(?:src|href)="([^"?]+\.(?:js|css))[^"]*"`)

// withIntegrity gives each script and style that a page names the sum of its content: browsers use
// none that differs.
func withIntegrity(page string, files map[string][]byte) ([]byte, error) {
	var err error
	return []byte(named.ReplaceAllStringFunc(page, func(attribute string) string {
		name := named.FindStringSubmatch(attribute)[1]
		content, ok := files[name]
		if !ok {
			err = fmt.Errorf("index.html names %s, which is not there", name)
		}
		sum := sha256.Sum256(content)
		return fmt.Sprintf(`%s integrity="sha256-%s"`, attribute, base64.StdEncoding.EncodeToString(sum[:]))
	})), err
}

// sumsOf is the JSON of the SHA-256 of files, by name.
func sumsOf(files map[string][]byte, names []string) (string, error) {
	sums := map[string]string{}
	for _, name := range names {
		sums[name] = sha(files[name])
	}
	text, err := json.MarshalIndent(sums, "", "  ")
	return string(text), err
}
