"""One small program per supported language: a file that defines, one that uses it, and one with similar names."""

from __future__ import annotations

PYTHON = {
    "src/shop/__init__.py": "from .money import cents\n",
    "src/shop/money.py": """\
RATE = 3


class Purse:
    def __init__(self, coins): ...

    def take(self, coins): ...


def cents(amount, rate):
    return None
""",
    "src/app/main.py": """\
import shop
import shop.money
from shop import money as m
from shop.money import Purse


def count(kept: dict):
    from shop.money import RATE
    purse = Purse(1)
    purse.take(
        2,
    )
    kept.take(4)
    return shop.cents(1, 2) + RATE


def reset():  # cents(9, 9)
    return [shop.money.cents(3, 4), m.cents, "cents(8, 8)"]
""",
    "src/app/other.py": "def cents(): ...\n\n\ndef take(): ...\n\n\ncents()\n{}.take()\ntake()\n",
}
TYPESCRIPT = {
    "web/money/convert.ts": """\
export function toCents(amount: number, rate: number): number {
  return amount * rate;
}

export default class Till {
  constructor(private rate: number) {}
  count(coins: number[]): number { return 0; }
}
""",
    "web/money/index.ts": "export { toCents as cents } from './convert';\nexport * from './more';\n",
    "web/money/more.ts": "export const WAIT_MS = 3;\n",
    "web/cart.ts": """\
import { cents, WAIT_MS } from './money';
import Till from './money/convert.js';
import * as convert from './money/convert';

export function total(x: number) {
  const till = new Till(4);
  till.count([1]);
  wait(WAIT_MS);
  return cents(
    1,
    x,
  );
}
convert.toCents(2, 3);
""",
    "web/other.ts": "function toCents(a) { return a; }\nconsole.log(toCents(1), [].count());\n",
}
JAVASCRIPT = {
    "lib/money.js": """\
exports.cents = function (a, r) { return 0; };
function rate(x) {}
module.exports.rate = rate;
""",
    "cart.js": """\
const money = require('./lib/money');
const { rate, cents: c } = require('./lib/money');
money.cents(1, 2);
rate(3);
c(4);
""",
}
GO = {
    "go.mod": "module example.com/shop\n",
    "money/money.go": """\
package money

func Cents(amount float64, rate int) int {
	return 0
}

type Purse struct{ n int }

func (p *Purse) Take(n int) error { return nil }
""",
    "cart/cart.go": """\
package cart

import "example.com/shop/money"

func Total() int {
	p := money.Purse{}
	p.Take(3)
	return money.Cents(2, 1.0) + helper(2)
}
""",
    "cart/help.go": "package cart\n\nfunc helper(n int) int { return n }\n",
    "other/other.go": "package other\n\nfunc Cents() {}\n\nfunc All(p List) { Cents(); p.Take(1) }\n",
}
JAVA = {
    "src/a/money/Money.java": """\
package a.money;

public class Money {
  public static int cents(double amount, int rate) { return 0; }
  public int add(Money other) { return 1; }
}
""",
    "src/a/cart/Cart.java": """\
package a.cart;

import a.money.Money;
import static a.money.Money.cents;

class Cart {
  int total(Money m) {
    Helper h = new Helper(3);
    h.help(1);
    cents(3, 4);
    return Money.cents(1, 2.0) + m.add(m);
  }
}
""",
    "src/a/cart/Helper.java": "package a.cart;\nclass Helper {\n  Helper(int n) {}\n  void help(int n) {}\n}\n",
}
RUST = {
    "src/lib.rs": "mod money;\nmod cart;\n",
    "src/money.rs": """\
pub struct Purse;
impl Purse {
    pub fn new(n: i32) -> Self { Purse }
    pub fn take_out(&self, n: i32) {}
}
pub fn cents(a: f64, r: i32) -> i32 { 0 }
""",
    "src/cart.rs": """\
use crate::money::{self, Purse};
pub fn total() {
    let p = Purse::new(3);
    p.take_out(1);
    money::cents(1.0, 2);
    crate::money::cents(3.0, 4);
}
""",
}
C = {
    "src/money.h": "#ifndef M\n#define M\nint cents(double amount, int rate);\n#endif\n",
    "src/money.c": '#include "money.h"\nint cents(double amount, int rate) {\n  return 0;\n}\n',
    "src/cart.c": '#include "money.h"\nint total(void) {\n  return cents(1, 2);\n}\n',
    "src/other.c": "static int cents(void) { return 0; }\nint one(void) { return cents(); }\n",
}
CPP = {
    "money.hpp": """\
namespace money {
class Purse {
 public:
  void take(int n);
};
int cents(double a, int r);
}
""",
    "money.cpp": """\
#include "money.hpp"
namespace money {
void Purse::take(int n) {}
int cents(double a, int r) { return 0; }
}
""",
    "cart.cpp": """\
#include "money.hpp"
int total() {
  money::Purse p;
  p.take(1);
  return money::cents(1, 2);
}
""",
}
CSHARP = {
    "Money.cs": """\
namespace Shop.Money;
public class Purse {
  public Purse(int n) {}
  public static int Cents(double a, int r) { return 0; }
  public void Take(int n) {}
}
""",
    "Cart.cs": """\
using Shop.Money;
namespace Shop.Carts {
  class Cart {
    int Total() {
      var p = new Purse(1);
      p.Take(3);
      return Purse.Cents(1, 2);
    }
  }
}
""",
}
RUBY = {
    "lib/money.rb": """\
module Money
  def self.cents(a, r)
    0
  end

  class Purse
    def initialize(n)
    end

    def take_out(n)
    end
  end
end
""",
    "lib/cart.rb": """\
require_relative 'money'

class Cart
  def total
    purse = Money::Purse.new(1)
    purse.take_out(3)
    Money.cents(1, 2)
  end
end
""",
}
PHP = {
    "src/Money.php": """\
<?php
namespace Shop\\Money;
class Purse {
  public function __construct(int $n) {}
  public static function cents(float $a, int $r): int { return 0; }
  public function takeOut(int $n) {}
}
function rate(int $a) { return 1; }
""",
    "src/Cart.php": """\
<?php
namespace Shop\\Cart;
use Shop\\Money\\Purse;
use function Shop\\Money\\rate;
class Cart {
  function total() {
    $p = new Purse(1);
    $p->takeOut(2);
    rate(3);
    return Purse::cents(1, 2);
  }
}
""",
}

