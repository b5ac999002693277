'use strict';

const { readFile } = require('node:fs/promises');

/** Everyone who may come in. */
class Account {
  constructor(name) {
    this.name = name;
    this.tries = 0;
  }

  // Compares in plain text.
  login(word) {
    return this.word === word;
  }

  get word() {
    return this.secret;
  }

  set word(value) {
    this.secret = value;
  }
}

export const greet = (account) => `Hello
  ${account.name}`;

export async function load(path) {
  return JSON.parse(await readFile(path, 'utf8'));
}
