package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mrprism/weights/disk"
)

// Seal is the last field, Entry.Seal, of an entry's text: the SHA-256 of the text without it.
const Seal = "entry_sha256"

// Text is the text of an entry, sealed.
func Text(entry any) ([]byte, error) {
	text, err := json.MarshalIndent(entry, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(bytes.TrimSuffix(text, []byte("\n}")), seal(disk.SumOf(text))...), nil
}

func seal(sum disk.Sum) string { return fmt.Sprintf(",\n  %q: %q\n}\n", Seal, sum.SHA256) }

// Sealed says whether the text of an entry has a seal, and whether it is as it was written.
func Sealed(text []byte) (sealed, whole bool) {
	at := bytes.LastIndex(text, []byte(",\n  \""+Seal))
	if at < 0 {
		return false, false
	}
	return true, string(text[at:]) == seal(disk.SumOf(append(bytes.Clone(text[:at]), "\n}"...)))
}

// Key tells the results of a run apart: by the image, its name, which may say what eye it shows, and
// the picture in it.
func (e *Entry) Key() string {
	return fmt.Sprintln(e.Content, filepath.Base(e.Image), e.Slice, e.Volumes != nil)
}

// Again are the flags of segment that make the results of an image, of which e is one, all but
// -weights, -device and -out; or why, what its options have that is no option.
func (e *Entry) Again(results []*Entry) (flags []string, why string) {
	var formats []string
	for _, other := range results {
		for _, f := range other.Files.All {
			if other.Content == e.Content && other.Options == e.Options && !slices.Contains(formats, f.Format) {
				formats = append(formats, f.Format)
			}
		}
	}
	options, _, _ := strings.Cut(e.Options, " evidence=")
	for option := range strings.SplitSeq(options, " ") {
		switch name, value, _ := strings.Cut(option, "="); {
		case name == "slice" && value == "0":
		case slices.Contains([]string{"roi", "precision", "slice", "eye", "recurrences"}, name):
			flags = append(flags, "-"+name, value)
		case option == "outlines" || option == "identity":
			formats = append(formats, option)
		default:
			return nil, option
		}
	}
	if len(formats) > 0 {
		flags = append(flags, "-format", strings.Join(formats, ","))
	}
	for _, m := range e.Evidence {
		flags = append(flags, "-evidence", fmt.Sprintf("%s/%s=%s", m.Rater, m.Class, m.File))
	}
	return flags, ""
}

// UnmarshalJSON reads the files of a picture with its objects too, which are a list.
func (f *Files) UnmarshalJSON(text []byte) error {
	if bytes.HasPrefix(text, []byte("[")) {
		return json.Unmarshal(text, &f.All)
	}
	type plain Files
	return json.Unmarshal(text, (*plain)(f))
}