CALLS: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "Python": (
        PYTHON,
        {
            "src/shop/money.py RATE": "src/app/main.py:14",
            "src/shop/money.py Purse.__init__": "src/app/main.py:9",
            "src/shop/money.py Purse.take": "src/app/main.py:10",
            "src/shop/money.py cents": "src/app/main.py:14 src/app/main.py:18",
        },
    ),
    "TypeScript": (
        TYPESCRIPT,
        {
            "web/money/convert.ts toCents": "web/cart.ts:9 web/cart.ts:14",
            "web/money/convert.ts Till.constructor": "web/cart.ts:6",
            "web/money/convert.ts Till.count": "web/cart.ts:7",
            "web/money/more.ts WAIT_MS": "web/cart.ts:8",
        },
    ),
    "JavaScript": (JAVASCRIPT, {"lib/money.js cents": "cart.js:3 cart.js:5", "lib/money.js rate": "cart.js:4"}),
    "Go": (
        GO,
        {
            "money/money.go Cents": "cart/cart.go:8",
            "money/money.go Purse": "cart/cart.go:6",
            "money/money.go Purse.Take": "cart/cart.go:7",
            "cart/help.go helper": "cart/cart.go:8",
        },
    ),
    "Java": (
        JAVA,
        {
            "src/a/money/Money.java Money": "src/a/cart/Cart.java:7",
            "src/a/money/Money.java Money.cents": "src/a/cart/Cart.java:10 src/a/cart/Cart.java:11",
            "src/a/money/Money.java Money.add": "src/a/cart/Cart.java:11",
            "src/a/cart/Helper.java Helper": "src/a/cart/Cart.java:8",
            "src/a/cart/Helper.java Helper.Helper": "src/a/cart/Cart.java:8",
            "src/a/cart/Helper.java Helper.help": "src/a/cart/Cart.java:9",
        },
    ),
    "Rust": (
        RUST,
        {
            "src/money.rs Purse": "src/cart.rs:3",
            "src/money.rs Purse.new": "src/cart.rs:3",
            "src/money.rs Purse.take_out": "src/cart.rs:4",
            "src/money.rs cents": "src/cart.rs:5 src/cart.rs:6",
        },
    ),
    "C": (C, {"src/money.c cents": "src/cart.c:3"}),
    "C++": (
        CPP,
        {
            "money.hpp money.Purse": "cart.cpp:3 money.cpp:3",
            "money.cpp money.Purse.take": "cart.cpp:4",
            "money.cpp money.cents": "cart.cpp:5",
        },
    ),
    "C#": (
        CSHARP,
        {
            "Money.cs Purse": "Cart.cs:7",
            "Money.cs Purse.Purse": "Cart.cs:5",
            "Money.cs Purse.Take": "Cart.cs:6",
            "Money.cs Purse.Cents": "Cart.cs:7",
        },
    ),
    "Ruby": (
        RUBY,
        {
            "lib/money.rb Money.Purse": "lib/cart.rb:5",
            "lib/money.rb Money.Purse.initialize": "lib/cart.rb:5",
            "lib/money.rb Money.Purse.take_out": "lib/cart.rb:6",
            "lib/money.rb Money.cents": "lib/cart.rb:7",
        },
    ),
    "PHP": (
        PHP,
        {
            "src/Money.php Purse": "src/Cart.php:10",
            "src/Money.php Purse.__construct": "src/Cart.php:7",
            "src/Money.php Purse.takeOut": "src/Cart.php:8",
            "src/Money.php rate": "src/Cart.php:9",
            "src/Money.php Purse.cents": "src/Cart.php:10",
        },
    ),
}
"""Each program, and every place in it that uses a symbol of another file."""
