package imageio

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A name loses an extension of the formats and nothing else, and what is written of it can be on
// every system.
func TestNames(t *testing.T) {
	for name, want := range map[string][3]string{ // extension, stem, and stem of what is written
		"a/photo.PNG": {".PNG", "photo", "photo"}, "v.nii.gz": {".nii.gz", "v", "v"}, "v.NII.GZ": {".NII.GZ", "v", "v"}, "x.tar.gz": {"", "x.tar.gz", "x.tar.gz"},
		"CT.1.2.840.3": {"", "CT.1.2.840.3", "CT.1.2.840.3"}, "IMG.ima": {"", "IMG.ima", "IMG.ima"}, "1.2.3.dcm": {".dcm", "1.2.3", "1.2.3"}, "IM0001": {"", "IM0001", "IM0001"},
		".png": {"", ".png", ".png"}, "con.png": {".png", "con", "con_"}, "CON": {"", "CON", "CON_"}, "lpt1.old.png": {".png", "lpt1.old", "lpt1_.old"}, "console.png": {".png", "console", "console"},
		"a. .png": {".png", "a. ", "a"}, "...": {"", "...", "image"}, "a:b?.jpg": {".jpg", "a:b?", "a_b_"}, "a\u202egnp.jpg": {".jpg", "a\u202egnp", "a_gnp"}, "é 1.webp": {".webp", "é 1", "é 1"},
	} {
		assert.Equal(t, want, [3]string{Extension(name), Stem(name), OutputStem(name)}, name)
	}
	assert.Equal(t, strings.Repeat("é", 70), OutputStem(strings.Repeat("é", 120)+".png"), "140 bytes are left")
	assert.Equal(t, "x"+strings.Repeat("é", 69), OutputStem("x"+strings.Repeat("é", 120)+".png"), "and no half of a letter")
	assert.Equal(t, "caf\ufffd", OutputStem("caf\xe9.png"))
	assert.Equal(t, `é, caf\xe9\xff �`, Valid("é, caf\xe9\xff \ufffd"))
}
