//go:build !js

package shadertest

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mrprism/shaders/kernels"
	"mrprism/shaders/tensor"
)

// Main runs the tests of an operator family. If all pass, they must have run every entry point of
// the family's WGSL, in both widths where it has two, and variants.csv must give the reason of
// every variant that they ran.
func Main(m *testing.M) {
	code := m.Run()
	whole := true // no test was left out, but for the one in the browser
	for name, every := range map[string]string{"test.run": "", "test.list": "", "test.skip": "InBrowser"} {
		value := flag.Lookup(name).Value.String()
		whole = whole && (value == "" || value == every)
	}
	if code == 0 && whole {
		if err := checkFamily(); err != nil {
			fmt.Fprintf(os.Stderr, "FAIL: %v\n", err)
			code = 1
		}
	}
	os.Exit(code)
}

var entryPoint = regexp.MustCompile(`@compute[^{]*?\bfn\s+(\w+)`)

// checkFamily holds the WGSL files of this folder, and variants.csv, to the programs that this
// process has made.
func checkFamily() (failed error) {
	fail := func(format string, args ...any) { failed = errors.Join(failed, fmt.Errorf(format, args...)) }
	files, err := filepath.Glob("*.wgsl")
	if err != nil || len(files) == 0 {
		fail("no WGSL in this folder: %w", err)
	}
	ran := map[string]map[string]bool{} // variants by kernel
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		widths, used := map[string]map[int]bool{}, false // widths by entry point
		for _, p := range tensor.Programs() {
			if !strings.Contains(p.Source, string(text)) {
				continue
			}
			used = true
			add(widths, p.Entry, widthOf(p.Source))
			kernel, variant, _ := strings.Cut(p.Name, "/")
			variant, _, _ = strings.Cut(variant, "f16") // in which plans of halves end
			add(ran, kernel, cmp.Or(strings.TrimSuffix(variant, "/"), "plain"))
		}
		if !used {
			fail("%s: no test uses it", name)
		}
		for _, entry := range entryPoint.FindAllStringSubmatch(string(text), -1) {
			if in := widths[entry[1]]; len(in) == 0 || len(in) == 1 && !in[0] {
				fail("%s: the tests run %s in widths %v, not in 1 and 4", name, entry[1], slices.Collect(maps.Keys(in)))
			}
		}
	}
	return errors.Join(failed, checkReasons(ran))
}

func add[T comparable](sets map[string]map[T]bool, key string, value T) {
	if sets[key] == nil {
		sets[key] = map[T]bool{}
	}
	sets[key][value] = true
}

// widthOf is the width for which a kernel in two widths was written; 0: the kernel has no other.
func widthOf(source string) int {
	for _, width := range []int{1, 4} {
		if strings.Contains(source, kernels.InWidths(width)) && !strings.Contains(source, kernels.InOneWidth(width)) {
			return width
		}
	}
	return 0
}

// checkReasons is an error unless variants.csv has a row for each variant of these kernels, if a
// kernel has several, and no others. If there are more than three, those beyond plain and tiles
// must have a measured gain of 5 % or more.
func checkReasons(ran map[string]map[string]bool) (failed error) {
	text, err := os.ReadFile(filepath.Join("..", "variants.csv"))
	rows, malformed := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err = errors.Join(err, malformed); err != nil {
		return fmt.Errorf("variants.csv: %w", err)
	}
	said := map[string]map[string]bool{}
	for _, row := range rows {
		for kernel := range strings.FieldsSeq(row[0]) {
			add(said, kernel, row[1])
			gain, _ := strconv.ParseFloat(row[3], 64) // empty: not measured
			if len(ran[kernel]) > 3 && row[1] != "plain" && row[1] != "tiles" && gain < 1.05 {
				failed = errors.Join(failed, fmt.Errorf("variants.csv: %s/%s is one of more than three variants, without a measured gain of 5 %%", kernel, row[1]))
			}
		}
	}
	for kernel, variants := range ran {
		if len(variants)+len(said[kernel]) > 1 && !maps.Equal(variants, said[kernel]) {
			failed = errors.Join(failed, fmt.Errorf("variants.csv has variants %v of %s, the tests ran %v", said[kernel], kernel, variants))
		}
	}
	return failed
}
