package account

import (
	"crypto/subtle"
	"strings"
)

const limit = 3

type Account struct {
	Name  string
	Word  string
	tries int
}

// Login takes the same time whatever the word is.
func (a *Account) Login(word string) bool {
	a.tries++
	if a.tries > limit {
		return false
	}
	return subtle.ConstantTimeCompare(plain(a.Word), plain(word)) == 1 && a.remember()
}

func (a *Account) remember() bool {
	a.tries = 0
	return true
}

func plain(text string) []byte {
	return []byte(strings.TrimSpace(text))
}
