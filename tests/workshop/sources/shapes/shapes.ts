import type { Reader } from "./reader";

export type Size = { width: number; height: number };
export interface Measured<T> {
  size(): T;
}
enum Side { Left, Right }

function decorated(target: unknown, key: string): void {}

export abstract class Shape<T extends Measured<number>> implements Measured<number> {
  private tries = 0;
  public readonly onChange = (it: T): void => { this.tries += 1; };

  constructor(private readonly first: T, protected name?: string) {}

  abstract edges(): number;

  @decorated
  @other({ deep: true })
  public async mapped<R>(how: (it: T) => R): Promise<R[]> {
    return [how(this.first)];
  }

  size(): number { return this.tries; }

  area(side: number): number;
  area(width: number, height: number): number;
  area(width: number, height = width): number {
    return width * height;
  }

  static of<T extends Measured<number>>(first: T): Shape<T> { throw first; }
}

export namespace rooms {
  export function area(side: number): number { return side; }
  export class Room {
    constructor(readonly doors: number) {}
    open(): void {}
  }
}

export const handlers = {
  login(user: string): string { return user; },
  logout: async (): Promise<void> => {},
} satisfies Record<string, unknown>;

export function isShape(it: unknown): it is Shape<never> { return it instanceof Shape; }

export default function <T>(it: T): T { return it; }
