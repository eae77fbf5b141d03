package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A folder is no image: the error says which images it has. An error names the file.
func TestReadImageOfAFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadImage(dir)
	require.ErrorContains(t, err, dir+" is a folder; give its images, but there are none (.png, .jpg, .tif, .bmp, .webp, .dcm, .nii)")
	absent := filepath.Join(dir, "absent.png")
	_, err = ReadImage(absent)
	require.EqualError(t, err, absent+": no such file or directory; name an image file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.JPG"), nil, 0o644))
	_, err = ReadImage(dir)
	require.ErrorContains(t, err, "e.g. "+filepath.Join(dir, "*.JPG"))
}
