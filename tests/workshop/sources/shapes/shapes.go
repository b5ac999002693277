// Package shapes measures rooms.
package shapes

import (
	"fmt"
	str "strings"
)

const (
	Limit = 3
	Most  = 9
)

var first, second = 1, 2

// Shape has a side.
type Shape struct {
	side int
}

type Round struct{ radius int }

type Pair[K comparable, V any] struct {
	key K
	val V
}

type Measured interface {
	Area() int
}

// NewShape makes one.
func NewShape(side int) *Shape {
	return &Shape{side: side}
}

// Area of a square.
func (s *Shape) Area() int {
	return s.side * s.side
}

func (r Round) Area() int {
	return 3 * r.radius
}

func (p *Pair[K, V]) Get(key K) (V, bool) {
	return p.val, p.key == key
}

func Area(m Measured) int {
	return m.Area()
}

func Map[T, U any](all []T, f func(T) U) []U {
	var out []U
	for _, it := range all {
		out = append(out, f(it))
	}
	return out
}

func (*Shape) String() string {
	return fmt.Sprint(str.ToUpper("shape"))
}

func init() {
	first = 3
}
