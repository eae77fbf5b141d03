package text

import (
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// wide is a text in UTF-16.
func wide(text string, big bool) []byte {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		if low, high := byte(unit), byte(unit>>8); big {
			out = append(out, high, low)
		} else {
			out = append(out, low, high)
		}
	}
	return out
}

// One table is the same in every encoding, with every separator and end of lines, as spreadsheets
// write it.
func TestTable(t *testing.T) {
	want := []Line{{1, []string{"name", "group"}}, {2, []string{"müller;1,2", "p0"}}, {3, []string{"case 01", "p\t0"}}}
	for _, comma := range []string{",", ";", "\t"} {
		for _, end := range []string{"\n", "\r\n", "\r"} {
			text := strings.Join([]string{"name,group", "\"mu\u0308ller;1#2\", p0", "case 01,\"p|0\""}, "\n")
			text = strings.NewReplacer(",", comma, "\n", end, "#", ",", "|", "\t").Replace(text)
			for _, data := range [][]byte{
				[]byte(text), []byte("\ufeff" + text), wide("\ufeff"+text, false), wide("\ufeff"+text, true), wide(text, false), wide(text, true),
			} {
				text, err := Decode(data)
				require.NoError(t, err)
				lines, err := Table(text, 2, 2)
				require.NoError(t, err)
				require.Equal(t, want, lines, "%q", data)
			}
		}
	}
	lines, err := Table([]byte("sep=;\n\n# by Ann\na;1,5;;\n;;\n\"b\nb\";2;note\n"), 2, 3)
	require.NoError(t, err)
	assert.Equal(t, []Line{{4, []string{"a", "1,5", ""}}, {6, []string{"b\nb", "2", "note"}}}, lines)
	lines, err = Table([]byte("a,1\nb\nc,1,2\n"), 2, 2)
	require.NoError(t, err)
	assert.Equal(t, []Line{{1, []string{"a", "1"}}, {2, []string{"b"}}, {3, []string{"c", "1", "2"}}}, lines, "the caller says which do not fit")
}

// A text in another encoding is refused: its letters would name other images.
func TestDecodeRefuses(t *testing.T) {
	for _, data := range []string{"m\xfcller,p0", "\xff\xfea\x00\x00", "\xff\xfe\x00\xd8a\x00", "\ufeffm\xfcller", "a\x00b\x00\x00\x00", "name\x00"} {
		_, err := Decode([]byte(data))
		assert.ErrorContains(t, err, "save it as UTF-8", "%q", data)
	}
	_, err := Table([]byte("a,\"b\n"), 2, 2)
	assert.Error(t, err)
	lines, err := Table(nil, 2, 2)
	assert.NoError(t, err)
	assert.Empty(t, lines)
}
