/** How much goes one way on a stream without anything the other way: what a stream is that is large. */

export class Run {
  /** bytes; below 0 for those that were sent */
  #bytes = 0;
  #limit = Infinity;
  #onLarge: (() => void) | undefined;

  /** Has somebody told, once, when it is above so many bytes. */
  whenAbove(bytes: number, tell: () => void): void {
    this.#limit = bytes;
    this.#onLarge = tell;
  }

  received(bytes: number): void {
    this.#set(this.#bytes > 0 ? this.#bytes + bytes : bytes);
  }

  sent(bytes: number): void {
    this.#set(this.#bytes < 0 ? this.#bytes - bytes : -bytes);
  }

  #set(bytes: number): void {
    this.#bytes = bytes;
    if (Math.abs(bytes) <= this.#limit) return;
    this.#limit = Infinity;
    this.#onLarge?.();
  }
}
