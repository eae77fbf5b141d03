package shaders_test

import (
	"cmp"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// DEVICES.md has a row for every variant of kernels that have more than one, and no others. Kernels
// with more than three have a measured reason for those beyond plain and tiles: 5 % or more.
func TestVariantsHaveReasons(t *testing.T) {
	page, err := os.ReadFile("DEVICES.md")
	require.NoError(t, err)
	_, section, ok := strings.Cut(string(page), "\n## Kernel variants\n")
	require.True(t, ok)
	section, _, _ = strings.Cut(section, "\n## ")
	reasons := map[string]map[string]string{} // by kernel and variant
	for _, row := range regexp.MustCompile(`(?m)^\| ([\w, ]+) \| (\w+) \| [^|]+ \|(.*)\|$`).FindAllStringSubmatch(section, -1) {
		for kernel := range strings.SplitSeq(row[1], ", ") {
			if reasons[kernel] == nil {
				reasons[kernel] = map[string]string{}
			}
			reasons[kernel][row[2]] = row[3]
		}
	}
	delete(reasons, "kernels") // the table's head
	variants := map[string]map[string]bool{}
	for p := range everyProgram(t) {
		name, _, _ := strings.Cut(p.Name, "/f16") // in which plans of halves end
		kernel, variant, _ := strings.Cut(name, "/")
		if variants[kernel] == nil {
			variants[kernel] = map[string]bool{}
		}
		variants[kernel][cmp.Or(variant, "plain")] = true
	}
	factor := regexp.MustCompile(`takes (\d\.\d+) of the time`)
	for kernel, in := range variants {
		if len(in) == 1 {
			require.NotContains(t, reasons, kernel)
			continue
		}
		require.ElementsMatch(t, slices.Collect(maps.Keys(in)), slices.Collect(maps.Keys(reasons[kernel])), "of %s in DEVICES.md", kernel)
		for variant, reason := range reasons[kernel] {
			if len(in) <= 3 || variant == "plain" || variant == "tiles" {
				continue
			}
			figure := factor.FindStringSubmatch(reason)
			require.NotNil(t, figure, "%s/%s is one of more than three variants, without a measured gain", kernel, variant)
			gain, err := strconv.ParseFloat(figure[1], 64)
			require.NoError(t, err)
			require.GreaterOrEqual(t, gain, 1.05, "%s/%s", kernel, variant)
		}
	}
	for kernel := range reasons {
		require.Contains(t, variants, kernel, "DEVICES.md names it")
	}
}
