package importer

import (
	"bytes"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
)

// counted counts reads.
type counted struct {
	*bytes.Reader
	reads int
}

func (c *counted) ReadAt(p []byte, at int64) (int, error) {
	c.reads++
	return c.Reader.ReadAt(p, at)
}

// A window reads the same bytes, in any order, and few times where small files alternate with what
// lies elsewhere.
func TestWindow(t *testing.T) {
	data := make([]byte, 5<<20)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rng.Uint32())
	}
	file := &counted{Reader: bytes.NewReader(data)}
	w := &window{file: file, size: int64(len(data))}
	p := make([]byte, 5000)
	for i := range 400 {
		n, err := w.ReadAt(p, int64(i)*5000)
		assert.NoError(t, err)
		assert.True(t, bytes.Equal(data[i*5000:i*5000+n], p))
		_, err = w.ReadAt(p[:30], 3<<20+int64(i)*4000)
		assert.NoError(t, err)
	}
	assert.Less(t, file.reads, 10)
	for range 500 {
		at := rng.IntN(len(data) - 10)
		n, err := w.ReadAt(p, int64(at))
		assert.True(t, bytes.Equal(data[at:at+n], p[:n]))
		assert.True(t, n == len(p) || err == io.EOF && at+n == len(data))
	}
}
