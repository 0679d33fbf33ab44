package report

import "strings"

// Nearest is the candidate that a misspelt key most likely meant, or "" where none is near: at most a third of its
// letters differ, or the one is the beginning of the other.
func Nearest(key string, candidates []string) string {
	best, bestDistance := "", len(key)/3+1
	for _, c := range candidates {
		if d := Distance(key, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best != "" {
		return best
	}
	for _, c := range candidates {
		if len(key) > 3 && (strings.HasPrefix(c, key) || strings.HasPrefix(key, c)) {
			return c
		}
	}
	return ""
}

// Distance counts the letters to insert, delete or replace that make a into b.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
