package imageio

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// extensions are the extensions of the formats. No other ending counts: CT.1.2.840.3 has none.
var extensions = []string{".nii.gz", ".nii", ".hdr", ".img", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".webp", ".dcm", ".dicom"}

// Extension is the ending of a file's name that tells its format, as written in the name, or empty.
func Extension(name string) string {
	base := filepath.Base(name)
	for _, e := range extensions {
		if at := len(base) - len(e); at > 0 && strings.EqualFold(base[at:], e) {
			return base[at:]
		}
	}
	return ""
}

// Stem is a file's name without folder and Extension.
func Stem(name string) string {
	base := filepath.Base(name)
	return base[:len(base)-len(Extension(base))]
}

// Valid is a name whose bytes are codes, \xe9, where they are no UTF-8: tables and JSON can hold it.
func Valid(name string) string {
	var out strings.Builder
	for i, r := range name {
		if _, size := utf8.DecodeRuneInString(name[i:]); r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&out, `\x%02x`, name[i])
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// isDevice reports whether a name is that of a device on Windows.
func isDevice(name string) bool {
	name = strings.ToLower(name)
	number, port := strings.CutPrefix(name, "com")
	if !port {
		number, port = strings.CutPrefix(name, "lpt")
	}
	if port {
		return len([]rune(number)) == 1 && strings.Contains("0123456789¹²³", number)
	}
	return slices.Contains([]string{"con", "prn", "aux", "nul", "conin$", "conout$"}, name)
}

// mostStem is the largest OutputStem, bytes. Names of files have at most 255, of which class, rater
// and format may take the rest.
const mostStem = 140

// OutputStem begins the names of files that are written for an image. It is Stem, cut to mostStem,
// without characters that a system refuses in names or that change the order of writing.
func OutputStem(name string) string {
	stem := strings.Map(func(r rune) rune {
		turns := r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' // the order of writing
		if turns || unicode.IsControl(r) || strings.ContainsRune(`<>:"/\|?*`, r) {
			return '_'
		}
		return r
	}, Stem(name))
	if len(stem) > mostStem {
		stem = strings.ToValidUTF8(stem[:mostStem], "") // without a part of a letter
	}
	stem = cmp.Or(strings.TrimRight(stem, ". "), "image")
	first, _, _ := strings.Cut(stem, ".") // it is a device whatever follows a point
	if first = strings.TrimRight(first, " "); isDevice(first) {
		stem = first + "_" + stem[len(first):]
	}
	return stem
}
