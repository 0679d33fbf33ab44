package lane

// lasts tells people of an effort that has lasted for long, once, and the ledger how far it has come. A partition that is
// stopped, or whose units come back, has said so.
func (p *Partition) lasts(now int64) []Action {
	if p.state == Live || p.state == Stopped || now-p.since < lastsAfter || p.lasting && now-p.head.at < lastsAfter {
		return nil
	}
	var acts []Action
	if !p.lasting {
		p.lasting = true
		acts = append(acts, Said{News{What: NewsLasts, Why: p.doing(), N: p.since}})
	}
	if p.state == Opening && p.opened {
		return acts // the look has the map
	}
	return append(acts, p.writeHead(now)...)
}

// doing is what the partition is about, for people.
func (p *Partition) doing() string {
	what := map[State]string{
		Waiting: "waiting until both logs can be looked at", Opening: "looking at both logs", Heading: "waiting for the ledger",
		Fencing: "fencing the remote partition", Looking: "looking at what stands on the target",
	}[p.state]
	if p.settled != "" {
		what += ", " + p.settled
	}
	return what
}

// Doing is what the partition is about while it is not live or stopped, for people, and since when (ms).
func (p *Partition) Doing() (what string, since int64) { return p.doing(), p.since }
