package filter

import "strings"

// nearest returns the word that was probably meant, "" if none is near.
func nearest(typed string, words []string) string {
	typed = strings.ToLower(typed)
	best, least := "", 3
	if len(typed) < 5 {
		least = 2
	}
	for _, w := range words {
		if d := distance(typed, w); d < least {
			best, least = w, d
		}
	}
	if best != "" || len(typed) < 2 {
		return best
	}
	for _, w := range words { // the beginning of a word, or a part of it
		if strings.HasPrefix(w, typed) || strings.HasSuffix(w, "_"+typed) {
			return w
		}
	}
	return ""
}

// distance counts the letters that have to be put in, left out, replaced or
// swapped with the next to make one word of the other (optimal string
// alignment). Words far apart in length are simply far apart.
func distance(a, b string) int {
	const far = 100
	if len(a) > len(b)+3 || len(b) > len(a)+3 || len(b) > 30 {
		return far
	}
	var d [40][40]int
	for i := 0; i <= len(a); i++ {
		for j := 0; j <= len(b); j++ {
			switch {
			case i == 0 || j == 0:
				d[i][j] = i + j
				continue
			case a[i-1] == b[j-1]:
				d[i][j] = d[i-1][j-1]
			default:
				d[i][j] = 1 + min(d[i-1][j-1], d[i-1][j], d[i][j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], 1+d[i-2][j-2])
			}
		}
	}
	return d[len(a)][len(b)]
}
