package status

import (
	"strings"
	"testing"
	"time"
)

// TestLiveWaits: what a worker waits for, as a whole and with its lanes, is a line for each cause.
func TestLiveWaits(t *testing.T) {
	at := time.Unix(1000, 0)
	text := Live{
		Flow: "A->B", At: at, OfLanes: 4,
		Waits: []LiveWait{{Since: at.Add(-20 * time.Second), What: "waits for B: Fetch of A.orders-0", Why: "no answer"}},
		Lanes: []LiveLane{{Lane: 0, Waits: "trying again", Why: "no answer"}, {Lane: 1}, {Lane: 2, Waits: "trying again", Why: "no answer"}, {Lane: 3, Waits: "starting"}},
	}.Text()
	for _, want := range []string{"this worker: 4 of 4 lanes", "waits for B: Fetch of A.orders-0 (for 20s): no answer\n", "lanes 0, 2: trying again: no answer\n", "lane 3: starting\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "lane 1:") {
		t.Errorf("a lane that runs waits:\n%s", text)
	}
}
