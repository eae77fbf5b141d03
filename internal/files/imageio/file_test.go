package imageio

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A folder is no image: the error says which images it has. An error names the file.
func TestReadAFolder(t *testing.T) {
	dir := t.TempDir()
	_, err := Read(dir)
	require.ErrorContains(t, err, dir+" is a folder; give its images, but there are none (.png, .jpg, .tif, .bmp, .webp, .dcm, .nii)")
	absent := filepath.Join(dir, "absent.png")
	_, err = Read(absent)
	require.EqualError(t, err, absent+": no such file or directory; name an image file")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.JPG"), nil, 0o644))
	_, err = Read(dir)
	require.ErrorContains(t, err, "e.g. "+filepath.Join(dir, "*.JPG"))
}

// Images of a folder are found by their name or their content, and what is none by neither.
func TestImagesIn(t *testing.T) {
	dir := t.TempDir()
	head := append(make([]byte, 128), "DICM\x02\x00\x00\x00UL\x04\x00"...)
	want := []string{"CT.1.2.840.3", "IM0001", "IMG.ima", "a.PNG", "b.nii.gz"}
	for _, name := range want {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), head, 0o644))
	}
	for name, text := range map[string]string{"BMI.txt": "BMI of patients, all of them", "DICOMDIR": string(head), ".hidden.png": "", "x.tar.gz": "\x1f\x8b\x08", "empty": ""} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "folder.png"), 0o755))
	images, others, err := ImagesIn(dir)
	require.NoError(t, err)
	for i := range images {
		images[i] = filepath.Base(images[i])
	}
	require.Equal(t, want, images)
	require.Equal(t, 5, others)
}
