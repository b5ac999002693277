import { readFileSync } from "node:fs";

export interface Person {
  name: string;
  word: string;
}

export class Account {
  private tries = 0;

  constructor(readonly person: Person) {}

  login(word: string): boolean {
    return this.person.word === word;
  }

  rename(name: string): void;
  rename(first: string, last: string): void;
  rename(...parts: string[]): void {
    this.person.name = parts.join(" ");
  }
}

export function load(path: string): Person {
  return JSON.parse(readFileSync(path, "utf8")) as Person;
}
