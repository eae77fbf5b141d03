package journal

import (
	"encoding/json"
	"fmt"
	"testing"

	"mrprism/internal/segment"
	"mrprism/weights"

	"github.com/stretchr/testify/require"
)

// The entry says whether to believe the result: a list of doubts, empty without any, and null if
// the weights cannot tell.
func TestDoubtsInTheEntry(t *testing.T) {
	run, v := Run{Session: segment.Session{Model: &weights.Model{Shipped: true}}}, &segment.Result{Found: true}
	said := func() string {
		t.Helper()
		text, err := json.Marshal(run.entry(Item{}, v, nil))
		require.NoError(t, err)
		var fields map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &fields))
		return fmt.Sprintf("%s %s %s", fields["found"], fields["doubts"], fields["doubt"])
	}
	require.Equal(t, "true [] null", said())
	v.Doubts, v.Doubt = []segment.Doubt{{Code: "unfamiliar", Text: "Never seen."}}, new(1.5)
	require.Equal(t, `true [{"code":"unfamiliar","text":"Never seen."}] 1.5`, said())
}
