package pulse

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBeat(t *testing.T) {
	defer Listen(nil, 0)
	Beat() // nobody listens
	heard := 0
	Listen(func() { heard++ }, time.Hour)
	for range 3 {
		Beat()
	}
	assert.Equal(t, 1, heard, "in an hour")
	Listen(func() { heard++ }, 0)
	data, err := io.ReadAll(Reader(bytes.NewReader([]byte{1, 2, 3})))
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 2, 3}, data)
	assert.Greater(t, heard, 1, "each read beats")
	heard = 0
	var out bytes.Buffer
	n, err := Writer(&out).Write(data)
	require.NoError(t, err)
	assert.Equal(t, []any{3, data, 1}, []any{n, out.Bytes(), heard}, "each write beats")
}
