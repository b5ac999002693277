'use strict';
import { readFile } from 'node:fs/promises';

const LIMIT = 3;

class Shape extends Object {
  #first = 1;
  static made = 0;
  handler = (event) => event;

  constructor(first) {
    super();
    this.#first = first;
  }

  static { Shape.made = 1; }

  static of(first) { return new Shape(first); }

  get size() { return this.#first; }

  set size(value) { this.#first = value; }

  async *rows() { yield* []; }

  #hidden() { return 1; }

  [Symbol.iterator]() { return this.rows(); }
}

const area = (side) => side * side;

export const measured = async function named(path) {
  return readFile(path);
};

function* steps() { yield 1; }

export const api = {
  name: 'api',
  login(user) { return user; },
  logout: () => null,
  async refresh() { return 1; },
  inner: {
    deep() { return 2; },
    deeper: { deepest: function () { return 3; } },
  },
  get ready() { return true; },
};

const store = createStore({
  state: { count: 0 },
  mutations: {
    add(state) { state.count += 1; },
    take(state) { state.count -= 1; },
  },
});

Shape.prototype.old = function () { return 0; };
exports.helper = (it) => it;
window.App = { start() { return 1; } };

export default {
  data() { return {}; },
  methods: {
    login() { return 1; },
  },
};
