package graphs

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// written is the picture, which must be whole XML.
func written(t *testing.T, c interface{ Write(io.Writer) error }) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, c.Write(&out))
	for d := xml.NewDecoder(bytes.NewReader(out.Bytes())); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		require.NoError(t, err)
	}
}
