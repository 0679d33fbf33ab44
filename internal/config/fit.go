package config

import "tidemark/internal/config/setting"

// Fit keeps the sizes of a flow's client in proportion to each other and to the flow's memory.
func (d *Draft) Fit(f Flow, role Role, c *Cluster) {
	if role != SourceConsumer {
		return
	}
	limit := func(field string, value *int64, most int64, why string) {
		if *value <= most {
			return
		}
		here := c.From.Fields[field]
		d.Note(here.Line, "%s is out of bounds: %s is used by flow %s, since %s", here.Key, setting.Size(most), f.Name(), why)
		*value = most
	}
	// Two responses fit into the memory, or fetching and producing would wait for each other.
	limit("FetchBytes", &c.Client.FetchBytes, f.MemoryBytes/2, "two responses have to fit into the flow's memory, "+setting.Size(f.MemoryBytes))
	most := c.Client.or(role).FetchBytes
	limit("PartitionFetchBytes", &c.Client.PartitionFetchBytes, most, "a response holds no more")
	limit("FetchMinBytes", &c.Client.FetchMinBytes, most, "a response holds no more")
}
