package choice

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program shows its own names of options, however deep the error lies.
func TestText(t *testing.T) {
	flag := func(name string) string { return "-" + name }
	err := Errorf("$fold and ${score-every} %d: %w", 3, io.EOF)
	require.EqualError(t, err, "fold and score-every 3: EOF")
	require.ErrorIs(t, err, io.EOF)
	deep := fmt.Errorf("a.yaml: %w", errors.Join(err, Errorf("$cross: %w", Errorf("no ${cross}"))))
	require.Equal(t, "a.yaml: -fold and -score-every 3: EOF\n-cross: no -cross", Text(deep, flag))
	require.Equal(t, "EOF", Text(io.EOF, flag))
}

func TestNearest(t *testing.T) {
	names := []string{"rate", "recipe", "resume"}
	require.Equal(t, "rate", Nearest("rat", names))
	require.Equal(t, "recipe", Nearest("recepi", names))
	require.Empty(t, Nearest("quantum", names))
	require.EqualError(t, Known("flag", "recip", names), `no flag is named "recip" (did you mean recipe?): there are rate, recipe, resume`)
	require.EqualError(t, Known("flag", "quantum", names), `no flag is named "quantum": there are rate, recipe, resume`)
	found, err := Find("number", "b", []int{0, 1}, func(i int) string { return string(rune('a' + i)) })
	require.NoError(t, err)
	require.Equal(t, 1, found)
}
