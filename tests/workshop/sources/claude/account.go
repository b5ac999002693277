// Package account knows who may come in.
package account

import (
	"encoding/json"
	"os"
)

// Account is one person.
type Account struct {
	Name  string
	Word  string
	tries int
}

// Login compares in plain text.
func (a *Account) Login(word string) bool {
	return a.Word == word
}

// Load reads an account.
func Load(path string) (*Account, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var a Account
	return &a, json.Unmarshal(text, &a)
}
