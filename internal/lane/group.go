package lane

// MergeBelow is the wire size under which a batch is worth merging with its neighbours, by codec (0 none, 1 gzip,
// 2 snappy, 3 lz4, 4 zstd). Above it the copying and compressing cost more than the target broker's price of a batch of
// its own. Where that is, mirror and target broker together: some 80 KB uncompressed, 4.7 KB with lz4, 3 KB with zstd
// (go test ./internal/e2e -run '^$' -bench MergeThreshold, one replica, a busy machine, noise of 20 %). The values stay
// below, as the mirror's own part grows from there on. gzip and snappy were not measured: they are taken as zstd and lz4.
func MergeBelow(codec uint8) int {
	switch codec {
	case 0:
		return 64 << 10
	case 3, 2:
		return 3 << 10
	default:
		return 1400
	}
}

// Group says how many pieces at the front of the queue go to the target as one: a single batch as it is, or several
// small neighbours of one kind merged. Pieces without data belong to whatever precedes them, so that through moves past
// them with its acknowledgement. It answers 0 when the queue holds no data.
func Group(queue []Piece, target int) int {
	n, size, data := 0, 0, 0
	var kind uint8
	for n < len(queue) {
		pc := queue[n]
		if pc.Skip {
			n++
			continue
		}
		if data > 0 && (pc.Alone || pc.Kind != kind || size+pc.Size > target) {
			break
		}
		kind = pc.Kind
		size += pc.Size
		data++
		n++
		if pc.Alone {
			break
		}
	}
	if data == 0 {
		return 0
	}
	for n < len(queue) && queue[n].Skip {
		n++
	}
	return n
}
