package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
)

// Sum is what a file had when it was written. A record of it says that work is done only as long as
// Check finds the file so.
type Sum struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// SumOf is the sum of a file's content.
func SumOf(data []byte) Sum {
	sum := sha256.Sum256(data)
	return Sum{int64(len(data)), hex.EncodeToString(sum[:])}
}

// ErrNoSum is the error of a file without a record, or of one by an earlier version.
var ErrNoSum = errors.New("there is no sum of it")

// Check returns an error unless the file is as it was written.
func (s Sum) Check(path string) error {
	if s.SHA256 == "" {
		return ErrNoSum
	}
	switch is, err := SumOfFile(path); {
	case err != nil:
		return err
	case is.Bytes != s.Bytes:
		return fmt.Errorf("%q has %d bytes, and was written with %d", path, is.Bytes, s.Bytes)
	case is.SHA256 != s.SHA256:
		return fmt.Errorf("%q has changed since it was written", path)
	}
	return nil
}

// SumOfFile is the sum of a file.
func SumOfFile(path string) (Sum, error) {
	file, err := os.Open(path)
	if err != nil {
		return Sum{}, fmt.Errorf("%q: %w", path, Cause(err))
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, file)
	if err != nil {
		return Sum{}, fmt.Errorf("%q: %w", path, Cause(err))
	}
	return Sum{n, hex.EncodeToString(hash.Sum(nil))}, nil
}
