package sharing_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"mrprism/shaders/gpu/sharing"
)

func TestShare(t *testing.T) {
	const before, after = "\x00asm\x01\x00\x00\x00\x01\x04\x01\x60\x00\x00\x03\x02\x01\x00", "\x0a\x04\x01\x02\x00\x0b"
	given := before + "\x05\x04\x01\x00\xff\x01" + after
	got, err := sharing.Share([]byte(given))
	require.NoError(t, err)
	want := before + "\x05\x07\x01\x03\xff\x01\x80\x80\x04" + after
	assert.Equal(t, want, string(got))
	again, err := sharing.Share(got)
	require.NoError(t, err)
	assert.Equal(t, want, string(again))
	for name, bad := range map[string]string{
		"nothing": "", "no memory": before + after, "a limit": before + "\x05\x05\x01\x01\xff\x01\x05" + after, "cut off": given[:len(before)+4],
		"two": before + "\x05\x05\x02\x00\x01\x00\x01" + after, "a length without end": before + "\xff\xff",
	} {
		_, err := sharing.Share([]byte(bad))
		assert.ErrorIs(t, err, sharing.ErrNotGo, name)
	}
}
